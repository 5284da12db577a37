/* cpu_internal: what cpu.c and cpu_experts.c share. */
#ifndef SOLO_GRAPH_CPU_INTERNAL_H
#define SOLO_GRAPH_CPU_INTERNAL_H

#include "graph/cpu.h"

bool cpu_take(const graph_node *n, const graph_node *from, const float *x, const uint32_t *ids, float *out, err *e);
/* own_rows: each chosen matrix has a row of x to itself. */
bool cpu_experts(const graph_node *n, const graph_node *w, const void *weights, const float *x, bool own_rows,
                 const uint32_t *ids, float *out, err *e);
void cpu_mix(const graph_node *n, uint32_t slots, const float *x, const float *weights, float *out);

#endif
