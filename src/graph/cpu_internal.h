/* cpu_internal: what cpu.c, cpu_attention.c, cpu_experts.c, cpu_recurrent.c and cpu_state.c share. */
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

/* Repeatedly takes the largest element not yet taken; of some groups only, if there are any. */
void cpu_topk(const graph_node *n, const graph_node *from, const float *x, const graph_node *groups,
              const uint32_t *group_ids, uint32_t *out);
bool cpu_weigh(const graph_node *n, const graph_node *from, const float *x, const uint32_t *places, float *out, err *e);
void cpu_heads(const graph_node *n, const graph_node *w, const void *weights, const float *x, float *out);
void cpu_join(uint32_t length, const graph_node *second, const float *x, const float *y, float *out);

typedef struct cpu_operand {
    float *f;
    uint32_t *u;
} cpu_operand;
/* `second` is the second operand; the rows are those of so many texts. */
void cpu_conv(const graph_node *n, const graph_node *second, const cpu_operand *operands, uint32_t texts, float *out);
void cpu_delta(const graph_node *n, const graph_node *second, const cpu_operand *operands, uint32_t texts, float *out);
/* A row as a state of that type has it; the tokens of all rows (OP_SAMPLE). */
void cpu_store(dtype type, const float *from, uint64_t width, float *to);
void cpu_sample(const graph *g, const graph_node *n, const cpu_operand *operands);

typedef union cpu_result {
    float *f;
    uint32_t *u;
} cpu_result;
/* A function of one number. */
float cpu_unary(unary_kind kind, float x, float a, float b);
/* values: [node]. False if a place leaves its tensor. */
bool cpu_map(const graph *g, const graph_node *n, const cpu_result *values, cpu_result out, err *e);
void cpu_contract(const graph_node *n, const float *x, const float *y, float *out);

#endif
