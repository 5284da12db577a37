/* compare: results of two records matched by identity, each pair with its ratio, interval and verdict. */
#include "lab/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST_SAMPLES = 3, FEWEST_PROCESSES = 4 };

/* ---- one pair of results ---- */

const char *verdict_name(verdict v)
{
    static const char *const names[VERDICT_KINDS] = {"same", "faster", "slower", "cannot tell"};
    return names[v];
}

/* How many nanoseconds one of `unit` is; NAN when it is not a time. */
static double unit_ns(const char *unit)
{
    static const struct {
        const char *unit;
        double ns;
    } times[] = {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (strcmp(unit, times[i].unit) == 0)
            return times[i].ns;
    return NAN;
}

static bool is_rate(const char *unit)
{
    size_t n = strlen(unit);
    return n > 2 && strcmp(unit + n - 2, "/s") == 0;
}

/* A slope is timed over many dispatches: one clock step is shared by them. */
static double clock_step(const view_result *r, double clock_ns)
{
    double most = 1;
    for (size_t i = 0; i < r->point_count; i++)
        most = r->x[i] > most ? r->x[i] : most;
    return clock_ns / most / unit_ns(r->unit);
}

static comparison cannot_tell(comparison c, const char *why)
{
    c.verdict = VERDICT_CANNOT_TELL;
    c.why = why;
    return c;
}

static comparison judge_interval(comparison c)
{
    bool more_is_better = is_rate(c.a->unit);
    if (c.ratio.lo > 1 + COMPARE_THRESHOLD)
        c.verdict = more_is_better ? VERDICT_FASTER : VERDICT_SLOWER;
    else if (c.ratio.hi < 1 - COMPARE_THRESHOLD)
        c.verdict = more_is_better ? VERDICT_SLOWER : VERDICT_FASTER;
    else if (c.ratio.lo >= 1 - COMPARE_THRESHOLD && c.ratio.hi <= 1 + COMPARE_THRESHOLD)
        c.verdict = VERDICT_SAME;
    else
        return cannot_tell(c, "the interval crosses a 5% line");
    return c;
}

static bool below_clock(const comparison *c, double clock_ns)
{
    if (is_rate(c->a->unit) || !isfinite(clock_ns))
        return false;
    double effect = c->verdict == VERDICT_SAME ? COMPARE_THRESHOLD * c->a->median : fabs(c->b->median - c->a->median);
    return effect < fmax(clock_step(c->a, clock_ns), clock_step(c->b, clock_ns));
}

/* Samples of few processes say little of how processes differ. */
static bool too_few_processes(const view_result *r)
{
    return r->per_process > 1 && (r->n + r->per_process - 1) / r->per_process < FEWEST_PROCESSES;
}

comparison compare_results(const view_result *a, const view_result *b, double clock_ns)
{
    comparison c = {
        .a = a,
        .b = b,
        .ratio = stats_ratio((samples){a->samples, a->n, a->per_process}, (samples){b->samples, b->n, b->per_process}),
        .why = ""};
    if (strcmp(a->unit, b->unit) != 0)
        return cannot_tell(c, "the units differ");
    if (!is_rate(a->unit) && isnan(unit_ns(a->unit)))
        return cannot_tell(c, "the unit has no better direction");
    if (a->n < FEWEST_SAMPLES || b->n < FEWEST_SAMPLES)
        return cannot_tell(c, "fewer than 3 samples");
    if (too_few_processes(a) || too_few_processes(b))
        return cannot_tell(c, "fewer than 4 processes");
    if (!(a->median > 0) || !(b->median > 0) || !isfinite(c.ratio.lo) || !isfinite(c.ratio.hi) || c.ratio.lo <= 0)
        return cannot_tell(c, "not above zero");
    c = judge_interval(c);
    if (c.verdict != VERDICT_CANNOT_TELL && below_clock(&c, clock_ns))
        return cannot_tell(c, "below the clock's resolution");
    return c;
}

/* ---- two records: sorted by identity and merged ---- */

static int by_identity(const void *a, const void *b)
{
    return strcmp((*(const view_result *const *)a)->identity, (*(const view_result *const *)b)->identity);
}

static int by_order_in_a(const void *a, const void *b)
{
    const view_result *x = ((const comparison *)a)->a, *y = ((const comparison *)b)->a;
    return (x > y) - (x < y);
}

static const view_result **sorted_results(const record_view *record)
{
    const view_result **sorted = mem_alloc(record->result_count * sizeof *sorted);
    for (size_t i = 0; i < record->result_count; i++)
        sorted[i] = &record->results[i];
    qsort(sorted, record->result_count, sizeof *sorted, by_identity);
    return sorted;
}

/* How many of `sorted`, from `at`, share the identity of `key`. */
static size_t run_of(const view_result **sorted, size_t count, size_t at, const view_result *key)
{
    size_t n = 0;
    while (at + n < count && strcmp(sorted[at + n]->identity, key->identity) == 0)
        n++;
    return n;
}

static void add_match(compared *out, const view_result *a, const view_result *b, double clock_ns)
{
    comparison c = compare_results(a, b, clock_ns);
    out->verdicts[c.verdict]++;
    out->items[out->count++] = c;
}

compared compare_records(const record_view *a, const record_view *b)
{
    const view_result **left = sorted_results(a), **right = sorted_results(b);
    size_t na = a->result_count, nb = b->result_count, i = 0, k = 0;
    double clock_ns = fmax(a->clock_ns, b->clock_ns); /* ignores a NAN */
    compared out = {.items = mem_alloc(na * sizeof *out.items)};
    while (i < na || k < nb) {
        int order = i == na ? 1 : k == nb ? -1 : by_identity(&left[i], &right[k]);
        const view_result *key = order <= 0 ? left[i] : right[k];
        size_t in_a = run_of(left, na, i, key), in_b = run_of(right, nb, k, key);
        if (in_a == 1 && in_b == 1)
            add_match(&out, left[i], right[k], clock_ns);
        else if (in_a && in_b)
            out.repeated += in_a;
        else
            out.only_a += in_a, out.only_b += in_b;
        i += in_a;
        k += in_b;
    }
    qsort(out.items, out.count, sizeof *out.items, by_order_in_a);
    free(left);
    free(right);
    return out;
}

void compared_free(compared *c)
{
    free(c->items);
    *c = (compared){0};
}
