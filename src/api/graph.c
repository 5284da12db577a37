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

/* Is the number that of a member of its enum, which ends with `last`? */
static bool is_known(solo_graph *g, const char *what, unsigned kind, unsigned last)
{
    return kind <= last || graph_refuse(g->g, what, kind);
}

solo_node solo_graph_input(solo_graph *g, const char *name, solo_type type, solo_shape s)
{
    if (!is_known(g, "type of inputs", type, SOLO_U32))
        return 0;
    return graph_input(g->g, name, (dtype)type, shape_of(s));
}

solo_node solo_graph_weight(solo_graph *g, const char *name, solo_weight_type type, solo_shape s, const void *data)
{
    g->weights = mem_grow(g->weights, (g->count + 1) * sizeof *g->weights);
    g->weights[g->count++] = (api_weight){mem_dup(name), data};
    return graph_weight(g->g, name, (tensor_type)type, shape_of(s));
}

solo_node solo_graph_state(solo_graph *g, const char *name, solo_type type, solo_shape s)
{
    if (!is_known(g, "type of states", type, SOLO_F16))
        return 0;
    return graph_state(g->g, name, (dtype)type, shape_of(s));
}

void solo_graph_output(solo_graph *g, const char *name, solo_node n)
{
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
    return graph_scale(g->g, x, factor, added);
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
    return graph_softmax(g->g, x, scale);
}

solo_node solo_graph_rmsnorm(solo_graph *g, solo_node x, solo_node weight, float epsilon)
{
    return graph_rmsnorm(g->g, x, weight, epsilon, 0);
}

solo_node solo_graph_layernorm(solo_graph *g, solo_node x, solo_node weight, solo_node bias, float epsilon)
{
    return graph_layernorm(g->g, x, weight, bias, epsilon);
}

solo_node solo_graph_matmul(solo_graph *g, solo_node x, solo_node weight)
{
    return graph_matmul(g->g, x, weight);
}

solo_node solo_graph_gather(solo_graph *g, solo_node weight, solo_node rows)
{
    return graph_gather(g->g, weight, rows);
}

solo_node solo_graph_pick(solo_graph *g, solo_node x, solo_node rows)
{
    return graph_pick(g->g, x, rows);
}

solo_node solo_graph_slice(solo_graph *g, solo_node x, uint32_t start, uint32_t count)
{
    return graph_slice(g->g, x, start, count);
}

solo_node solo_graph_reshape(solo_graph *g, solo_node x, solo_shape s)
{
    return graph_reshape(g->g, x, shape_of(s));
}

solo_node solo_graph_topk(solo_graph *g, solo_node x, uint32_t count)
{
    return graph_topk(g->g, x, count);
}

solo_node solo_graph_store(solo_graph *g, solo_node state, solo_node x, solo_node position)
{
    return graph_store(g->g, state, x, position);
}

solo_node solo_graph_rope(solo_graph *g, solo_node x, solo_node position, uint32_t rotated, bool interleaved,
                          float base)
{
    return graph_rope(g->g, x, position, (rope_spec){.rotated = rotated, .interleaved = interleaved, .base = base});
}

solo_node solo_graph_attention(solo_graph *g, solo_node q, solo_node keys, solo_node values, solo_node position,
                               float scale)
{
    return graph_attention(g->g, q, keys, values, position, (attention_spec){.scale = scale});
}

solo_node solo_graph_assign(solo_graph *g, solo_node target, solo_node value, uint32_t added)
{
    return graph_assign(g->g, target, value, (assign_spec){.added = added});
}
