/* collect_summary: groups points into charts, finds outliers, and works out medians. */
#include "serve/collect_summary.h"

#include "base/jsonw.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const BY_NAMES[] = {"device", "vendor", "backend", "browser", "impl"};
enum { BY_COUNT = sizeof BY_NAMES / sizeof *BY_NAMES };

const char *collect_by_name(collect_by by)
{
    return BY_NAMES[by];
}

bool collect_by_named(const char *name, collect_by *by)
{
    for (int i = 0; i < BY_COUNT; i++)
        if (strcmp(name, BY_NAMES[i]) == 0) {
            *by = (collect_by)i;
            return true;
        }
    return false;
}

/* ---- memory: one list of blocks ------------------------------------------------------------ */

typedef struct collect_block {
    struct collect_block *next;
    max_align_t bytes[];
} collect_block;

static void *keep(collect_summary *s, size_t bytes)
{
    collect_block *b = mem_alloc(sizeof *b + bytes);
    b->next = s->blocks;
    s->blocks = b;
    return b->bytes;
}

static const char *keep_text(collect_summary *s, const char *text)
{
    size_t bytes = strlen(text) + 1;
    return memcpy(keep(s, bytes), text, bytes);
}

void collect_summary_free(collect_summary *s)
{
    for (collect_block *b = s->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *s = (collect_summary){0};
}

/* ---- all points ---------------------------------------------------------------------------- */

/* A point on its way into a chart. */
typedef struct row {
    collect_point point;
    const char *id, *measured, *label;
    size_t order; /* of its family and subject */
} row;

typedef struct rows {
    collect_summary *s;
    collect_by by;
    row *items;
    size_t count, room;
} rows;

/* "NVIDIA H200, dawn" or "NVIDIA H200, Chrome" */
static const char *label_of(collect_summary *s, const collect_point *p, collect_by by)
{
    str text = {0};
    bool in_browser = strcmp(p->browser, "none") != 0;
    switch (by) {
    case COLLECT_BY_VENDOR: return keep_text(s, p->vendor);
    case COLLECT_BY_BACKEND: return keep_text(s, p->backend);
    case COLLECT_BY_IMPL: return keep_text(s, p->impl);
    case COLLECT_BY_BROWSER: return keep_text(s, in_browser ? p->browser : "none (native)");
    case COLLECT_BY_DEVICE: break;
    }
    str_addf(&text, "%s, %s", p->device, in_browser ? p->browser : p->impl);
    const char *kept = keep_text(s, text.data);
    str_free(&text);
    return kept;
}

static void take_point(void *user, const collect_stored_point *p)
{
    rows *r = user;
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 256;
        r->items = mem_grow(r->items, r->room * sizeof *r->items);
    }
    row *to = &r->items[r->count++];
    *to = (row){.point = p->point, .id = keep_text(r->s, p->id), .measured = keep_text(r->s, p->measured)};
    to->label = label_of(r->s, &p->point, r->by);
    const char **const texts[] = {&to->point.family, &to->point.subject, &to->point.variant, &to->point.unit,
                                  &to->point.device, &to->point.impl,    &to->point.browser};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = keep_text(r->s, *texts[i]);
}

/* ---- order --------------------------------------------------------------------------------- */

static size_t place_in(const char *const *list, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], text) == 0)
            return i;
    return count;
}

static size_t family_place(const char *family)
{
    static const char *const families[] = {"dispatch", "one", "decode", "prefill", "sim"};
    return place_in(families, 5, family);
}

static size_t variant_place(const char *variant)
{
    static const char *const variants[] = {"sync", "each", "pass", "batch", "one", "none", "ops", "token", "loop"};
    return place_in(variants, 9, variant);
}

