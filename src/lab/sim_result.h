/* sim_result: what came of a simulation, to a person, as JSON (a record, with scores and states in it) and as CSV. */
#ifndef SOLO_LAB_SIM_RESULT_H
#define SOLO_LAB_SIM_RESULT_H

#include "base/stats.h"
#include "base/str.h"
#include "gpu/gpu.h"
#include "sim/sim.h"

#include <stdio.h>

typedef struct sim_result {
    const sim_source *source;
    gpu *g;
    fusion_level level;
    submit_policy submit;
    uint32_t population, steps, seed;
    double seconds;
    gpu_counters counted;
    float *scores;        /* (population) */
    uint32_t *states;     /* (words, population) */
    uint32_t generations; /* evolved; 0: none */
    uint32_t scored;      /* generations gone through here, not before a break: what `seconds` are for */
    const double *best;   /* (generations + 1) of each generation */
} sim_result;

void sim_result_print(const sim_result *r, FILE *to);
void sim_result_json(const sim_result *r, str *out);
/* individual,score,state...: a line for each. */
void sim_result_csv(const sim_result *r, str *out);
/* t,individual,state...: `words` is (rows, words, count). */
void sim_trace_csv(const sim_source *source, const uint32_t *words, uint32_t rows, uint32_t count, uint32_t every,
                   str *out);

#endif
