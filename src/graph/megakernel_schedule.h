/* schedule: the text of how one dispatch goes through its phases, one after the other as they are written down.
 *
 * Compilers then see which phase comes after which, and what is fetched for the next one before the barrier needs registers
 * only until it is used; a table of phases and a switch (kernels/include/megakernel_table.wgsl) need them all the time, but
 * are short however many phases there are. Phases that come again and again, as a model's layers do, are a loop.    */
#ifndef SOLO_GRAPH_MEGAKERNEL_SCHEDULE_H
#define SOLO_GRAPH_MEGAKERNEL_SCHEDULE_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { SCHEDULE_MAX_SITES = 24 }; /* places of phases in the text */

typedef struct schedule_kernel {
    bool begins;      /* it has something to begin with before the barrier */
    bool single_pass; /* no workgroup has more than one virtual one of it */
    bool
        per_iteration; /* it is one phase of the loop, and is dispatch_desc which time round it is instead of the place of its row */
    bool epoch_only;  /* the epoch_bit of floats say what is there: no barrier between two such phases */
    bool warms_cache; /* its weights are many, and the first can be touched long before */
} schedule_kernel;

typedef struct schedule {
    const uint32_t *phase_kinds;
    uint32_t phases;
    const schedule_kernel *kinds;
    uint32_t kind_count;
} schedule;

/* Phases first ... first + period * times - 1 are `times` times the same kinds. */
typedef struct schedule_loop {
    uint32_t first, period, times;
} schedule_loop;
schedule_loop schedule_find_loop(const uint32_t *kinds, uint32_t phases);
/* Are there few enough places? */
bool schedule_possible(const uint32_t *kinds, uint32_t phases);
/* fn main. */
void schedule_add(const schedule *c, str *out);

#endif
