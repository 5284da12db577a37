/* memory_internal: what the files of src/graph/memory*.c share. */
#ifndef SOLO_GRAPH_MEMORY_INTERNAL_H
#define SOLO_GRAPH_MEMORY_INTERNAL_H

#include "graph/memory.h"

enum {
    LAST = GRAPH_MAX_DIMS - 1,
    MAX_ARENAS = 64,
    NO_PLACE = UINT32_MAX,
};

/* A tensor with a name (input, output, weight or state) and its place. */
typedef struct named {
    const char *name; /* the graph's */
    const graph_node *what;
    uint32_t at;    /* word: inputs, outputs; states in their arena; weights as floats */
    uint32_t arena; /* of states */
    bool is_matrix;
    memory_matrix matrix;
} named;

typedef struct arena {
    gpu_buffer *buffer;
    uint64_t bytes;    /* that have an owner */
    uint64_t reserved; /* for alike steps that are still to come */
} arena;

typedef struct plan_places {
    uint32_t *at;       /* [node] word among the activations, or NO_PLACE */
    uint32_t *named_at; /* [node] index into memory.names, or NO_PLACE */
    uint32_t *sums_at;  /* [node] of a product: word of what its workgroups make of their shares, or NO_PLACE */
    uint32_t scratch;
    uint64_t end; /* of this plan's temporary activations */
} plan_places;

struct memory {
    gpu *g;
    plan *const *plans;
    uint32_t plan_count;
    plan_places *places;
    named *names;
    uint32_t name_count;
    uint32_t *by_name; /* a hash table: index into names + 1, or 0 */
    uint32_t table;    /* its slots */
    arena weights[MAX_ARENAS], states[MAX_ARENAS];
    uint32_t weight_arenas, state_arenas;
    gpu_buffer *activations, *zeros;
    uint64_t kept_words, most_words; /* of activations: with a name; in all */
    uint64_t limit;                  /* of a binding */
};

/* memory_names.c */
void memory_collect_names(memory *m);
named *memory_named(const memory *m, uint32_t which_plan, node n); /* NULL: the node has no name */
named *memory_find_named(const memory *m, const char *name);

/* memory_arenas.c: weights as matrices, and states */
bool memory_place_arenas(memory *m, err *e);
uint64_t memory_arena_bytes(const arena *arenas, uint32_t count);

/* memory_activations.c */
bool memory_place_activations(memory *m, err *e);
uint64_t memory_activation_words(uint64_t words); /* rounded up: every activation is aligned */

/* memory_fit.c */
char *memory_describe_need(const memory *m, const gpu_info *info); /* the caller frees it */
bool memory_fits(const memory *m, err *e);

#endif
