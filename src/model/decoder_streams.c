/* decoder_streams: several streams of activations side by side (gemma3n's AltUp), and what else its layers have.
 *
 * A row has all streams of a token one after the other. A layer predicts each as a sum of all, computes on one of them,
 * and corrects all by how far that one's result is from what was predicted. */
#include "model/decoder_internal.h"

#include <math.h>
#include <stdio.h>

/* Rows [rows, streams * dim] or a part of them as [rows, count, dim]. */
static node apart(building *b, node x, uint32_t count)
{
    shape s = graph_at(b->g, x)->s;
    return graph_reshape(b->g, x, shape3(s.dims[2], count, b->c->embedding_dim));
}

static node stream(building *b, node x, uint32_t i)
{
    return graph_slice(b->g, x, i * b->c->embedding_dim, b->c->embedding_dim);
}

/* All but the first. */
static node other_streams(building *b, node x)
{
    uint32_t dim = b->c->embedding_dim;
    return graph_slice(b->g, x, dim, (b->c->streams - 1) * dim);
}

static node mean_square(building *b, node x)
{
    return graph_reduce(b->g, REDUCE_MEAN, graph_unary(b->g, UNARY_SQUARE, x));
}

/* x [rows, streams - 1, dim] with the root mean square of `like` [rows, dim]. */
static node as_large_as(building *b, node x, node like)
{
    const float least = 1e-5f; /* what a mean square counts as */
    uint32_t rows = graph_at(b->g, like)->s.dims[2];
    node squares = graph_scale(b->g, mean_square(b, x), 1, -least);
    squares = graph_scale(b->g, graph_unary(b->g, UNARY_RELU, squares), 1, least);
    node wanted = graph_unary(b->g, UNARY_SQRT, mean_square(b, like));
    x = graph_binary(b->g, BINARY_DIV, x, graph_unary(b->g, UNARY_SQRT, squares));
    return graph_binary(b->g, BINARY_MUL, x, graph_reshape(b->g, wanted, shape3(rows, 1, 1)));
}

static node all_of(building *b, node x, uint32_t count)
{
    shape s = graph_at(b->g, x)->s;
    return graph_reshape(b->g, x, shape2(s.dims[1], count * b->c->embedding_dim));
}

node decoder_streams_open(building *b, node x)
{
    uint32_t others = b->c->streams - 1, dim = b->c->embedding_dim;
    node made = graph_matmul(b->g, x, decoder_weight(b, others * dim, dim, "altup_proj.weight"));
    return graph_join(b->g, x, all_of(b, as_large_as(b, apart(b, made, others), x), others));
}

node decoder_streams_close(building *b, node x)
{
    uint32_t others = b->c->streams - 1, dim = b->c->embedding_dim;
    node sum = stream(b, x, 0), w = decoder_weight(b, others * dim, dim, "altup_unembd_proj.weight");
    node made = graph_heads(b->g, w, apart(b, other_streams(b, x), others));
    made = all_of(b, as_large_as(b, made, sum), others);
    for (uint32_t i = 0; i < others; i++)
        sum = graph_binary(b->g, BINARY_ADD, sum, stream(b, made, i));
    return graph_scale(b->g, sum, 1 / (float)b->c->streams, 0);
}

/* Weights that a layer uses twice. */
typedef struct router {
    node norm, matrix;
} router;

static router router_of(building *b, uint32_t layer)
{
    uint32_t dim = b->c->embedding_dim;
    return (router){decoder_weight(b, 1, dim, "blk.%u.altup_router_norm.weight", layer),
                    decoder_weight(b, b->c->streams, dim, "blk.%u.altup_router.weight", layer)};
}

/* What the streams are mixed by, made of one of them: [rows, count]. */
static node coefficients(building *b, router r, node x, const char *part, uint32_t count, uint32_t layer)
{
    const model_config *c = b->c;
    node y = graph_matmul(b->g, graph_rmsnorm(b->g, x, r.norm, c->norm_epsilon, 0), r.matrix);
    y = graph_unary(b->g, UNARY_TANH, graph_scale(b->g, y, 1 / (float)c->embedding_dim, 0));
    return decoder_linear(b, y, count, c->streams, part, layer, false);
}

/* Stream j of a row is the sum of k products, of element (j, i) of `x` and of a stream: i of `y`, or its only one. */
static node mixed(building *b, node x, node y, uint32_t k)
{
    uint32_t n = b->c->streams, dim = b->c->embedding_dim, rows = b->o->rows;
    contract_spec spec = {.dims = {1, 1, 1, rows, n, dim},
                          .x = {.of = x, .strides = {0, 0, 0, n * k, k, 0}},
                          .y = {.of = y, .strides = {0, 0, 0, k * dim, 0, 1}},
                          .k = k,
                          .x_stride = 1,
                          .y_stride = dim};
    return graph_contract(b->g, &spec, shape2(rows, n * dim));
}

static node predicted(building *b, router r, node x, uint32_t layer)
{
    uint32_t n = b->c->streams;
    node shares = coefficients(b, r, stream(b, x, b->c->active_stream), "altup_predict_coef", n * n, layer);
    return graph_binary(b->g, BINARY_ADD, x, mixed(b, shares, x, n));
}

static node corrected(building *b, router r, node x, node active, uint32_t layer)
{
    node shares = graph_scale(b->g, coefficients(b, r, active, "altup_correct_coef", b->c->streams, layer), 1, 1);
    node news = graph_binary(b->g, BINARY_SUB, active, stream(b, x, b->c->active_stream));
    return graph_binary(b->g, BINARY_ADD, x, mixed(b, shares, news, 1));
}

