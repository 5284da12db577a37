/* stats: what a set of samples says, and how sure that is. */
#ifndef SOLO_STATS_H
#define SOLO_STATS_H

#include <stddef.h>

/* Samples, in the order they were taken. Every `group` of them in a row share
 * something (the process they were taken in, say) that the next ones do not; an
 * interval then rests on how the groups differ, not on how many samples each
 * has. 0 or 1: each sample stands for itself. */
typedef struct samples {
    const double *values;
    size_t n, group;
} samples;

typedef struct summary {
    size_t n;
    double min, p10, median, p90, mean, sd;
    double ci95[2]; /* of the median, by bootstrap */
} summary;

/* With n = 0 every figure is NaN. */
summary stats_summary(samples s);
/* The same without the interval, which takes thousands of times longer; it is NaN. */
summary stats_figures(const double *values, size_t n);

/* Least squares y = intercept + slope * x. Needs two different x. */
typedef struct line_fit {
    double slope, intercept, r2;
} line_fit;
line_fit stats_line(const double *x, const double *y, size_t n);

/* A figure made of two sets of samples, with its 95% interval by bootstrap: both
 * sides are resampled, so their sizes may differ. */
typedef struct estimate {
    double value, lo, hi;
} estimate;
typedef estimate ratio;
ratio stats_ratio(samples a, samples b);         /* median(b) / median(a) */
estimate stats_difference(samples a, samples b); /* median(b) - median(a) */

#endif
