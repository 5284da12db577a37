/* one: the dispatches of a plan as phases of a single one.
 *
 * As many workgroups run it as were found resident at the same time for this very
 * kernel, with a barrier over all of them between phases; or one workgroup, which
 * every device runs. A workgroup that waits too long at a barrier makes all leave:
 * then megakernel_timed_out says so after the dispatch, and what it should have written is
 * not there.                                                                    */
#ifndef SOLO_GRAPH_MEGAKERNEL_H
#define SOLO_GRAPH_MEGAKERNEL_H

#include "graph/lower.h"

enum { MEGAKERNEL_MAX_STOPS = 16 };

typedef struct one one;

/* The phases of a plan for so many workgroups: dispatch_desc again when that number is known. */
typedef struct megakernel_phases {
    const dispatch_desc *items;
    uint32_t count;
} megakernel_phases;
typedef bool (*megakernel_lower)(void *user, const device_profile *t, megakernel_phases *out, err *e);

/* `tuning` says how many threads a workgroup has (row_threads), and at most how many there are (one_groups; 0: as many as
 * are resident). */
one *megakernel_new(gpu *g, const memory *m, uint32_t which_plan, const device_profile *tuning, megakernel_lower tell,
                    void *user, err *e);
/* The hash of the text that its kernel would be made of at first; 0: there would be none. If `begin`, a page begins to make it, in the
 * background: megakernel_new finds it there. */
uint64_t megakernel_look_ahead(gpu *g, const memory *m, uint32_t which_plan, const device_profile *tuning,
                               megakernel_lower tell, void *user, bool begin);
/* Something else has used the memory since it was last dispatched: epoch_bit in it mean nothing. */
void megakernel_forget(one *o);
void megakernel_free(one *o);

gpu_kernel *megakernel_kernel(const one *o);
gpu_bindings *megakernel_bindings(const one *o);
uint32_t one_groups(const one *o);
uint32_t one_threads(const one *o);
uint32_t megakernel_phase_count(const one *o);
uint64_t megakernel_text_hash(const one *o); /* of the kernel */

/* Submits it once. */
void megakernel_dispatch(one *o);

/* How often a dispatch goes through its phases, 1 at first. */
void megakernel_set_rounds(one *o, uint32_t rounds);
/* No further round begins when the word at `place` is one of these. */
void megakernel_set_stops(one *o, uint32_t place, const uint32_t *stops, uint32_t count);
/* For tests: workgroup 0 stops before the n-th barrier of a dispatch; 0: it does not. */
void megakernel_set_stall(one *o, uint32_t barrier);
/* For experiments: phases of this kernel do nothing. Nobody writes their epoch_bit then, so all wait at barriers; MEGAKERNEL_NO_KERNEL: they do
 * that, and all phases work; MEGAKERNEL_ALL_KERNELS: epoch_bit count again. */
enum { MEGAKERNEL_NO_KERNEL = -1, MEGAKERNEL_ALL_KERNELS = -2 };
void megakernel_leave_out(one *o, int kind);
int megakernel_kernel_count(const one *o);
int megakernel_kernel_of(const one *o, uint32_t phase);
/* After dispatches that are done: whether one gave up. It can be used again afterwards. */
bool megakernel_timed_out(one *o, bool *gave_up, err *e);

#endif
