/* markup: answers in which tokens of their own mark thoughts and calls, in the form that the others have.
 *
 * Most models write "<think>" and "<tool_call>". Two families have tokens instead: gpt-oss names a channel before each of
 * its messages (analysis, commentary, final) and whom a call goes to; Mistral's have [THINK], [TOOL_CALLS] and [ARGS].
 * What they mean becomes text: <think>, </think>, and <tool_call> with an object of JSON. Nothing else has to know of
 * these families: thoughts.h, tool_calls.h, and templates, which get thoughts and calls apart.                        */
#ifndef SOLO_MARKUP_H
#define SOLO_MARKUP_H

#include "model/tokenizer.h"

typedef enum {
    MARKUP_NONE,
    MARKUP_HEADER,
    MARKUP_NAME,
    MARKUP_THOUGHT,
    MARKUP_CALL,
    MARKUP_LIST,
    MARKUP_ANSWER
} markup_part;

/* Zero-initialise; free it. */
typedef struct markup {
    markup_part part; /* where the text is */
    bool is_thinking; /* thoughts have begun, and no tag has ended them */
    str header;       /* of a message, or the name of a call */
} markup;

/* A token's text is added to `out`, or what it marks. */
void markup_add(markup *m, decode_stream *characters, const tokenizer *t, int32_t id, str *out);
/* The answer ends. */
void markup_end(markup *m, str *out);
/* What a model would write to end its thoughts here, with its tokens. */
const char *markup_end_of_thoughts(const markup *m);
void markup_free(markup *m);

#endif
