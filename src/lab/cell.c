#include "lab/cell.h"
#include "base/str.h"

#include <stdlib.h>

const char *const cell_names[CELL_NAME_COUNT] = {"dispatch", "device", "host",    "habit",
                                                 "submits",  "safety", "barrier", "wait"};

/* The shortest must leave three different lengths. */
enum { SHORTEST = 8, LONGEST = 4096 };

/* What one more step costs, from a short and a longer run; the first run of a
 * kernel may still be compiling it, so it does not count. */
static bool estimate_step_us(cell *k, double *us, err *e)
{
    const uint32_t few = 4, more = 20;
    launch_time warm, a, b;
    if (!launch_run(k->c, &k->how, few, &warm, e) || !launch_run(k->c, &k->how, few, &a, e) ||
        !launch_run(k->c, &k->how, more, &b, e))
        return false;
    double slope = (b.total_us - a.total_us) / (more - few), share = b.total_us / more;
    /* Noise can make the difference small or negative: then only the share is
     * known, and the truth lies somewhere below it. */
    *us = slope > share / 16 ? slope : share / 16;
    return true;
}

bool cell_choose_lengths(cell *k, double budget_us, bool quick, err *e)
{
    static const double all[CELL_MAX_POINTS] = {0.125, 0.25, 0.5, 0.75, 1}, few[] = {0.25, 0.5, 1};
    double step_us;
    if (!estimate_step_us(k, &step_us, e))
        return false;
    double longest = budget_us / step_us;
    longest = longest < SHORTEST ? SHORTEST : longest > LONGEST ? LONGEST : longest;
    if (k->name == CELL_HOST) { /* a figure per call, from long runs */
        k->points = 1;
        k->n[0] = (uint32_t)longest;
        return true;
    }
    k->points = quick ? 3 : CELL_MAX_POINTS;
    for (uint32_t i = 0; i < k->points; i++)
        k->n[i] = (uint32_t)(longest * (quick ? few[i] : all[i]));
    return true;
}

void cell_prepare(cell *k, uint32_t rounds)
{
    k->rounds = rounds;
    k->us = mem_alloc(rounds * k->points * sizeof *k->us);
    k->samples = mem_alloc(rounds * sizeof *k->samples);
    if (k->name == CELL_HOST)
        k->call_us = mem_alloc(rounds * sizeof *k->call_us);
}

/* How often a call is made in a run: the rest of the calls once per dispatch. */
static double times_called(const cell *k, launch_call call, const launch_time *t, uint32_t n)
{
    bool per_dispatch = call == CALL_SET_PIPELINE || call == CALL_SET_BIND_GROUP || call == CALL_DISPATCH;
    if (per_dispatch)
        return n;
    if (call == CALL_BEGIN_PASS || call == CALL_END_PASS)
        return (double)t->counted.passes;
    if (call == CALL_WAIT)
        return k->how.submit == SUBMIT_SYNC ? n : 1;
    return (double)t->counted.submits;
}

bool cell_measure(cell *k, uint32_t round, uint32_t point, err *e)
{
    launch_time t;
    if (!launch_run(k->c, &k->how, k->n[point], &t, e))
        return false;
    k->us[round * k->points + point] = k->how.time_device ? t.device_us : t.total_us;
    for (int call = 0; k->call_us && call < CALL_COUNT; call++) {
        double times = times_called(k, call, &t, k->n[point]);
        k->call_us[round][call] = times > 0 ? t.call_us[call] / times : 0;
    }
    if (point + 1 == k->points)
        k->counted = t.counted;
    return true;
}

void cell_finish(cell *k)
{
    double n[CELL_MAX_POINTS], *all_n = mem_alloc(k->rounds * k->points * sizeof *all_n);
    for (uint32_t i = 0; i < k->points; i++)
        n[i] = k->n[i];
    for (uint32_t i = 0; i < k->rounds * k->points; i++)
        all_n[i] = k->n[i % k->points];
    for (uint32_t r = 0; r < k->rounds; r++)
        k->samples[r] = k->points > 1 ? stats_line(n, k->us + r * k->points, k->points).slope : k->us[r];
    k->result = stats_summary(k->samples, k->rounds);
    k->fit = stats_line(all_n, k->us, k->rounds * k->points);
    free(all_n);
}

summary cell_call_summary(const cell *k, launch_call call, double *samples)
{
    for (uint32_t r = 0; r < k->rounds; r++)
        samples[r] = k->call_us[r][call];
    return stats_summary(samples, k->rounds);
}

void cell_free(cell *k)
{
    free(k->us);
    free(k->samples);
    free(k->call_us);
}
