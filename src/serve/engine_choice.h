/* engine_choice: choosing a token from logits that were read back. */
#ifndef SOLO_ENGINE_CHOICE_H
#define SOLO_ENGINE_CHOICE_H

#include "serve/engine.h"

/* Do logits have to be changed for each token anew? */
bool engine_steers(const engine_text *t);
/* Does this text need logits that are read back, or changed? */
bool engine_needs_logits(const engine_text *t);

/* What biases and penalties add to the logits of all tokens; `text`: all tokens so far. */
void engine_add_penalties(const engine_text *t, const uint32_t *text, uint32_t so_far, float *logits, uint32_t vocab);
/* The likelihood of a token that was chosen from these logits, and those of the most likely ones. */
void engine_see_likelihoods(const engine_text *t, const float *logits, uint32_t vocab, made_token *token);

/* Chooses from logits as the GPU would, and changes them. False: none may come. */
bool engine_choose(const engine_text *t, float *logits, uint32_t vocab, const uint32_t *text, uint32_t so_far,
                   made_token *out);

#endif
