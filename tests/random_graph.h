/* Random small graphs of every operator, seeded: patterns that fuse, and the same
 * with something in the way. Values stay moderate, so that two ways of computing
 * them can be compared. */
#ifndef SOLO_TEST_RANDOM_GRAPH_H
#define SOLO_TEST_RANDOM_GRAPH_H

#include "base/rng.h"
#include "base/str.h"
#include "graph/graph.h"
#include "graph/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANDOM_MAX_WEIGHTS = 96,
    RANDOM_MAX_POOL = 96,
    RANDOM_CAPACITY = 24,           /* rows of a state */
    RANDOM_VOCAB = RANDOM_CAPACITY, /* so that positions are tokens, too */
};

typedef struct random_weight {
    char name[16];
    void *data;
} random_weight;

typedef struct random_graph {
    graph *g;
    rng r;
    uint32_t rows;
    node pool[RANDOM_MAX_POOL]; /* floats [rows, ..] */
    uint32_t pool_count;
    node at, row, ids;
    random_weight weights[RANDOM_MAX_WEIGHTS];
    uint32_t weight_count, state_count, output_count;
} random_graph;

static uint32_t random_below(random_graph *b, uint32_t bound)
{
    return rng_below(&b->r, bound);
}

static uint32_t random_width(const random_graph *b, node n)
{
    return graph_at(b->g, n)->s.dims[GRAPH_MAX_DIMS - 1];
}

static node random_any(random_graph *b)
{
    /* rather one of the last, so that chains come about */
    uint32_t few = b->pool_count < 3 || random_below(b, 4) == 0 ? b->pool_count : 3;
    return b->pool[b->pool_count - 1 - random_below(b, few)];
}

static node random_keep(random_graph *b, node n)
{
    if (n && b->pool_count < RANDOM_MAX_POOL)
        b->pool[b->pool_count++] = n;
    return n;
}

/* Numbers around `middle`. */
static node random_weight_of(random_graph *b, tensor_type type, shape s, float middle, float spread)
{
    uint64_t count = shape_count(s);
    float *values = mem_alloc(count * sizeof *values);
    random_weight *w = &b->weights[b->weight_count];
    snprintf(w->name, sizeof w->name, "w%u", b->weight_count++);
    w->data = mem_alloc(type_bytes(type, count));
    for (uint64_t i = 0; i < count; i++)
        values[i] = middle + spread * (float)(rng_unit(&b->r) * 2 - 1);
    type_from_f32(type, values, w->data, count);
    free(values);
    return graph_weight(b->g, w->name, type, s);
}

static node random_matrix(random_graph *b, uint32_t rows, uint32_t columns)
{
    static const tensor_type types[] = {TYPE_F16, TYPE_Q8_0, TYPE_Q4_0};
    tensor_type type = columns % 32 ? TYPE_F16 : types[random_below(b, 3)];
    return random_weight_of(b, type, shape2(rows, columns), 0, 1.5f / sqrtf((float)columns));
}

/* What keeps values moderate, whatever comes in. */
static node random_unary(random_graph *b, node x)
{
    static const unary_kind kinds[] = {UNARY_COPY, UNARY_NEG,  UNARY_ABS, UNARY_TANH, UNARY_SIGMOID, UNARY_RELU,
                                       UNARY_SILU, UNARY_GELU, UNARY_SIN, UNARY_COS,  UNARY_GELU_ERF};
    switch (random_below(b, 6)) {
    case 0: return graph_scale(b->g, x, 0.5f, 0.25f);
    case 1: return graph_softcap(b->g, x, 3);
    case 2: return graph_unary(b->g, UNARY_EXP, graph_unary(b->g, UNARY_TANH, x));
    case 3: {
        node positive = graph_scale(b->g, graph_unary(b->g, UNARY_SQUARE, graph_unary(b->g, UNARY_TANH, x)), 1, 0.5f);
        return graph_unary(b->g, random_below(b, 2) ? UNARY_SQRT : UNARY_LOG, positive);
    }
    default: return graph_unary(b->g, kinds[random_below(b, sizeof kinds / sizeof *kinds)], x);
    }
}

