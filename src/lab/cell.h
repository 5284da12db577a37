/* cell: one thing measured: a kernel's chain on a device, launched in one way,
 * at one or more lengths, in every round. What it says is worked out once all
 * rounds are done: the slope of time against the number of dispatches, round by
 * round. Data only; who runs it is a station (station.h). */
#ifndef SOLO_LAB_CELL_H
#define SOLO_LAB_CELL_H

#include "base/stats.h"
#include "lab/launch.h"

/* The results' names in the record. */
typedef enum {
    CELL_DISPATCH, /* cost per dispatch: the five strategies */
    CELL_DEVICE,   /* the same from the device's own timestamps */
    CELL_HOST,     /* host time in each call */
    CELL_HABIT,
    CELL_SUBMITS, /* a batch of fixed length, in more and more submits */
    CELL_SAFETY,
    CELL_BARRIER, /* cost of a step inside one dispatch, by workgroups */
    CELL_WAIT,    /* submit and wait each, by the way of waiting */
    CELL_NAME_COUNT
} cell_name;
extern const char *const cell_names[CELL_NAME_COUNT];

enum { CELL_MAX_POINTS = 5 };

/* What is measured. */
typedef struct cell_spec {
    cell_name name;
    char kernel[16];
    launch how;
    gpu_wait_mode wait_mode;
    uint32_t one_workgroups;             /* of the single dispatch */
    uint32_t points, n[CELL_MAX_POINTS]; /* lengths of the chain */
} cell_spec;

/* What measuring one point gave. */
typedef struct cell_time {
    double us;                  /* by the clock on the wall, or the device's with time_device */
    double call_us[CALL_COUNT]; /* sums over the run; CELL_HOST only */
    gpu_counters counted;
    bool output_checked, wait_checked;
} cell_time;

typedef struct cell {
    cell_spec spec;
    uint32_t device; /* whose it is: an index into the experiment's devices */
    uint32_t rounds, rounds_per_process;
    double *us;                    /* [round * points + point] */
    double (*call_us)[CALL_COUNT]; /* likewise; CELL_HOST only */
    gpu_counters counted;          /* of the longest run */

    double *samples; /* [round]: slope, or the time itself where there is one point */
    summary result;
    line_fit fit; /* over all points of all rounds */
} cell;

/* Make room for `rounds`. */
void cell_prepare(cell *k, uint32_t rounds, uint32_t rounds_per_process);
void cell_store(cell *k, uint32_t round, uint32_t point, const cell_time *t);
/* Work out samples, result and fit. */
void cell_finish(cell *k);
void cell_free(cell *k);

/* What a call costs per dispatch in a CELL_HOST cell: slopes, like all costs. `calls`
 * says which calls are added up, a bit for each; `values` has room for the rounds. */
summary cell_calls_summary(const cell *k, unsigned calls, double *values);

#endif
