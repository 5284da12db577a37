/* graph_recurrent: operators whose state goes from row to row: a short convolution, and the gated delta rule. */
#include "graph/graph.h"

#include <string.h>

enum { LAST = GRAPH_MAX_DIMS - 1 };

static bool is_shape(const graph *g, node n, shape s)
{
    return memcmp(&graph_at(g, n)->s, &s, sizeof s) == 0;
}

static bool is_word(const graph *g, node n)
{
    return graph_at(g, n)->type == DTYPE_U32 && is_shape(g, n, shape1(1));
}

/* A position for all rows, or one for each: then they are texts of their own. */
static bool is_position(const graph *g, node n, uint32_t rows, bool *slots)
{
    *slots = graph_at(g, n)->type == DTYPE_U32 && rows > 1 && is_shape(g, n, shape1(rows));
    return *slots || is_word(g, n);
}

static bool is_state(const graph *g, node n, shape s)
{
    return graph_at(g, n)->op == OP_STATE && graph_at(g, n)->type == DTYPE_F32 && is_shape(g, n, s);
}

/* The first so many operands must be there; the last one may be 0, and is then left out. */
static bool operands(const graph *g, graph_node *n, const node *list, uint32_t count)
{
    err unused = {0};
    bool there = graph_ok(g, &unused);
    n->operand_count = count - (list[count - 1] == 0);
    for (uint32_t i = 0; i < n->operand_count; i++) {
        n->operands[i] = list[i];
        there = there && list[i] > 0 && list[i] <= graph_count(g);
    }
    return there;
}

node graph_conv(graph *g, node x, node weight, node state, node position, node last)
{
    graph_node n = {.op = OP_CONV};
    if (!operands(g, &n, (node[]){x, weight, state, position, last}, 5))
        return graph_add_node(g, n, "operands are missing");
    shape s = graph_at(g, x)->s, w = graph_at(g, weight)->s;
    uint32_t rows = s.dims[LAST - 1], columns = s.dims[LAST], width = w.dims[LAST];
    bool slots, fits = is_position(g, position, rows, &slots) && is_shape(g, x, shape2(rows, columns)) &&
                       graph_at(g, weight)->op == OP_WEIGHT && width > 1 &&
                       is_shape(g, weight, shape2(columns, width)) &&
                       is_state(g, state, shape3(slots ? rows : 1, width - 1, columns)) &&
                       (!last || (is_word(g, last) && !slots));
    n.s = s;
    return graph_add_node(g, n, fits ? NULL : "rows, a kernel for each column, and a state for the rows before");
}

node graph_delta(graph *g, node x, node alpha, node beta, node rate, node state, node position, node last,
                 delta_spec spec)
{
    graph_node n = {.op = OP_DELTA, .as.delta = spec};
    if (!operands(g, &n, (node[]){x, alpha, beta, rate, state, position, last}, 7))
        return graph_add_node(g, n, "operands are missing");
    uint32_t rows = graph_at(g, x)->s.dims[LAST - 1], width = spec.heads * spec.value_size;
    bool slots, fits = is_position(g, position, rows, &slots) && spec.key_heads > 0 &&
                       spec.heads % spec.key_heads == 0 &&
                       is_shape(g, x, shape2(rows, 2 * spec.key_heads * spec.key_size + width)) &&
                       is_shape(g, alpha, shape2(rows, spec.heads)) && is_shape(g, beta, shape2(rows, spec.heads)) &&
                       graph_at(g, rate)->op == OP_WEIGHT && is_shape(g, rate, shape1(spec.heads)) &&
                       is_state(g, state, shape4(slots ? rows : 1, spec.heads, spec.key_size, spec.value_size)) &&
                       (!last || (is_word(g, last) && !slots));
    n.s = shape2(rows, width);
    return graph_add_node(g, n, fits ? NULL : "rows of q, k and v, gates for each head, and a state for its matrix");
}
