/* embedder: vectors for texts. A whole text goes through the model at once, and what its tokens become is pooled.
 *
 *     embedder *n = embedder_new(g, m, t, &(embedder_options){0}, &e);
 *     float *vector = mem_alloc(embedder_width(n) * sizeof(float));
 *     embedder_embed(n, text, bytes, vector, &e);
 *
 * The model, its tokenizer and the device must outlive it. */
#ifndef SOLO_EMBEDDER_H
#define SOLO_EMBEDDER_H

#include "gpu/gpu.h"
#include "launch/level.h"
#include "launch/submit.h"
#include "model/model.h"
#include "model/tokenizer.h"

typedef struct embedder embedder;

typedef enum { NORMALIZE_AS_SAID, NORMALIZE_ON, NORMALIZE_OFF } embedder_normalize;

enum { EMBEDDER_DEFAULT_TOK = 2048 };

typedef struct embedder_options {
    fusion_level level; /* LEVEL_AUTO: ops, since a megakernel has no advantage for many rows; `loop` is `token` */
    submit_policy submit;
    model_pooling pooling; /* POOLING_UNSAID: as the model's files say */
    /* NORMALIZE_AS_SAID: vectors have length 1 unless a folder's modules leave it out, or nothing is pooled */
    embedder_normalize normalize;
    uint32_t most_tok; /* of a text; 0: as many as the model was made for, up to EMBEDDER_DEFAULT_TOK */
} embedder_options;

/* How this model pools with these options. False with an error: its files ask for something that is not supported, or
 * do not say. */
bool embedder_pooling(const model *m, const embedder_options *o, model_pooling *pooling, err *e);
/* The tokens that it would be given: with those that begin and end a text. False if there are more than the model takes,
 * or none. */
bool embedder_tokens(const model *m, const tokenizer *t, const char *text, size_t bytes, token_list *out, err *e);

embedder *embedder_new(gpu *g, const model *m, const tokenizer *t, const embedder_options *o, err *e);
void embedder_free(embedder *n);

uint32_t embedder_width(const embedder *n);    /* numbers of a vector */
uint32_t embedder_most_tok(const embedder *n); /* tokens of the longest text */
/* How many vectors a text of so many tokens has: 1, or with POOLING_NONE one for each. */
uint32_t embedder_count(const embedder *n, uint32_t tokens);
fusion_level embedder_level(const embedder *n);
uint32_t embedder_dispatches(const embedder *n); /* of the longest text */

/* Into `vectors` (embedder_count, embedder_width). */
bool embedder_run(embedder *n, const uint32_t *tokens, uint32_t count, float *vectors, err *e);
/* The same of a text; not with POOLING_NONE. */
bool embedder_embed(embedder *n, const char *text, size_t bytes, float *vector, err *e);

#endif
