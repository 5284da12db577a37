/* stats: what a set of samples says, and how sure that is. */
#ifndef SOLO_STATS_H
#define SOLO_STATS_H

#include <stddef.h>

typedef struct summary {
    size_t n;
    double min, p10, median, p90, mean, sd;
    double ci95[2]; /* of the median, by bootstrap */
} summary;

/* `samples` is left as it was. With n = 0 every figure is NaN. */
summary stats_summary(const double *samples, size_t n);

/* Least squares y = intercept + slope * x. Needs two different x. */
typedef struct line_fit {
    double slope, intercept, r2;
} line_fit;
line_fit stats_line(const double *x, const double *y, size_t n);

/* The ratio median(b) / median(a) with its 95% interval, by bootstrap.
 * Both sides are resampled, so their sizes may differ. */
typedef struct ratio {
    double value, lo, hi;
} ratio;
ratio stats_ratio(const double *a, size_t na, const double *b, size_t nb);

#endif
