/* generation: runs a model on a GPU. Tokens go in, new ones come out one by one,
 * and the KV cache keeps the text so far.
 *
 *     generation *n = generation_new(g, m, &(generation_options){0}, &e);
 *     generation_set_sampling(n, &(sampling){.temperature = 0.8f, .top_k = 40, .top_p = 1, .seed = 7});
 *     generation_feed(n, prompt, count, &e);
 *     while (generation_next(n, &token, &e) && token is no end)
 *         print it;
 *
 * The GPU samples the next token and goes on with it without the host:
 * generation_next only reads which one it was.                                 */
#ifndef SOLO_GENERATION_H
#define SOLO_GENERATION_H

#include "gpu/gpu.h"
#include "launch/submit.h"
#include "graph/plan.h"
#include "graph/sample.h"
#include "model/model.h"

typedef struct generation generation;

enum {
    GENERATION_ENOUGH_CONTEXT = 2048, /* tokens: for texts that are known to be shorter, and for explanations */
    GENERATION_DEFAULT_CHUNK_MS = 50,
};

/* When the megakernel is made: before the first text, which waits for the compiler; or, where the device can compile in the
 * background, while the first text is made by `ops`. */
typedef enum {
    COMPILE_AUTO, /* in the background, if the level is LEVEL_AUTO */
    COMPILE_FIRST,
    COMPILE_IN_BACKGROUND,
} generation_compile;

typedef struct generation_options {
    fusion_level level;   /* the highest level; LEVEL_AUTO: the best that is safe on the device */
    bool all_levels;      /* the lower ones, too, over the same weights: generation_set_launch chooses */
    submit_policy submit; /* of the dispatches of a token */
    /* Positions at most; 0: as many as the model was made for, or as there is memory for (docs/chat.md). */
    uint32_t context_tok;
    uint32_t longest_tok;       /* with context_tok 0: no text will be longer, so the context need not; 0: not known */
    const char *cache;          /* keys and values in "f16" (NULL), "f32", "q8_0" or "q4_0" */
    uint32_t chunk_ms;          /* how long a dispatch of many tokens may take, about; 0: GENERATION_DEFAULT_CHUNK_MS */
    bool slide;                 /* a full context drops its older half instead of ending the text */
    generation_compile compile; /* all_levels: always first */
    bool text_waits;            /* someone waits for the first token: what it does not need compiles behind it */
    uint32_t prompt_tok;        /* how long the first prompt will be, if that is known: what it needs is not put off */
} generation_options;

/* The caches there are, NULL past the last one. */
const char *generation_cache_name(uint32_t i);
bool generation_find_cache(const char *name, dtype *type, err *e); /* NULL: f16 */

/* How a token is chosen from the logits. All zeros: always the most likely one. */
typedef sample_settings sampling;

/* The model is needed only during this call. */
generation *generation_new(gpu *g, const model *m, const generation_options *o, err *e);
void generation_free(generation *n);
/* The megakernel compiles in the background, or is being tried: generation_next does a little of that each time, and
 * changes from ops to it between two tokens. The tokens are the same. If it is not possible, there is a notice. */
bool generation_is_compiling(const generation *n);
/* Does all that is left at once, waiting for the compiler; the text so far and the sampling settings are lost. */
bool generation_finish_compile(generation *n, err *e);

/* Adds to a decoder's graph, after the logits: sampling the next token, and setting the inputs for it. */
void generation_add_choice(graph *g, uint32_t rows, uint32_t context_tok);

/* Holds for the tokens after the next feed. The same seed, settings and text give the same tokens. */
void generation_set_sampling(generation *n, const sampling *s);
/* Random numbers follow from the seed and the position. Where positions come again in one text, since its beginning was
 * dropped, another stream keeps them from repeating: a context that slides counts them by itself, others give a number
 * here after each rewind, which makes it 0. */
void generation_set_stream(generation *n, uint32_t stream);

/* After one of these tokens the GPU makes no further tokens ahead; up to 15. */
void generation_set_stops(generation *n, const uint32_t *tokens, uint32_t count);
/* At most this many more tokens will be fed or asked for before the next rewind: the GPU makes none beyond. */
void generation_set_limit(generation *n, uint32_t tokens);

/* A notice for the user, returned once: a level that is not possible here, or that timed out; a text that is longer than
 * the model was made for. NULL: none. */
const char *generation_take_notice(generation *n, char *text, size_t size);
fusion_level generation_level(const generation *n); /* as it is now */

/* From the next token on, by another level (one that was made; LEVEL_AUTO: the highest of those) and submit policy. */
void generation_set_launch(generation *n, fusion_level level, submit_policy submit);

/* While tokens are fed it is looked, every tenth of a second or so, whether to stop; {0}: not any more. */
void generation_stop_when(generation *n, submit_stop stop);
/* Feeds `count` tokens, one or more. False if one is not in the vocabulary or they do not fit the context, and none is fed
 * then; false without an error if it was asked to stop, and then the first of them may be fed. */
bool generation_feed(generation *n, const uint32_t *tokens, uint32_t count, err *e);

/* The next token; it counts as fed. False if nothing was ever fed, the context is full (generation_position ==
 * generation_context; never if it slides) or something failed. */
bool generation_next(generation *n, uint32_t *token, err *e);

/* Drops all but the first `position` tokens. Feed before asking for the next. */
void generation_rewind(generation *n, uint32_t position);

/* The logits (vocabulary) that the next token is chosen from. */
bool generation_logits(generation *n, float *logits, err *e);

uint32_t generation_position(const generation *n);    /* tokens fed so far */
const uint32_t *generation_text(const generation *n); /* these */
uint32_t generation_stream(const generation *n);
uint32_t generation_context(const generation *n);
/* Nobody said how long the context is, and it is shorter than the model was made for. */
bool generation_context_is_short(const generation *n);
bool generation_is_full(const generation *n);        /* there will be no further token; never if it slides */
uint32_t generation_dispatches(const generation *n); /* per token */
/* Workgroups of the megakernel, and the threads of each; 0 at the levels without one. */
uint32_t generation_workgroups(const generation *n, uint32_t *threads);
uint64_t generation_bytes(const generation *n); /* of GPU memory */
uint32_t generation_vocab(const generation *n);
const plan *generation_plan(const generation *n); /* of a token */

#endif
