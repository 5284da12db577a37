/* collect_points: the numbers of a record that can be held against those of others.
 *
 * A point is one measurement on one device: what was measured (`family` and `subject`), how it was launched (`variant`),
 * and the median with its interval. Only work that is the same everywhere becomes a point: the smallest kernel, the
 * built-in model, the built-in simulations. Intervals are worked out here, not taken from the record. */
#ifndef SOLO_SERVE_COLLECT_POINTS_H
#define SOLO_SERVE_COLLECT_POINTS_H

#include "lab/record_read.h"

typedef struct collect_point {
    const char *family;  /* dispatch, one (one dispatch over many), decode, prefill, sim */
    const char *subject; /* "acrobot, 4096 × 500" */
    const char *variant; /* sync each pass batch one; none ops token loop */
    const char *unit;
    const char *vendor, *device, *backend, *impl, *browser; /* browser: "none" outside of one */
    bool is_software;
    double value, lo, hi;
} collect_point;

enum { COLLECT_MAX_POINTS = 256 }; /* of one record; ten times what a full run has */

typedef struct collect_points {
    collect_point *items; /* their texts belong to the record, or are constants */
    size_t count, room;
    collect_point origin; /* what the record as a whole ran on, and nothing else of a point */
} collect_points;

/* Of a record that was checked. Keeps texts in `view`. */
collect_points collect_points_of(record_view *view);
void collect_points_free(collect_points *p);

/* Is less better? Of times it is, of rates and ratios more. */
bool collect_less_is_better(const char *unit);

#endif
