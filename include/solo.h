/* solo: step-by-step GPU work in as few dispatches as possible, from C or C++.
 *
 *     solo_error e = {0};
 *     solo_device *d = solo_device_open(NULL, &e);
 *     solo_sim *s = solo_sim_new(d, "cartpole", NULL, &(solo_sim_options){.population = 4096}, &e);
 *     if (!s || !solo_sim_run(s, SOLO_ONE_DISPATCH, &e)) { puts(e.text); ... }
 *     solo_sim_scores(s, scores, &e);
 *
 * Functions that can fail return NULL or false and say why in one line. Nothing is shared between devices, and a
 * device with all that was made on it belongs to one thread at a time. docs/sim.md says what a simulation is.
 *
 * Link with build/libsolo.a (make lib) and -ljansson -ledit -ldl -lm -lpthread.                                  */
#ifndef SOLO_H
#define SOLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero it before it is first used; the first error is kept. */
typedef struct solo_error {
    int status; /* 0: none; 1: it failed; 2: what was asked for makes no sense; 3: no usable GPU */
    char text[1024];
} solo_error;

typedef struct solo_device solo_device;
typedef struct solo_sim solo_sim;

/* "dawn", "wgpu" or the path of a library that implements webgpu.h; NULL: the first that works. */
solo_device *solo_device_open(const char *impl, solo_error *e);
void solo_device_close(solo_device *d); /* after everything made on it was freed */
const char *solo_device_name(const solo_device *d);

/* ---- simulations ------------------------------------------------------------------------------- */

/* Zero everywhere is a good beginning. */
typedef struct solo_sim_options {
    uint32_t population, steps; /* 0: what the file says; it is an error if it says nothing */
    uint32_t seed;
    const char *const *parameters; /* "NAME=VALUE", and NULL behind the last; NULL: none */
    const float *data;             /* (data_rows, data_columns), for data(row, column); copied */
    uint32_t data_rows, data_columns;
    uint32_t trace_count, trace_every; /* so many individuals leave a trace, after every so many steps (0: 1) */
    /* How long a dispatch may take, about: longer runs are cut into several, with the same results, since drivers end what
     * takes seconds. 0: 500; UINT32_MAX: no cut, all in one dispatch however long it takes. One that does not end in a minute
     * is an error, and the device is of no use from then on. */
    uint32_t chunk_ms;
    bool evolves; /* solo_sim_evolve will be called */
} solo_sim_options;

/* `wgsl` is the text, `name` what errors call it; without a text it is the built-in simulation of that name. */
solo_sim *solo_sim_new(solo_device *d, const char *name, const char *wgsl, const solo_sim_options *o, solo_error *e);
void solo_sim_free(solo_sim *s);

typedef enum solo_launch {
    SOLO_ONE_DISPATCH,    /* all steps, or as many as chunk_ms allows */
    SOLO_DISPATCH_A_STEP, /* in one pass; the same bits */
} solo_launch;

/* How many steps were made, told after each piece of a run; NULL: nobody wants to know. */
void solo_sim_set_progress(solo_sim *s, void (*at)(void *user, uint32_t step), void *user);

/* From the beginning to the end. */
bool solo_sim_run(solo_sim *s, solo_launch how, solo_error *e);

/* Something to tell after a run, once: coupled steps that had to be made by separate dispatches. */
bool solo_sim_take_notice(solo_sim *s, char *text, size_t room);

uint32_t solo_sim_population(const solo_sim *s);
uint32_t solo_sim_steps(const solo_sim *s);
uint32_t solo_sim_genes(const solo_sim *s);
/* The words of a State: "x", "position.y", "cash[3]". */
uint32_t solo_sim_words(const solo_sim *s);
const char *solo_sim_word_name(const solo_sim *s, uint32_t word);

/* Of the last run, or the generation that is there; an error before any ran, and after one that failed. */
bool solo_sim_scores(solo_sim *s, float *scores, solo_error *e);  /* (population); an error if one is not finite */
bool solo_sim_states(solo_sim *s, double *states, solo_error *e); /* (words, population), whatever their type */
bool solo_sim_trace(solo_sim *s, double *states, solo_error *e);  /* (rows, words, trace_count) */
uint32_t solo_sim_trace_rows(const solo_sim *s);

/* (population, genes): instead of those that are drawn. Not while it evolves. */
void solo_sim_set_genomes(solo_sim *s, const float *genomes);

/* Zero: the default. */
typedef struct solo_evolution {
    uint32_t tournament, elite;
    float crossover, mutation, sigma;
} solo_evolution;

/* Told after each piece of work; what it returns is whether to go on. */
typedef bool (*solo_progress)(void *user, uint32_t generation, double best);

/* Up to this generation, the first being 0; called again with a later one, it goes on. `o` counts the first time. */
bool solo_sim_evolve(solo_sim *s, uint32_t generation, const solo_evolution *o, solo_progress progress, void *user,
                     solo_error *e);
/* The best score of each generation so far, beginning with the first; NULL: nothing has evolved yet. */
const double *solo_sim_best(const solo_sim *s, uint32_t *count);
/* (population, genes) and (population) of the generation that is there. */
bool solo_sim_evolved(solo_sim *s, float *genomes, float *scores, solo_error *e);
/* What is needed to go on later, in another process: the same simulation with the same options. */
bool solo_sim_save(solo_sim *s, const char *path, solo_error *e);
bool solo_sim_resume(solo_sim *s, const char *path, const solo_evolution *o, solo_error *e);

#ifdef __cplusplus
}
#endif
#endif