/* Another of the pool with the same shape, perhaps the same one. */
static node random_like(random_graph *b, node x)
{
    node found = x;
    for (uint32_t i = 0, seen = 0; i < b->pool_count; i++)
        if (random_width(b, b->pool[i]) == random_width(b, x) && random_below(b, ++seen) == 0)
            found = b->pool[i];
    return found;
}

static node random_binary(random_graph *b, node x)
{
    static const binary_kind kinds[] = {BINARY_ADD, BINARY_ADD, BINARY_SUB, BINARY_MAX, BINARY_MIN};
    binary_kind kind = kinds[random_below(b, 5)];
    uint32_t width = random_width(b, x);
    switch (random_below(b, 6)) {
    case 0: return graph_binary(b->g, kind, x, graph_reduce(b->g, (reduce_kind)random_below(b, 3), x));
    case 1: return graph_binary(b->g, kind, x, random_weight_of(b, TYPE_F32, shape1(width), 0, 1));
    case 2: return graph_binary(b->g, BINARY_DIV, x, random_weight_of(b, TYPE_F16, shape1(width), 1.5f, 0.5f));
    case 3: { /* seen as heads, which all get the same */
        if (width % 2)
            return graph_binary(b->g, kind, x, x);
        node heads = graph_reshape(b->g, x, shape3(b->rows, 2, width / 2));
        node sum = graph_binary(b->g, kind, heads, random_weight_of(b, TYPE_F32, shape1(width / 2), 0, 1));
        return graph_reshape(b->g, sum, shape2(b->rows, width));
    }
    default: return graph_binary(b->g, kind, x, random_like(b, x));
    }
}

static uint32_t random_new_width(random_graph *b)
{
    static const uint32_t widths[] = {6, 16, 32, 32, 64};
    return widths[random_below(b, 5)];
}

static node random_product(random_graph *b, node x, uint32_t width)
{
    return graph_matmul(b->g, x, random_matrix(b, width, random_width(b, x)));
}

static node random_norm(random_graph *b, node x)
{
    shape row = shape1(random_width(b, x));
    if (random_below(b, 4) == 0)
        return graph_layernorm(b->g, x, random_weight_of(b, TYPE_F32, row, 1, 0.3f),
                               random_below(b, 2) ? random_weight_of(b, TYPE_F32, row, 0, 0.3f) : 0, 1e-2f);
    return graph_rmsnorm(b->g, x, random_weight_of(b, TYPE_F32, row, 1, 0.3f), 1e-5f, random_below(b, 2) ? 0 : 0.5f);
}

/* x + norm(f(x)). */
static node random_normed_sum(random_graph *b, node x)
{
    node y = random_norm(b, random_below(b, 2) ? random_product(b, x, random_width(b, x)) : x);
    return graph_binary(b->g, BINARY_ADD, random_below(b, 2) ? x : y, random_below(b, 2) ? y : random_like(b, x));
}

/* Some way from a product to something bigger: biases, functions, residuals. */
static node random_after(random_graph *b, node y)
{
    for (uint32_t i = random_below(b, 6); i > 0; i--) {
        if (random_below(b, 8) == 0)
            random_keep(b, y); /* it is also an output */
        y = random_below(b, 2) ? random_unary(b, y) : random_binary(b, y);
    }
    return y;
}

static node random_gate(random_graph *b, node x)
{
    uint32_t width = random_new_width(b);
    if (random_below(b, 2))
        x = random_norm(b, x);
    node gate = random_product(b, x, width), up = random_product(b, x, width), f = gate;
    if (random_below(b, 6) == 0)
        random_keep(b, random_below(b, 2) ? gate : up);
    if (random_below(b, 4))
        f = random_below(b, 5) ? graph_unary(b->g, random_below(b, 2) ? UNARY_SILU : UNARY_TANH, gate)
                               : graph_softcap(b->g, gate, 2);
    bool turned = random_below(b, 2);
    return graph_binary(b->g, BINARY_MUL, turned ? up : f, turned ? f : up);
}

static void random_output(random_graph *b, node n)
{
    char name[16];
    snprintf(name, sizeof name, "o%u", b->output_count);
    if (!n || graph_at(b->g, n)->name)
        return;
    graph_output(b->g, name, n);
    b->output_count++;
}

