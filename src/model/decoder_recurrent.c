/* decoder_recurrent: layers whose state does not grow with the text, in place of attention. */
#include "model/decoder_internal.h"

#include <stdio.h>

static node state(building *b, const char *fmt, uint32_t layer, shape s)
{
    char name[64];
    int prefix = snprintf(name, sizeof name, "%s", b->o->slots ? "slot_" : "");
    snprintf(name + prefix, sizeof name - (size_t)prefix, fmt, layer);
    return graph_state(b->g, name, DTYPE_F32, s);
}

node decoder_recurrence(building *b, node x, uint32_t layer)
{
    const model_config *c = b->c;
    graph *g = b->g;
    uint32_t dim = c->embedding_dim, heads = c->recurrent_heads, inner = heads * c->recurrent_value_dim;
    uint32_t texts = b->o->slots ? b->o->rows : 1, mixed = 2 * c->recurrent_key_heads * c->recurrent_key_dim + inner;
    delta_spec spec = {.heads = heads,
                       .key_heads = c->recurrent_key_heads,
                       .key_size = c->recurrent_key_dim,
                       .value_size = c->recurrent_value_dim,
                       .tiled = c->recurrent_tiled};
    node qkv = decoder_linear(b, x, mixed, dim, "attn_qkv", layer, false);
    node kernels = decoder_weight(b, mixed, c->recurrent_width, "blk.%u.ssm_conv1d.weight", layer);
    qkv = graph_conv(g, qkv, kernels, state(b, "conv.%u", layer, shape3(texts, c->recurrent_width - 1, mixed)),
                     b->position, decoder_last(b));
    node alpha = decoder_linear(b, x, heads, dim, "ssm_alpha", layer, false);
    alpha = graph_binary(g, BINARY_ADD, alpha, decoder_weight(b, 1, heads, "blk.%u.ssm_dt.bias", layer));
    node beta = decoder_linear(b, x, heads, dim, "ssm_beta", layer, false);
    shape s = shape4(texts, heads, c->recurrent_key_dim, c->recurrent_value_dim);
    node matrices = state(b, "delta.%u", layer, s);
    node y = graph_delta(g, qkv, alpha, beta, decoder_weight(b, 1, heads, "blk.%u.ssm_a", layer), matrices, b->position,
                         decoder_last(b), spec);
    y = graph_reshape(g, y, shape3(b->o->rows, heads, c->recurrent_value_dim));
    node scale = decoder_weight(b, 1, c->recurrent_value_dim, "blk.%u.ssm_norm.weight", layer);
    y = graph_reshape(g, graph_rmsnorm(g, y, scale, c->norm_epsilon, 0), shape2(b->o->rows, inner));
    node gate = graph_unary(g, UNARY_SILU, decoder_linear(b, x, inner, dim, "attn_gate", layer, false));
    return decoder_linear(b, graph_binary(g, BINARY_MUL, gate, y), dim, inner, "ssm_out", layer, false);
}
