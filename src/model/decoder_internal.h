/* decoder_internal: what the files that build a decoder's graph share (decoder.c, decoder_latent.c, decoder_recurrent.c). */
#ifndef SOLO_DECODER_INTERNAL_H
#define SOLO_DECODER_INTERNAL_H

#include "model/decoder.h"

typedef struct building {
    graph *g;
    const model *m;
    const model_config *c;
    const decoder_options *o;
    node position, divisors;
    node last;  /* the last row that counts: of a whole text, or once something has asked for it (decoder_last) */
    bool *used; /* (tensors of the file, and one that stands for those beside it) */
    err *e;
} building;

/* A weight by its name, with the shape it must have. */
node decoder_weight(building *b, uint32_t rows, uint32_t columns, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
node decoder_norm(building *b, node x, uint32_t width, const char *fmt, uint32_t layer);
/* y = x W [+ b] */
node decoder_linear(building *b, node x, uint32_t rows, uint32_t columns, const char *part, uint32_t layer,
                    bool biased);
/* The input "last" where only one row's logits are wanted, else 0. */
node decoder_last(building *b);

/* RoPE of x [rows, heads, size]: its first rope_dims, or as many as it has. */
node decoder_rope(building *b, node x, uint32_t layer);
/* Rows into a layer's part of the cache. */
node decoder_cached(building *b, node rows, const char *fmt, uint32_t layer);
/* Attention whose keys and values come of one vector. */
node decoder_latent(building *b, node x, uint32_t layer);
/* The experts that a router's scores choose, and their weights: as graph_route makes them. */
node decoder_route(building *b, node scores, uint32_t layer);
/* What a layer has in place of attention: a gated delta net. */
node decoder_recurrence(building *b, node x, uint32_t layer);

#endif
