/* megakernel_schedule: the text of how a megakernel goes through its phases, one after the other as they are written down.
 *
 * Compilers then see which phase follows which, and prefetched data needs registers only until it is used; a table of phases
 * and a switch (kernels/include/megakernel_table.wgsl) need them all the time, but are short however many phases there are.
 * Phases that repeat, as a model's layers do, are a loop.                                                            */
#ifndef SOLO_GRAPH_MEGAKERNEL_SCHEDULE_H
#define SOLO_GRAPH_MEGAKERNEL_SCHEDULE_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { SCHEDULE_MAX_SITES = 40 }; /* places of phases in the text */

typedef struct schedule_kernel {
    bool prefetches;  /* it can fetch weights before its x is there */
    bool single_pass; /* no workgroup has more than one virtual workgroup of it */
    bool
        per_iteration; /* it has one phase in each iteration of the loop, and gets the iteration's number as argument */
    bool epoch_only;   /* it waits by polling epoch bits: no barrier between two such phases */
    bool warms_cache;  /* it has many weights, and the first can be prefetched into the cache long before */
    /* What it prefetches has the type of what the kernel `leader` prefetches, and is in that one's variable. */
    bool shares_fetched;
    uint32_t leader;
} schedule_kernel;

typedef struct schedule {
    const uint32_t *phase_kernels;
    uint32_t phases;
    const schedule_kernel *kernels;
    uint32_t kernel_count;
    /* Kernels of one kind may stand at one site: the loop is found by kinds, and has a branch where its iterations have
     * several kernels. NULL: each kernel is a kind. */
    const uint32_t *phase_kinds;
} schedule;

/* Phases first ... first + period * times - 1 are `times` times the same kinds. */
typedef struct schedule_loop {
    uint32_t first, period, times;
} schedule_loop;
schedule_loop schedule_find_loop(const uint32_t *kinds, uint32_t phases);
/* The places of phases in the text; are they few enough? */
uint32_t schedule_sites(const uint32_t *kinds, uint32_t phases);
bool schedule_possible(const uint32_t *kinds, uint32_t phases);
/* The kernel that stands in the first iteration of the loop where this one stands in others; itself, if that is not one
 * site. */
uint32_t schedule_leader(const uint32_t *phase_kernels, const uint32_t *kinds, uint32_t phases, uint32_t kernel);
/* fn main. */
void schedule_add(const schedule *c, str *out);

#endif
