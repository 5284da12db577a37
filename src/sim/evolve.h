/* evolve: generations of individuals, chosen by their scores, on the device.
 *
 * The next generation is made of this one: two parents for each child by tournament, their genes mixed, some of them changed, and the
 * best individuals kept as they are. At LEVEL_LOOP many generations are made and scored in one dispatch; at LEVEL_TOKEN one
 * dispatch makes a generation and another scores it, at LEVEL_NONE many do. All give the same bits.                            */
#ifndef SOLO_SIM_EVOLVE_H
#define SOLO_SIM_EVOLVE_H

#include "sim/sim.h"

enum { EVOLVE_MOST_ELITE = 64, EVOLVE_MOST_TOURNAMENT = 64, EVOLVE_MOST_GENERATIONS = 100000000 };

typedef struct evolve_options {
    uint32_t tournament; /* of so many, drawn at random, the best becomes a parent */
    uint32_t elite;      /* so many of the best stay as they are */
    float crossover, mutation,
        sigma; /* how likely a child has two parents, a gene changes; by how much, of half a gene's range */
} evolve_options;
#define EVOLVE_DEFAULTS \
    ((evolve_options){.tournament = 4, .elite = 2, .crossover = 0.5f, .mutation = 0.05f, .sigma = 0.2f})

typedef struct evolution evolution;

/* The simulation must have genes, be made with `evolves`, and not be coupled; it must live as long. */
evolution *evolve_new(sim *s, const evolve_options *o, err *e);
void evolve_free(evolution *v);

/* Up to this generation, the first being 0; one that fails leaves the one before it. `after` is told after every piece of work; what it returns is whether to go on. */
bool evolve_run(evolution *v, uint32_t until, fusion_level level, submit_policy submit,
                bool (*after)(void *user, evolution *v, err *e), void *user, err *e);

/* The level to use where none is asked for: many generations in one dispatch of one workgroup, which is what software gets, would
 * leave its other cores idle. */
fusion_level evolve_level_on(const sim *s);

/* The generation that is there and scored; meaningless before the first run. */
uint32_t evolve_generation(const evolution *v);
/* How many were gone through here, and not read from a file. */
uint32_t evolve_scored(const evolution *v);
/* The best score of each generation so far: generation + 1 of them. */
const double *evolve_best(const evolution *v);
/* (population, genes) and (population) of that generation. */
bool evolve_read(evolution *v, float *genomes, float *scores, err *e);

/* All that is needed to go on: file_write's ways, so that a file is complete or the old one. Loading fails for a file of
 * another simulation, population or other options. */
bool evolve_save(evolution *v, const char *path, err *e);
bool evolve_load(evolution *v, const char *path, err *e);

#endif
