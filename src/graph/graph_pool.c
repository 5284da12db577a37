/* graph_pool: the rows of a text as one, by weights that the caller gives. */
#include "graph/graph_internal.h"

node graph_pool(graph *g, node x, node weights)
{
    enum { LAST = GRAPH_MAX_DIMS - 1 };
    graph_node n = {.op = OP_POOL};
    if (!graph_set_operands(g, &n, 2, x, weights))
        return 0;
    shape s = graph_at(g, x)->s;
    if (!shape_same(s, shape2(s.dims[LAST - 1], s.dims[LAST])) ||
        !shape_same(graph_at(g, weights)->s, shape2(1, s.dims[LAST - 1])))
        return graph_wrong_shapes(g, &n, "rows, and a weight for each, are needed"), 0;
    n.s = shape2(1, s.dims[LAST]);
    return graph_add(g, n);
}
