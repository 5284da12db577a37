/* run_internal: what src/graph/run*.c share; no other file includes it. */
#ifndef SOLO_GRAPH_RUN_INTERNAL_H
#define SOLO_GRAPH_RUN_INTERNAL_H

#include "graph/autotune.h"
#include "graph/run.h"
#include "launch/submit.h"

enum {
    RUN_MAX_KERNELS = 64,
    RUN_NAME_BYTES = 48,
    RUN_NO_PROGRAM = 0x7fffffff,
};

typedef struct made_kernel {
    kernel_variant variant;
    gpu_kernel *kernel;
} made_kernel;

/* A graph at a level: separate dispatches, or a megakernel. */
typedef struct program {
    plan *p;
    fusion_level level;
    submit_dispatch
        *dispatches; /* kernels are the run's; at the levels token and loop the only one is the megakernel's */
    uint32_t *steps; /* [dispatch] the plan's step it belongs to */
    char (*names)[RUN_NAME_BYTES];
    uint32_t dispatch_count;
    gpu_buffer *arguments;
    megakernel *megakernel; /* at the levels token and loop */
    autotune *tuning;       /* until it is there; */
    bool in_background;     /* the run may be used before */
    bool is_later;          /* separate dispatches are made at their first use; */
    bool is_begun;          /* their kernels compile */
    bool waits_to_tune;     /* until the first graph_run_go_on */
    err why_not;            /* there is no megakernel */
} program;

struct graph_run {
    gpu *g;
    device_profile profile;
    launch_form form; /* of separate dispatches */
    bool tuned;
    program *programs;
    plan **plans;
    uint32_t count;
    memory *m;
    made_kernel kernels[RUN_MAX_KERNELS];
    uint32_t kernel_count;
    uint32_t last; /* the program that ran last */
    submit_stop stop;
    uint32_t piece; /* dispatches between looking whether to stop */
};

/* Shares workgroup memory out among the kernels of megakernels: workgroup_fit.h. */
void run_fit_workgroup_memory(graph_run *r);
void run_name_kernel(const kernel_variant *v, char name[RUN_NAME_BYTES]);

/* run_separate.c: the dispatches of a program; compiling their kernels ahead, where that is worth it. */
/* False without an error: it was asked to stop, and there are no dispatches. */
bool run_make_separate(graph_run *r, uint32_t which, err *e);
bool run_make_separate_again(graph_run *r, err *e); /* after form.row_threads has changed */
bool run_compiles_ahead(const graph_run *r);
void run_compile_ahead(graph_run *r, uint32_t which, bool text_waits);
void run_free_dispatches(program *p);
void run_free_kernels(graph_run *r);

#endif
