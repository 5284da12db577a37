/* sim_internal: what the files of a simulation on a device share; no other file includes it. */
#ifndef SOLO_SIM_INTERNAL_H
#define SOLO_SIM_INTERNAL_H

#include "launch/persistent.h"
#include "sim/sim.h"
#include "sim/text.h"

/* As in kernels/sim_runtime/run.wgsl. */
typedef struct sim_params {
    launch_params launch;
    uint32_t population, step, steps, begins, scores, seed, generation, generations, trace_count, trace_every,
        tournament, elite;
    float crossover, mutation, sigma;
    uint32_t total;
} sim_params;

enum {
    SIM_BINDINGS = 8,
    SIM_THREADS = 64, /* of a workgroup, unless it is the only one */
    /* Words of the grid's buffer behind those of the launch layer, as in run.wgsl. */
    SIM_NOT_FINITE = GRID_WORDS, /* two words, zero before every dispatch of many generations */
    SIM_NO_ROW = 12,
    SIM_NO_GENE,
    SIM_NO_OTHER,
    SIM_GRID_WORDS = 16
};

/* A kernel with what it works on. */
typedef struct sim_kernel {
    gpu_kernel *kernel;
    gpu_bindings *bindings;
    uint32_t threads;
} sim_kernel;

/* A persistent dispatch: its workgroups, and the threads of each. 0: not determined yet. */
typedef struct sim_groups {
    uint32_t count, threads;
} sim_groups;

struct sim {
    gpu *g;
    const sim_source *source;
    sim_options options;
    sim_params params;
    gpu_buffer *params_buffer, *states, *scores, *data, *genomes, *traced, *grid, *shared;
    sim_kernel fused, first, each, last, coupled; /* made at their first use */
    sim_kernel evolve, generations;
    sim_groups groups;   /* of the coupled one, or of that for many generations */
    double step_ns[2];   /* of a step: fused, separate; 0: not known */
    bool skips_watchdog; /* waits need no watchdog */
    bool stuck, timed_out;
    uint32_t at; /* steps made since the initial states */
    char notice[256];
    void (*progress)(void *user, uint32_t step);
    void *progress_user;
    bool is_stopped; /* by that */
};

bool sim_is_cuda(const sim *s);

/* A kernel of the simulation's text in one form; false with an error that names the file's line. */
bool sim_kernel_make(sim *s, sim_kernel *k, const sim_text_choice *c, const char *entry, err *e);
void sim_kernel_free(sim_kernel *k);
void sim_write_params(sim *s);

/* A thread for each individual, so many times. */
submit_dispatch sim_dispatch_all(const sim *s, const sim_kernel *k, uint32_t times);
void sim_launch_all(const sim *s, const sim_kernel *k);
/* The workgroups of a persistent kernel, s->groups of them, to the end. False, too, if they timed out: s->timed_out. */
bool sim_run_persistent(sim *s, const sim_kernel *k, err *e);
/* Compiles the kernel of a form whose workgroups wait for each other, and sets s->groups: one on software devices. */
bool sim_make_persistent(sim *s, sim_kernel *k, sim_text_form form, err *e);
bool sim_wait(sim *s, err *e);

/* Runs all steps with the current genes: sim_run without the preparations of a first run. */
bool sim_run_generation(sim *s, fusion_level level, submit_policy submit, err *e);

#endif
