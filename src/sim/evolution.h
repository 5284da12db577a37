/* evolution: what evolve.c and evolve_file.c share; no other file includes it. */
#ifndef SOLO_SIM_EVOLUTION_H
#define SOLO_SIM_EVOLUTION_H

#include "sim/evolve.h"
#include "sim/sim_internal.h"

struct evolution {
    sim *s;
    evolve_options options;
    bool has_scores;        /* s->params.generation is complete and scored */
    bool has_states;        /* of that generation: one that was loaded from a file has none */
    uint32_t scored;        /* generations that were run here */
    double *best;           /* (generation + 1) */
    double generation_ns;   /* duration of a generation; 0: not known */
    bool timed_generations; /* it was one of many in a dispatch */
};

/* Genes and scores of the generation that s->params names. */
void evolve_write(evolution *v, const float *genomes, const float *scores);
/* Everything that a generation depends on, besides the one before it, as one number. */
uint64_t evolve_setup(const evolution *v);
/* Goes on from the bytes of a saved evolution. `path` is for errors. */
bool evolve_take(evolution *v, const char *path, const char *bytes, size_t length, err *e);

#endif
