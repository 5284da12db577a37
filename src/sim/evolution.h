/* evolution: what evolve.c and evolve_file.c share. Nobody else includes this. */
#ifndef SOLO_SIM_EVOLUTION_H
#define SOLO_SIM_EVOLUTION_H

#include "sim/evolve.h"
#include "sim/sim_internal.h"

struct evolution {
    sim *s;
    evolve_options options;
    bool begun;             /* s->params.generation is there and scored */
    bool has_states;        /* of that generation: what a file brings back has none */
    uint32_t scored;        /* generations that were gone through here */
    double *best;           /* (generation + 1) */
    double generation_ns;   /* what one takes; 0: not known */
    bool timed_generations; /* it was one of many in a dispatch */
};

/* Genes and scores of the generation that s->params names. */
void evolve_write(evolution *v, const float *genomes, const float *scores);

#endif
