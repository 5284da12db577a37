/* megakernel: the dispatches of a plan as phases of a single one.
 *
 * As many workgroups run it as are resident at the same time for this very kernel (launch/persistent.h); or one workgroup,
 * which every device runs. Workgroups wait only for the data they need; most phases have no barrier between them. When a
 * wait times out, all workgroups leave, megakernel_timed_out says so after the dispatch, and its results are missing. */
#ifndef SOLO_GRAPH_MEGAKERNEL_H
#define SOLO_GRAPH_MEGAKERNEL_H

#include "graph/lower.h"

enum { MEGAKERNEL_MAX_STOPS = 16 };

typedef struct megakernel megakernel;

/* What a megakernel is made from. All of it must outlive the megakernel. */
typedef struct megakernel_source {
    gpu *g;
    const device_profile *profile;
    const memory *m;
    uint32_t which_plan;
    const plan *p;
} megakernel_source;

/* In this form: row_threads, and at most so many groups (0: as many as are resident). */
megakernel *megakernel_new(const megakernel_source *from, const launch_form *wanted, err *e);
/* The same without waiting for the compiler. How many workgroups are resident is known only once a kernel has compiled,
 * and may lead to another one: megakernel_go_on is called until it returns something else than MEGAKERNEL_COMPILING.
 * Each call takes some milliseconds, the first on a device longer (litmus test), and touches no inputs or states. */
typedef enum { MEGAKERNEL_COMPILING, MEGAKERNEL_READY, MEGAKERNEL_FAILED } megakernel_state;
megakernel *megakernel_begin(const megakernel_source *from, const launch_form *wanted);
megakernel_state megakernel_go_on(megakernel *o, err *e);
void megakernel_wait(megakernel *o); /* megakernel_go_on waits from here on */
/* The hash of the text from which the kernel would be compiled first; 0: there would be none. With `compile`, it starts to
 * compile in the background, where the device can do that, and megakernel_new uses the result. */
uint64_t megakernel_look_ahead(const megakernel_source *from, const launch_form *wanted, bool compile);
/* Workgroup memory that the kernel would declare; false with an error: there would be none. */
bool megakernel_workgroup_bytes(const megakernel_source *from, const launch_form *wanted, uint32_t *bytes, err *e);
void megakernel_free(megakernel *o);

gpu_kernel *megakernel_kernel(const megakernel *o);
gpu_bindings *megakernel_bindings(const megakernel *o);
const launch_form *megakernel_form(const megakernel *o);
uint32_t megakernel_phase_count(const megakernel *o);
/* The kernel of a phase, and its step in the plan. */
const kernel_variant *megakernel_phase_kernel(const megakernel *o, uint32_t phase);
uint32_t megakernel_phase_step(const megakernel *o, uint32_t phase);
uint64_t megakernel_text_hash(const megakernel *o);

/* Submits it once. */
void megakernel_dispatch(megakernel *o);
/* To be called when other dispatches have used the memory since the last one: its epoch bits are no longer valid. */
void megakernel_forget(megakernel *o);

/* How often a dispatch goes through its phases, 1 at first. */
void megakernel_set_rounds(megakernel *o, uint32_t rounds);
/* No further round begins when the word at `place` is one of these. */
void megakernel_set_stops(megakernel *o, uint32_t place, const uint32_t *stops, uint32_t count);

/* For profiling: phases of this kernel do nothing. Their epoch bits are not set then, so there are barriers between all
 * phases. MEGAKERNEL_NO_KERNEL: barriers, and all phases run; MEGAKERNEL_ALL_KERNELS: the normal dispatch. */
enum { MEGAKERNEL_NO_KERNEL = -1, MEGAKERNEL_ALL_KERNELS = -2 };
void megakernel_leave_out(megakernel *o, int kernel);
int megakernel_kernel_count(const megakernel *o);
int megakernel_kernel_of(const megakernel *o, uint32_t phase);

/* After dispatches that are done: did one time out? It can be used again afterwards. */
bool megakernel_timed_out(megakernel *o, bool *timed_out, err *e);

#endif
