/* graph_unused: nodes that nothing depends on any more, because what read them was replaced by other operators. */
#include "base/str.h"
#include "graph/graph_internal.h"

#include <stdlib.h>

/* Is the node there for what it changes, or because someone reads it by its name? */
static bool is_wanted(const graph_node *n)
{
    return n->name || n->op == OP_STORE || n->op == OP_ASSIGN || n->op == OP_SAMPLE || n->op == OP_CONV ||
           n->op == OP_DELTA;
}

void graph_find_unused(graph *g)
{
    uint32_t count = graph_count(g);
    bool *used = mem_alloc((count + 1) * sizeof *used);
    for (node i = count; i > 0; i--) { /* operands come before what reads them */
        const graph_node *n = graph_at(g, i);
        used[i] |= is_wanted(n);
        for (uint32_t k = 0; used[i] && k < n->operand_count; k++)
            used[n->operands[k]] = true;
    }
    for (node i = 1; i <= count; i++)
        ((graph_node *)graph_at(g, i))->unused = !used[i];
    free(used);
}
