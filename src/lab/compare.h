/* compare: is B the same as A, faster, slower, or is that undecided?
 *
 * Results are matched by identity (name and params). The ratio is
 * median(B) / median(A) with its 95% interval. The unit says which direction
 * is better: times (ns us ms s) down, rates (tok/s gen/s GB/s ...) up.
 *
 *   cannot tell  fewer than 3 samples on a side, a median that is not above
 *                zero, units that differ or have no direction, or an effect
 *                below what the clock can show
 *   faster       the whole interval lies beyond 5% on the better side
 *   slower       the whole interval lies beyond 5% on the worse side
 *   same         the whole interval lies within 5%, also where it leaves out
 *                1: a difference that is certain but too small to matter
 *   cannot tell  the interval straddles a 5% line: more samples are needed
 *
 * The effect held against the clock is the difference that was seen, for
 * faster and slower; for same it is the 5% that the word rules out. A slope
 * was timed over its largest number of dispatches, so its clock step is that
 * many times smaller. Rates are timed over whole runs and are not held
 * against the clock.                                                        */
#ifndef SOLO_COMPARE_H
#define SOLO_COMPARE_H

#include "base/stats.h"
#include "base/str.h"
#include "lab/record_read.h"

#define COMPARE_THRESHOLD 0.05

typedef enum { VERDICT_SAME, VERDICT_FASTER, VERDICT_SLOWER, VERDICT_CANNOT_TELL, VERDICT_KINDS } verdict;

typedef struct comparison {
    const view_result *a, *b;
    ratio ratio;
    verdict verdict;
    const char *why; /* the reason for "cannot tell"; "" for the other verdicts */
} comparison;

typedef struct compared {
    comparison *items; /* in the order of A */
    size_t count;
    size_t verdicts[VERDICT_KINDS];
    size_t only_a, only_b; /* results that the other record lacks */
    size_t repeated;       /* results of A that appear more than once on a side: no fair match */
} compared;

const char *verdict_name(verdict v);

/* `clock_ns` is the coarser of the two clocks. */
comparison compare_results(const view_result *a, const view_result *b, double clock_ns);

compared compare_records(const record_view *a, const record_view *b);
void compared_free(compared *c);

/* ---- printing (compare_print.c) ---- */

/* One line per thing that sets the two runs apart: "different GPU: ...". */
void compare_notes(str *out, const record_view *a, const record_view *b);

void compare_text(str *out, const compared *c);
void compare_json(str *out, const compared *c, const record_view *a, const record_view *b);

#endif