/* Only what is above the mean by so many deviations, and by how much. */
static node above_cutoff(building *b, node x, float deviations)
{
    x = graph_binary(b->g, BINARY_SUB, x, graph_reduce(b->g, REDUCE_MEAN, x));
    node cutoff = graph_scale(b->g, graph_unary(b->g, UNARY_SQRT, mean_square(b, x)), deviations, 0);
    return graph_unary(b->g, UNARY_RELU, graph_binary(b->g, BINARY_SUB, x, cutoff));
}

static node sparse_feed_forward(building *b, node x, uint32_t layer)
{
    const model_config *c = b->c;
    node gate = decoder_linear(b, x, c->ffn_dim, c->embedding_dim, "ffn_gate", layer, false);
    node up = decoder_linear(b, x, c->ffn_dim, c->embedding_dim, "ffn_up", layer, false);
    if (c->is_sparse[layer])
        gate = above_cutoff(b, gate, c->cutoff_deviations[layer]);
    node y = graph_binary(b->g, BINARY_MUL, decoder_activated(b, gate), up);
    return decoder_linear(b, y, c->embedding_dim, c->ffn_dim, "ffn_down", layer, false);
}

/* x by way of a smaller vector, added to itself (LAuReL). */
static node learned_residual(building *b, node x, uint32_t layer)
{
    const model_config *c = b->c;
    node y = decoder_linear(b, x, c->laurel_rank, c->embedding_dim, "laurel_l", layer, false);
    y = decoder_linear(b, y, c->embedding_dim, c->laurel_rank, "laurel_r", layer, false);
    return graph_binary(b->g, BINARY_ADD, x, decoder_norm(b, y, c->embedding_dim, "blk.%u.laurel_post_norm", layer));
}

/* Folders have it, used or not. */
static void leave_scale(building *b, uint32_t layer)
{
    char name[64];
    model_weight w;
    snprintf(name, sizeof name, "blk.%u.altup_correct_scale.weight", layer);
    if (model_has_whole(b->m, name, &w))
        b->used[w.tensor] = true;
}

/* The layer's own input reaches all streams but the first. */
static node with_own_input(building *b, node x, uint32_t layer)
{
    const model_config *c = b->c;
    node active = stream(b, x, c->active_stream);
    if (!c->scales_active)
        leave_scale(b, layer);
    else
        active = graph_binary(b->g, BINARY_MUL, active,
                              decoder_weight(b, 1, c->embedding_dim, "blk.%u.altup_correct_scale.weight", layer));
    node y = graph_reshape(b->g, decoder_per_layer_part(b, active, layer), shape3(b->o->rows, 1, c->embedding_dim));
    node others = apart(b, other_streams(b, x), c->streams - 1);
    return graph_join(b->g, stream(b, x, 0), all_of(b, graph_binary(b->g, BINARY_ADD, others, y), c->streams - 1));
}

node decoder_streams_layer(building *b, node x, uint32_t layer)
{
    const model_config *c = b->c;
    uint32_t dim = c->embedding_dim;
    router r = router_of(b, layer);
    x = predicted(b, r, x, layer);
    node active = stream(b, x, c->active_stream), y = decoder_norm(b, active, dim, "blk.%u.attn_norm", layer);
    node residual = learned_residual(b, y, layer);
    node a = decoder_norm(b, decoder_attention(b, y, layer), dim, "blk.%u.post_attention_norm", layer);
    a = graph_binary(b->g, BINARY_ADD, graph_binary(b->g, BINARY_ADD, active, a), residual);
    a = graph_scale(b->g, a, sqrtf(0.5f), 0);
    y = sparse_feed_forward(b, decoder_norm(b, a, dim, "blk.%u.ffn_norm", layer), layer);
    a = graph_binary(b->g, BINARY_ADD, a, decoder_norm(b, y, dim, "blk.%u.post_ffw_norm", layer));
    return with_own_input(b, corrected(b, r, x, a, layer), layer);
}

/* Tokens beyond the table have its first row: the number of each is multiplied by 1 or 0. */
node decoder_tokens_of_table(building *b, node tokens)
{
    uint32_t rows = b->o->rows;
    map_spec m = {.kind = MAP_FUNCTION, .function = UNARY_SCALE, .a = -1, .type = DTYPE_F32, .view_count = 1};
    m.b = (float)b->c->per_layer_vocab_tok - 0.5f; /* above 0 for those of the table */
    for (int i = 0; i < GRAPH_VIEW_DIMS; i++)
        m.dims[i] = 1;
    m.dims[GRAPH_VIEW_DIMS - 1] = rows;
    m.views[0] = (graph_view){.of = tokens, .strides = {0, 0, 0, 0, 0, 1}};
    node left = graph_map(b->g, &m, shape1(rows));
    m.kind = MAP_SIGN;
    m.views[0].of = left;
    m.views[0].of = graph_unary(b->g, UNARY_RELU, graph_map(b->g, &m, shape1(rows)));
    m.kind = MAP_MUL;
    m.integers = true;
    m.type = DTYPE_U32;
    m.view_count = 2;
    m.views[1] = (graph_view){.of = tokens, .strides = {0, 0, 0, 0, 0, 1}};
    return graph_map(b->g, &m, shape1(rows));
}
