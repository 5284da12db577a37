/* batch: the experiment of several texts at a time: how many tokens a second all of them get together.
 *
 * All texts begin at once, with prompts that have nothing in common. Three things are measured: tokens of all texts per
 * second while nobody reads a prompt; the same from the first prompt to the last token; and when each text's first token
 * is there. Every level must make the same tokens. */
#ifndef SOLO_LAB_BATCH_H
#define SOLO_LAB_BATCH_H

#include "base/stats.h"
#include "lab/busy.h"
#include "lab/device.h"
#include "llm/batch.h"

#include <stdio.h>

typedef struct batch_lab_options {
    const char *model_name;
    gpu_choice choice;
    bool levels[LEVEL_COUNT];
    bool times; /* each kernel's time, too */
    uint32_t texts, prompt_tok, made_tok, repetitions;
    uint64_t seed;
    const char *cache; /* NULL: f16 */
    bool for_record;   /* all that a record says of a device is found out, too */
} batch_lab_options;

typedef struct batch_lab_result {
    double *making_samples, *whole_samples, *first_s_samples; /* (repetitions) */
    summary making, whole, first_s;                           /* tokens per second; seconds */
    gpu_counters counted;                                     /* in one run */
    uint32_t dispatches;                                      /* of a token of all texts */
} batch_lab_result;

/* Where a step's time goes: for each kernel and length of the rows that it makes. */
enum { BATCH_MOST_TIMES = 40 };
typedef struct batch_times {
    struct {
        char kernel[48];
        uint32_t columns, count;
        double us;
    } of[BATCH_MOST_TIMES];
    uint32_t count;
    double whole_us; /* of one dispatch; else 0 */
} batch_times;

typedef struct batch_lab {
    batch_lab_options options;
    lab_device device;
    batch_lab_result results[LEVEL_COUNT];
    uint64_t bytes;
    uint32_t piece_tok;
    batch_times times[LEVEL_COUNT];
    busy busy; /* while it was measured */
} batch_lab;

/* False if anything failed, or a level made other tokens than another. */
bool batch_measure(batch_lab *lab, const model *m, const batch_lab_options *o, err *e);
void batch_lab_free(batch_lab *lab);
void batch_print(const batch_lab *lab, FILE *to);
void batch_record(const batch_lab *lab, str *out);
/* Times the kernels of a step at the batch's level, with texts in its slots. */
bool batch_time(batch_times *t, batch *b, err *e);
void batch_print_times(const batch_times *t, FILE *to);

#endif
