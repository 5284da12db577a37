/* dispatch: the dispatch experiment: what a dispatch costs, on each implementation, by each launch strategy. */
#ifndef SOLO_LAB_DISPATCH_H
#define SOLO_LAB_DISPATCH_H

#include "lab/measurement.h"
#include "lab/busy.h"
#include "lab/device.h"

#include <stdio.h>

typedef struct dispatch_options {
    const char *impl_list; /* separated by commas; NULL: all that work here */
    gpu_adapter_want adapter;
    bool quick;
    uint32_t rounds;    /* in all; 0: as many as quick or not asks for */
    uint32_t processes; /* how often each implementation is started anew; 0: likewise */
    /* What would end later is left out, but for one round in each of two processes; 0: a minute for quick where
     * rounds and processes are 0, else no limit. */
    double limit_s;
    uint64_t seed; /* order of the runs; 0: from the clock */
} dispatch_options;

enum { DISPATCH_MAX_IMPLS = 8, DISPATCH_MAX_DEVICES = 12, DISPATCH_KINDS = 4 };

typedef struct dispatch_lab {
    dispatch_options options;
    /* First the implementations, side by side; then Dawn again with parts of its
     * safety off. */
    lab_device devices[DISPATCH_MAX_DEVICES];
    uint32_t impl_count, device_count;
    err missing[DISPATCH_MAX_IMPLS]; /* why an implementation is not here */
    uint32_t missing_count;
    measurement *measurements;
    uint32_t measurement_count;
    uint32_t left_out;      /* processes of each implementation, for lack of time */
    bool left_out_variants; /* likewise: Dawn with parts of its safety off */
    uint64_t runs, outputs_checked, waits_checked;
    double seconds;
    busy busy; /* while it was measured */
} dispatch_lab;

extern const chain_kind *const dispatch_kinds[DISPATCH_KINDS];

/* Measure. On any error, device loss or wrong output: false, and no result. */
bool dispatch_measure(dispatch_lab *lab, const dispatch_options *options, err *e);
void dispatch_free(dispatch_lab *lab);

/* The measurement with these properties, or NULL. */
const measurement *dispatch_find(const dispatch_lab *lab, measurement_name name, const char *impl, submit_policy submit,
                                 const char *kernel);
/* Are all implementations on one device? Otherwise their difference says nothing. */
bool dispatch_one_device(const dispatch_lab *lab);
const char *dispatch_impl(const dispatch_lab *lab, const measurement *k);

/* ---- claims (dispatch_claims.c) ------------------------------------------ */

typedef enum { CLAIM_CONFIRMED, CLAIM_PARTLY, CLAIM_CONTRADICTED, CLAIM_CANNOT_TELL } claim_verdict;
extern const char *const claim_verdict_names[];

typedef struct claim {
    const char *text, *said_by;
    char here[512];
    claim_verdict verdict;
} claim;

enum { CLAIM_COUNT = 5 };
void dispatch_claims(const dispatch_lab *lab, claim claims[CLAIM_COUNT]);

/* Where a dispatch's time goes, by difference of implementations: all in us. */
typedef struct dispatch_shares {
    bool known;
    double total, harness;
    estimate webgpu, vulkan;
} dispatch_shares;
dispatch_shares dispatch_share(const dispatch_lab *lab, const char *impl, submit_policy submit);

/* ---- output -------------------------------------------------------------- */

void dispatch_print(const dispatch_lab *lab, FILE *to);  /* dispatch_print.c */
void dispatch_record(const dispatch_lab *lab, str *out); /* dispatch_record.c */

#endif