static int compare_sizes(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

static int by_subject(const void *a, const void *b)
{
    const row *x = a, *y = b;
    int c = compare_sizes(family_place(x->point.family), family_place(y->point.family));
    return c ? c : strcmp(x->point.subject, y->point.subject);
}

static int by_chart_order(const row *x, const row *y)
{
    int c = compare_sizes(x->point.is_software, y->point.is_software);
    c = c ? c : compare_sizes(family_place(x->point.family), family_place(y->point.family));
    c = c ? c : compare_sizes(x->order, y->order);
    return c ? c : compare_sizes(variant_place(x->point.variant), variant_place(y->point.variant));
}

/* By chart, then by group. */
static int by_chart(const void *a, const void *b)
{
    int c = by_chart_order(a, b);
    return c ? c : strcmp(((const row *)a)->label, ((const row *)b)->label);
}

typedef struct subject {
    size_t first, count;
} subject;

static int by_count(const void *a, const void *b)
{
    const subject *x = a, *y = b;
    return x->count != y->count ? compare_sizes(y->count, x->count) : compare_sizes(x->first, y->first);
}

/* Of a family, the subjects with the most points first. */
static void order_subjects(rows *r)
{
    subject *subjects = mem_alloc(r->count * sizeof *subjects);
    size_t count = 0;
    qsort(r->items, r->count, sizeof *r->items, by_subject);
    for (size_t i = 0; i < r->count; i++) {
        if (i == 0 || by_subject(&r->items[i - 1], &r->items[i]) != 0)
            subjects[count++] = (subject){i, 0};
        subjects[count - 1].count++;
    }
    qsort(subjects, count, sizeof *subjects, by_count);
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < subjects[k].count; i++)
            r->items[subjects[k].first + i].order = k;
    free(subjects);
}

/* ---- groups -------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_number);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Further from the group's median than five times the usual distance, as factors; a factor of 1.5 is never too far, and
 * fewer than five say nothing about what is usual. */
static void mark_outliers(collect_group *g)
{
    enum { FEWEST = 5 };
    static const double TOO_FAR = 5, NEVER = 0.405465108108; /* log 1.5 */
    if (g->count < FEWEST)
        return;
    double *values = mem_alloc(g->count * sizeof *values);
    for (size_t i = 0; i < g->count; i++)
        values[i] = log(g->dots[i].value);
    double middle = median_of(values, g->count);
    for (size_t i = 0; i < g->count; i++)
        values[i] = fabs(log(g->dots[i].value) - middle);
    double limit = fmax(TOO_FAR * 1.4826 * median_of(values, g->count), NEVER);
    for (size_t i = 0; i < g->count; i++) {
        g->dots[i].is_outlier = fabs(log(g->dots[i].value) - middle) > limit;
        g->outliers += g->dots[i].is_outlier;
    }
    free(values);
}

/* Of many: the interval by ranks, which needs no resampling. `sorted` either way. */
static summary figures_of_many(const double *sorted, size_t n)
{
    summary s = stats_figures(sorted, n);
    double half = 0.5 * 1.96 * sqrt((double)n), middle = 0.5 * (double)(n - 1);
    double a = sorted[(size_t)floor(middle - half)], b = sorted[(size_t)ceil(middle + half)];
    s.ci95[0] = fmin(a, b);
    s.ci95[1] = fmax(a, b);
    return s;
}

/* One record alone brings its own interval. */
static void work_out(collect_group *g)
{
    enum { MANY = 100 };
    double *values = mem_alloc(g->count * sizeof *values);
    size_t n = 0;
    mark_outliers(g);
    for (size_t i = 0; i < g->count; i++)
        if (!g->dots[i].is_outlier)
            values[n++] = g->dots[i].value;
    summary s = n < MANY ? stats_summary((samples){values, n, 1}) : figures_of_many(values, n);
    bool is_alone = g->count == 1;
    g->median = s.median;
    g->lo = is_alone ? g->dots[0].lo : s.ci95[0];
    g->hi = is_alone ? g->dots[0].hi : s.ci95[1];
    free(values);
}

static int less_first(const void *a, const void *b)
{
    return by_number(&((const collect_dot *)a)->value, &((const collect_dot *)b)->value);
}

static int more_first(const void *a, const void *b)
{
    return less_first(b, a);
}

