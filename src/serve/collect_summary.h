/* collect_summary: many records' points as groups with medians.
 *
 * A chart is one thing that was measured in one way (`family`, `subject`, `variant`), on GPUs or in software, never both.
 * Its groups are devices with implementation and browser, or vendors, backends, browsers or implementations. A group's
 * figure is the median over its records and that median's 95% interval. A point far from the others of its group is an
 * outlier: shown, and not counted. */
#ifndef SOLO_SERVE_COLLECT_SUMMARY_H
#define SOLO_SERVE_COLLECT_SUMMARY_H

#include "base/str.h"
#include "serve/collect_store.h"

typedef enum {
    COLLECT_BY_DEVICE,
    COLLECT_BY_VENDOR,
    COLLECT_BY_BACKEND,
    COLLECT_BY_BROWSER,
    COLLECT_BY_IMPL
} collect_by;
const char *collect_by_name(collect_by by);
/* False: there is none of that name. */
bool collect_by_named(const char *name, collect_by *by);

typedef struct collect_dot {
    const char *id, *device, *impl, *browser, *measured;
    double value, lo, hi;
    bool is_outlier;
} collect_dot;

typedef struct collect_group {
    const char *label, *impl; /* impl: for the colour; "": several */
    collect_dot *dots;        /* sorted by value, the best first */
    size_t count, outliers;
    double median, lo, hi; /* of those that are no outliers */
} collect_group;

typedef struct collect_chart {
    const char *family, *subject, *variant, *unit;
    bool is_software;
    collect_group *groups; /* the best first */
    size_t count, records;
} collect_chart;

typedef struct collect_summary {
    collect_chart
        *charts; /* in the order in which pages show them: of a family, the subjects with most records first */
    size_t count;
    struct collect_block *blocks; /* every allocation above */
} collect_summary;

bool collect_summary_make(collect_summary *out, collect_store *s, const collect_filter *f, collect_by by, err *e);
void collect_summary_free(collect_summary *s);

void collect_summary_json(str *out, const collect_summary *s, collect_by by);

/* Where a record stands: for each of its points, the share of other records of the same chart that it is better than, as
 * JSON: {"id": ..., "standing": [{"family", "subject", "variant", "unit", "value", "better_than", "others"}]}. Nothing is
 * added if there is no such record, or if nothing of it can be compared. */
bool collect_standing_json(str *out, collect_store *s, const char *id, err *e);

#endif
