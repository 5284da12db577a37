/* program: the experiment of PyTorch's programs: how long a run takes at each fusion level.
 *
 * Levels are interleaved in random order, on the same inputs; every run's outputs are compared with those of the first
 * level. */
#ifndef SOLO_LAB_PROGRAM_H
#define SOLO_LAB_PROGRAM_H

#include "base/stats.h"
#include "lab/busy.h"
#include "lab/device.h"
#include "llm/program_run.h"

#include <stdio.h>

typedef struct program_lab_options {
    const char *path; /* as it is shown */
    aten_program *program;
    gpu_choice choice;
    bool levels[LEVEL_COUNT];
    uint32_t repetitions, runs; /* runs: of a repetition */
    uint64_t seed;              /* of the inputs, and of the order */
} program_lab_options;

typedef struct program_cell {
    fusion_level level;
    graph_run *run;
    double *ms; /* (repetitions), of one run */
    summary time;
    gpu_counters counted; /* in one repetition */
    uint32_t dispatches;  /* of a run */
} program_cell;

typedef struct program_lab {
    program_lab_options options;
    lab_device device;
    program_cell cells[LEVEL_COUNT];
    uint32_t cell_count;
    double largest_difference; /* between levels, relative to the spread of an output */
    busy busy;                 /* while it was measured */
} program_lab;

/* False if a level is not possible, or its outputs are not those of the first. To be freed in any case. */
bool program_lab_measure(program_lab *lab, const program_lab_options *o, err *e);
void program_lab_free(program_lab *lab);
void program_lab_print(const program_lab *lab, FILE *to);
void program_lab_record(const program_lab *lab, str *out);

#endif
