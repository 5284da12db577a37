/* collect_points: comparable numbers out of records of the experiments. */
#include "serve/collect_points.h"

#include "base/stats.h"
#include "lab/record_fields.h"
#include "sim/builtin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool collect_less_is_better(const char *unit)
{
    return strcmp(unit, "us") == 0;
}

/* ---- what it ran on ------------------------------------------------------------------------ */

static bool has_word(const char *text, const char *word)
{
    return strcasestr(text, word) != NULL;
}

/* Libraries name vendors differently, browsers after themselves or not at all; the device's name is more reliable. */
static const char *vendor_of(const view_gpu *g)
{
    static const char *const known[][2] = {
        {"nvidia", "NVIDIA"}, {"geforce", "NVIDIA"},      {"radeon", "AMD"},      {"amd", "AMD"},
        {"intel", "Intel"},   {"apple", "Apple"},         {"adreno", "Qualcomm"}, {"qualcomm", "Qualcomm"},
        {"mali", "Arm"},      {"powervr", "Imagination"}, {"llvmpipe", "Mesa"},   {"swiftshader", "Google"}};
    for (int by_device = 1; by_device >= 0; by_device--)
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (has_word(by_device ? g->device : g->vendor, known[i][0]))
                return known[i][1];
    return "unknown";
}

static bool is_software(const view_gpu *g)
{
    return strcmp(g->adapter_type, "software") == 0 || has_word(g->device, "llvmpipe") ||
           has_word(g->device, "swiftshader") || has_word(g->device, "basic render");
}

/* "Chrome 156.0.0.0" is Chrome. */
static const char *browser_of(record_view *view)
{
    str name = {0};
    if (!*view->page)
        return "none";
    str_add_bytes(&name, view->page, strcspn(view->page, " /"));
    return record_keep_str(view, &name);
}

static const view_gpu *gpu_of(const record_view *view, const char *impl)
{
    for (size_t i = 0; i < view->gpu_count; i++)
        if (strcmp(view->gpus[i].impl, impl) == 0)
            return &view->gpus[i];
    return NULL;
}

/* ---- points -------------------------------------------------------------------------------- */

/* The same measurement twice in one record: the first counts. */
static bool is_there(const collect_points *p, const collect_point *q)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->items[i].family, q->family) == 0 && strcmp(p->items[i].subject, q->subject) == 0 &&
            strcmp(p->items[i].variant, q->variant) == 0 && strcmp(p->items[i].impl, q->impl) == 0)
            return true;
    return false;
}

static void set_origin(collect_point *q, record_view *view, const view_gpu *g)
{
    q->impl = g->impl;
    q->vendor = vendor_of(g);
    q->device = g->device;
    q->backend = g->backend;
    q->browser = browser_of(view);
    q->is_software = is_software(g);
}

/* The first device that does something. */
static void set_record_origin(collect_points *p, record_view *view)
{
    size_t i = 0;
    while (i + 1 < view->gpu_count && strcmp(view->gpus[i].impl, "stub") == 0)
        i++;
    set_origin(&p->origin, view, &view->gpus[i]);
}

static void add(collect_points *p, record_view *view, collect_point q, const char *impl)
{
    const view_gpu *g = gpu_of(view, impl);
    q.impl = impl;
    if (!g || strcmp(impl, "stub") == 0 || !isfinite(q.value) || q.value <= 0 || is_there(p, &q) ||
        p->count == COLLECT_MAX_POINTS)
        return;
    set_origin(&q, view, g);
    if (p->count == p->room) {
        p->room = p->room ? 2 * p->room : 16;
        p->items = mem_grow(p->items, p->room * sizeof *p->items);
    }
    p->items[p->count++] = q;
}

static samples samples_of(const view_result *r)
{
    return (samples){r->samples, r->n, r->per_process};
}

static void add_result(collect_points *p, record_view *view, const view_result *r, const char *family,
                       const char *subject, const char *variant)
{
    /* a record's own interval was checked, and working it out again takes longer than all else */
    add(p, view,
        (collect_point){.family = family,
                        .subject = subject,
                        .variant = variant,
                        .unit = r->unit,
                        .value = stats_figures(r->samples, r->n).median,
                        .lo = r->ci95[0],
                        .hi = r->ci95[1]},
        view_param_text(r, "impl"));
}

