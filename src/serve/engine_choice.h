/* engine_choice: choosing a token from logits that were read back. */
#ifndef SOLO_ENGINE_CHOICE_H
#define SOLO_ENGINE_CHOICE_H

#include "serve/engine.h"

/* Does this text need it? Otherwise the GPU chooses. */
bool engine_chooses_here(const engine_text *t);

/* `text`: all tokens so far. Changes the logits. False: none may come. */
bool engine_choose(const engine_text *t, float *logits, uint32_t vocab, const uint32_t *text, uint32_t so_far,
                   made_token *out);

#endif
