/* decoder_internal: what the files that build a decoder's graph share (decoder*.c). */
#ifndef SOLO_DECODER_INTERNAL_H
#define SOLO_DECODER_INTERNAL_H

#include "model/decoder.h"

typedef struct building {
    graph *g;
    const model *m;
    const model_config *c;
    const decoder_options *o;
    node position;
    node angles, local_angles; /* the rotation's; 0: there are none */
    node ones, local_ones;     /* as wide as a head; 0: not needed yet */
    node per_layer;            /* [rows, layers * per_layer_dim], or 0 */
    node keys[CONFIG_MAX_LAYERS], values[CONFIG_MAX_LAYERS];
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
node decoder_activated(building *b, node x);
node decoder_attention(building *b, node x, uint32_t layer);
/* The sum of what the experts make of x whose routes it gets. */
node decoder_chosen(building *b, node x, node routes, uint32_t layer);

/* The weights or inputs that the layers' rotations need. */
void decoder_add_angles(building *b);
/* Does the layer turn by the angles of windowed layers, and how many numbers of a head? */
bool decoder_has_local_angles(const model_config *c, uint32_t layer);
uint32_t decoder_local_rope_dims(const model_config *c);
/* The weights of a norm of heads that has none. */
node decoder_ones(building *b, uint32_t layer);
/* For a layer that takes keys and values of another: files may have weights that would make some. */
void decoder_leave_keys_and_values(building *b, uint32_t layer);
/* What every layer has for these tokens, and x with a layer's part of it. */
node decoder_per_layer_inputs(building *b, node tokens, node x);
node decoder_with_per_layer_input(building *b, node x, uint32_t layer);
node decoder_per_layer_part(building *b, node x, uint32_t layer);
/* A weight that no file has; NULL: it is none of them. */
const void *decoder_made_weight(decoder_weights *d, const char *name);

/* Attention whose keys and values come of one vector. */
node decoder_latent(building *b, node x, uint32_t layer);
/* The experts that a router's scores choose, and their weights: as graph_route makes them. */
node decoder_route(building *b, node scores, uint32_t layer);
/* y, what the feed-forward layer has made, with what experts make of x, which was before it. */
node decoder_experts_beside(building *b, node x, node y, uint32_t layer);

/* Several streams: x [rows, dim] as the first of them, a layer of them, and the one that they become. */
node decoder_streams_open(building *b, node x);
node decoder_streams_layer(building *b, node x, uint32_t layer);
node decoder_streams_close(building *b, node x);
/* Tokens as rows of a table per_layer_vocab_tok long, where that is less than all. */
node decoder_tokens_of_table(building *b, node tokens);

/* What a layer has in place of attention: a gated delta net. */
node decoder_recurrence(building *b, node x, uint32_t layer);

#endif