/* How many times better one dispatch is than many: of times the other way round than of rates. */
static void add_ratio(collect_points *p, record_view *view, const view_result *many, const view_result *one,
                      const char *subject)
{
    bool less = collect_less_is_better(one->unit);
    ratio r = less ? stats_ratio(samples_of(one), samples_of(many)) : stats_ratio(samples_of(many), samples_of(one));
    if (!isfinite(r.lo) || !isfinite(r.hi))
        return;
    add(p, view,
        (collect_point){.family = "one",
                        .subject = subject,
                        .variant = "one over many",
                        .unit = "times",
                        .value = r.value,
                        .lo = r.lo,
                        .hi = r.hi},
        view_param_text(one, "impl"));
}

static bool has(const view_result *r, const char *key, const char *text)
{
    return strcmp(view_param_text(r, key), text) == 0;
}

/* The result that differs from this one in this parameter alone, as far as `same` goes. */
static const view_result *other(const record_view *view, const view_result *r, const char *key, const char *text,
                                const char *const *same)
{
    for (size_t i = 0; i < view->result_count; i++) {
        const view_result *q = &view->results[i];
        bool fits = strcmp(q->name, r->name) == 0 && has(q, key, text);
        for (const char *const *s = same; fits && *s; s++)
            fits = has(q, *s, view_param_text(r, *s));
        if (fits)
            return q;
    }
    return NULL;
}

/* ---- experiments --------------------------------------------------------------------------- */

static void add_dispatch(collect_points *p, record_view *view, const view_result *r)
{
    static const char *const policies[] = {"sync", "each", "pass", "batch", "one"};
    static const char *const same[] = {"impl", "kernel", NULL};
    if (strcmp(r->name, "dispatch") != 0 || !has(r, "kernel", "empty"))
        return;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (has(r, "submit", policies[i]))
            add_result(p, view, r, "dispatch", "smallest kernel", policies[i]);
    const view_result *many = has(r, "submit", "one") ? other(view, r, "submit", "batch", same) : NULL;
    if (many)
        add_ratio(p, view, many, r, "a step of the smallest kernel");
}