/* Experts are chosen by numbers that are the same everywhere. */
static node random_experts(random_graph *b, node x)
{
    node scores = graph_find(b->g, "x");
    uint32_t count = random_width(b, scores), width = random_width(b, x), inner = random_below(b, 2) ? 6 : 32;
    node routes =
        graph_route(b->g, scores, 1 + random_below(b, 3), random_below(b, 2) ? ROUTE_OF_ALL : ROUTE_OF_CHOSEN);
    node z = random_below(b, 2) ? random_norm(b, x) : x, y[2];
    bool biased = random_below(b, 2);
    for (int i = 0; i < 2; i++) {
        node bias = biased ? random_weight_of(b, TYPE_F32, shape2(count, inner), 0, 1) : 0;
        y[i] = graph_experts(b->g, z, random_matrix(b, count * inner, width), bias, count, routes);
    }
    if (random_below(b, 6) == 0)
        random_output(b, y[random_below(b, 2)]);
    z = random_below(b, 3) ? graph_binary(b->g, BINARY_MUL, graph_unary(b->g, UNARY_SILU, y[0]), y[1])
                           : graph_binary(b->g, BINARY_CLAMPED_GLU, y[0], y[1]);
    node bias = biased ? random_weight_of(b, TYPE_F32, shape2(count, width), 0, 1) : 0;
    z = graph_experts(b->g, z, random_matrix(b, count * width, inner), bias, count, routes);
    if (random_below(b, 6) == 0)
        random_output(b, z);
    z = graph_mix(b->g, z, routes);
    return random_below(b, 2) ? z : graph_binary(b->g, BINARY_ADD, random_below(b, 2) ? x : z, z);
}

static node random_rope(random_graph *b, node x, uint32_t heads, node position)
{
    uint32_t size = random_width(b, x) / heads;
    rope_spec spec = {.rotated = random_below(b, 3) || size < 4 ? size : size / 4 * 2,
                      .interleaved = random_below(b, 2),
                      .base = 10000,
                      .magnitude = random_below(b, 2) ? 1.25f : 0};
    if (random_below(b, 2))
        spec.factors = random_weight_of(b, TYPE_F32, shape1(spec.rotated / 2), 2, 1);
    return graph_rope(b->g, graph_reshape(b->g, x, shape3(b->rows, heads, size)), position, spec);
}

/* Projections, rotated or not, into states; attention over them. */
/* Heads of a product, half of them normed. */
static node random_heads(random_graph *b, node x, uint32_t heads)
{
    uint32_t width = random_width(b, x);
    if (random_below(b, 2))
        return x;
    node normed = random_norm(b, graph_reshape(b->g, x, shape3(b->rows, heads, width / heads)));
    return graph_reshape(b->g, normed, shape2(b->rows, width));
}

static node random_attention(random_graph *b, node x)
{
    static const uint32_t sizes[] = {2, 6, 8, 16};
    uint32_t size = sizes[random_below(b, 4)], kv = 1 + random_below(b, 2), heads = kv * (1 + random_below(b, 2));
    node position = random_below(b, 4) ? b->at : b->row, stored[2];
    if (random_below(b, 2))
        x = random_norm(b, x);
    node q = random_product(b, x, heads * size);
    q = random_heads(b, q, heads);
    q = random_rope(b, random_below(b, 2) ? random_after(b, q) : q, heads, random_below(b, 6) ? position : b->at);
    char name[16];
    dtype type = random_below(b, 2) ? DTYPE_F16 : DTYPE_F32;
    for (int i = 0; i < 2; i++) {
        node rows = random_product(b, x, kv * size);
        rows = random_heads(b, random_below(b, 3) ? rows : random_after(b, rows), kv);
        rows = random_below(b, 2) ? random_rope(b, rows, kv, random_below(b, 6) ? position : b->row)
                                  : graph_reshape(b->g, rows, shape3(b->rows, kv, size));
        snprintf(name, sizeof name, "s%u", b->state_count++);
        node state = graph_state(b->g, name, type, shape3(RANDOM_CAPACITY, kv, size));
        stored[i] = graph_store(b->g, state, rows, position);
        if (random_below(b, 5) == 0) /* a second time, elsewhere */
            stored[i] = graph_store(
                b->g, state, graph_reshape(b->g, random_product(b, x, kv * size), shape3(b->rows, kv, size)), b->row);
    }
    attention_spec spec = {.scale = 1 / sqrtf((float)size), .window = random_below(b, 3) ? 0 : 5};
    return graph_attention(b->g, graph_reshape(b->g, q, shape3(b->rows, heads, size)), stored[0], stored[1], position,
                           spec);
}

