/* answer: tokens become text as they are made, until something ends it.
 *
 * Bytes become characters, stop texts are held back, and what may be shown is passed on at once.
 * A conversation answers by it, and a session that continues a text.                          */
#ifndef SOLO_ANSWER_H
#define SOLO_ANSWER_H

#include "llm/generation.h"
#include "llm/markup.h"
#include "llm/stops.h"
#include "llm/thoughts.h"
#include "model/tokenizer.h"

#include <signal.h>

/* Why an answer ended. */
typedef enum {
    ANSWER_ENDED,       /* the model ended it */
    ANSWER_STOPPED,     /* a stop text was found */
    ANSWER_LONG,        /* it reached the limit of tokens */
    ANSWER_FULL,        /* the context is full */
    ANSWER_INTERRUPTED, /* it was interrupted */
} answer_end;

typedef struct answer_options {
    uint32_t most_tok; /* 0: no limit */
    const char *const *stops;
    size_t stop_count;
    volatile sig_atomic_t *interrupted; /* checked between tokens; may be NULL */
    const bool *unheard; /* `print` sets it where nobody gets what it prints, and the answer ends; may be NULL */
    void (*print)(void *context, const char *text, size_t bytes);
    /* Gets the thoughts, and `print` the rest, both without the tags; NULL: `print` gets all as it is. */
    void (*print_thought)(void *context, const char *text, size_t bytes);
    void *context;
    uint32_t think_tok; /* after so many tokens of thoughts they are ended, and the answer begins; 0: as it comes */
    bool keeps_all;     /* a conversation that does not fit the context is an error, instead of dropping old turns */
} answer_options;

typedef struct answer_report {
    answer_end end;
    uint32_t fed_tok, reused_tok, answer_tok;
    double first_s;       /* until the first token, including the time for the prompt */
    double tok_per_s;     /* from then on */
    uint32_t forgotten;   /* messages that were dropped to make room for this answer */
    uint32_t thought_tok; /* of the answer's tokens: thoughts */
    bool is_full;         /* with keeps_all: there was no answer, since the conversation does not fit */
    /* The change to a level that compiled in the background: tokens before it (0: none, or at once), and when it was. */
    uint32_t changed_tok;
    double changed_s;
} answer_report;

bool answer_interrupted(const answer_options *o);
/* The same for generation_stop_when; {0} where nobody can interrupt. */
submit_stop answer_stop(const answer_options *o);

/* An answer in progress. Make it with answer_of, end it with answer_finish, free it. */
typedef struct answer_stream {
    generation *n;
    const tokenizer *t;
    const answer_options *o;
    double began_us;
    decode_stream characters;
    markup markup;
    stops stops;
    str piece, passed; /* of this token; text that may be shown */
    str text;          /* all that was shown */
    thoughts thoughts;
    token_list tokens; /* the new ones; the last ends the text if the report has ANSWER_ENDED */
} answer_stream;

/* `begins_text`: a space that marks the beginning of a text is not shown. All arguments must outlive the answer. */
answer_stream answer_of(generation *n, const tokenizer *t, const answer_options *o, bool begins_text);
/* Does this prompt end with the tag that begins thoughts? Then the answer begins with them. */
void answer_look_at_prompt(answer_stream *a, const int32_t *ids, size_t count);
/* Shows tokens of the prompt. */
void answer_show(answer_stream *a, const int32_t *ids, size_t count);
/* Makes tokens after those that were fed, until the answer ends. */
bool answer_make(answer_stream *a, answer_report *report, err *e);
/* Also shows the text that was held back. */
void answer_finish(answer_stream *a);
void answer_free(answer_stream *a);

#endif
