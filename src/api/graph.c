/* The public API's graphs: building one. */
#include "api/graph.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)SOLO_F16 == (int)DTYPE_F16 && (int)SOLO_GELU_ERF == (int)UNARY_GELU_ERF &&
                   (int)SOLO_MIN == (int)BINARY_MIN && (int)SOLO_ARGMAX == (int)REDUCE_ARGMAX &&
                   (int)SOLO_WEIGHT_MXFP4 == (int)TYPE_MXFP4,
               "the same order");

solo_graph *solo_graph_new(void)
{
    solo_graph *g = mem_alloc(sizeof *g);
    g->g = graph_new();
    return g;
}

void solo_graph_free(solo_graph *g)
{
    if (!g)
        return;
    if (!g->program)
        graph_free(g->g);
    else if (g->file)
        pt2_free(g->file);
    else
        aten_program_free(g->program);
    while (g->count)
        free(g->weights[--g->count].name);
    free(g->weights);
    free(g);
}

/* Unused dimensions come after the last in the public API, and before the first in graph.h. */
static shape shape_of(solo_shape s)
{
    const uint32_t *d = s.dims;
    return d[3]   ? shape4(d[0], d[1], d[2], d[3])
           : d[2] ? shape3(d[0], d[1], d[2])
           : d[1] ? shape2(d[0], d[1])
                  : shape1(d[0]);
}

/* A graph may be NULL (solo.h): then nothing is known or named in it, and every node is 0. */

/* Is the number that of a member of its enum, which ends with `last`? */
static bool is_known(solo_graph *g, const char *what, unsigned kind, unsigned last)
{
    return g && (kind <= last || graph_refuse(g->g, what, kind));
}

static bool is_named(solo_graph *g, const char *what, const char *name)
{
    return g && (name || graph_refuse_unnamed(g->g, what));
}

solo_node solo_graph_input(solo_graph *g, const char *name, solo_type type, solo_shape s)
{
    if (!is_named(g, "an input", name) || !is_known(g, "type of inputs", type, SOLO_U32))
        return 0;
    return graph_input(g->g, name, (dtype)type, shape_of(s));
}

solo_node solo_graph_weight(solo_graph *g, const char *name, solo_weight_type type, solo_shape s, const void *data)
{
    if (!is_named(g, "a weight", name))
        return 0;
    g->weights = mem_grow(g->weights, (g->count + 1) * sizeof *g->weights);
    g->weights[g->count++] = (api_weight){mem_dup(name), data};
    return graph_weight(g->g, name, (tensor_type)type, shape_of(s));
}

solo_node solo_graph_state(solo_graph *g, const char *name, solo_type type, solo_shape s)
{
    if (!is_named(g, "a state", name) || !is_known(g, "type of states", type, SOLO_F16))
        return 0;
    return graph_state(g->g, name, (dtype)type, shape_of(s));
}

void solo_graph_output(solo_graph *g, const char *name, solo_node n)
{
    if (is_named(g, "an output", name))
        graph_output(g->g, name, n);
}

solo_node solo_graph_unary(solo_graph *g, solo_unary kind, solo_node x)
{
    if (!is_known(g, "unary function", kind, SOLO_GELU_ERF))
        return 0;
    return graph_unary(g->g, (unary_kind)kind, x);
}

solo_node solo_graph_scale(solo_graph *g, solo_node x, float factor, float added)
{
    return g ? graph_scale(g->g, x, factor, added) : 0;
}

solo_node solo_graph_binary(solo_graph *g, solo_binary kind, solo_node a, solo_node b)
{
    if (!is_known(g, "binary function", kind, SOLO_MIN))
        return 0;
    return graph_binary(g->g, (binary_kind)kind, a, b);
}

solo_node solo_graph_reduce(solo_graph *g, solo_reduce kind, solo_node x)
{
    if (!is_known(g, "reduction", kind, SOLO_ARGMAX))
        return 0;
    return graph_reduce(g->g, (reduce_kind)kind, x);
}

solo_node solo_graph_softmax(solo_graph *g, solo_node x, float scale)
{
    return g ? graph_softmax(g->g, x, scale) : 0;
}

solo_node solo_graph_rmsnorm(solo_graph *g, solo_node x, solo_node weight, float epsilon)
{
    return g ? graph_rmsnorm(g->g, x, weight, epsilon, 0) : 0;
}

solo_node solo_graph_layernorm(solo_graph *g, solo_node x, solo_node weight, solo_node bias, float epsilon)
{
    return g ? graph_layernorm(g->g, x, weight, bias, epsilon) : 0;
}

solo_node solo_graph_matmul(solo_graph *g, solo_node x, solo_node weight)
{
    return g ? graph_matmul(g->g, x, weight) : 0;
}

solo_node solo_graph_gather(solo_graph *g, solo_node weight, solo_node rows)
{
    return g ? graph_gather(g->g, weight, rows) : 0;
}

solo_node solo_graph_pick(solo_graph *g, solo_node x, solo_node rows)
{
    return g ? graph_pick(g->g, x, rows) : 0;
}

solo_node solo_graph_slice(solo_graph *g, solo_node x, uint32_t start, uint32_t count)
{
    return g ? graph_slice(g->g, x, start, count) : 0;
}

solo_node solo_graph_reshape(solo_graph *g, solo_node x, solo_shape s)
{
    return g ? graph_reshape(g->g, x, shape_of(s)) : 0;
}

solo_node solo_graph_topk(solo_graph *g, solo_node x, uint32_t count)
{
    return g ? graph_topk(g->g, x, count) : 0;
}

solo_node solo_graph_store(solo_graph *g, solo_node state, solo_node x, solo_node position)
{
    return g ? graph_store(g->g, state, x, position) : 0;
}

solo_node solo_graph_rope(solo_graph *g, solo_node x, solo_node position, uint32_t rotated, bool interleaved,
                          float base)
{
    return g ? graph_rope(g->g, x, position, (rope_spec){.rotated = rotated, .interleaved = interleaved, .base = base})
             : 0;
}

solo_node solo_graph_attention(solo_graph *g, solo_node q, solo_node keys, solo_node values, solo_node position,
                               float scale)
{
    return g ? graph_attention(g->g, q, keys, values, position, (attention_spec){.scale = scale}) : 0;
}

solo_node solo_graph_assign(solo_graph *g, solo_node target, solo_node value, uint32_t added)
{
    return g ? graph_assign(g->g, target, value, (assign_spec){.added = added}) : 0;
}