/* States that go from row to row: a convolution, and a delta rule over what it makes. */
static node random_recurrence(random_graph *b, node x)
{
    char name[16];
    delta_spec d = {.key_heads = 1 + random_below(b, 2), .key_size = 4, .value_size = 6, .tiled = random_below(b, 2)};
    d.heads = d.key_heads * (1 + random_below(b, 2));
    uint32_t columns = 2 * d.key_heads * d.key_size + d.heads * d.value_size, width = 2 + random_below(b, 3);
    node last = random_below(b, 2) ? b->row : 0;
    snprintf(name, sizeof name, "s%u", b->state_count++);
    node y =
        graph_conv(b->g, random_product(b, x, columns), random_weight_of(b, TYPE_F32, shape2(columns, width), 0, 1),
                   graph_state(b->g, name, DTYPE_F32, shape2(width - 1, columns)), b->at, last);
    node alpha = random_product(b, x, d.heads), beta = random_product(b, x, d.heads);
    snprintf(name, sizeof name, "s%u", b->state_count++);
    node state = graph_state(b->g, name, DTYPE_F32, shape3(d.heads, d.key_size, d.value_size));
    return graph_delta(b->g, y, alpha, beta, random_weight_of(b, TYPE_F32, shape1(d.heads), -1, 0.5f), state, b->at,
                       last, d);
}

/* Heads with a matrix each; rows joined into a state whose keys are also its values. */
static node random_latent(random_graph *b, node x)
{
    uint32_t heads = 1 + random_below(b, 3), rank = 6, turned = 4;
    char name[16];
    node q = graph_reshape(b->g, random_product(b, x, heads * 8), shape3(b->rows, heads, 8));
    node flat = graph_heads(b->g, random_matrix(b, heads * rank, 4), graph_slice(b->g, q, 0, 4));
    node rest = graph_reshape(b->g, graph_slice(b->g, q, 4, turned), shape2(b->rows, heads * turned));
    q = graph_join(b->g, flat, random_rope(b, rest, heads, b->at));
    node both = random_product(b, x, rank + turned);
    node key =
        graph_join(b->g, random_norm(b, graph_slice(b->g, both, 0, rank)), graph_slice(b->g, both, rank, turned));
    snprintf(name, sizeof name, "s%u", b->state_count++);
    node state = graph_state(b->g, name, DTYPE_F32, shape3(RANDOM_CAPACITY, 1, rank + turned));
    node keys = graph_store(b->g, state, graph_reshape(b->g, key, shape3(b->rows, 1, rank + turned)), b->at);
    attention_spec spec = {.scale = 0.3f, .value_size = rank};
    return graph_attention(b->g, graph_reshape(b->g, q, shape3(b->rows, heads, rank + turned)), keys, keys, b->at,
                           spec);
}

/* The same among the rows of this run, with nothing stored. */
static node random_attention_whole(random_graph *b, node x)
{
    static const uint32_t sizes[] = {2, 6, 8, 16};
    uint32_t size = sizes[random_below(b, 4)], kv = 1 + random_below(b, 2), heads = kv * (1 + random_below(b, 2));
    node made[3];
    for (int i = 0; i < 3; i++) {
        made[i] = random_product(b, x, (i ? kv : heads) * size);
        made[i] = i < 2 && random_below(b, 2) ? random_rope(b, made[i], i ? kv : heads, b->at)
                                              : graph_reshape(b->g, made[i], shape3(b->rows, i ? kv : heads, size));
    }
    attention_spec spec = {.whole = true,
                           .scale = 1 / sqrtf((float)size),
                           .window = random_below(b, 3) ? 0 : 3,
                           .causal = random_below(b, 2)};
    return graph_attention(b->g, made[0], made[1], made[2], b->row, spec);
}

