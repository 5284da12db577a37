/* evolve: generations of individuals, chosen by their scores, on the device.
 *
 * Each child has two parents, chosen by tournament; crossover mixes their genes and mutation changes some; the best
 * individuals are kept. At LEVEL_LOOP many generations are made and scored in one dispatch; at LEVEL_TOKEN one dispatch
 * makes a generation and another scores it, at LEVEL_NONE many do. All give the same bits.                            */
#ifndef SOLO_SIM_EVOLVE_H
#define SOLO_SIM_EVOLVE_H

#include "sim/sim.h"

enum { EVOLVE_MOST_ELITE = 64, EVOLVE_MOST_TOURNAMENT = 64, EVOLVE_MOST_GENERATIONS = 100000000 };

typedef struct evolve_options {
    uint32_t tournament; /* the best of this many, drawn at random, becomes a parent */
    uint32_t elite;      /* number of the best that are kept unchanged */
    float crossover, mutation,
        sigma; /* how likely a child has two parents, a gene changes; by how much, of half a gene's range */
} evolve_options;
#define EVOLVE_DEFAULTS \
    ((evolve_options){.tournament = 4, .elite = 2, .crossover = 0.5f, .mutation = 0.05f, .sigma = 0.2f})

typedef struct evolution evolution;

/* The simulation must have genes, be made with `evolves`, not be coupled, and outlive the evolution. */
evolution *evolve_new(sim *s, const evolve_options *o, err *e);
void evolve_free(evolution *v);

/* Runs up to this generation, the first being 0; after a failure, the generation before it is the current one. `after`
 * is called after every dispatch or generation and returns whether to go on. */
bool evolve_run(evolution *v, uint32_t until, fusion_level level, submit_policy submit,
                bool (*after)(void *user, evolution *v, err *e), void *user, err *e);

/* The default level: on software devices, many generations in one dispatch of one workgroup would leave the other cores
 * idle. */
fusion_level evolve_level_on(const sim *s);

/* The current generation, complete and scored; meaningless before the first run. */
uint32_t evolve_generation(const evolution *v);
/* How many generations were run here, not loaded from a file. */
uint32_t evolve_scored(const evolution *v);
/* The best score of each generation so far: generation + 1 of them. */
const double *evolve_best(const evolution *v);
/* (population, genes) and (population) of that generation. */
bool evolve_read(evolution *v, float *genomes, float *scores, err *e);

/* Replaces them: what the next generation's parents are chosen from. */
bool evolve_replace(evolution *v, const float *genomes, const float *scores, err *e);

/* Saves all that is needed to go on; a failed write leaves the old file (file_write). Loading fails for a file of
 * another simulation, population or other options. */
bool evolve_save(evolution *v, const char *path, err *e);
/* Not in the place of a file of another kind. Asked before long work. */
bool evolve_can_save(const char *path, err *e);
bool evolve_load(evolution *v, const char *path, err *e);

#endif
