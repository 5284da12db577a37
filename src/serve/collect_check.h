/* collect_check: is this a record that can be believed?
 *
 * Everything a record claims about itself is worked out again: how many samples it has, their median and quantiles, that
 * an interval belongs to them. What it cannot show is required: checks, all of which passed. */
#ifndef SOLO_SERVE_COLLECT_CHECK_H
#define SOLO_SERVE_COLLECT_CHECK_H

#include "base/str.h"
#include "lab/record_read.h"

enum { COLLECT_ID_BYTES = 65 };

typedef struct collect_record {
    char id[COLLECT_ID_BYTES]; /* SHA-256 of `body` in hexadecimal digits */
    str body;                  /* cleaned (collect_clean.h) */
    record_view view;          /* with the statistics that it states, which are right */
} collect_record;

/* On failure `e` has one line that begins with `name`, and there is nothing to free. */
bool collect_check(const char *name, const char *text, size_t length, collect_record *out, err *e);
void collect_record_free(collect_record *r);

/* Is this what an id looks like? */
bool collect_is_id(const char *text);

#endif
