/* cpu_internal: what cpu.c, cpu_attention.c and cpu_experts.c share. */
#ifndef SOLO_GRAPH_CPU_INTERNAL_H
#define SOLO_GRAPH_CPU_INTERNAL_H

#include "graph/cpu.h"

/* The places of the largest, by repeatedly taking the largest element not yet taken. */
void cpu_topk_row(const float *x, uint32_t length, uint32_t *out, uint32_t count);
/* One row of scores. */
void cpu_route(const graph_node *n, const float *scores, uint32_t count, float *out);
/* bias: or NULL. */
void cpu_experts(const graph *g, const graph_node *n, const void *weights, const float *x, const float *routes,
                 const float *bias, float *out);
void cpu_mix(const graph_node *n, uint32_t slots, const float *x, const float *routes, float *out);
/* Attention among the rows of a text; a sum of its rows with weights. */
void cpu_attention_whole(const graph_node *n, const graph_node *q_of, const graph_node *k_of, const float *q,
                         const float *k, const float *v, uint32_t last, float *out);
void cpu_pool(const graph_node *n, uint32_t rows, const float *x, const float *weights, float *out);

#endif
