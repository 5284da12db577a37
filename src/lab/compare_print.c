/* A comparison as notes, as a table and as JSON. */
#include "base/jsonw.h"
#include "lab/busy.h"
#include "lab/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what sets the runs apart ---- */

static void note_text(str *out, const char *what, const char *a, const char *b, const char *meaning)
{
    if (strcmp(a, b) != 0)
        str_addf(out, "note: different %s: %s | %s%s\n", what, *a ? a : "unknown", *b ? b : "unknown", meaning);
}

static void list_gpus(str *out, const record_view *r, bool with_versions)
{
    str_add(out, "");
    for (size_t i = 0; i < r->gpu_count; i++) {
        const view_gpu *g = &r->gpus[i];
        str one = {0};
        if (with_versions)
            str_addf(&one, "%s %s", g->impl, g->impl_version);
        else
            str_add(&one, g->device);
        /* several implementations on one device name it once */
        if (one.length && !strstr(out->data, one.data))
            str_addf(out, "%s%s", out->length ? ", " : "", one.data);
        str_free(&one);
    }
}

static void note_gpus(str *out, const record_view *a, const record_view *b)
{
    str in_a = {0}, in_b = {0};
    list_gpus(&in_a, a, false);
    list_gpus(&in_b, b, false);
    note_text(out, "GPU", in_a.data, in_b.data, " (the ratio is across machines)");
    str_free(&in_a);
    str_free(&in_b);
    list_gpus(&in_a, a, true);
    list_gpus(&in_b, b, true);
    note_text(out, "implementations", in_a.data, in_b.data, "");
    str_free(&in_a);
    str_free(&in_b);
}

static const view_param *param_of(const record_view *r, const char *key)
{
    for (size_t i = 0; i < r->param_count; i++)
        if (strcmp(r->params[i].key, key) == 0)
            return &r->params[i];
    return NULL;
}

/* The order of the runs and how long they took differ in any two records. */
static bool always_differs(const char *key)
{
    return strcmp(key, "seed") == 0 || strcmp(key, "seconds") == 0;
}

/* With `only_missing`: just the params of `a` that `b` lacks, and `b` is shown first. */
static void note_params(str *out, const record_view *a, const record_view *b, bool only_missing)
{
    for (size_t i = 0; i < a->param_count; i++) {
        const view_param *mine = &a->params[i], *other = param_of(b, mine->key);
        if (always_differs(mine->key) || (only_missing && other))
            continue;
        const char *text = other ? other->text : "";
        note_text(out, mine->key, only_missing ? text : mine->text, only_missing ? mine->text : text, "");
    }
}

static void note_busy(str *out, const char *which, const record_view *r)
{
    if (busy_is(r->busy, r->cores))
        str_addf(out,
                 "note: the machine was busy with other work while the %s was measured, %.1f of its %.0f processors\n",
                 which, r->busy, r->cores);
}

void compare_notes(str *out, const record_view *a, const record_view *b)
{
    str_add(out, "");
    note_gpus(out, a, b);
    note_text(out, "CPU", a->cpu, b->cpu, " (the ratio is across machines)");
    note_text(out, "system", a->os, b->os, "");
    note_text(out, "version", a->version, b->version, "");
    note_text(out, "commit", a->commit, b->commit, "");
    note_text(out, "experiment", a->experiment, b->experiment, "");
    note_params(out, a, b, false);
    note_params(out, b, a, true);
    note_busy(out, "first", a);
    note_busy(out, "second", b);
    note_text(out, "time", a->when, b->when, " (two runs: what changed on the machine between them is in the ratio)");
}

/* ---- the table ---- */

enum { COLUMNS = 5 };
typedef char row[COLUMNS][512];

