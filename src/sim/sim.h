/* sim: a population of simulations on a device.
 *
 *     sim_source src;   sim_source_read(&src, "pi.wgsl", text, &e);
 *     sim *s = sim_new(g, &src, &(sim_options){.population = 4096, .steps = 500}, &e);
 *     sim_run(s, LEVEL_LOOP, SUBMIT_BATCH, &e);          all steps in one dispatch
 *     sim_read_scores(s, scores, &e);
 *
 * LEVEL_LOOP keeps states in registers and goes through all steps in one dispatch; where individuals are coupled they stay
 * in memory, with a barrier over all of them after each step. LEVEL_NONE is a dispatch for each step, submitted by any
 * policy. Both give the same bits. A run is cut into dispatches that take no longer than `chunk_ms`, about, with the same
 * results; the first run times a step for that.                                                                       */
#ifndef SOLO_SIM_H
#define SOLO_SIM_H

#include "gpu/gpu.h"
#include "launch/submit.h"
#include "launch/level.h"
#include "sim/source.h"
#include "sim/table.h"

typedef struct sim_options {
    uint32_t population, steps, seed;
    const table *data;    /* NULL: none */
    uint32_t trace_count; /* number of individuals with a trace; 0: none */
    uint32_t trace_every; /* steps from one entry to the next; 0: 1 */
    uint32_t chunk_ms;    /* how long a dispatch may take, about; 0: no limit */
    bool evolves;         /* it will evolve (evolve.h) */
    uint32_t timeout_s;   /* a longer dispatch is an error; 0: a minute */
} sim_options;

/* A device that compiles WGSL: the first that works, unless one is named. */
gpu *sim_open_gpu(const gpu_choice *choice, err *e);

typedef struct sim sim;

/* The source must outlive the simulation. Errors: a population that is too large for the device, an implementation that
 * compiles no WGSL; a mistake in the file, with its line. */
sim *sim_new(gpu *g, const sim_source *source, const sim_options *o, err *e);
void sim_free(sim *s);

uint32_t sim_population(const sim *s);
const sim_source *sim_get_source(const sim *s);

/* Runs all steps, from the first. */
bool sim_run(sim *s, fusion_level level, submit_policy submit, err *e);
/* Step by step, for a caller who sets genes in between: makes the initial states, drawn by this seed, then makes the next
 * `count` steps in one dispatch, with the scores after them. Steps go on beyond those of the options. */
bool sim_begin(sim *s, uint32_t seed, err *e);
bool sim_advance(sim *s, uint32_t count, err *e);
/* Sets a callback for the progress of a run; NULL: none. */
void sim_set_progress(sim *s, void (*at)(void *user, uint32_t step), void *user);
/* For that callback: the run ends here, and fails. */
void sim_stop(sim *s);
/* For measuring: from now on, waits are the device's own, without a watchdog. */
void sim_skip_watchdog(sim *s);
/* A dispatch did not end: the device cannot be closed in an orderly way any more. */
bool sim_is_stuck(const sim *s);
/* A notice for the user, returned once: coupled steps had to use separate dispatches. */
bool sim_take_notice(sim *s, char *text, size_t room);

/* (population), and (words, population) */
bool sim_read_scores(sim *s, float *scores, err *e);
bool sim_read_states(sim *s, uint32_t *words, err *e);
/* (rows, words, trace_count): states before the first step, and after every trace_every-th. */
bool sim_read_trace(sim *s, uint32_t *words, err *e);
uint32_t sim_trace_rows(const sim *s);
uint32_t sim_trace_count(const sim *s);

/* The initial genes, drawn by the seed or set by the caller, (population, genes). */
void sim_draw_genomes(const sim_source *source, uint32_t population, uint32_t seed, float *genomes);
void sim_set_genomes(sim *s, const float *genomes);
/* (population, genes), or (1, genes), the same for all. */
void sim_set_genome_table(sim *s, const table *genomes);

/* Is there a CUDA control for this simulation? The hand-written controls do not check their options. */
bool sim_cuda_suits(const sim_source *source, const sim_options *o, err *e);
/* How the CUDA controls are compiled: words of SOLO_SIM_CUDA in the environment. */
typedef struct sim_cuda_choice {
    bool fast;  /* with the device's approximations of functions */
    bool loops; /* loops over the units of networks are not unrolled */
} sim_cuda_choice;
sim_cuda_choice sim_cuda_chosen(void);

/* False, with the first such individual, if a step read data, genes or individuals out of range, or scores are not
 * finite. */
bool sim_check(sim *s, const float *scores, err *e);

#endif
