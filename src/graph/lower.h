/* tell: a step of a plan as dispatches: which kernel, and what it is dispatch_desc. Most
 * steps are one dispatch; matrices in pieces and split attention make more.      */
#ifndef SOLO_GRAPH_LOWER_H
#define SOLO_GRAPH_LOWER_H

#include "graph/kernel_text.h"
#include "graph/memory.h"

enum {
    LOWER_ARG_WORDS = 128,                    /* as in kernels/include/graph.wgsl */
    LOWER_MAX_DISPATCHES = MEMORY_MAX_PIECES, /* dispatches of a step */
    LOWER_MAX_HEAD = 256,                     /* as in kernels/graph/op_attention.wgsl */
};

/* What is good on a device. */
typedef struct device_profile {
    uint32_t subgroup;    /* threads of one, if all are of one size; else 0 */
    bool quads;           /* exchanges within four threads are better than others: kernels/include/shuffle_quads.wgsl */
    bool specialize;      /* kernels may be made for the shapes they work on; else they are as in their files */
    bool compile_fast;    /* code as short as can be: compiling it takes longer than running it */
    uint32_t busy_groups; /* workgroups that it takes to keep everyone busy */
    uint32_t most_groups; /* of a product for few rows, which then take several turns */
    uint32_t x_floats;    /* of x that workgroup memory has room for */
    uint32_t workgroup_bytes; /* of memory; 0 unless specialize */
    bool blocks;              /* it has room for what matmul_block.wgsl needs */
    bool int8_dot;            /* products of four bytes are one step: x becomes whole numbers where weights are */
    bool epoch_bit;           /* floats leave their lowest bit to a mark: kernels/include/megakernel_atomic.wgsl */
    uint32_t row_threads;     /* of a workgroup that works on a whole row: the same number makes the same sums */
    /* One dispatch: the workgroups it has, and their threads; 0: a dispatch each. */
    uint32_t one_groups, one_threads;
} device_profile;
device_profile device_profile_for(const gpu_info *info);

typedef struct dispatch_desc {
    kernel_variant kernel;
    uint32_t words[LOWER_ARG_WORDS]; /* words[0]: workgroups */
    uint32_t weight_arena, state_arena;
    bool polls_epoch; /* in one dispatch it polls_epoch at the epoch_bit of all floats that it reads, or reads none */
    bool epoch_only;  /* they are all that it reads of what the dispatch writes, and it writes nothing else */
    bool warms_cache; /* its weights are many, and the first can be touched long before */
    bool single_pass; /* in one dispatch no workgroup has more than one virtual one of this */
    uint32_t depends_on_groups; /* bits: which of the first words depend on the number of workgroups of one dispatch */
} dispatch_desc;

/* Can the kernels do all that the plan asks? */
bool lower_possible(const plan *p, err *e);
/* The dispatches of a step; returns how many, 0 with an error. */
uint32_t lower_step(const device_profile *t, const memory *m, uint32_t which_plan, const plan *p, const plan_step *s,
                    dispatch_desc *out, err *e);

#endif
