/* generation: a model at work on a GPU: tokens go in, the most likely next one
 * comes out, and the cache remembers what was said. */
#ifndef SOLO_GENERATION_H
#define SOLO_GENERATION_H

#include "gpu/gpu.h"
#include "model/model.h"

typedef struct generation generation;

/* `context_tok` positions at most; 0: as many as the model was made for, up to
 * GENERATION_DEFAULT_CONTEXT. The model is needed only during this call. */
enum { GENERATION_DEFAULT_CONTEXT = 2048 };
generation *generation_new(gpu *g, const model *m, uint32_t context_tok, err *e);
void generation_free(generation *n);

/* Take in `count` tokens, one or more, and say which comes next. False if they do
 * not fit the context any more: nothing was taken in then. */
bool generation_feed(generation *n, const uint32_t *tokens, uint32_t count, uint32_t *next, err *e);

uint32_t generation_position(const generation *n); /* tokens taken in so far */
uint32_t generation_context(const generation *n);
uint32_t generation_dispatches(const generation *n); /* per token */

#endif
