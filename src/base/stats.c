#include "base/stats.h"
#include "base/rng.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESAMPLES = 2000 };

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

static double *sorted_copy(const double *samples, size_t n)
{
    double *s = mem_alloc(n * sizeof *s);
    memcpy(s, samples, n * sizeof *s);
    qsort(s, n, sizeof *s, by_value);
    return s;
}

/* The median of one resample drawn with replacement. `sorted` is sorted, so
 * counting how often each index was drawn gives the median without a sort. */
static double resampled_median(const double *sorted, size_t n, rng *r, unsigned *drawn)
{
    memset(drawn, 0, n * sizeof *drawn);
    for (size_t i = 0; i < n; i++)
        drawn[rng_below(r, (uint32_t)n)]++;
    size_t low = (n - 1) / 2, high = n / 2, seen = 0;
    double a = 0, b = 0;
    for (size_t i = 0; i < n; i++) {
        size_t next = seen + drawn[i];
        if (seen <= low && low < next)
            a = sorted[i];
        if (seen <= high && high < next) {
            b = sorted[i];
            break;
        }
        seen = next;
    }
    return (a + b) / 2;
}

summary stats_summary(const double *samples, size_t n)
{
    if (n == 0)
        return (summary){0, NAN, NAN, NAN, NAN, NAN, NAN, {NAN, NAN}};
    double *s = sorted_copy(samples, n);
    summary out = {
        .n = n, .min = s[0], .p10 = quantile(s, n, 0.1), .median = quantile(s, n, 0.5), .p90 = quantile(s, n, 0.9)};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += s[i];
    out.mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (s[i] - out.mean) * (s[i] - out.mean);
    out.sd = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;

    rng r = rng_seed(n);
    unsigned *drawn = mem_alloc(n * sizeof *drawn);
    double medians[RESAMPLES];
    for (int i = 0; i < RESAMPLES; i++)
        medians[i] = resampled_median(s, n, &r, drawn);
    qsort(medians, RESAMPLES, sizeof *medians, by_value);
    out.ci95[0] = quantile(medians, RESAMPLES, 0.025);
    out.ci95[1] = quantile(medians, RESAMPLES, 0.975);
    free(drawn);
    free(s);
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

ratio stats_ratio(const double *a, size_t na, const double *b, size_t nb)
{
    if (na == 0 || nb == 0)
        return (ratio){NAN, NAN, NAN};
    double *sa = sorted_copy(a, na), *sb = sorted_copy(b, nb);
    unsigned *drawn = mem_alloc((na > nb ? na : nb) * sizeof *drawn);
    double ratios[RESAMPLES];
    rng r = rng_seed(na * 31 + nb);
    for (int i = 0; i < RESAMPLES; i++) {
        double ma = resampled_median(sa, na, &r, drawn);
        ratios[i] = resampled_median(sb, nb, &r, drawn) / ma;
    }
    qsort(ratios, RESAMPLES, sizeof *ratios, by_value);
    ratio out = {quantile(sb, nb, 0.5) / quantile(sa, na, 0.5), quantile(ratios, RESAMPLES, 0.025),
                 quantile(ratios, RESAMPLES, 0.975)};
    free(sa);
    free(sb);
    free(drawn);
    return out;
}
