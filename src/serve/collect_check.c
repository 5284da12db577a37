/* collect_check: a record's statements about itself, compared with its samples. */
#include "serve/collect_check.h"

#include "base/stats.h"
#include "hub/checksum.h"
#include "lab/record_fields.h"
#include "serve/collect_clean.h"
#include "serve/collect_json.h"
#include "serve/collect_memory.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a leaderboard can be made of, and the unit that each is measured in. */
static const char *const EXPERIMENTS[][2] = {
    {"dispatch", "us"}, {"llm", "tok/s"}, {"sim", "gen/s"}, {"decoder", "us"}, {"batch", "tok/s"}};
enum { EXPERIMENT_COUNT = sizeof EXPERIMENTS / sizeof *EXPERIMENTS };

/* Records have nine digits of a number. */
static const double ROUNDING = 1e-6;
static const double LARGEST_SAMPLE = 1e15, LARGEST_COUNT = 1e15;

typedef struct checker {
    const record_view *view;
    const view_result *result;
    size_t index;
    err *e;
} checker;

/* Texts of records have no control characters (record_read.h), but may be long. */
static bool wrong(const checker *c, const char *what)
{
    if (c->result)
        return err_set(c->e, "%s: results[%zu] (%.80s): %s", c->view->path, c->index, c->result->name, what);
    return err_set(c->e, "%s: %s", c->view->path, what);
}

/* ---- one result ---------------------------------------------------------------------------- */

static bool is_near(double stated, double found, double scale)
{
    return isfinite(stated) && fabs(stated - found) <= ROUNDING * scale;
}

static double scale_of(const view_result *r)
{
    double scale = 0;
    for (size_t i = 0; i < r->n; i++)
        scale = fmax(scale, fabs(r->samples[i]));
    return fmax(scale, 1e-9);
}

static bool check_figures(const checker *c, double scale)
{
    const view_result *r = c->result;
    summary s = stats_figures(r->samples, r->n);
    const struct {
        const char *name;
        double stated, found;
    } figures[] = {{"min", r->min, s.min},          {"p10", r->p10, s.p10},    {"median", r->median, s.median},
                   {"p90", r->p90, s.p90},          {"mean", r->mean, s.mean}, {"sd", r->sd, s.sd},
                   {"n", r->stated_n, (double)r->n}};
    char text[160];
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        bool is_count = i + 1 == sizeof figures / sizeof *figures;
        if (!isfinite(figures[i].stated)) {
            snprintf(text, sizeof text, "\"%s\" is missing", figures[i].name);
            return wrong(c, text);
        }
        if (!is_near(figures[i].stated, figures[i].found, is_count ? 1e-9 : scale)) {
            snprintf(text, sizeof text, "\"%s\" is %.9g, but %.9g by its samples", figures[i].name, figures[i].stated,
                     figures[i].found);
            return wrong(c, text);
        }
    }
    return true;
}

static bool check_interval(const checker *c, double scale)
{
    const view_result *r = c->result;
    double room = ROUNDING * scale, most = r->samples[0];
    for (size_t i = 1; i < r->n; i++)
        most = fmax(most, r->samples[i]);
    if (!isfinite(r->ci95[0]) || !isfinite(r->ci95[1]))
        return wrong(c, "\"ci95\" is missing");
    if (r->ci95[0] > r->median + room || r->ci95[1] < r->median - room)
        return wrong(c, "\"ci95\" does not contain the median");
    if (r->ci95[0] < r->min - room || r->ci95[1] > most + room)
        return wrong(c, "\"ci95\" reaches beyond the samples");
    return true;
}

static bool is_count(double value)
{
    return isfinite(value) && value >= 0 && value <= LARGEST_COUNT && value == floor(value);
}

static bool has_gpu(const record_view *view, const char *impl)
{
    for (size_t i = 0; i < view->gpu_count; i++)
        if (strcmp(view->gpus[i].impl, impl) == 0)
            return true;
    return false;
}

static bool check_result(const checker *c, const char *unit)
{
    const view_result *r = c->result;
    bool is_rate = strcmp(unit, "us") != 0;
    const char *impl = view_param_text(r, "impl");
    char text[80];
    if (strcmp(r->unit, unit) != 0) {
        snprintf(text, sizeof text, "\"unit\" must be \"%s\"", unit);
        return wrong(c, text);
    }
    if (!*impl)
        return wrong(c, "\"params\" has no \"impl\"");
    if (!has_gpu(c->view, impl))
        return wrong(c, "\"impl\" is none of those in \"gpus\"");
    for (size_t i = 0; i < r->n; i++)
        if (!(fabs(r->samples[i]) <= LARGEST_SAMPLE) || (is_rate && r->samples[i] <= 0))
            return wrong(c, is_rate ? "\"samples\" has a rate that is not above 0"
                                    : "\"samples\" has a number that is out of range");
    if (!is_count(r->dispatches) || !is_count(r->passes) || !is_count(r->submits))
        return wrong(c, "\"dispatches\", \"passes\" and \"submits\" must be whole numbers");
    double scale = scale_of(r);
    return check_figures(c, scale) && check_interval(c, scale);
}

