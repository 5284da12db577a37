/* lower: the steps of a plan as dispatches: which kernel, with which arguments. Most steps are
 * one dispatch; matrices in pieces and split attention make more.                          */
#ifndef SOLO_GRAPH_LOWER_H
#define SOLO_GRAPH_LOWER_H

#include "graph/kernel_text.h"
#include "graph/memory.h"

enum {
    LOWER_ARG_WORDS = 128,                    /* as in kernels/include/graph.wgsl */
    LOWER_MAX_DISPATCHES = MEMORY_MAX_PIECES, /* dispatches of a step */
    LOWER_MAX_HEAD = 512,                     /* two elements for each thread of kernels/graph/op_attention.wgsl */
    LOWER_BARE_HEAD = 256,                    /* what that has room for, unless it is compiled for more */
    LOWER_MAX_KEY = 1024,                     /* of keys whose first elements are values, */
    LOWER_MAX_VALUE = 512,                    /* and of those: two for each of its threads */
};

/* A device, and the choices that follow for its kernels. */
typedef struct device_profile {
    uint32_t subgroup;    /* threads of a subgroup, if all have one size; else 0 */
    bool quads;           /* shuffles within four lanes are better than others: kernels/include/shuffle_quads.wgsl */
    bool specialize;      /* kernels may be made for the shapes they work on; else they are as in their files */
    bool compile_fast;    /* code as short as possible: compiling takes longer than running */
    uint32_t busy_groups; /* workgroups that it takes to keep all multiprocessors busy */
    uint32_t most_groups; /* of a product for few rows; its workgroups then loop over virtual workgroups */
    uint32_t x_floats;    /* of x that workgroup memory has room for */
    uint32_t workgroup_bytes; /* of memory; 0 unless specialize */
    /* What else of it kernels keep room for: less where it is short (workgroup_fit.h). */
    uint32_t max_splits;  /* splits of attention that a product combines */
    uint32_t max_at_once; /* row4s of a team that are in flight */
    bool one_sum_buffer;  /* matmul_row.wgsl: its threads wait until sums are read before they write the next */
    bool tight;           /* operators have room only for what this model needs */
    bool vec_only;        /* no product has matmul_row.wgsl, which has memory of its own */
    bool blocks;          /* workgroup memory is large enough for matmul_block.wgsl */
    uint32_t matrix_rows, matrix_columns, matrix_depth; /* the shape of matrix units; 0: none */
    bool shares_k;            /* products for several texts share k among workgroups: plan_k_shares */
    uint32_t attention_cells; /* 0, or: attention has heads of a text together while so many workgroups are left */
    bool attention_ahead;     /* attention of one text, too, asks for all of the next block before it uses this one */
    bool matrix_lanes;        /* threads stand in for matrix units, for tests: SOLO_TUNE=matrix */
    uint32_t matrix_texts;    /* columns of a shape of 16 rows and 16 of depth that suits a few rows of x; 0: none */
    uint32_t most_threads;    /* of a workgroup; 0 unless specialize */
    bool int8_dot;        /* four products of bytes are one instruction: x becomes int8 where weights are integers */
    bool slots_fit;       /* x_floats was found with such products, and leaves room for their sums */
    bool epoch_bit;       /* floats leave their lowest bit to the epoch: kernels/include/epoch.wgsl */
    uint32_t row_threads; /* threads of a workgroup that computes a complete row, unless autotuning finds better */
} device_profile;
device_profile device_profile_for(const gpu_info *info);

/* The form that was chosen for the kernels of a run. */
typedef struct launch_form {
    uint32_t row_threads; /* threads of a workgroup that computes a complete row: the same number makes the same sums */
    uint32_t groups, threads; /* of a megakernel; 0: separate dispatches */
} launch_form;

typedef struct dispatch_desc {
    kernel_variant kernel;
    uint32_t args[LOWER_ARG_WORDS]; /* by the names of kernels/args.txt */
    uint32_t weight_arena, state_arena;
    bool polls_epoch; /* in a megakernel it polls the epoch bit of all floats that it reads, or reads none */
    /* Floats with epoch bits are all that it writes, and all that it reads of the data that this dispatch writes. */
    bool epoch_only;
    bool warms_cache;           /* it has many weights, and the first can be prefetched into the cache long before */
    bool single_pass;           /* in a megakernel no workgroup has more than one virtual workgroup of it */
    uint32_t depends_on_groups; /* bits: which of the first arguments depend on the megakernel's workgroups */
} dispatch_desc;

/* Are there kernels for all steps of the plan? */
bool lower_possible(const plan *p, err *e);
/* The dispatches of a step; returns how many, 0 with an error. */
uint32_t lower_step(const device_profile *t, const launch_form *form, const memory *m, uint32_t which_plan,
                    const plan *p, const plan_step *s, dispatch_desc *out, err *e);

/* All dispatches of a plan, in order. */
typedef struct lowered_plan {
    dispatch_desc *items;
    uint32_t *steps; /* [dispatch] the step it belongs to */
    uint32_t count;
} lowered_plan;
/* False with an error; to be freed in any case. */
bool lower_plan(const device_profile *t, const launch_form *form, const memory *m, uint32_t which_plan, const plan *p,
                lowered_plan *out, err *e);
void lowered_plan_free(lowered_plan *l);

#endif
