/* inside: what the files of a simulation on a device share. Nobody else includes this. */
#ifndef SOLO_SIM_INSIDE_H
#define SOLO_SIM_INSIDE_H

#include "sim/sim.h"
#include "sim/text.h"

/* As in kernels/sim_runtime/run.wgsl. */
typedef struct sim_params {
    uint32_t population, step, steps, begins, scores, seed, generation, generations, spin_limit, trace_count,
        trace_every, tournament, elite;
    float crossover, mutation, sigma;
    uint32_t nothing, stall, roll_call, total;
} sim_params;

enum {
    SIM_BINDINGS = 8,
    SIM_THREADS = 64,        /* of a workgroup, unless it is the only one */
    SIM_GATE_NOT_FINITE = 4, /* two words */
    SIM_GATE_STRAYED =
        8, /* those before it are emptied for every dispatch of workgroups that wait, the others for a run */
    SIM_GATE_GENE = 10,
    SIM_GATE_OTHER,
    SIM_GATE_WORDS = 64
};

/* A kernel with what it works on. */
typedef struct sim_kernel {
    gpu_kernel *kernel;
    gpu_bindings *bindings;
    uint32_t threads;
} sim_kernel;

/* Workgroups that wait for each other: how many, and of how many threads. 0: not found out yet. */
typedef struct sim_groups {
    uint32_t count, threads;
} sim_groups;

struct sim {
    gpu *g;
    const sim_source *source;
    sim_options options;
    sim_params told;
    gpu_buffer *params_buffer, *states, *scores, *data, *genomes, *traced, *gate, *shared;
    sim_kernel fused, first, each, last, coupled; /* made when they are first wanted */
    sim_kernel evolve, generations;
    sim_groups groups;   /* of the coupled one, or of that for many generations */
    double step_ns[2];   /* of a step: fused, separate; 0: not known */
    bool skips_watchdog; /* waits need no eye on the clock */
    bool stuck, gave_up;
    char notice[256];
    void (*progress)(void *user, uint32_t step);
    void *progress_user;
};

bool sim_is_cuda(const sim *s);

/* A kernel of the simulation's text in one form; false with an error that names the file's line. */
bool sim_kernel_make(sim *s, sim_kernel *k, const sim_text_choice *c, const char *entry, err *e);
void sim_kernel_free(sim_kernel *k);
void sim_write_params(sim *s);

/* A thread for each individual. */
void sim_dispatch_all(const sim *s, gpu_recording *r, const sim_kernel *k);
void sim_launch_all(const sim *s, const sim_kernel *k);
/* So many workgroups that wait for each other, with the gate empty. */
void sim_launch_together(sim *s, const sim_kernel *k, uint32_t groups);
/* False, too, if they waited too long: s->gave_up. */
bool sim_passed_gate(sim *s, err *e);
/* How many workgroups of a kernel may wait for each other here. */
bool sim_find_groups(sim *s, const sim_kernel *k, sim_groups *out, err *e);
/* The kernel of a form whose workgroups wait for each other, and how many there are: s->groups. In software it is one alone. */
bool sim_make_waiting(sim *s, sim_kernel *k, sim_text_form form, err *e);
bool sim_wait(sim *s, err *e);

/* How many steps, or whatever takes so long, to make next. */
uint32_t sim_next_share(const sim *s, double each_ns, uint32_t left);

/* From the beginning to the end for the genes that are there; sim_run without what only a first run needs. */
bool sim_run_generation(sim *s, fusion_level level, submit_policy submit, err *e);

#endif
