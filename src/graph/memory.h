/* memory: the GPU buffers of a set of plans.
 *
 * Weights lie in a few buffers, each as large as a device binds at once; states in others; activations in one.
 * A tensor with a name (input, output, weight, state) is the same in all plans and keeps its place; the other
 * activations are temporary within a plan, and reuse the space of those that are no longer needed.             */
#ifndef SOLO_GRAPH_MEMORY_H
#define SOLO_GRAPH_MEMORY_H

#include "gpu/gpu.h"
#include "graph/plan.h"

typedef struct memory memory;

enum { MEMORY_MAX_PIECES = 16 };

/* A matrix, whole or, if it is too large for that, in pieces of some rows each. */
typedef struct memory_piece {
    uint32_t arena, at; /* which buffer of weights; the word it begins at */
    uint32_t first, rows;
} memory_piece;
typedef struct memory_matrix {
    uint32_t piece_count;
    memory_piece pieces[MEMORY_MAX_PIECES];
} memory_matrix;

/* Finds places and makes buffers, all zeros. The plans must outlive the memory. */
memory *memory_new(gpu *g, plan *const *plans, uint32_t count, err *e);
void memory_free(memory *m);
/* Uploads the weights of all plans, each once, in small batches, showing progress. */
bool memory_upload(memory *m, graph_weight_source source, void *user, err *e);

/* Bytes of all buffers together. */
uint64_t memory_bytes(const memory *m);

gpu_buffer *memory_activations(const memory *m);
gpu_buffer *memory_weights(const memory *m, uint32_t arena);
gpu_buffer *memory_states(const memory *m, uint32_t arena);
void memory_clear_states(const memory *m); /* to zeros */
/* Clears to zeros every activation that the plan's steps write. */
void memory_clear_made(const memory *m, uint32_t which_plan);

/* The word at which a node's elements begin: among the activations, or for a state in its arena. */
uint32_t memory_at(const memory *m, uint32_t which_plan, node n);
uint32_t memory_state_arena(const memory *m, uint32_t which_plan, node n);
/* The word of the f32 copy of a row that is stored in a state, for readers in the same run; 0: there is no copy. */
uint32_t memory_row_at(const memory *m, uint32_t which_plan, node store);
/* The word of what the workgroups of a product make that share k (plan_k_shares). */
uint32_t memory_sums_at(const memory *m, uint32_t which_plan, node product);
uint32_t memory_scratch_at(const memory *m, uint32_t which_plan); /* for data between a step's own dispatches */
const memory_matrix *memory_matrix_of(const memory *m, uint32_t which_plan, node weight);

/* An input's or output's place among the activations, by name; false if there is none. */
bool memory_find(const memory *m, const char *name, uint32_t *word, uint64_t *words);

#endif
