/* A device with its chains and measurements: adding them, choosing lengths, measuring. */
#include "lab/bench_device.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* The shortest must leave three different lengths. */
enum { SHORTEST = 8, LONGEST = 4096 };

/* ---- chains -------------------------------------------------------------- */

/* How many workgroups of this very kernel are resident: start from what a small
 * kernel had and halve until its own barrier passes. */
static bool fit_workgroups(chain *c, err *e)
{
    uint32_t patient = c->spin_limit;
    c->spin_limit = patient >> 5;
    for (; c->one_workgroups > 1; c->one_workgroups /= 2) {
        err why = {0};
        launch_time t;
        if (launch_run(c, &(launch){.submit = SUBMIT_ONE}, 4, &t, &why))
            break;
        if (!t.timed_out) /* a wrong answer is not a question of size */
            return err_set_kind(e, why.kind, "%s", why.text);
    }
    c->spin_limit = patient;
    return true;
}

chain *bench_device_add_chain(bench_device *s, const chain_kind *kind, uint32_t workgroups, err *e)
{
    gpu *g = s->device.g;
    chain *c = chain_new(g, kind, workgroups ? workgroups : 1);
    s->chains = mem_grow(s->chains, (s->chain_count + 1) * sizeof *s->chains);
    s->chains[s->chain_count++] = c;
    bool computes = s->device.info.type != GPU_TYPE_NONE;
    if (!gpu_wait(g, e) || (computes && !fit_workgroups(c, e)))
        return NULL;
    return c;
}

/* ---- measurements --------------------------------------------------------------- */

void bench_device_add_measurement(bench_device *s, measurement_name name, chain *c, launch how, uint32_t n)
{
    if (!launch_possible(&s->device.info, &how))
        return;
    s->measurements = mem_grow(s->measurements, (s->measurement_count + 1) * sizeof *s->measurements);
    bench_device_measurement *k = &s->measurements[s->measurement_count++];
    *k = (bench_device_measurement){.c = c,
                                    .spec = {.name = name,
                                             .how = how,
                                             .wait_mode = launch_wait_mode(s->device.g, &how),
                                             .one_workgroups = c->one_workgroups,
                                             .points = n ? 1 : 0,
                                             .n = {n}}};
    strncpy(k->spec.kernel, c->kind->name, sizeof k->spec.kernel - 1);
}

/* A length that takes about the budget: from a short run, corrected by longer
 * ones, since what starting costs hides the cost of a step in a short run. */
static bool longest_within(bench_device_measurement *k, double budget_us, double *longest, err *e)
{
    launch_time t;
    double n = SHORTEST;
    /* The first run of a kernel may still be compiling it. */
    if (!launch_run(k->c, &k->spec.how, SHORTEST, &t, e))
        return false;
    for (int i = 0; i < 4; i++) {
        if (!launch_run(k->c, &k->spec.how, (uint32_t)n, &t, e))
            return false;
        double fits = n * budget_us / t.total_us;
        if (fits < 1.5 * n || n >= LONGEST)
            break;
        n = fits < 8 * n ? fits : 8 * n;
        n = n > LONGEST ? LONGEST : n;
    }
    *longest = n;
    return true;
}

static bool choose_lengths(bench_device_measurement *k, double budget_us, bool few, err *e)
{
    static const double five[MEASURE_MAX_POINTS] = {0.125, 0.25, 0.5, 0.75, 1}, three[] = {0.25, 0.5, 1};
    double longest;
    measurement_spec *spec = &k->spec;
    if (!longest_within(k, budget_us, &longest, e))
        return false;
    spec->points = few ? 3 : MEASURE_MAX_POINTS;
    for (uint32_t i = 0; i < spec->points; i++)
        spec->n[i] = (uint32_t)(longest * (few ? three[i] : five[i]));
    return true;
}

bool bench_device_choose_lengths(bench_device *s, double budget_us, bool few, err *e)
{
    for (uint32_t i = 0; i < s->measurement_count; i++)
        if (s->measurements[i].spec.points == 0 && !choose_lengths(&s->measurements[i], budget_us, few, e))
            return false;
    return true;
}

/* ---- measuring ----------------------------------------------------------- */

bool bench_device_check_waits(bench_device *s, err *e)
{
    const uint32_t steps = 300;
    chain *c = bench_device_add_chain(s, &chain_rmsnorm, 1, e);
    if (!c)
        return false;
    for (int other = 0; other < 2; other++)
        for (int submit = SUBMIT_SYNC; submit < SUBMIT_COUNT; submit++) {
            launch how = {.submit = submit, .time_device = true, .other_wait = other};
            launch_time t; /* launch_run compares the two clocks */
            if (launch_possible(&s->device.info, &how) && !launch_run(c, &how, steps, &t, e))
                return false;
        }
    return true;
}

bool bench_device_measure(bench_device *s, uint32_t measurement, uint32_t point, measurement_time *t, err *e)
{
    bench_device_measurement *k = &s->measurements[measurement];
    launch_time run;
    uint32_t n = k->spec.n[point];
    *t = (measurement_time){0};
    if (!launch_run(k->c, &k->spec.how, n, &run, e))
        return false;
    t->us = k->spec.how.time_device ? run.device_us : run.total_us;
    t->counted = run.counted;
    memcpy(t->call_us, run.call_us, sizeof t->call_us);
    t->output_checked = run.output_checked;
    t->wait_checked = run.wait_checked;
    return true;
}

void bench_device_close(bench_device *s)
{
    for (uint32_t i = 0; i < s->chain_count; i++)
        chain_free(s->chains[i]);
    free(s->chains);
    free(s->measurements);
    lab_device_close(&s->device);
}
