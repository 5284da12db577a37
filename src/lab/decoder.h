/* decoder: a small decoder as 1,024 dispatches or as one: 64 tokens, 4 layers, a norm, attention, a norm and a
 * feed-forward each (kernels/lab/decoder.wgsl).
 *
 * What is measured is all of it, from the first call to the end of the wait, as published figures have it, by every launch
 * strategy, interleaved in random order; and every run's numbers are compared with the CPU's. */
#ifndef SOLO_LAB_DECODER_H
#define SOLO_LAB_DECODER_H

#include "base/stats.h"
#include "lab/busy.h"
#include "lab/device.h"
#include "lab/launch.h"

#include <stdio.h>

typedef struct decoder_lab_options {
    gpu_choice choice;
    uint32_t repetitions;
    uint64_t seed; /* order of the runs */
} decoder_lab_options;

/* A launch strategy. */
typedef struct decoder_way {
    bool measured;
    double *us; /* (repetitions) of all 64 tokens */
    summary time;
    gpu_counters counted;
} decoder_way;

typedef struct decoder_lab {
    decoder_lab_options options;
    lab_device device;
    decoder_way ways[SUBMIT_COUNT];
    uint32_t outputs_checked;
    double seconds;
    busy busy; /* while it was measured */
} decoder_lab;

bool decoder_measure(decoder_lab *lab, const decoder_lab_options *o, err *e);
void decoder_free(decoder_lab *lab);
/* How many times as long as one dispatch a strategy takes. */
ratio decoder_over_one(const decoder_lab *lab, submit_policy submit);
void decoder_print(const decoder_lab *lab, FILE *to);
void decoder_record(const decoder_lab *lab, str *out);

#endif
