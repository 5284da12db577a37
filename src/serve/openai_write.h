/* openai_write: replies in the forms of OpenAI's API. */
#ifndef SOLO_OPENAI_WRITE_H
#define SOLO_OPENAI_WRITE_H

#include "serve/openai_choice.h"

/* What all replies to a request begin with. */
typedef struct openai_reply {
    char id[40];
    int64_t created_s;
    const char *model;
    bool is_chat, is_chunk;
} openai_reply;

typedef struct openai_usage {
    uint64_t prompt_tok, reused_tok, made_tok, thought_tok;
} openai_usage;

/* The whole answer, taking what the choices have. `prompts`: what is repeated before each text; NULL: nothing. */
void openai_write_answer(const openai_reply *reply, openai_choice *choices, uint32_t count, const char *const *prompts,
                         const openai_usage *usage, str *out);

/* A piece of a stream, "data: {...}" with an empty line behind it; it takes what the choice has. `role`: the first piece of a
 * chat's choice. */
void openai_write_piece(const openai_reply *reply, openai_choice *c, uint32_t index, bool role, bool usage_comes,
                        str *out);
void openai_write_last_usage(const openai_reply *reply, const openai_usage *usage, str *out);

void openai_write_fault(const openai_fault *f, str *out);

#endif
