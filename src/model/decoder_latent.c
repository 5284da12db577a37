/* decoder_latent: attention whose keys and values come of one vector for all heads, and the router of such models. */
#include "model/decoder_internal.h"

#include <stdio.h>

static node norm(building *b, node x, uint32_t width, const char *part, uint32_t layer)
{
    node scale = decoder_weight(b, 1, width, "blk.%u.%s.weight", layer, part);
    return graph_rmsnorm(b->g, x, scale, b->c->latent_epsilon, 0);
}

/* Turned by the position: x is all that turns of it. */
static node turned(building *b, node x, uint32_t heads, uint32_t layer)
{
    return decoder_rope(b, graph_reshape(b->g, x, shape3(b->o->rows, heads, b->c->rope_dims)), layer);
}

/* A head's q times its matrix of keys is what meets the cached vector; the part that turns meets its like. */
static node queries(building *b, node x, uint32_t layer)
{
    const model_config *c = b->c;
    uint32_t heads = c->head_count, flat = c->head_dim - c->rope_dims;
    node q = c->q_rank ? decoder_linear(b, x, c->q_rank, c->embedding_dim, "attn_q_a", layer, false) : x;
    q = c->q_rank ? decoder_linear(b, norm(b, q, c->q_rank, "attn_q_a_norm", layer), heads * c->head_dim, c->q_rank,
                                   "attn_q_b", layer, false)
                  : decoder_linear(b, x, heads * c->head_dim, c->embedding_dim, "attn_q", layer, false);
    q = graph_reshape(b->g, q, shape3(b->o->rows, heads, c->head_dim));
    node keys = decoder_weight(b, heads * c->kv_rank, flat, "blk.%u.attn_k_b.weight", layer);
    return graph_join(b->g, graph_heads(b->g, keys, graph_slice(b->g, q, 0, flat)),
                      turned(b, graph_slice(b->g, q, flat, c->rope_dims), heads, layer));
}

node decoder_latent(building *b, node x, uint32_t layer)
{
    const model_config *c = b->c;
    uint32_t rank = c->kv_rank, rows = b->o->rows;
    node q = queries(b, x, layer);
    node both = decoder_linear(b, x, rank + c->rope_dims, c->embedding_dim, "attn_kv_a_mqa", layer, false);
    node shared = norm(b, graph_slice(b->g, both, 0, rank), rank, "attn_kv_a_norm", layer);
    node part = turned(b, graph_slice(b->g, both, rank, c->rope_dims), 1, layer);
    node keys =
        decoder_cached(b, graph_join(b->g, graph_reshape(b->g, shared, shape3(rows, 1, rank)), part), "keys.%u", layer);
    attention_spec spec = {.scale = c->attention_scale, .value_size = rank};
    node a = graph_attention(b->g, q, keys, keys, b->position, spec);
    node values = decoder_weight(b, c->head_count * c->value_dim, rank, "blk.%u.attn_v_b.weight", layer);
    a = graph_heads(b->g, values, graph_reshape(b->g, a, shape3(rows, c->head_count, rank)));
    a = graph_reshape(b->g, a, shape2(rows, c->head_count * c->value_dim));
    return decoder_linear(b, a, c->embedding_dim, c->head_count * c->value_dim, "attn_output", layer, false);
}

/* ---- which experts ------------------------------------------------------------------- */

/* The groups that may be chosen from: those with the best two experts, or, by a softmax, with the best one. */
static node best_groups(building *b, node scores)
{
    const model_config *c = b->c;
    uint32_t groups = c->expert_groups, rows = b->o->rows;
    node each = graph_reshape(b->g, scores, shape2(rows * groups, c->expert_count / groups));
    node best = c->expert_sigmoid
                    ? graph_slice(b->g, graph_weigh(b->g, each, graph_topk(b->g, each, 2), false, 1), 2, 2)
                    : each;
    best = graph_reduce(b->g, c->expert_sigmoid ? REDUCE_SUM : REDUCE_MAX, best);
    return graph_topk(b->g, graph_reshape(b->g, best, shape2(rows, groups)), c->expert_groups_used);
}

node decoder_route(building *b, node scores, uint32_t layer)
{
    const model_config *c = b->c;
    graph *g = b->g;
    node shares = c->expert_sigmoid ? graph_unary(g, UNARY_SIGMOID, scores) : graph_softmax(g, scores, 1);
    node choice = shares;
    if (c->expert_choice_bias)
        choice = graph_binary(g, BINARY_ADD, choice,
                              decoder_weight(b, 1, c->expert_count, "blk.%u.exp_probs_b.bias", layer));
    node ids = c->expert_groups ? graph_topk_of(g, choice, c->expert_used, best_groups(b, choice), c->expert_groups)
                                : graph_topk(g, choice, c->expert_used);
    return graph_weigh(g, shares, ids, c->expert_weights_normed, c->expert_scale);
}
