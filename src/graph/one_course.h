/* one_course: the text of how one dispatch goes through its phases, one after the other as they are written down.
 *
 * Compilers then see which phase comes after which, and what is fetched for the next one before the barrier needs registers
 * only until it is used; a table of phases and a switch (kernels/include/one_table.wgsl) need them all the time, but
 * are short however many phases there are. Phases that come again and again, as a model's layers do, are a loop.    */
#ifndef SOLO_GRAPH_ONE_COURSE_H
#define SOLO_GRAPH_ONE_COURSE_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { ONE_MOST_SITES = 24 }; /* places of phases in the text */

typedef struct one_course_kind {
    bool begins;   /* it has something to begin with before the barrier */
    bool one_turn; /* no workgroup has more than one virtual one of it */
    bool by_time;  /* it is one phase of the loop, and is told which time round it is instead of the place of its row */
    bool by_marks; /* the marks of floats say what is there: no barrier between two such phases */
    bool touches;  /* its weights are many, and the first can be touched long before */
} one_course_kind;

typedef struct one_course {
    const uint32_t *phase_kinds;
    uint32_t phases;
    const one_course_kind *kinds;
    uint32_t kind_count;
} one_course;

/* Phases first ... first + period * times - 1 are `times` times the same kinds. */
typedef struct one_loop {
    uint32_t first, period, times;
} one_loop;
one_loop one_find_loop(const uint32_t *kinds, uint32_t phases);
/* Are there few enough places? */
bool one_course_possible(const uint32_t *kinds, uint32_t phases);
/* fn main. */
void one_course_add(const one_course *c, str *out);

#endif
