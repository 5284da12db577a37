/* explain: the steps of a plan: what each is made of, what it moves, and the least time the memory takes for it.
 *
 * Nothing is run and no weight is read, unless times are asked for; so the largest
 * model is explained at once.                                                    */
#ifndef SOLO_LAB_EXPLAIN_H
#define SOLO_LAB_EXPLAIN_H

#include "base/str.h"
#include "graph/memory.h"
#include "graph/run.h"

enum { EXPLAIN_FLOPS_PER_BYTE = 16 }; /* operations of a GPU per byte moved, where the ratio is not known */

typedef struct explain_options {
    fusion_level level; /* LEVEL_AUTO: ops, which needs no device to be there */
    uint32_t rows, depth, context_tok;
    uint64_t most_matrix_bytes; /* that a device binds; 0: as many as can be */
    double gbps;                /* bytes moved in a second, over 1e9; 0: not known */
    double gflops;              /* operations; 0: EXPLAIN_FLOPS_PER_BYTE for each byte */
} explain_options;

typedef struct explained_step {
    char kernel[48], what[192], shape[96];
    uint32_t dispatches;
    plan_cost cost;
    double limit_us; /* 0: not known */
    bool by_operations;
    double time_us; /* 0: not measured */
} explained_step;

/* `count` steps from `first` on, which come `times` times, alike but for their weights. */
typedef struct explained_block {
    uint32_t first, count, times;
} explained_block;

typedef struct explained {
    plan *p;
    explained_step *steps; /* as many as the plan has */
    explained_block *blocks;
    uint32_t block_count;
} explained;

typedef struct explain {
    explain_options o;
    explained before, after;
    uint32_t removed[PASS_COUNT];
    char model[96], about[160], device[256]; /* to be shown; "" where there is none */
    bool timed;
    double whole_us;   /* of one dispatch */
    double waiting_us; /* of that, what no phase takes: launching, and waiting for each other */
} explain;

/* The graph must stay. */
explain *explain_new(const graph *g, const explain_options *o);
void explain_free(explain *x);

/* The device's time for each step of the plan of `r` (of one dispatch: by leaving out): to be called for run after run, the shortest is kept. */
bool explain_time(explain *x, graph_run *r, err *e);

/* Of all steps, or of one time of a block. */
explained_step explain_total(const explained *x, const explained_block *block);

void explain_print(const explain *x, str *out);
void explain_json(const explain *x, str *out);
void explain_svg(const explain *x, str *out);

/* What a step does, in words. */
void explain_words(const plan *p, const plan_step *s, char *out, size_t room);
/* "1.10 MB" */
void explain_amount(double amount, const char *unit, char out[24]);

#endif
