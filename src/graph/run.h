/* run: graphs on a GPU, at any fusion level.
 *
 * Several graphs can share one memory (a decoder for one token, the same for many):
 * a name means the same tensor in all of them. Everything that does not change is made
 * once: weights are uploaded, every dispatch has its arguments and bindings.
 * A run is those dispatches in order, submitted by a policy.                     */
#ifndef SOLO_GRAPH_RUN_H
#define SOLO_GRAPH_RUN_H

#include "gpu/gpu.h"
#include "graph/megakernel.h"
#include "graph/plan.h"
#include "launch/submit.h"

typedef struct graph_run graph_run;

/* The level that LEVEL_AUTO means on a device: `loop` where a megakernel of many workgroups may be possible (if it then
 * is not, the run's steps have separate dispatches), else `ops`. Other levels are returned unchanged. */
fusion_level graph_run_level(const gpu *g, fusion_level wanted);

/* A graph may occur several times, at different levels; the highest comes first, so that the weights it binds together
 * lie together. */
typedef struct graph_use {
    const graph *g;
    fusion_level level;
    bool later;                 /* separate dispatches are made at their first use: kernels may take long to compile */
    bool compile_in_background; /* the megakernel may compile while others run: graph_run_go_on; */
    bool after_first; /* it and kernels for later begin with the first graph_run_go_on: someone waits for a run */
} graph_use;

/* The weights' data are needed only during this call, the graphs as long as the run. States start as zeros. If a
 * megakernel is not possible, the run is made all the same, and graph_run_megakernel returns NULL. */
graph_run *graph_run_new(gpu *g, const graph_use *uses, uint32_t count, graph_weight_source source, void *user, err *e);
void graph_run_free(graph_run *r);

/* An input's or output's place, to be looked up once; `words` is 0 if there is none. */
typedef struct graph_place {
    uint32_t word;
    uint64_t words;
} graph_place;
graph_place graph_run_place(const graph_run *r, const char *name);

/* Writes `count` elements from the first on, for the runs that follow. */
void graph_run_put(graph_run *r, graph_place to, const void *elements, uint64_t count);
/* Elements after the runs submitted so far: `count` from `first` on. */
bool graph_run_get(graph_run *r, graph_place from, uint64_t first, uint64_t count, void *elements, err *e);
/* The same without waiting: `done` is called from a wait or gpu_poll; `elements` must stay valid until then. */
void graph_run_get_later(graph_run *r, graph_place from, uint64_t first, uint64_t count, void *elements, gpu_done done,
                         void *user);

/* By name, all elements. */
bool graph_run_write(graph_run *r, const char *input, const void *elements, err *e);
bool graph_run_read(graph_run *r, const char *output, void *elements, err *e);

/* Every dispatch of a graph once. Returns when it is submitted (`sync`: when it is done; errors are the device's). False:
 * it was asked to stop, and a part of the dispatches was made, or none. */
bool graph_run_once(graph_run *r, uint32_t which, submit_policy submit);
/* Waits for the runs submitted so far. False with an error if they failed, or if the workgroups of a megakernel
 * timed out: what it left is no result. */
bool graph_run_wait(graph_run *r, uint32_t which, err *e);
/* From now on a run can be stopped, and is waited for; {0}: no longer. */
void graph_run_stop_when(graph_run *r, submit_stop stop);

/* The device's time for each dispatch of a graph, each in a pass of its own, without the time between dispatches: of
 * `times` runs the shortest of each dispatch, in nanoseconds. Of a megakernel, the time for each phase: how much
 * shorter the dispatch is when all phases of that kernel do nothing; and in `total_ns` (may be NULL) the time of the
 * unchanged dispatch. */
bool graph_run_profile(graph_run *r, uint32_t which, uint32_t times, double *ns, double *total_ns, err *e);
uint32_t graph_run_stages(const graph_run *r, uint32_t which); /* dispatches, or phases of the only one */
/* What a dispatch, or a phase, runs: the kernel and its step. */
typedef struct graph_dispatch {
    char kernel[48];
    uint32_t step, groups;
} graph_dispatch;
graph_dispatch graph_run_dispatch(const graph_run *r, uint32_t which, uint32_t i);

/* How often a single dispatch (the levels token and loop) goes through its graph; 1 at first. */
void graph_run_set_rounds(graph_run *r, uint32_t which, uint32_t rounds);
/* The megakernel; NULL at the levels without one, and where it is not possible, with the reason. */
megakernel *graph_run_megakernel(const graph_run *r, uint32_t which);
const char *graph_run_why_not(const graph_run *r, uint32_t which);
/* A megakernel that compiles in the background, where the device can do that; other programs may run meanwhile. */
bool graph_run_is_compiling(const graph_run *r, uint32_t which);
/* Does what can be done without waiting for the compiler: some milliseconds, tens of them with GRAPH_TIMING. Errors become
 * graph_run_why_not. */
typedef enum {
    GRAPH_COMPILING, /* to be called again later */
    GRAPH_TIMING, /* the next call makes up to `rounds` rounds (if those are too few, none), as runs of this program do:
                      * inputs that it assigns and states that it stores are changed */
    GRAPH_COMPILED, /* the megakernel can run, or there is none */
} graph_compile;
enum { GRAPH_LEAST_ROUNDS = 9, GRAPH_MOST_ROUNDS = 65 }; /* that are too few no longer, and that are enough */
graph_compile graph_run_go_on(graph_run *r, uint32_t which, uint32_t rounds);
/* The same to the end, waiting; inputs and states are zeros again afterwards. */
bool graph_run_finish_compile(graph_run *r, uint32_t which, err *e);
bool graph_run_possible(const graph_run *r, uint32_t which, err *e); /* false, and that as the error, where it cannot */

fusion_level graph_run_level_of(const graph_run *r, uint32_t which); /* as it runs */
const struct memory *graph_run_memory(const graph_run *r);           /* where everything lies: graph/memory.h */
uint32_t graph_run_dispatches(const graph_run *r, uint32_t which);
const plan *graph_run_plan(const graph_run *r, uint32_t which);
uint64_t graph_run_bytes(const graph_run *r); /* of GPU memory */

#endif
