/* litmus: may the workgroups of one dispatch pass data to each other here?
 *
 * WGSL does not promise it: barriers are for one workgroup, atomics are relaxed. So
 * it is tried, on this device through this implementation and driver: many rounds of
 * writing, the grid barrier and reading what others wrote (kernels/include/litmus.wgsl
 * says how), by the very code that models and simulations contain
 * (kernels/include/persistent.wgsl, exchange.wgsl, epoch.wgsl). One wrong word is enough to
 * forbid dispatches of several workgroups that wait for each other.
 *
 * Every spin is bounded and the first time-out makes all leave: too many
 * workgroups are a verdict, not a hang.                                          */
#ifndef SOLO_LITMUS_H
#define SOLO_LITMUS_H

#include "gpu/gpu.h"

typedef enum {
    LITMUS_UNKNOWN,   /* nothing was run: this device runs no kernels (stub) */
    LITMUS_PASSED,    /* every word was right in every round */
    LITMUS_WRONG,     /* words were wrong: data cannot be passed this way */
    LITMUS_TIMED_OUT, /* no word was wrong, but a wait timed out: more workgroups than run at once, or a busy machine */
} litmus_verdict;

typedef struct litmus_result {
    litmus_verdict verdict;
    uint32_t rounds; /* that all workgroups finished */
    uint32_t wrong;  /* words; of each thread at most 1,000 count */
    /* the first of them that was found */
    uint32_t wrong_place, wrong_round, wrong_got, wrong_wanted;
    bool remembered; /* from an earlier run */
} litmus_result;

/* "passed", "wrong", "timed out", "unknown" */
const char *litmus_verdict_name(litmus_verdict verdict);

/* With this many workgroups of this many threads. A run that times out is tried again a few times. True if there is a
 * verdict, whatever it is; false if the kernel could not be run (bare Vulkan has it for 256 threads only, CUDA not at all).
 * The device is usable afterwards.  */
bool gpu_litmus(gpu *g, uint32_t workgroups, uint32_t threads, litmus_result *out, err *e);

/* What gpu_litmus said when it was asked the same on the same device through the same library and driver,
 * if that is known (base/cache.h), else what it says now. Kept are passed and wrong, never a time-out. */
bool gpu_litmus_cached(gpu *g, uint32_t workgroups, uint32_t threads, litmus_result *out, err *e);

#endif
