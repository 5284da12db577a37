/* megakernel_link: several kernels as the phases of one dispatch.
 *
 * The bodies are those of kernels/graph, unchanged: `arg(args, i)` becomes a number, or a word of a table of all phases;
 * load and store go through atomics. A declaration that is the same in two kernels appears once. One that differs (the
 * reading of a weight type, say), and every declaration that uses it, gets a name for each kernel. */
#ifndef SOLO_GRAPH_MEGAKERNEL_LINK_H
#define SOLO_GRAPH_MEGAKERNEL_LINK_H

#include "graph/kernel_text.h"

enum {
    MEGAKERNEL_ARG_WORDS = 128,
    MEGAKERNEL_FIRST_SLOT = 2,
    MEGAKERNEL_MAX_KERNELS = 40,
    MEGAKERNEL_BINDINGS = 5 /* before those of the weights */
};

/* A kernel, the buffer of weights it reads, and its arguments: those that are the same in all its phases are inlined,
 * the others are looked up in a table. */
typedef struct phase_kernel {
    kernel_variant kernel;
    uint32_t weight_arena;
    uint32_t words[MEGAKERNEL_ARG_WORDS]; /* the arguments */
    uint32_t slots[MEGAKERNEL_ARG_WORDS]; /* the word of a phase's row that has one; 0: it is always the same */
    bool single_pass;                     /* no workgroup has more than one virtual workgroup of it */
    bool epoch_only, warms_cache;         /* lower.h */
    /* A kernel that has one phase in each iteration of the loop (megakernel_schedule.h) and no other: most of what changes
     * follows from the iteration. */
    bool per_iteration;
    uint32_t first_phase, period;
    uint32_t strides[MEGAKERNEL_ARG_WORDS];       /* by which arguments without a slot grow in each iteration */
    bool depends_on_groups[MEGAKERNEL_ARG_WORDS]; /* arguments with a slot that are the same in each iteration */
} phase_kernel;

typedef struct megakernel_module {
    const phase_kernel *kernels; /* they agree on THREADS and on the sizes of workgroup memory */
    uint32_t kernel_count, arenas;
    uint32_t half_arenas; /* of the first, so many are bound as f16, too, for matrix units */
    bool one_view; /* a buffer of weights is bound once, as vectors; else also as words, which a compiler reads best */
    bool single;   /* memory without atomics: for one workgroup only */
    const uint32_t *phase_kernels; /* [phase] the number of its kernel */
    const uint32_t *phase_kinds;   /* see schedule; NULL: each kernel is a kind */
    uint32_t row_words, phases;    /* the table: word 0 virtual workgroups, 1 the kernel's number, then its slots */
    bool compact;       /* as little code as possible: argument i is also word MEGAKERNEL_FIRST_SLOT + i of a row */
    bool epoch_marked;  /* floats carry an epoch bit that all readers poll */
    bool uniform_table; /* it fits a uniform buffer, which is read faster */
} megakernel_module;

gpu_source *megakernel_link(const megakernel_module *m);

#endif
