/* persistent: a dispatch whose workgroups wait for each other.
 *
 * The kernel includes kernels/include/persistent.wgsl. Its uniform buffer begins with launch_params, and it has a buffer
 * of words for the grid barrier. What makes it safe:
 *   - it launches no more workgroups than a roll call of this very kernel found resident at once;
 *   - the litmus test has to pass with that many workgroups and threads on this device, library and driver;
 *   - every wait is bounded, and the first time-out makes all workgroups leave: persistent_timed_out says so after the
 *     dispatch, and the caller does the work again by separate dispatches.
 * One workgroup needs none of this, and runs everywhere.                                                              */
#ifndef SOLO_LAUNCH_PERSISTENT_H
#define SOLO_LAUNCH_PERSISTENT_H

#include "gpu/gpu.h"

/* As in persistent.wgsl. */
typedef struct launch_params {
    uint32_t roll_call, spin_limit, stall, zero, polls_epoch, unused[3];
} launch_params;

/* Words of the grid's buffer, as in persistent.wgsl; a kernel may have more behind them. */
enum { GRID_ARRIVED, GRID_LEFT, GRID_SIGNED_IN, GRID_RESIDENT, GRID_SINK, GRID_ROUNDS, GRID_WORDS = 8 };

typedef struct persistent {
    gpu *g;
    gpu_kernel *kernel;
    gpu_bindings *bindings;
    gpu_buffer *params, *grid; /* the caller's */
    uint64_t params_at;        /* where launch_params begin, in bytes */
} persistent;

/* Polls until a wait times out: on a GPU about a second, in software so many that workgroups which others keep from running
 * still come. `variable` names an environment variable that says otherwise (NULL: none does). */
uint32_t persistent_spin_limit(const gpu *g, const char *variable);

/* How many workgroups of this kernel are resident at once, up to `most`. The parameters are left in the roll call's form. */
bool persistent_count_resident(const persistent *p, uint32_t most, uint32_t *groups, err *e);

/* May so many workgroups of so many threads pass data to each other here? (Litmus test, remembered.) False with the reason. */
bool persistent_certify(gpu *g, uint32_t groups, uint32_t threads, err *e);

/* Resets the grid: no workgroup has arrived or left, and no round was made. */
void persistent_reset(const persistent *p);

/* After dispatches that are done: did one time out? */
bool persistent_timed_out(const persistent *p, bool *timed_out, err *e);

/* A whole number from the environment, for experiments and tests; `otherwise` if there is none. */
uint32_t launch_setting(const char *variable, uint32_t otherwise);

#endif
