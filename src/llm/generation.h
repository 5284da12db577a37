/* generation: a model at work on a GPU. Tokens go in, one by one others come out,
 * and the cache remembers what was said.
 *
 *     generation *n = generation_new(g, m, &(generation_options){0}, &e);
 *     generation_set_sampling(n, &(sampling){.temperature = 0.8f, .top_k = 40, .top_p = 1, .seed = 7});
 *     generation_feed(n, prompt, count, &e);
 *     while (generation_next(n, &token, &e) && token is no end)
 *         print it;
 *
 * The choice of the next token is made on the GPU, which goes on with it by
 * itself: generation_next only learns what it was.                             */
#ifndef SOLO_GENERATION_H
#define SOLO_GENERATION_H

#include "gpu/gpu.h"
#include "launch/submit.h"
#include "graph/plan.h"
#include "graph/sample.h"
#include "model/model.h"

typedef struct generation generation;

enum { GENERATION_DEFAULT_CONTEXT = 2048, GENERATION_DEFAULT_CHUNK_MS = 50 };

typedef struct generation_options {
    fusion_level level;         /* the highest wanted; LEVEL_AUTO: the best that is safe on the device */
    bool all_levels;            /* the lower ones, too, over the same weights: generation_set_launch chooses */
    submit_policy submit;       /* of the dispatches of a token */
    uint32_t context_tok;       /* positions at most; 0: as many as the model was made for, up to the default */
    bool exact_cache;           /* keys and values in f32 instead of f16 */
    uint32_t chunk_ms;          /* how long a dispatch of many tokens may take, about; 0: GENERATION_DEFAULT_CHUNK_MS */
    bool slide;                 /* a full context forgets its older half instead of being the end */
    bool compile_in_background; /* the level may come later: generation_finish_compile */
} generation_options;

/* How a token is chosen from the logits. All zeros: always the most likely one. */
typedef sample_settings sampling;

/* The model is needed only during this call. */
generation *generation_new(gpu *g, const model *m, const generation_options *o, err *e);
void generation_free(generation *n);
/* A page makes one dispatch in the background, the first time, and runs ops until then. Once its kernels are there this does the rest; what was taken
 * in is forgotten, and how tokens are chosen. */
bool generation_is_compiling(const generation *n);
bool generation_finish_compile(generation *n, err *e);

/* What a generation adds to a decoder's graph after the logits: everything is set for the next token, and that
 * is chosen. */
void generation_add_choice(graph *g, uint32_t rows, uint32_t context_tok);

/* Holds for the tokens after the next feed. The same seed, settings and text give the same tokens. */
void generation_set_sampling(generation *n, const sampling *s);

/* After one of these tokens no further ones are made ahead of being asked for; up to 15. */
void generation_set_stops(generation *n, const uint32_t *tokens, uint32_t count);
/* So many tokens more, at most, will be fed or asked for before the next rewind: none are made beyond. */
void generation_set_limit(generation *n, uint32_t tokens);

/* Something that the user should know, once: a level that could not be had, or that gave up. NULL: nothing. */
const char *generation_take_notice(generation *n, char *text, size_t size);
fusion_level generation_level(const generation *n); /* as it is now */

/* From the next token on, by another level (one that was made; LEVEL_AUTO: the highest of those) and submit policy. */
void generation_set_launch(generation *n, fusion_level level, submit_policy submit);

/* Take in `count` tokens, one or more. False if one is none of the model's or they do
 * not fit the context any more: nothing was taken in then. */
bool generation_feed(generation *n, const uint32_t *tokens, uint32_t count, err *e);

/* The token that comes next; it counts as taken in. False if nothing was ever fed,
 * the context is full (generation_position == generation_context; never if it slides)
 * or something failed. */
bool generation_next(generation *n, uint32_t *token, err *e);

/* Forget all but the first `position` tokens. Feed before asking for the next. */
void generation_rewind(generation *n, uint32_t position);

/* The logits (vocabulary) that the next token is chosen from. */
bool generation_logits(generation *n, float *logits, err *e);

uint32_t generation_position(const generation *n); /* tokens taken in so far */
uint32_t generation_context(const generation *n);
bool generation_is_full(const generation *n);        /* no token more will come; never if it slides */
uint32_t generation_dispatches(const generation *n); /* per token */
/* Of one dispatch, and how many threads each has; 0 at the levels that have several. */
uint32_t generation_workgroups(const generation *n, uint32_t *threads);
uint64_t generation_bytes(const generation *n); /* of GPU memory */
uint32_t generation_vocab(const generation *n);
const plan *generation_plan(const generation *n); /* of a token */

#endif
