/* conversation: turns of a user and a model, and what of them the model has taken in.
 *
 * All that was said is kept as messages. Before an answer they become tokens; those the
 * model's cache begins with already stay there, only the rest is fed. What does not fit
 * the context any more is forgotten from the oldest turn on, the system's message last.
 *
 * Without a chat_format the texts are simply one text that goes on.                   */
#ifndef SOLO_CONVERSATION_H
#define SOLO_CONVERSATION_H

#include "llm/generation.h"
#include "model/chat.h"

#include <signal.h>

typedef struct conversation conversation;

/* How an answer came to its end. */
typedef enum {
    ANSWER_ENDED,       /* the model ended it */
    ANSWER_STOPPED,     /* a stop text came */
    ANSWER_LONG,        /* it has as many tokens as were asked for */
    ANSWER_FULL,        /* the context is full */
    ANSWER_INTERRUPTED, /* someone wanted it to */
} answer_end;

typedef struct answer_options {
    uint32_t most_tok; /* 0: no limit */
    const char *const *stops;
    size_t stop_count;
    volatile sig_atomic_t *interrupted; /* looked at between tokens; may be NULL */
    void (*print)(void *context, const char *text, size_t bytes);
    void *context;
} answer_options;

typedef struct answer_report {
    answer_end end;
    uint32_t fed_tok, reused_tok, answer_tok;
    double first_s;     /* until the first token was there; what was said is read within it */
    double tok_per_s;   /* from then on */
    uint32_t forgotten; /* messages that had to go for this answer */
} answer_report;

/* All three must live on; `f` NULL: the model knows no turns. */
conversation *conversation_new(generation *n, const tokenizer *t, const chat_format *f);
void conversation_free(conversation *c);

/* Forgets all but the system's message. */
void conversation_reset(conversation *c);
/* NULL or "": none. */
void conversation_set_system(conversation *c, const char *text);

/* Adds what the user says and gets the answer to it. False if it does not fit the
 * context or the model failed: the message is then not part of the conversation. */
bool conversation_say(conversation *c, const char *text, const answer_options *o, answer_report *report, err *e);
/* Another answer to the last message. False without an error: there is none yet. */
bool conversation_again(conversation *c, const answer_options *o, answer_report *report, err *e);

/* The same bit by bit, for those who keep the messages themselves: what was said, by whom, then the answer to all of
 * it. False if that does not fit or fails; what was said stays. */
void conversation_add(conversation *c, chat_role role, const char *text);
bool conversation_answer(conversation *c, const answer_options *o, answer_report *report, err *e);

size_t conversation_count(const conversation *c); /* with the system's, if there is one */
chat_message conversation_at(const conversation *c, size_t i);

#endif
