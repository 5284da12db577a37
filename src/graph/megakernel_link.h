/* megakernel_link: several kernels as the phases of one dispatch.
 *
 * The bodies are those of kernels/graph, unchanged: they say `arg(args, i)`, and here
 * that is a number, or a word of a table of all phases; they say load and store, and here that goes through atomics. What two kernels declare alike is
 * declared once; what they declare differently (how a weight type is read, say), and
 * whatever uses that, gets a name of its own for each.                             */
#ifndef SOLO_GRAPH_MEGAKERNEL_LINK_H
#define SOLO_GRAPH_MEGAKERNEL_LINK_H

#include "graph/kernel_text.h"

enum {
    MEGAKERNEL_ARG_WORDS = 128,
    MEGAKERNEL_FIRST_SLOT = 2,
    MEGAKERNEL_MAX_KERNELS = 40,
    MEGAKERNEL_BINDINGS = 5 /* before those of the weights, two for each buffer of them */
};

/* A kernel, the buffer of weights it reads, and its arguments: those that are the same in all its phases become
 * part of it, the others are looked up in a table. */
typedef struct phase_kernel {
    kernel_variant kernel;
    uint32_t weight_arena;
    uint32_t words[MEGAKERNEL_ARG_WORDS]; /* the arguments */
    uint32_t slots[MEGAKERNEL_ARG_WORDS]; /* the word of a phase's row that has one; 0: it is always the same */
    bool single_pass;                     /* no workgroup has more than one virtual one of it */
    bool epoch_only, warms_cache;         /* lower.h */
    /* Of a kernel that is one phase of the loop (megakernel_schedule.h) and no other: what it is dispatch_desc is the time round, from which
     * most of what changes follows. */
    bool per_iteration;
    uint32_t first_phase, period;
    uint32_t strides[MEGAKERNEL_ARG_WORDS]; /* by which arguments grow each time, if they have no slot */
    bool depends_on_groups
        [MEGAKERNEL_ARG_WORDS]; /* those with a slot that are the same each time, although nobody knows yet what */
} phase_kernel;

typedef struct megakernel_module {
    const phase_kernel *kinds; /* they agree on THREADS and on the sizes of workgroup memory */
    uint32_t kind_count, arenas;
    bool plain; /* memory without atomics: for a single workgroup only */
    const uint32_t *phase_kinds;
    uint32_t row_words, phases; /* the table: word 0 virtual workgroups, 1 the number of the kind, then its slots */
    bool compile_fast;  /* as little code as possible: argument i is also word MEGAKERNEL_FIRST_SLOT + i of a row */
    bool marked;        /* floats have epoch_bit that all who read them look at */
    bool uniform_table; /* it fits a uniform buffer, which is read faster */
} megakernel_module;

gpu_source *megakernel_link(const megakernel_module *m);

#endif
