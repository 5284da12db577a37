#include "lab/cell.h"
#include "base/str.h"

#include <stdlib.h>

const char *const cell_names[CELL_NAME_COUNT] = {"dispatch", "device", "host",    "habit",
                                                 "submits",  "safety", "barrier", "wait"};

/* The shortest must leave three different lengths. */
enum { SHORTEST = 8, LONGEST = 4096 };

/* A length that takes about the budget: from a short run, corrected by longer
 * ones, since what starting costs hides the cost of a step in a short run. */
static bool longest_within(cell *k, double budget_us, double *longest, err *e)
{
    launch_time t;
    double n = SHORTEST;
    /* The first run of a kernel may still be compiling it. */
    if (!launch_run(k->c, &k->how, SHORTEST, &t, e))
        return false;
    for (int i = 0; i < 4; i++) {
        if (!launch_run(k->c, &k->how, (uint32_t)n, &t, e))
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

bool cell_choose_lengths(cell *k, double budget_us, bool quick, err *e)
{
    static const double all[CELL_MAX_POINTS] = {0.125, 0.25, 0.5, 0.75, 1}, few[] = {0.25, 0.5, 1};
    double longest;
    if (!longest_within(k, budget_us, &longest, e))
        return false;
    if (k->name == CELL_HOST) { /* from long runs: what starting costs is spread thin */
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

bool cell_measure(cell *k, uint32_t round, uint32_t point, err *e)
{
    launch_time t;
    if (!launch_run(k->c, &k->how, k->n[point], &t, e))
        return false;
    k->us[round * k->points + point] = k->how.time_device ? t.device_us : t.total_us;
    for (int call = 0; k->call_us && call < CALL_COUNT; call++)
        k->call_us[round][call] = t.call_us[call] / k->n[point];
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
