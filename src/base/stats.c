/* stats: medians, quantiles, bootstrap intervals and slopes of samples. */
#include "base/stats.h"
#include "base/rng.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Resamples enough for the last digit shown, fewer where there are so many samples
 * that it would take minutes. */
enum { MOST_RESAMPLES = 2000, FEWEST_RESAMPLES = 200, MOST_DRAWS = 4000000 };

static int resamples_for(size_t n)
{
    size_t fit = MOST_DRAWS / n;
    return fit > MOST_RESAMPLES ? MOST_RESAMPLES : fit < FEWEST_RESAMPLES ? FEWEST_RESAMPLES : (int)fit;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear interpolation between the neighbours of a sorted array. */
static double quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    if (i + 1 >= n)
        return sorted[n - 1];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

/* Puts the value that would be the i-th of all if they were sorted there, what is not larger before it and what is not
 * smaller behind it. */
static void select_nth(double *values, size_t n, size_t i)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        size_t a = low, b = high;
        for (;;) {
            while (values[a] < pivot)
                a++;
            while (values[b] > pivot)
                b--;
            if (a >= b)
                break;
            double t = values[a];
            values[a++] = values[b];
            values[b--] = t;
        }
        /* up to b: not larger; from b + 1 on: not smaller */
        if (i <= b)
            high = b;
        else
            low = b + 1;
    }
}

/* The same of values in any order, which it moves about. */
static double quantile_of(double *values, size_t n, double q)
{
    size_t i = (size_t)(q * (double)(n - 1));
    select_nth(values, n, i);
    /* the next one is the least of those behind */
    for (size_t k = i + 2; k < n; k++)
        if (values[k] < values[i + 1]) {
            double t = values[i + 1];
            values[i + 1] = values[k];
            values[k] = t;
        }
    return quantile(values, n, q);
}

/* A set of samples ready for resampling. */
typedef struct pool {
    size_t n, group, groups;
    double *sorted;
    size_t *rank;    /* of the i-th sample as taken, in `sorted` */
    unsigned *drawn; /* room for one resample: how often each of `sorted` */
} pool;

typedef struct placed {
    double value;
    size_t index;
} placed;

static int by_placed_value(const void *a, const void *b)
{
    return by_value(&((const placed *)a)->value, &((const placed *)b)->value);
}

static pool pool_new(samples s)
{
    pool p = {.n = s.n, .group = s.group > 1 ? s.group : 1};
    p.groups = (s.n + p.group - 1) / p.group;
    p.sorted = mem_alloc(s.n * sizeof *p.sorted);
    p.rank = mem_alloc(s.n * sizeof *p.rank);
    p.drawn = mem_alloc(s.n * sizeof *p.drawn);
    placed *order = mem_alloc(s.n * sizeof *order);
    for (size_t i = 0; i < s.n; i++)
        order[i] = (placed){s.values[i], i};
    qsort(order, s.n, sizeof *order, by_placed_value);
    for (size_t i = 0; i < s.n; i++) {
        p.sorted[i] = order[i].value;
        p.rank[order[i].index] = i;
    }
    free(order);
    return p;
}

static void pool_free(pool *p)
{
    free(p->sorted);
    free(p->rank);
    free(p->drawn);
}

/* Groups are drawn with replacement, then samples within each. */
static size_t draw(pool *p, rng *r)
{
    size_t total = 0;
    memset(p->drawn, 0, p->n * sizeof *p->drawn);
    for (size_t g = 0; g < p->groups; g++) {
        size_t first = rng_below(r, (uint32_t)p->groups) * p->group;
        size_t size = p->n - first < p->group ? p->n - first : p->group;
        for (size_t i = 0; i < size; i++)
            p->drawn[p->rank[first + rng_below(r, (uint32_t)size)]]++;
        total += size;
    }
    return total;
}

/* The median of one resample. Counting how often each sorted value was drawn
 * gives it without another sort. */
