/* decoder_beside: experts beside the feed-forward layer, with norms and a router of their own (gemma4). */
#include "model/decoder_internal.h"

#include <math.h>

/* The shares of those that are chosen add up to 1, and then each expert has a factor. */
static node route(building *b, node x, uint32_t layer)
{
    const model_config *c = b->c;
    graph *g = b->g;
    uint32_t count = c->expert_count, used = c->expert_used, dim = c->embedding_dim;
    node y = graph_rmsnorm(g, x, decoder_weight(b, 1, dim, "blk.%u.ffn_gate_inp.scale", layer), c->norm_epsilon, 0);
    node scores = decoder_linear(b, y, count, dim, "ffn_gate_inp", layer, false);
    node shares = graph_softmax(g, scores, 1 / sqrtf((float)dim)), ids = graph_topk(g, shares, used);
    node sum = graph_reduce(g, REDUCE_SUM, graph_slice(g, graph_weigh(g, shares, ids, false, 1), used, used));
    shares = graph_binary(g, BINARY_MUL, shares, decoder_weight(b, 1, count, "blk.%u.ffn_down_exps.scale", layer));
    return graph_weigh(g, graph_binary(g, BINARY_DIV, shares, sum), ids, false, 1);
}

node decoder_experts_beside(building *b, node x, node y, uint32_t layer)
{
    uint32_t dim = b->c->embedding_dim;
    node routes = route(b, x, layer);
    node z = decoder_chosen(b, decoder_norm(b, x, dim, "blk.%u.pre_ffw_norm_2", layer), routes, layer);
    y = decoder_norm(b, y, dim, "blk.%u.post_ffw_norm_1", layer);
    return graph_binary(b->g, BINARY_ADD, y, decoder_norm(b, z, dim, "blk.%u.post_ffw_norm_2", layer));
}