static int less_median_first(const void *a, const void *b)
{
    return by_number(&((const collect_group *)a)->median, &((const collect_group *)b)->median);
}

static int more_median_first(const void *a, const void *b)
{
    return less_median_first(b, a);
}

static void fill_group(collect_summary *s, collect_group *g, const row *from, size_t count)
{
    *g = (collect_group){.label = from->label, .impl = from->point.impl, .count = count};
    g->dots = keep(s, count * sizeof *g->dots);
    for (size_t i = 0; i < count; i++) {
        const collect_point *p = &from[i].point;
        g->dots[i] = (collect_dot){.id = from[i].id,
                                   .device = p->device,
                                   .impl = p->impl,
                                   .browser = p->browser,
                                   .measured = from[i].measured,
                                   .value = p->value,
                                   .lo = p->lo,
                                   .hi = p->hi};
        if (strcmp(p->impl, g->impl) != 0)
            g->impl = "";
    }
    qsort(g->dots, count, sizeof *g->dots, collect_less_is_better(from->point.unit) ? less_first : more_first);
    work_out(g);
}

static void fill_chart(collect_summary *s, collect_chart *c, const row *from, size_t count)
{
    *c = (collect_chart){.family = from->point.family,
                         .subject = from->point.subject,
                         .variant = from->point.variant,
                         .unit = from->point.unit,
                         .is_software = from->point.is_software,
                         .records = count};
    c->groups = keep(s, count * sizeof *c->groups);
    for (size_t i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && strcmp(from[i].label, from[i + n].label) == 0;)
            n++;
        fill_group(s, &c->groups[c->count++], from + i, n);
    }
    qsort(c->groups, c->count, sizeof *c->groups,
          collect_less_is_better(c->unit) ? less_median_first : more_median_first);
}

bool collect_summary_make(collect_summary *out, collect_store *s, const collect_filter *f, collect_by by, err *e)
{
    *out = (collect_summary){0};
    rows r = {.s = out, .by = by};
    bool ok = collect_store_points(s, f, take_point, &r, e);
    if (ok && r.count) {
        order_subjects(&r);
        qsort(r.items, r.count, sizeof *r.items, by_chart);
        out->charts = keep(out, r.count * sizeof *out->charts);
        for (size_t i = 0, n; i < r.count; i += n) {
            for (n = 1; i + n < r.count && by_chart_order(&r.items[i], &r.items[i + n]) == 0;)
                n++;
            fill_chart(out, &out->charts[out->count++], r.items + i, n);
        }
    }
    free(r.items);
    if (!ok)
        collect_summary_free(out);
    return ok;
}

/* ---- as JSON ------------------------------------------------------------------------------- */

static void interval(jsonw *j, double lo, double hi)
{
    jsonw_array(j, "ci95");
    jsonw_number(j, NULL, lo);
    jsonw_number(j, NULL, hi);
    jsonw_end(j);
}

void collect_summary_json(str *out, const collect_summary *s, collect_by by)
{
    jsonw j = jsonw_to(out);
    jsonw_object(&j, NULL);
    jsonw_text(&j, "by", collect_by_name(by));
    jsonw_array(&j, "groups");
    jsonw_rows(&j);
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < s->charts[i].count; k++) {
            const collect_chart *c = &s->charts[i];
            const collect_group *g = &c->groups[k];
            jsonw_object(&j, NULL);
            jsonw_text(&j, "family", c->family);
            jsonw_text(&j, "subject", c->subject);
            jsonw_text(&j, "variant", c->variant);
            jsonw_text(&j, "unit", c->unit);
            jsonw_bool(&j, "software", c->is_software);
            jsonw_text(&j, "group", g->label);
            jsonw_count(&j, "records", g->count);
            jsonw_count(&j, "outliers", g->outliers);
            jsonw_number(&j, "median", g->median);
            interval(&j, g->lo, g->hi);
            jsonw_end(&j);
        }
    jsonw_end(&j);
    jsonw_end(&j);
    str_add(out, "\n");
}
