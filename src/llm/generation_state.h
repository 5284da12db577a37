/* generation_state: the text so far of a generation, with its keys and values, to be saved and restored. */
#ifndef SOLO_GENERATION_STATE_H
#define SOLO_GENERATION_STATE_H

#include "llm/generation.h"

/* What keys and values of so many tokens take. */
uint64_t generation_state_bytes(const generation *n, uint32_t tokens);
/* Appends those of the tokens so far. */
bool generation_save(generation *n, str *out, err *e);
/* Another text instead, as generation_save wrote it: `states` has generation_state_bytes of them, and `count` fits the
 * context. Feed before asking for the next token. */
bool generation_restore(generation *n, const uint32_t *tokens, uint32_t count, const char *states, err *e);

#endif