/* The levels, in the order of the ladder. */
static const char *level_of(const view_result *r)
{
    static const char *const levels[] = {"none", "ops", "token", "loop"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (has(r, "fuse", levels[i]))
            return levels[i];
    return NULL;
}

static bool is_builtin_model(const record_view *view)
{
    for (size_t i = 0; i < view->param_count; i++)
        if (strcmp(view->params[i].key, "model") == 0)
            return strcmp(view->params[i].text, "built-in") == 0 ||
                   strcmp(view->params[i].text, "the built-in model") == 0;
    return false;
}

/* "tg16, depth 16", of numbers alone: names come from outside */
static const char *llm_subject(record_view *view, const view_result *r)
{
    str text = {0};
    unsigned long count = strtoul(r->name + 2, NULL, 10);
    double depth = view_param_number(r, "depth");
    str_addf(&text, "%.2s%lu", r->name, count);
    if (depth > 0 && depth < 1e9)
        str_addf(&text, ", depth %.0f", depth);
    return record_keep_str(view, &text);
}

static void add_llm(collect_points *p, record_view *view, const view_result *r)
{
    static const char *const same[] = {"impl", "submit", "depth", NULL};
    const char *level = level_of(r);
    bool decodes = strncmp(r->name, "tg", 2) == 0, prefills = strncmp(r->name, "pp", 2) == 0;
    if (!level || !has(r, "submit", "batch") || (!decodes && !prefills) || !is_builtin_model(view))
        return;
    const char *subject = llm_subject(view, r);
    add_result(p, view, r, decodes ? "decode" : "prefill", subject, level);
    const view_result *many = decodes && has(r, "fuse", "loop") ? other(view, r, "fuse", "none", same) : NULL;
    if (many)
        add_ratio(p, view, many, r, subject);
}

/* Several texts at a time, together: "8 texts, 512 tokens in and 128 out" */
static void add_batch(collect_points *p, record_view *view, const view_result *r)
{
    const char *level = level_of(r), *const numbers[] = {"texts", "prompt_tok", "made_tok"};
    double values[3];
    str text = {0};
    for (int i = 0; i < 3; i++) {
        values[i] = view_param_number(r, numbers[i]);
        if (!(values[i] > 0 && values[i] < 1e9))
            return;
    }
    if (!level || !has(r, "submit", "batch") || strcmp(r->name, "making") != 0 || !is_builtin_model(view))
        return;
    str_addf(&text, "%.0f texts, %.0f tokens in and %.0f out", values[0], values[1], values[2]);
    add_result(p, view, r, "decode", record_keep_str(view, &text), level);
}

/* "rastrigin, 4096 × 1, DIMENSIONS=10": another size, or another constant, is other work */
static const char *sim_subject(record_view *view, const view_result *r)
{
    str text = {0};
    double population = view_param_number(r, "population"), steps = view_param_number(r, "steps");
    str_addf(&text, "%s, %.0f × %.0f", view_param_text(r, "sim"), fabs(population) < 1e9 ? population : 0,
             fabs(steps) < 1e9 ? steps : 0);
    if (*view_param_text(r, "overrides"))
        str_addf(&text, ", %s", view_param_text(r, "overrides"));
    return record_keep_str(view, &text);
}

static void add_sim(collect_points *p, record_view *view, const view_result *r)
{
    enum { LONGEST_CONSTANTS = 200 }; /* a built-in simulation has half of it */
    static const char *const same[] = {"impl", "submit", "sim", "population", "steps", "overrides", NULL};
    const char *level = level_of(r);
    /* a simulation of someone's own is like no other; so are those written in CUDA */
    if (!level || !has(r, "submit", "batch") || strlen(view_param_text(r, "overrides")) > LONGEST_CONSTANTS ||
        !has(r, "functions", "") || !sim_builtin(view_param_text(r, "sim")))
        return;
    const char *subject = sim_subject(view, r);
    add_result(p, view, r, "sim", subject, level);
    const view_result *many = has(r, "fuse", "loop") ? other(view, r, "fuse", "none", same) : NULL;
    if (many)
        add_ratio(p, view, many, r, subject);
}

/* All of it as one dispatch: against many in one pass, and against those that are waited for one by one. */
static void add_decoder(collect_points *p, record_view *view, const view_result *r)
{
    static const char *const same[] = {"impl", "kernel", "tokens", "layers", NULL};
    if (strcmp(r->name, "decoder") != 0 || !has(r, "kernel", "decoder") || !has(r, "submit", "one"))
        return;
    const view_result *in_pass = other(view, r, "submit", "batch", same);
    const view_result *waited_for = other(view, r, "submit", "sync", same);
    if (in_pass)
        add_ratio(p, view, in_pass, r, "a decoder, 64 tokens × 4 layers");
    if (waited_for)
        add_ratio(p, view, waited_for, r, "a decoder, 64 tokens × 4 layers, over dispatches waited for one by one");
}

collect_points collect_points_of(record_view *view)
{
    collect_points p = {0};
    set_record_origin(&p, view);
    for (size_t i = 0; i < view->result_count; i++) {
        const view_result *r = &view->results[i];
        if (strcmp(view->experiment, "dispatch") == 0)
            add_dispatch(&p, view, r);
        else if (strcmp(view->experiment, "llm") == 0)
            add_llm(&p, view, r);
        else if (strcmp(view->experiment, "sim") == 0)
            add_sim(&p, view, r);
        else if (strcmp(view->experiment, "batch") == 0)
            add_batch(&p, view, r);
        else if (strcmp(view->experiment, "decoder") == 0)
            add_decoder(&p, view, r);
    }
    return p;
}

void collect_points_free(collect_points *p)
{
    free(p->items);
    *p = (collect_points){0};
}
