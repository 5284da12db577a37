/* memory: where everything a set of plans works on lies on a GPU.
 *
 * Weights lie in a few large buffers, as large as a device binds at once; states in
 * others; activations in one. What has a name (inputs, outputs, weights, states) is
 * the same in all plans and keeps its place; the rest comes and goes within a plan,
 * and takes the place of what is not needed any more.                             */
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

/* Finds places and makes buffers, all of zeros. The plans must stay. */
memory *memory_new(gpu *g, plan *const *plans, uint32_t count, err *e);
void memory_free(memory *m);
/* Puts in the weights of all plans, each once, a little at a time, showing progress. */
bool memory_upload(memory *m, graph_weight_source source, void *user, err *e);

/* What the plans' most hungry one needs, in bytes, and all of it together. */
uint64_t memory_bytes(const memory *m);

gpu_buffer *memory_activations(const memory *m);
gpu_buffer *memory_weights(const memory *m, uint32_t arena);
gpu_buffer *memory_states(const memory *m, uint32_t arena);
void memory_clear_states(const memory *m); /* zeros again */
/* Zeros again wherever a plan's steps leave floats. */
void memory_clear_made(const memory *m, uint32_t which_plan);

/* The word a node's elements begin at: among the activations, or for states in theirs. */
uint32_t memory_at(const memory *m, uint32_t which_plan, node n);
uint32_t memory_state_arena(const memory *m, uint32_t which_plan, node n);
/* A row that goes to a state, and that those who read it in the same run have from here: the word; 0: there is none. */
uint32_t memory_row_at(const memory *m, uint32_t which_plan, node store);
uint32_t memory_scratch_at(const memory *m, uint32_t which_plan); /* for what a step leaves between its dispatches */
const memory_matrix *memory_matrix_of(const memory *m, uint32_t which_plan, node weight);

/* An input's or output's place among the activations, by name; false if there is none. */
bool memory_find(const memory *m, const char *name, uint32_t *word, uint64_t *words);

#endif
