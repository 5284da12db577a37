/* The samples of one measurement over all rounds, and the slope worked out from them. */
#include "lab/measurement.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

const char *const measurement_names[MEASURE_NAME_COUNT] = {"dispatch", "device", "host",    "habit",
                                                           "submits",  "safety", "barrier", "wait"};

void measurement_prepare(measurement *k, uint32_t rounds, uint32_t rounds_per_process)
{
    k->rounds = rounds;
    k->rounds_per_process = rounds_per_process;
    k->us = mem_alloc(rounds * k->spec.points * sizeof *k->us);
    k->samples = mem_alloc(rounds * sizeof *k->samples);
    if (k->spec.name == MEASURE_HOST)
        k->call_us = mem_alloc(rounds * k->spec.points * sizeof *k->call_us);
}

void measurement_limit_rounds(measurement *k, uint32_t rounds, uint32_t rounds_per_process)
{
    k->rounds = rounds;
    k->rounds_per_process = rounds_per_process;
}

void measurement_store(measurement *k, uint32_t round, uint32_t point, const measurement_time *t)
{
    k->us[round * k->spec.points + point] = t->us;
    if (k->call_us)
        memcpy(k->call_us[round * k->spec.points + point], t->call_us, sizeof t->call_us);
    if (point + 1 == k->spec.points)
        k->counted = t->counted;
}

/* The slope through one round's points, or the value itself where there is one. */
static double round_slope(const measurement *k, const double *y)
{
    double n[MEASURE_MAX_POINTS];
    for (uint32_t i = 0; i < k->spec.points; i++)
        n[i] = k->spec.n[i];
    return k->spec.points > 1 ? stats_line(n, y, k->spec.points).slope : y[0];
}

void measurement_finish(measurement *k)
{
    uint32_t points = k->spec.points;
    double *all_n = mem_alloc(k->rounds * points * sizeof *all_n);
    for (uint32_t i = 0; i < k->rounds * points; i++)
        all_n[i] = k->spec.n[i % points];
    for (uint32_t r = 0; r < k->rounds; r++)
        k->samples[r] = round_slope(k, k->us + r * points);
    k->result = stats_summary((samples){k->samples, k->rounds, k->rounds_per_process});
    k->fit = stats_line(all_n, k->us, k->rounds * points);
    free(all_n);
}

summary measurement_calls_summary(const measurement *k, unsigned calls, double *values)
{
    for (uint32_t r = 0; r < k->rounds; r++) {
        double us[MEASURE_MAX_POINTS] = {0};
        for (uint32_t i = 0; i < k->spec.points; i++)
            for (int call = 0; call < CALL_COUNT; call++)
                us[i] += calls >> call & 1 ? k->call_us[r * k->spec.points + i][call] : 0;
        values[r] = round_slope(k, us);
    }
    return stats_summary((samples){values, k->rounds, k->rounds_per_process});
}

void measurement_free(measurement *k)
{
    free(k->us);
    free(k->samples);
    free(k->call_us);
}
