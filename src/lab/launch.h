/* launch: a chain of steps run by one of the launch strategies (launch/submit.h), and
 * timed. `one` makes all steps in a dispatch, with a grid barrier between them.
 *
 * The output is compared with the CPU's after every run, outside the time
 * taken; a run with a wrong output or any device error has no time.        */
#ifndef SOLO_LAB_LAUNCH_H
#define SOLO_LAB_LAUNCH_H

#include "launch/chain.h"
#include "launch/submit.h"

/* Common patterns, each on top of `batch`. */
typedef enum {
    PATTERN_NONE,
    PATTERN_BIND_GROUP,  /* a new bind group for each dispatch */
    PATTERN_PARAM_WRITE, /* parameters written anew for each dispatch */
    PATTERN_INDIRECT,    /* indirect dispatches */
    PATTERN_REPLAY,      /* recorded once beforehand, only submitted in the time taken */
    PATTERN_COUNT
} launch_pattern;
extern const char *const pattern_names[PATTERN_COUNT];

/* The calls of the interface, in the order a dispatch makes them. */
typedef enum {
    CALL_ENCODER,
    CALL_BEGIN_PASS,
    CALL_SET_PIPELINE,
    CALL_SET_BIND_GROUP,
    CALL_DISPATCH,
    CALL_END_PASS,
    CALL_FINISH,
    CALL_SUBMIT,
    CALL_WAIT,
    CALL_COUNT
} launch_call;
extern const char *const call_names[CALL_COUNT];

typedef struct launch {
    submit_policy submit;
    launch_pattern pattern;
    uint32_t submits; /* `batch` in this many pieces, each with a submit; 0 or 1: one */
    bool other_wait;  /* wait in the way the device was not opened with */
    bool time_device; /* timestamps around the work */
    bool time_calls;  /* a clock reading around every call */
} launch;

typedef struct launch_time {
    double total_us;            /* from the first call to the end of the wait */
    double device_us;           /* with time_device */
    double call_us[CALL_COUNT]; /* with time_calls: sums over the run, the clock's cost taken off */
    gpu_counters counted;
    bool output_checked; /* against the CPU's answer */
    bool wait_checked;   /* against the device's own clock */
    bool timed_out;      /* why it failed: too many workgroups for the grid barrier */
} launch_time;

/* Can this be done here at all? (passes in CUDA, replay in WebGPU, ...) */
bool launch_possible(const gpu_info *info, const launch *how);

/* The way of waiting this launch uses. */
gpu_wait_mode launch_wait_mode(const gpu *g, const launch *how);

bool launch_run(chain *c, const launch *how, uint32_t steps, launch_time *t, err *e);

#endif
