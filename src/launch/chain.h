/* chain: a chain of dependent steps on a device, the unit everything about
 * launching is measured and proved with. Step i needs all of step i-1, crossing
 * workgroups, so a launch that loses an order or a write gives a wrong answer,
 * and chain_check says so.
 *
 * The kernels are in kernels/lab and kernels/probe; kernels/include/chain.wgsl
 * says how they can be launched.                                            */
#ifndef SOLO_CHAIN_H
#define SOLO_CHAIN_H

#include "gpu/gpu.h"
#include "launch/persistent.h"

typedef struct chain_kind {
    const char *name;
    const gpu_source *source;
    uint32_t threads;    /* per workgroup */
    uint32_t workgroups; /* virtual workgroups per step; 0: as many as launched */
    uint32_t width;      /* words of one generation of the state */
    uint32_t weight_count;
    void (*weights)(float *w);
    void (*start)(uint32_t *state); /* the first generation; NULL: zeros */
    /* `state` after `steps` steps, as the kernel's words mean it: numbers in
     * f64 for f32 kernels, counts for the others. */
    void (*after)(double *state, uint32_t steps, uint32_t workgroups);
    bool is_float;
} chain_kind;

extern const chain_kind chain_empty;      /* one thread counts */
extern const chain_kind chain_add;        /* 1,024 elements, 16 workgroups */
extern const chain_kind chain_rmsnorm;    /* 896 elements, one workgroup */
extern const chain_kind chain_gemv;       /* 896 x 896, 112 workgroups */
extern const chain_kind chain_neighbours; /* a word per workgroup of 256 threads */
/* One workgroup: a decoder that takes in tokens; four steps for each layer of each token. */
extern const chain_kind chain_decoder;
enum {
    CHAIN_DECODER_LAYERS = 4,
    CHAIN_DECODER_TOKENS = 64,
    CHAIN_DECODER_STEPS = 4 * CHAIN_DECODER_LAYERS * CHAIN_DECODER_TOKENS,
};

/* As in chain.wgsl. */
typedef struct chain_params {
    launch_params launch;
    uint32_t step, steps, workgroups, unused;
} chain_params;

typedef struct chain {
    gpu *g;
    const chain_kind *kind;
    gpu_kernel *each, *one;
    gpu_bindings *step[2];    /* for `each`, by the step's parity */
    gpu_bindings *persistent; /* for `one` */
    uint32_t one_workgroups;  /* real workgroups of the single dispatch */
    uint32_t spin_limit;      /* polls until a barrier times out */
    gpu_buffer *params, *weights, *state, *grid, *indirect;
    struct chain_expected *expected; /* answers already worked out */
} chain;

enum { CHAIN_BINDINGS = 4 };

/* Errors show on the device. `one_workgroups` must be resident at once. */
chain *chain_new(gpu *g, const chain_kind *kind, uint32_t one_workgroups);
void chain_free(chain *c);

/* The buffers a step with this parity is bound to; what `step[parity]` was made from. */
void chain_parts(const chain *c, int slot, gpu_part parts[CHAIN_BINDINGS]);
/* The parameters in slot 0 or 1 (a step's parity) or 2 (the single dispatch). */
chain_params chain_params_for(const chain *c, int slot, uint32_t steps);
uint64_t chain_slot_offset(const chain *c, int slot);

/* The first generation again, ready for `steps` steps; waits until it is there. */
bool chain_reset(chain *c, uint32_t steps, err *e);

/* Read the state and compare it with the CPU's answer. */
bool chain_check(chain *c, uint32_t steps, err *e);

/* `one` as a dispatch whose workgroups wait for each other. */
persistent chain_persistent(const chain *c);

#endif
