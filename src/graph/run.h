/* run: a graph on a GPU, a dispatch for each operator (the level `none`).
 *
 * Everything that does not change is made once: weights are uploaded as they are,
 * into a few large buffers; activations lie in one; every operator has its
 * arguments and its bindings. A run is one pass with the dispatches in order.  */
#ifndef SOLO_GRAPH_RUN_H
#define SOLO_GRAPH_RUN_H

#include "gpu/gpu.h"
#include "graph/graph.h"

typedef struct graph_run graph_run;

/* The weights' data are needed only during this call. States start as zeros. */
graph_run *graph_run_new(gpu *g, const graph *what, graph_weight_source source, void *user, err *e);
void graph_run_free(graph_run *r);

/* An input's elements, all of them; what is written holds for the runs that follow. */
bool graph_run_write(graph_run *r, const char *input, const void *elements, err *e);
/* Every operator once. Returns when it is submitted. */
void graph_run_once(graph_run *r);
/* An output's elements, after the runs submitted so far. */
bool graph_run_read(graph_run *r, const char *output, void *elements, err *e);

uint32_t graph_run_dispatches(const graph_run *r); /* in a run */

#endif
