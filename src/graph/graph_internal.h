/* graph_internal: what builds a graph node by node (graph.c, graph_experts.c). */
#ifndef SOLO_GRAPH_INTERNAL_H
#define SOLO_GRAPH_INTERNAL_H

#include "graph/graph.h"

bool shape_same(shape a, shape b);
node graph_add(graph *g, graph_node n);
/* Checks that the operands of a new node exist. After an error they are not checked any more: the graph is already
 * invalid. */
bool graph_set_operands(graph *g, graph_node *n, uint32_t count, ...);
bool graph_is_position(const graph *g, node n); /* one integer */
/* Keeps the error; returns false. */
bool graph_wrong_shapes(graph *g, const graph_node *n, const char *why);

#endif