static double resampled_median(pool *p, rng *r)
{
    size_t total = draw(p, r), low = (total - 1) / 2, high = total / 2, seen = 0;
    double a = 0, b = 0;
    for (size_t i = 0; i < p->n; i++) {
        size_t next = seen + p->drawn[i];
        if (seen <= low && low < next)
            a = p->sorted[i];
        if (seen <= high && high < next) {
            b = p->sorted[i];
            break;
        }
        seen = next;
    }
    return (a + b) / 2;
}

/* All but the interval. */
static summary summary_of_sorted(const double *sorted, size_t n)
{
    summary out = {.n = n,
                   .min = sorted[0],
                   .p10 = quantile(sorted, n, 0.1),
                   .median = quantile(sorted, n, 0.5),
                   .p90 = quantile(sorted, n, 0.9),
                   .ci95 = {NAN, NAN}};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += sorted[i];
    out.mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (sorted[i] - out.mean) * (sorted[i] - out.mean);
    out.sd = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
    return out;
}

static const summary NO_SAMPLES = {0, NAN, NAN, NAN, NAN, NAN, NAN, {NAN, NAN}};

summary stats_figures(const double *values, size_t n)
{
    if (n == 0)
        return NO_SAMPLES;
    double *sorted = mem_alloc(n * sizeof *sorted);
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    summary out = summary_of_sorted(sorted, n);
    free(sorted);
    return out;
}

summary stats_summary(samples s)
{
    size_t n = s.n;
    if (n == 0)
        return NO_SAMPLES;
    pool p = pool_new(s);
    summary out = summary_of_sorted(p.sorted, n);
    rng r = rng_seed(n);
    int count = resamples_for(n);
    double *medians = mem_alloc((size_t)count * sizeof *medians);
    for (int i = 0; i < count; i++)
        medians[i] = resampled_median(&p, &r);
    /* With few groups a resampled interval can miss the median itself. */
    out.ci95[0] = fmin(quantile_of(medians, (size_t)count, 0.025), out.median);
    out.ci95[1] = fmax(quantile_of(medians, (size_t)count, 0.975), out.median);
    free(medians);
    pool_free(&p);
    return out;
}

line_fit stats_line(const double *x, const double *y, size_t n)
{
    double mx = 0, my = 0, sxx = 0, sxy = 0, syy = 0;
    for (size_t i = 0; i < n; i++) {
        mx += x[i] / (double)n;
        my += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        sxx += (x[i] - mx) * (x[i] - mx);
        sxy += (x[i] - mx) * (y[i] - my);
        syy += (y[i] - my) * (y[i] - my);
    }
    if (n < 2 || sxx == 0)
        return (line_fit){NAN, NAN, NAN};
    double slope = sxy / sxx;
    return (line_fit){slope, my - slope * mx, syy > 0 ? sxy * sxy / (sxx * syy) : 1};
}

static double over(double b, double a)
{
    return b / a;
}

static double minus(double b, double a)
{
    return b - a;
}

static estimate two_sided(samples a, samples b, double (*combine)(double, double))
{
    if (a.n == 0 || b.n == 0)
        return (estimate){NAN, NAN, NAN};
    pool pa = pool_new(a), pb = pool_new(b);
    int count = resamples_for(a.n + b.n);
    double *drawn = mem_alloc((size_t)count * sizeof *drawn);
    rng r = rng_seed(a.n * 31 + b.n);
    for (int i = 0; i < count; i++) {
        double under = resampled_median(&pa, &r);
        drawn[i] = combine(resampled_median(&pb, &r), under);
    }
    estimate out = {combine(quantile(pb.sorted, b.n, 0.5), quantile(pa.sorted, a.n, 0.5)),
                    quantile_of(drawn, (size_t)count, 0.025), quantile_of(drawn, (size_t)count, 0.975)};
    free(drawn);
    pool_free(&pa);
    pool_free(&pb);
    return out;
}

ratio stats_ratio(samples a, samples b)
{
    return two_sided(a, b, over);
}

estimate stats_difference(samples a, samples b)
{
    return two_sided(a, b, minus);
}
