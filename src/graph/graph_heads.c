/* graph_heads: operators that heads of latent attention and a router of groups need. */
#include "graph/graph.h"

#include <string.h>

enum { LAST = GRAPH_MAX_DIMS - 1 };

/* Two operands; do they exist, so that their shapes can be looked at? */
static bool two(const graph *g, graph_node *n, node a, node b)
{
    err unused = {0};
    n->operand_count = 2;
    n->operands[0] = a;
    n->operands[1] = b;
    return graph_ok(g, &unused) && a && b && a <= graph_count(g) && b <= graph_count(g);
}

static bool same_but_last(shape a, shape b)
{
    return memcmp(&a, &b, LAST * sizeof *a.dims) == 0;
}

node graph_heads(graph *g, node weight, node x)
{
    graph_node n = {.op = OP_HEADS};
    if (!two(g, &n, weight, x))
        return graph_add_node(g, n, "operands are missing");
    shape w = graph_at(g, weight)->s, s = graph_at(g, x)->s;
    uint32_t heads = s.dims[2], rows = w.dims[LAST - 1];
    bool fits = graph_at(g, weight)->op == OP_WEIGHT && w.dims[0] == 1 && w.dims[1] == 1 && s.dims[0] == 1 &&
                rows % heads == 0 && w.dims[LAST] == s.dims[LAST];
    n.s = shape3(s.dims[1], heads, rows / heads);
    return graph_add_node(g, n, fits ? NULL : "a matrix for each head, with rows of its length");
}

node graph_join(graph *g, node a, node b)
{
    graph_node n = {.op = OP_JOIN};
    if (!two(g, &n, a, b))
        return graph_add_node(g, n, "operands are missing");
    const graph_node *x = graph_at(g, a), *y = graph_at(g, b);
    bool fits = same_but_last(x->s, y->s) && x->type == DTYPE_F32 && y->type == DTYPE_F32;
    n.s = x->s;
    n.s.dims[LAST] += y->s.dims[LAST];
    return graph_add_node(g, n, fits ? NULL : "all dimensions but the last must be the same");
}

node graph_weigh(graph *g, node x, node places, bool normed, float scale)
{
    graph_node n = {.op = OP_WEIGH, .as.weigh = {normed, scale}};
    if (!two(g, &n, x, places))
        return graph_add_node(g, n, "operands are missing");
    shape s = graph_at(g, x)->s, at = graph_at(g, places)->s;
    bool fits = same_but_last(s, at) && s.dims[0] == 1 && s.dims[1] == 1 && graph_at(g, places)->type == DTYPE_U32 &&
                at.dims[LAST] <= s.dims[LAST];
    n.s = shape2(at.dims[LAST - 1], 2 * at.dims[LAST]);
    return graph_add_node(g, n, fits ? NULL : "rows and places are needed");
}

node graph_topk_of(graph *g, node x, uint32_t count, node groups, uint32_t count_of_groups)
{
    graph_node n = {.op = OP_TOPK, .type = DTYPE_U32, .as.topk_groups = count_of_groups};
    if (!two(g, &n, x, groups))
        return graph_add_node(g, n, "operands are missing");
    n.s = graph_at(g, x)->s;
    shape s = graph_at(g, groups)->s;
    uint32_t length = n.s.dims[LAST], each = count_of_groups ? length / count_of_groups : 0;
    bool fits = each && length % count_of_groups == 0 && same_but_last(n.s, s) && s.dims[LAST] <= count_of_groups &&
                graph_at(g, groups)->type == DTYPE_U32 && count <= each * s.dims[LAST];
    n.s.dims[LAST] = count;
    return graph_add_node(g, n, fits ? NULL : "groups of each row are needed, with enough in them");
}
