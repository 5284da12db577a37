/* What the tests of graphs on the CPU share. */
#ifndef SOLO_TEST_GRAPH_CHECKS_H
#define SOLO_TEST_GRAPH_CHECKS_H

#include "graph/cpu.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline void near(const float *got, const float *right, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(got[i] - right[i]) <= 1e-5f * (1 + fabsf(right[i]))))
            fail_msg("element %zu is %g instead of %g", i, (double)got[i], (double)right[i]);
}

/* Weights by the name of the variable that holds them. */
typedef struct named {
    const char *name;
    const void *data;
} named;

static inline const void *find_weight(void *user, const char *name, uint64_t first, uint64_t bytes, err *e)
{
    (void)bytes, (void)e;
    for (const named *w = user; w->name; w++)
        if (strcmp(w->name, name) == 0)
            return (const char *)w->data + first;
    return NULL;
}

static inline cpu_run *run_of(const graph *g, named *weights)
{
    err e = {0};
    cpu_run *r = cpu_run_new(g, find_weight, weights ? weights : &(named){0}, &e);
    if (!r)
        fail_msg("%s", e.text);
    return r;
}

static inline void run_ok(cpu_run *r)
{
    err e = {0};
    if (!cpu_run_once(r, &e))
        fail_msg("%s", e.text);
}

#endif
