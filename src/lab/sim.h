/* sim: the simulation experiment: how often a second a whole population goes through all steps.
 *
 * It measures one dispatch and a dispatch for each step, by every submit policy,
 * interleaved in random order on the same data, and checks whether all gave the same bits. */
#ifndef SOLO_LAB_SIM_H
#define SOLO_LAB_SIM_H

#include "base/stats.h"
#include "lab/busy.h"
#include "lab/device.h"
#include "sim/sim.h"

#include <stdio.h>

enum { SIM_LAB_MAX_SIMS = 32, SIM_LAB_MAX_CELLS = SIM_LAB_MAX_SIMS * (1 + SUBMIT_COUNT) };

/* One simulation to measure. The source, data and genomes belong to whoever asked. */
typedef struct sim_lab_item {
    const sim_source *source;
    sim_options options;
    const table *genomes; /* of each, or one for all; NULL: drawn */
} sim_lab_item;

typedef struct sim_lab_options {
    gpu_choice choice;
    sim_lab_item items[SIM_LAB_MAX_SIMS];
    uint32_t item_count;
    bool fused, separate, submits[SUBMIT_COUNT]; /* submits: of separate dispatches */
    uint32_t repetitions;
    uint64_t seed; /* order of the runs */
} sim_lab_options;

/* One thing measured. */
typedef struct sim_cell {
    uint32_t item;
    fusion_level level;
    submit_policy submit;
    double *seconds;      /* (repetitions) */
    double first_s;       /* the first time, which compiles */
    double last_s;        /* the last time */
    summary rate;         /* runs of the whole population a second */
    gpu_counters counted; /* in one run */
    uint64_t hash;        /* of scores and states */
    double mean_score;
} sim_cell;

typedef struct sim_lab {
    sim_lab_options options;
    lab_device device;
    sim *sims[SIM_LAB_MAX_SIMS];
    sim_cell measurements[SIM_LAB_MAX_CELLS];
    uint32_t measurement_count;
    double seconds;
    char differs[256]; /* the first two ways that gave different bits; empty: all gave the same */
    busy busy;         /* while it was measured */
} sim_lab;

/* False if anything failed, or two repetitions gave different bits. Levels whose results differ are measured all the
 * same, and reported. */
bool sim_lab_measure(sim_lab *lab, const sim_lab_options *o, err *e);
/* False if a dispatch did not come back: the device is left as it is, and the process can only be ended by _exit. */
bool sim_lab_free(sim_lab *lab);

void sim_lab_print(const sim_lab *lab, FILE *to);
void sim_lab_record(const sim_lab *lab, str *out);

#endif
