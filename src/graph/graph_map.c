/* graph_map: functions and sums of products of tensors that are read through strides. */
#include "graph/graph_internal.h"

static uint64_t count_of(const uint32_t *dims)
{
    uint64_t count = 1;
    for (int d = 0; d < GRAPH_VIEW_DIMS && count <= UINT32_MAX; d++)
        count *= dims[d];
    return count;
}

/* Does every element of the result, and every step further, read an element that the operand has? Places are modulo
 * 2^32: a stride of 2^31 or more goes backwards. */
static bool stays_inside(const graph *g, const graph_view *v, const uint32_t *dims, uint32_t steps, uint32_t stride)
{
    int64_t low = (int32_t)v->offset, high = low;
    for (int d = 0; d <= GRAPH_VIEW_DIMS; d++) {
        bool last = d == GRAPH_VIEW_DIMS;
        int64_t far = ((last ? steps : dims[d]) - (int64_t)1) * (int32_t)(last ? stride : v->strides[d]);
        *(far < 0 ? &low : &high) += far;
    }
    return low >= 0 && high < (int64_t)shape_count(graph_at(g, v->of)->s);
}

static bool is_number(const graph *g, node n)
{
    return graph_at(g, n)->type == DTYPE_F32 || graph_at(g, n)->type == DTYPE_U32;
}

/* How many operands a function has. */
static bool has_operands(const map_spec *m)
{
    uint32_t least = m->kind == MAP_WHERE ? 3 : m->kind < MAP_ADD || m->kind == MAP_PLACE ? 1 : 2;
    return m->view_count >= least && m->view_count <= (m->kind == MAP_PLACE ? 2 : least);
}

static bool is_inside(const graph *g, const map_spec *m)
{
    for (uint32_t i = 0; i < m->view_count; i++) {
        uint32_t taken = m->kind == MAP_TAKE && i == 0 ? m->take_count : 1;
        /* What lies outside of a box reads elsewhere; the CPU looks at each place. */
        if (!is_number(g, m->views[i].of) ||
            (m->kind != MAP_PLACE && !stays_inside(g, &m->views[i], m->dims, taken, m->take_stride)))
            return false;
    }
    return true;
}

node graph_map(graph *g, const map_spec *spec, shape s)
{
    graph_node n = {.op = OP_MAP, .type = spec->type, .s = s, .as.map = *spec};
    if (!has_operands(spec))
        return graph_add_node(g, n, "another number of operands is needed");
    const graph_view *v = spec->views;
    if (!graph_set_operands(g, &n, spec->view_count, v[0].of, v[1].of, v[2].of))
        return 0;
    bool fits = count_of(spec->dims) == shape_count(s) && (spec->kind != MAP_TAKE || spec->take_count > 0);
    return graph_add_node(g, n,
                          !fits                 ? "the dimensions are not those of the result"
                          : !is_inside(g, spec) ? "strides lead out of an operand"
                                                : NULL);
}

node graph_contract(graph *g, const contract_spec *spec, shape s)
{
    graph_node n = {.op = OP_CONTRACT, .s = s, .as.contract = *spec};
    if (!graph_set_operands(g, &n, 2, spec->x.of, spec->y.of))
        return 0;
    bool inside = stays_inside(g, &spec->x, spec->dims, spec->k, spec->x_stride) &&
                  stays_inside(g, &spec->y, spec->dims, spec->k, spec->y_stride) &&
                  graph_at(g, spec->x.of)->type == DTYPE_F32 && graph_at(g, spec->y.of)->type == DTYPE_F32;
    return graph_add_node(g, n,
                          spec->k == 0 || count_of(spec->dims) != shape_count(s)
                              ? "the dimensions are not those of the result"
                          : !inside ? "strides lead out of an operand"
                                    : NULL);
}
