/* report_html: escaped text, numbers with units, and tables in HTML. */
#include "lab/report_html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void html_text(str *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&': str_add(out, "&amp;"); break;
        case '<': str_add(out, "&lt;"); break;
        case '>': str_add(out, "&gt;"); break;
        case '"': str_add(out, "&quot;"); break;
        case '\'': str_add(out, "&#39;"); break;
        default: str_add_bytes(out, text, 1);
        }
    }
}

void html_number(str *out, double value)
{
    double size = fabs(value);
    if (!isfinite(value))
        str_add(out, "–");
    else if (size >= 1e12 || (size > 0 && size < 1e-3))
        str_addf(out, "%.3g", value);
    else if (size >= 1e9)
        str_addf(out, "%.2fG", value / 1e9);
    else if (size >= 1e6)
        str_addf(out, "%.2fM", value / 1e6);
    else if (size >= 100)
        str_addf(out, "%.0f", value);
    else if (size >= 10)
        str_addf(out, "%.1f", value);
    else if (size >= 1)
        str_addf(out, "%.2f", value);
    else
        str_addf(out, "%.3g", value);
}

const char *unit_shown(const char *unit)
{
    return strcmp(unit, "us") == 0 ? "µs" : unit;
}

const char *colour_of(const char *impl)
{
    static const char *const known[] = {"dawn", "wgpu", "vulkan", "cuda", "web", "stub"};
    static const char *const others[] = {"other-1", "other-2", "other-3"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(impl, known[i]) == 0)
            return known[i];
    unsigned hash = 0;
    for (const char *p = impl; *p; p++)
        hash = hash * 31 + (unsigned char)*p;
    return *impl ? others[hash % 3] : "plain";
}

picked results_named(const record_view *record, const char *name)
{
    picked p = {.items = mem_alloc(record->result_count * sizeof *p.items)};
    for (size_t i = 0; i < record->result_count; i++)
        if (strcmp(record->results[i].name, name) == 0)
            p.items[p.count++] = &record->results[i];
    return p;
}

void picked_free(picked *p)
{
    free(p->items);
    *p = (picked){0};
}

static bool has(const view_result *r, const char *key, const char *text)
{
    return !text || strcmp(view_param_text(r, key), text) == 0;
}

const view_result *result_with(const picked *p, const char *key1, const char *text1, const char *key2,
                               const char *text2, const char *key3, const char *text3)
{
    for (size_t i = 0; i < p->count; i++)
        if (has(p->items[i], key1, text1) && has(p->items[i], key2, text2) && has(p->items[i], key3, text3))
            return p->items[i];
    return NULL;
}

static void add_once(words *w, const char *word)
{
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->items[i], word) == 0)
            return;
    if (w->count < MOST_SHOWN)
        w->items[w->count++] = word;
}

words words_of(const picked *p, const char *key, const char *const *order)
{
    words w = {0};
    for (; order && *order; order++)
        if (result_with(p, key, *order, NULL, NULL, NULL, NULL))
            add_once(&w, *order);
    for (size_t i = 0; i < p->count; i++)
        add_once(&w, view_param_text(p->items[i], key));
    return w;
}

void section_open(str *out, const char *heading, const char *caption)
{
    str_addf(out, "<section>\n<h3>%s</h3>\n<p class=\"caption\">%s</p>\n", heading, caption);
}

void section_close(str *out)
{
    str_add(out, "</section>\n");
}

static void number_cell(str *out, double value)
{
    str_add(out, "<td class=\"num\">");
    html_number(out, value);
    str_add(out, "</td>");
}

static void result_row(str *out, const view_result *r)
{
    str_add(out, "<tr><th scope=\"row\">");
    html_text(out, r->name);
    str_add(out, "</th><td>");
    for (size_t i = 0; i < r->param_count; i++) {
        str_add(out, i ? ", " : "");
        html_text(out, r->params[i].key);
        str_add(out, "&nbsp;");
        html_text(out, r->params[i].text);
    }
    str_add(out, "</td><td>");
    html_text(out, unit_shown(r->unit));
    str_add(out, "</td>");
    const double numbers[] = {r->median, r->ci95[0], r->ci95[1],   (double)r->n, r->min,        r->p10,    r->p90,
                              r->mean,   r->sd,      r->intercept, r->r2,        r->dispatches, r->passes, r->submits};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (i == 3 || i > 10) /* counts are whole */
            str_addf(out, isfinite(numbers[i]) ? "<td class=\"num\">%.0f</td>" : "<td class=\"num\">–</td>",
                     numbers[i]);
        else
            number_cell(out, numbers[i]);
    str_add(out, "</tr>\n");
}

void numbers_table(str *out, const char *summary, const view_result *const *items, size_t count)
{
    str_addf(out, "<details><summary>%s (%zu)</summary>\n<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>",
             summary, count);
    static const char *const heads[] = {"result",    "parameters", "unit",       "median", "95% from", "95% to",
                                        "samples",   "min",        "p10",        "p90",    "mean",     "sd",
                                        "intercept", "r²",         "dispatches", "passes", "submits"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        str_addf(out, "<th scope=\"col\"%s>%s</th>", i > 2 ? " class=\"num\"" : "", heads[i]);
    str_add(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < count; i++)
        result_row(out, items[i]);
    str_add(out, "</tbody></table></div></details>\n");
}
