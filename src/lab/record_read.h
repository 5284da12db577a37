/* record_read: a record ("solo-record-1") from a file nobody vouches for.
 *
 * The file is checked while it is read: what is required is there, every key
 * has the right type, every sample is a finite number. Control characters in
 * strings become spaces, so that printing a record cannot drive a terminal.
 * Keys that are not known are ignored.
 *
 * An absent text is "", an absent number is NAN: callers need no NULL tests. */
#ifndef SOLO_RECORD_READ_H
#define SOLO_RECORD_READ_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* A parsed number takes about twenty times the bytes that "1," does, so this
 * also bounds memory. A full run of every experiment stays below 10 MiB. */
enum {
    RECORD_MAX_BYTES = 16 << 20,
    RECORD_MAX_RESULTS = 5000,  /* ten times a full run */
    RECORD_MAX_SAMPLES = 10000, /* per result; as many points */
    RECORD_MAX_ALL = 250000,    /* samples of all results: intervals of more take minutes */
};

typedef struct view_param {
    const char *key, *text;
    double number; /* NAN when the value is not a number */
} view_param;

typedef struct view_result {
    const char *name, *unit;
    const char *identity; /* "name key=value ...", keys sorted */
    view_param *params;   /* sorted by key */
    size_t param_count;
    double *samples;
    size_t n;           /* counted, not taken from the file */
    double stated_n;    /* what the file says */
    size_t per_process; /* so many samples in a row come from one process */
    double min, p10, median, p90, mean, sd, ci95[2];
    double dispatches, passes, submits;
    double *x, *y; /* the points: number of dispatches, total time in `unit` */
    size_t point_count;
    double intercept, r2;
} view_result;

typedef struct view_gpu {
    const char *impl, *impl_version, *backend, *vendor, *device, *driver, *adapter_type, *waits_by;
    const char *features, *limits; /* "subgroups, subgroup_size 8–8, f16" */
    double resident_workgroups, copy_gbps;
} view_gpu;

typedef struct view_check {
    const char *what, *detail;
    bool ok;
} view_check;

typedef struct view_claim {
    const char *claim, *said_by, *here, *verdict;
} view_claim;

typedef struct record_view {
    const char *path, *version, *commit, *when, *os, *cpu, *experiment;
    const char *page;   /* the browser or JavaScript runtime that it was measured in; "": none */
    view_param *params; /* of the experiment, sorted by key */
    double cores, busy; /* processors; those of them that did other work meanwhile */
    double clock_ns, clock_cost_ns;
    view_gpu *gpus;
    view_result *results;
    view_check *checks;
    view_claim *claims;
    size_t param_count, gpu_count, result_count, check_count, claim_count;
    struct view_block *blocks; /* every allocation above */
} record_view;

/* On failure `e` holds one line that names the file and the key, and `view`
 * needs no freeing. */
bool record_view_load(record_view *view, const char *path, err *e);

/* The same from memory; `path` is what errors call it. */
bool record_view_parse(record_view *view, const char *path, const char *text, size_t length, err *e);

void record_view_free(record_view *view);

/* A parameter of a result: "" or NAN when it has none of that name. */
const char *view_param_text(const view_result *result, const char *key);
double view_param_number(const view_result *result, const char *key);

#endif
