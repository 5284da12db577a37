/* graph_experts: the operators of a mixture of experts. */
#include "graph/graph_internal.h"

enum { LAST = GRAPH_MAX_DIMS - 1 };

node graph_route(graph *g, node scores, uint32_t count, route_kind kind)
{
    graph_node n = {.op = OP_ROUTE, .as.route = kind};
    if (!graph_set_operands(g, &n, 1, scores))
        return 0;
    shape s = graph_at(g, scores)->s;
    if (!shape_same(s, shape2(s.dims[LAST - 1], s.dims[LAST])) || count > s.dims[LAST] ||
        count > GRAPH_MAX_EXPERTS_USED)
        return graph_wrong_shapes(g, &n, "rows of scores are needed, and a row has not that many"), 0;
    n.s = shape2(s.dims[LAST - 1], 2 * count);
    return graph_add(g, n);
}

/* Rows that have routes, and how many experts each. */
static bool is_routes(const graph_node *n, uint32_t *rows, uint32_t *slots)
{
    *rows = n->s.dims[LAST - 1];
    *slots = n->s.dims[LAST] / 2;
    return n->op == OP_ROUTE || n->op == OP_WEIGH;
}

node graph_experts(graph *g, node x, node weight, node bias, uint32_t count, node routes)
{
    graph_node n = {.op = OP_EXPERTS, .as.expert_count = count};
    if (!graph_set_operands(g, &n, bias ? 4 : 3, x, weight, routes, bias))
        return 0;
    shape w = graph_at(g, weight)->s, s = graph_at(g, x)->s;
    uint32_t rows, slots;
    if (!is_routes(graph_at(g, routes), &rows, &slots) || graph_at(g, weight)->op != OP_WEIGHT || w.dims[0] != 1 ||
        w.dims[1] != 1 || count == 0 || w.dims[LAST - 1] % count || w.dims[LAST] != s.dims[LAST] ||
        graph_at(g, graph_at(g, routes)->operands[0])->s.dims[LAST] != count ||
        (!shape_same(s, shape2(rows, w.dims[LAST])) && !shape_same(s, shape3(rows, slots, w.dims[LAST]))))
        return graph_wrong_shapes(g, &n, "rows, matrices with rows of their length, and routes are needed"), 0;
    n.s = shape3(rows, slots, w.dims[LAST - 1] / count);
    if (bias && !shape_same(graph_at(g, bias)->s, shape2(count, n.s.dims[LAST])))
        return graph_wrong_shapes(g, &n, "a row of biases for each matrix is needed"), 0;
    return graph_add(g, n);
}

node graph_mix(graph *g, node x, node routes)
{
    graph_node n = {.op = OP_MIX};
    if (!graph_set_operands(g, &n, 2, x, routes))
        return 0;
    shape s = graph_at(g, x)->s;
    uint32_t rows, slots;
    if (!is_routes(graph_at(g, routes), &rows, &slots) || !shape_same(s, shape3(rows, slots, s.dims[LAST])))
        return graph_wrong_shapes(g, &n, "rows for all routes are needed"), 0;
    n.s = shape2(rows, s.dims[LAST]);
    return graph_add(g, n);
}
