/* clock: CLOCK_MONOTONIC, and its resolution and cost as measured here. */
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double clock_us(void)
{
    return (double)clock_ns() / 1e3;
}

double clock_resolution_ns(void)
{
    static double found;
    if (found > 0)
        return found;
    uint64_t smallest = UINT64_MAX;
    /* many, but where the clock is as coarse as a browser's, not for seconds */
    uint64_t began = clock_ns();
    for (int i = 0; i < 20000 && clock_ns() - began < 100000000; i++) {
        uint64_t a = clock_ns(), b = a;
        while (b == a)
            b = clock_ns();
        if (b - a < smallest)
            smallest = b - a;
    }
    return found = (double)smallest;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double clock_cost_ns(void)
{
    /* The median of many short runs: one preemption must not count. */
    enum { RUNS = 201, READS = 200 };
    static double found;
    if (found > 0)
        return found;
    double each[RUNS];
    for (int r = 0; r < RUNS; r++) {
        uint64_t start = clock_ns();
        for (int i = 0; i < READS; i++)
            (void)clock_ns();
        each[r] = (double)(clock_ns() - start) / (READS + 1);
    }
    qsort(each, RUNS, sizeof *each, by_value);
    return found = each[RUNS / 2];
}

void clock_utc(char out[32])
{
    time_t now = time(NULL);
    struct tm t;
    gmtime_r(&now, &t);
    /* not strftime: a page would have all of it */
    snprintf(out, 32, "%04d-%02d-%02dT%02d:%02d:%02dZ", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min,
             t.tm_sec);
}