/* Columns as a terminal shows them: bytes that continue a character are not counted. */
static size_t width_of(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static void interval_cell(char cell[512], const view_result *r)
{
    snprintf(cell, 512, "%.4g [%.4g, %.4g] %s", r->median, r->ci95[0], r->ci95[1], r->unit);
}

static void fill_row(row cells, const comparison *c)
{
    snprintf(cells[0], sizeof cells[0], "%s", c->a->identity);
    interval_cell(cells[1], c->a);
    interval_cell(cells[2], c->b);
    if (isfinite(c->ratio.value))
        snprintf(cells[3], sizeof cells[3], "%.3f [%.3f, %.3f]", c->ratio.value, c->ratio.lo, c->ratio.hi);
    else
        snprintf(cells[3], sizeof cells[3], "-");
    snprintf(cells[4], sizeof cells[4], "%s%s%s%s", verdict_name(c->verdict), *c->why ? " (" : "", c->why,
             *c->why ? ")" : "");
}

static void add_row(str *out, row cells, const size_t widths[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++) {
        str_add(out, cells[i]);
        for (size_t n = width_of(cells[i]); i + 1 < COLUMNS && n < widths[i] + 2; n++)
            str_add(out, " ");
    }
    str_add(out, "\n");
}

static void add_table(str *out, const compared *c)
{
    row *rows = mem_alloc((c->count + 1) * sizeof *rows);
    size_t widths[COLUMNS] = {0};
    static const char *const heads[COLUMNS] = {"result", "A median [95%]", "B median [95%]", "B / A [95%]", "B is"};
    for (int k = 0; k < COLUMNS; k++)
        strcpy(rows[0][k], heads[k]);
    for (size_t i = 0; i < c->count; i++)
        fill_row(rows[i + 1], &c->items[i]);
    for (size_t i = 0; i <= c->count; i++)
        for (int k = 0; k < COLUMNS; k++)
            widths[k] = width_of(rows[i][k]) > widths[k] ? width_of(rows[i][k]) : widths[k];
    for (size_t i = 0; i <= c->count; i++)
        add_row(out, rows[i], widths);
    free(rows);
}

void compare_text(str *out, const compared *c)
{
    add_table(out, c);
    if (c->only_a || c->only_b)
        str_addf(out, "only in A: %zu results; only in B: %zu results\n", c->only_a, c->only_b);
    if (c->repeated)
        str_addf(out, "not compared, because the name and params appear more than once: %zu results\n", c->repeated);
    for (int v = 0; v < VERDICT_KINDS; v++)
        str_addf(out, "%s%zu %s", v ? ", " : "", c->verdicts[v], verdict_name(v));
    str_add(out, "\n");
}

/* ---- for machines ---- */

static void side_json(jsonw *j, const char *key, const view_result *r)
{
    jsonw_object(j, key);
    jsonw_flat(j);
    jsonw_number(j, "median", r->median);
    jsonw_array(j, "ci95");
    jsonw_number(j, NULL, r->ci95[0]);
    jsonw_number(j, NULL, r->ci95[1]);
    jsonw_end(j);
    jsonw_count(j, "n", r->n);
    jsonw_end(j);
}

static void comparison_json(jsonw *j, const comparison *c)
{
    jsonw_object(j, NULL);
    jsonw_text(j, "name", c->a->name);
    jsonw_object(j, "params");
    jsonw_flat(j);
    for (size_t i = 0; i < c->a->param_count; i++)
        jsonw_text(j, c->a->params[i].key, c->a->params[i].text);
    jsonw_end(j);
    jsonw_text(j, "unit", c->a->unit);
    side_json(j, "a", c->a);
    side_json(j, "b", c->b);
    jsonw_number(j, "ratio", c->ratio.value);
    jsonw_array(j, "ratio_ci95");
    jsonw_flat(j);
    jsonw_number(j, NULL, c->ratio.lo);
    jsonw_number(j, NULL, c->ratio.hi);
    jsonw_end(j);
    jsonw_text(j, "verdict", verdict_name(c->verdict));
    jsonw_text(j, "why", c->why);
    jsonw_end(j);
}

static void notes_json(jsonw *j, const record_view *a, const record_view *b)
{
    str notes = {0};
    compare_notes(&notes, a, b);
    jsonw_array(j, "notes");
    for (char *rest = notes.data, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (strncmp(line, "note: ", 6) == 0)
            jsonw_text(j, NULL, line + 6);
    jsonw_end(j);
    str_free(&notes);
}

void compare_json(str *out, const compared *c, const record_view *a, const record_view *b)
{
    jsonw j = jsonw_to(out);
    jsonw_object(&j, NULL);
    jsonw_text(&j, "schema", "solo-comparison-1");
    jsonw_text(&j, "a", a->path);
    jsonw_text(&j, "b", b->path);
    notes_json(&j, a, b);
    jsonw_number(&j, "threshold", COMPARE_THRESHOLD);
    jsonw_array(&j, "results");
    for (size_t i = 0; i < c->count; i++)
        comparison_json(&j, &c->items[i]);
    jsonw_end(&j);
    jsonw_object(&j, "summary");
    jsonw_flat(&j);
    for (int v = 0; v < VERDICT_KINDS; v++)
        jsonw_count(&j, verdict_name(v), c->verdicts[v]);
    jsonw_count(&j, "only in a", c->only_a);
    jsonw_count(&j, "only in b", c->only_b);
    jsonw_count(&j, "repeated", c->repeated);
    jsonw_end(&j);
    jsonw_end(&j);
}