static void random_step(random_graph *b)
{
    node x = random_any(b);
    uint32_t width = random_width(b, x);
    switch (random_below(b, 19)) {
    case 0: random_keep(b, random_unary(b, x)); break;
    case 1: random_keep(b, random_binary(b, x)); break;
    case 2: random_keep(b, random_norm(b, x)); break;
    case 3: random_keep(b, graph_softmax(b->g, x, 0.5f)); break;
    case 4: random_keep(b, random_gate(b, x)); break;
    case 5: random_keep(b, random_attention(b, x)); break;
    case 6: random_keep(b, graph_gather(b->g, random_matrix(b, RANDOM_VOCAB, width), b->ids)); break;
    case 7:
        if (width > 4)
            random_keep(b, graph_slice(b->g, x, random_below(b, width - 4), 4));
        break;
    case 8: random_output(b, graph_pick(b->g, x, b->row)); break;
    case 9: /* x * W + x: the residual of a block of its own */
        random_keep(b, graph_binary(b->g, BINARY_ADD, random_product(b, x, width), x));
        break;
    case 10:
        graph_assign(b->g, random_below(b, 2) ? b->at : b->row, b->row, (assign_spec){0});
        if (random_below(b, 2))
            graph_assign(b->g, b->ids, b->at, (assign_spec){.index = b->row});
        break;
    case 11: random_keep(b, random_experts(b, x)); break;
    case 12: random_keep(b, random_recurrence(b, x)); break;
    case 13: random_keep(b, random_latent(b, x)); break;
    case 14: random_keep(b, random_attention_whole(b, x)); break;
    case 15: random_keep(b, random_normed_sum(b, x)); break;
    default: random_keep(b, random_after(b, random_product(b, x, random_new_width(b)))); break;
    }
}

/* Inputs: x, floats; at and row, positions up to CAPACITY - rows; ids below VOCAB; and if there is one row,
 * sampling and history of a choice. Outputs: o0, o1 ... */
static random_graph random_graph_new(uint64_t seed, uint32_t steps)
{
    static const uint32_t rows[] = {1, 1, 2, 3, 5, 17};
    random_graph b = {.g = graph_new(), .r = rng_seed(seed)};
    b.rows = rows[random_below(&b, 6)];
    b.at = graph_input(b.g, "at", DTYPE_U32, shape1(1));
    b.row = graph_input(b.g, "row", DTYPE_U32, shape1(1));
    b.ids = graph_input(b.g, "ids", DTYPE_U32, shape1(b.rows));
    node x = random_keep(&b, graph_input(b.g, "x", DTYPE_F32, shape2(b.rows, random_new_width(&b))));
    /* of numbers that are the same everywhere, so that the order is, too */
    random_output(&b, graph_reduce(b.g, REDUCE_ARGMAX, x));
    random_output(&b, graph_topk(b.g, x, 3));
    for (uint32_t i = 0; i < steps && b.weight_count + 32 < RANDOM_MAX_WEIGHTS; i++)
        random_step(&b);
    for (uint32_t i = 0; i < b.pool_count; i++) {
        bool is_read = false;
        for (node n = 1; n <= graph_count(b.g); n++)
            for (uint32_t k = 0; k < graph_at(b.g, n)->operand_count; k++)
                is_read = is_read || graph_at(b.g, n)->operands[k] == b.pool[i];
        if (!is_read || random_below(&b, 6) == 0)
            random_output(&b, b.pool[i]);
    }
    if (b.rows == 1) {
        node settings = graph_input(b.g, "sampling", DTYPE_U32, shape1(SAMPLE_WORDS));
        node history = graph_input(b.g, "history", DTYPE_U32, shape1(8));
        graph_sample(b.g, b.ids, x, settings, b.at, history);
        random_output(&b, graph_scale(b.g, random_product(&b, random_any(&b), 6), 2, 0));
    }
    return b;
}

static void random_graph_free(random_graph *b)
{
    for (uint32_t i = 0; i < b->weight_count; i++)
        free(b->weights[i].data);
    graph_free(b->g);
}

#endif
