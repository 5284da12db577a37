/* measurement: a chain on a device, launched in one way, at one or more lengths, in every round.
 *
 * Its result is computed once all rounds are done: the slope of time against the
 * number of dispatches, round by round. Data only: a bench_device runs it
 * (bench_device.h). */
#ifndef SOLO_LAB_MEASUREMENT_H
#define SOLO_LAB_MEASUREMENT_H

#include "base/stats.h"
#include "lab/launch.h"

/* The results' names in the record. */
typedef enum {
    MEASURE_DISPATCH, /* cost per dispatch: the five strategies */
    MEASURE_DEVICE,   /* the same from the device's own timestamps */
    MEASURE_HOST,     /* host time in each call */
    MEASURE_PATTERN,
    MEASURE_SUBMITS, /* a batch of fixed length, in more and more submits */
    MEASURE_SAFETY,
    MEASURE_BARRIER, /* cost of a step inside one dispatch, by workgroups */
    MEASURE_WAIT,    /* submit and wait each, by the way of waiting */
    MEASURE_NAME_COUNT
} measurement_name;
extern const char *const measurement_names[MEASURE_NAME_COUNT];

enum { MEASURE_MAX_POINTS = 5 };

/* What is measured. */
typedef struct measurement_spec {
    measurement_name name;
    char kernel[16];
    launch how;
    gpu_wait_mode wait_mode;
    uint32_t one_workgroups;                /* of the single dispatch */
    uint32_t points, n[MEASURE_MAX_POINTS]; /* lengths of the chain */
} measurement_spec;

/* What measuring one point gave. */
typedef struct measurement_time {
    double us;                  /* by the clock on the wall, or the device's with time_device */
    double call_us[CALL_COUNT]; /* sums over the run; MEASURE_HOST only */
    gpu_counters counted;
    bool output_checked, wait_checked;
} measurement_time;

typedef struct measurement {
    measurement_spec spec;
    uint32_t device; /* whose it is: an index into the experiment's devices */
    uint32_t rounds, rounds_per_process;
    double *us;                    /* [round * points + point] */
    double (*call_us)[CALL_COUNT]; /* likewise; MEASURE_HOST only */
    gpu_counters counted;          /* of the longest run */

    double *samples; /* [round]: slope, or the time itself where there is one point */
    summary result;
    line_fit fit; /* over all points of all rounds */
} measurement;

/* Make room for `rounds`. */
void measurement_prepare(measurement *k, uint32_t rounds, uint32_t rounds_per_process);
/* There will be no more than the first `rounds`, so many of them in each process. */
void measurement_limit_rounds(measurement *k, uint32_t rounds, uint32_t rounds_per_process);
void measurement_store(measurement *k, uint32_t round, uint32_t point, const measurement_time *t);
/* Work out samples, result and fit. */
void measurement_finish(measurement *k);
void measurement_free(measurement *k);

/* What a call costs per dispatch in a MEASURE_HOST measurement: slopes, like all costs. `calls`
 * says which calls are added up, a bit for each; `values` has room for the rounds. */
summary measurement_calls_summary(const measurement *k, unsigned calls, double *values);

#endif
