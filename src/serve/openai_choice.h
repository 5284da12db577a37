/* openai_choice: one of the texts that answer a request: from tokens to what is content, what are thoughts, and which
 * tools it calls.                                                                                                    */
#ifndef SOLO_OPENAI_CHOICE_H
#define SOLO_OPENAI_CHOICE_H

#include "llm/markup.h"
#include "llm/stops.h"
#include "llm/thoughts.h"
#include "serve/openai_request.h"

typedef struct openai_choice {
    const tokenizer *t;
    bool splits_thoughts, may_call;
    /* What came since it was taken last; who takes it makes it empty. */
    str content, thoughts;
    made_token *pending; /* (pending_count) the tokens of that, if their likelihoods are wanted */
    size_t pending_count, pending_capacity;
    bool keeps_tokens, one_call;
    size_t offset_bytes; /* of the next token in the text */
    /* Set at the end. */
    str calls;          /* JSON as chat_message has it; empty: none */
    const char *finish; /* why it ended; NULL: it has not */
    uint32_t made_tok, thought_tok;
    /* The rest is its own. */
    decode_stream characters;
    markup markup;
    stops stops, tags;
    thoughts telling;
    str piece, passed, held; /* held: what may be calls of tools */
    bool has_content, has_thoughts, holds;
} openai_choice;

/* `thinks`: the text begins with thoughts. What is in the request must outlive it. */
void openai_choice_begin(openai_choice *c, const openai_request *q, const tokenizer *t, bool thinks);
/* True: a stop text was found, and the text has ended. */
bool openai_choice_add(openai_choice *c, const made_token *token);
/* The text has ended; `finish` unless it calls tools. */
void openai_choice_end(openai_choice *c, const char *finish);
void openai_choice_free(openai_choice *c);

#endif
