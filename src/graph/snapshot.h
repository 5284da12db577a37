/* snapshot: the states of a run that cannot be cut back to an earlier row (those of conv and delta), put aside on the GPU
 * and brought back later. */
#ifndef SOLO_GRAPH_SNAPSHOT_H
#define SOLO_GRAPH_SNAPSHOT_H

#include "graph/run.h"

typedef struct graph_snapshot graph_snapshot;

/* Is the node such a state? */
bool graph_is_recurrent(const graph *g, node state);
/* Of the run's first program. NULL if there are no such states. The run must outlive it. */
graph_snapshot *graph_snapshot_new(gpu *g, const graph_run *r);
void graph_snapshot_free(graph_snapshot *s);
/* Both in the order of the runs that are submitted. */
void graph_snapshot_keep(graph_snapshot *s);
void graph_snapshot_bring_back(graph_snapshot *s);

#endif
