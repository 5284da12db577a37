/* cpu: runs a graph on the CPU, slowly, with sums in double precision: the reference that all other levels are compared
 * with. */
#ifndef SOLO_GRAPH_CPU_H
#define SOLO_GRAPH_CPU_H

#include "graph/graph.h"

typedef struct cpu_run cpu_run;

/* The weights' data must outlive the run. States start as zeros. */
cpu_run *cpu_run_new(const graph *g, graph_weight_source weight, void *user, err *e);
void cpu_run_free(cpu_run *r);

/* An input's, state's or output's values: floats or whole numbers by its dtype
 * (F16 states are floats rounded to that). NULL if there is none of that name. */
float *cpu_floats(cpu_run *r, const char *name);
uint32_t *cpu_words(cpu_run *r, const char *name);

/* Every node once. False if an index leaves its tensor. */
bool cpu_run_once(cpu_run *r, err *e);

#endif