/* ---- the record ---------------------------------------------------------------------------- */

/* "2026-11-18T08:46:39Z" */
static bool is_time(const char *text)
{
    static const char pattern[] = "dddd-dd-ddTdd:dd:ddZ";
    if (strlen(text) != sizeof pattern - 1)
        return false;
    for (size_t i = 0; pattern[i]; i++)
        if (pattern[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != pattern[i])
            return false;
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = atoi(text), month = atoi(text + 5), day = atoi(text + 8);
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return year >= 2000 && year < 2100 && month >= 1 && month <= 12 && day >= 1 &&
           day <= days[month - 1] - (month == 2 && !is_leap) && atoi(text + 11) < 24 && atoi(text + 14) < 60 &&
           atoi(text + 17) <= 60;
}

static const char *unit_of(const char *experiment)
{
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++)
        if (strcmp(EXPERIMENTS[i][0], experiment) == 0)
            return EXPERIMENTS[i][1];
    return NULL;
}

static bool check_origin(const checker *c)
{
    const record_view *view = c->view;
    if (!*view->version)
        return wrong(c, "\"solo\" has no \"version\"");
    if (!is_time(view->when))
        return wrong(c, "\"when\" must be a time like 2026-11-18T08:46:39Z");
    if (!*view->os || !*view->cpu)
        return wrong(c, "\"host\" must have \"os\" and \"cpu\"");
    if (!(view->clock_ns > 0))
        return wrong(c, "\"clock_ns\" must be above 0");
    if (!view->gpu_count)
        return wrong(c, "\"gpu\" is missing");
    for (size_t i = 0; i < view->gpu_count; i++)
        if (!*view->gpus[i].impl || !*view->gpus[i].device || !*view->gpus[i].backend || !*view->gpus[i].adapter_type)
            return wrong(c, "\"gpu\" must have \"impl\", \"backend\", \"device\" and \"adapter_type\"");
    return true;
}

static bool check_checks(const checker *c)
{
    const record_view *view = c->view;
    char text[300];
    if (!view->check_count)
        return wrong(c, "\"checks\" is missing: a result whose output was not checked is not a result");
    for (size_t i = 0; i < view->check_count; i++) {
        if (view->checks[i].ok && *view->checks[i].what)
            continue;
        snprintf(text, sizeof text, "checks[%zu] (%.120s) %s", i, view->checks[i].what,
                 view->checks[i].ok ? "does not say what was checked"
                                    : "failed: what was not verified is not a result");
        return wrong(c, text);
    }
    return true;
}

static bool check_view(const record_view *view, err *e)
{
    checker c = {.view = view, .e = e};
    const char *unit = unit_of(view->experiment);
    if (!unit)
        return wrong(&c, "\"experiment\" must be dispatch, llm, sim, decoder or batch");
    if (!view->result_count)
        return wrong(&c, "\"results\" is empty");
    if (!check_origin(&c) || !check_checks(&c))
        return false;
    for (c.index = 0; c.index < view->result_count; c.index++) {
        c.result = &view->results[c.index];
        if (!check_result(&c, unit))
            return false;
    }
    return true;
}

/* On one line, with its keys sorted: the same record is the same text however it was laid out. */
static bool write_body(collect_record *r, const char *name, json_t *cleaned, err *e)
{
    if (!collect_json_write(cleaned, &r->body))
        return err_set(e, "%s: cannot be written as JSON again", name);
    checksum sum = checksum_begin(CHECKSUM_SHA256, r->body.length);
    checksum_add(&sum, r->body.data, r->body.length);
    checksum_end(&sum, r->id);
    return true;
}

bool collect_check(const char *name, const char *text, size_t length, collect_record *out, err *e)
{
    *out = (collect_record){0};
    collect_memory_begin();
    json_t *cleaned = collect_clean(name, text, length, e);
    bool ok = cleaned && record_view_from(&out->view, name, cleaned, true, e) && check_view(&out->view, e) &&
              write_body(out, name, cleaned, e);
    collect_memory_end();
    if (!ok)
        collect_record_free(out);
    return ok;
}

void collect_record_free(collect_record *r)
{
    str_free(&r->body);
    record_view_free(&r->view);
    *r = (collect_record){0};
}

bool collect_is_id(const char *text)
{
    return strlen(text) == COLLECT_ID_BYTES - 1 && strspn(text, "0123456789abcdef") == COLLECT_ID_BYTES - 1;
}
