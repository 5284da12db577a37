/* graph: the public API's graph, for its runs. */
#ifndef SOLO_API_GRAPH_H
#define SOLO_API_GRAPH_H

#include "api/internal.h"
#include "graph/graph.h"
#include "model/pt2.h"

typedef struct api_weight {
    char *name;
    const void *data; /* the caller's */
} api_weight;

struct solo_graph {
    graph *g;
    api_weight *weights;
    uint32_t count;
    /* Of PyTorch: the graph is the program's. */
    pt2 *file;
    aten_program *program;
};

#endif
