/* collect_plot: one chart of the leaderboard: a row for each group, a dot for each record, the median with its interval. */
#include "serve/collect_page.h"

#include "lab/report_html.h"
#include "lab/report_svg.h"

#include <math.h>
#include <string.h>

enum {
    TOP = 26,         /* below the title */
    ROW_HEIGHT = 36,  /* the group's name, and its dots below */
    AXIS_HEIGHT = 20, /* tick labels */
    VALUE_WIDTH = 84, /* right of the dots */
    MOST_ROWS = 12,   /* a chart of more could not be read; the table has them all */
    MOST_DOTS = 60,   /* of one group: evenly taken from the best to the worst */
    MOST_TABLE = 500,
};

static const char *shown(const char *unit)
{
    return strcmp(unit, "times") == 0 ? "×" : unit_shown(unit);
}

static void value_text(str *out, double value, const char *unit)
{
    html_number(out, value);
    str_addf(out, strcmp(unit, "times") == 0 ? "%s" : " %s", shown(unit));
}

static void draw_dot(str *out, const axis *a, const collect_dot *d, const char *unit, double y)
{
    /* an id is hexadecimal digits, which the store has checked */
    str_addf(out, "<a href=\"/records/%s\"><circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" class=\"%s\"><title>", d->id,
             axis_at(a, d->value), y, d->is_outlier ? "outlier" : "dot");
    html_text(out, d->device);
    str_add(out, ", ");
    html_text(out, strcmp(d->browser, "none") == 0 ? d->impl : d->browser);
    str_add(out, ", ");
    html_text(out, d->measured);
    str_add(out, ": ");
    value_text(out, d->value, unit);
    str_add(out, d->is_outlier ? " (outlier)</title></circle></a>\n" : "</title></circle></a>\n");
}

static size_t dots_shown(const collect_group *g)
{
    return g->count < MOST_DOTS ? g->count : MOST_DOTS;
}

/* The i-th of those that are shown; the best and the worst are among them. */
static const collect_dot *dot_at(const collect_group *g, size_t i)
{
    return &g->dots[g->count <= MOST_DOTS ? i : i * (g->count - 1) / (MOST_DOTS - 1)];
}

static void draw_group(str *out, const axis *a, const collect_group *g, const char *unit, double y)
{
    double middle = y + 24, from = axis_at(a, g->lo), to = axis_at(a, g->hi), at = axis_at(a, g->median);
    str_addf(out, "<g class=\"%s\">", colour_of(g->impl));
    svg_text_cut(out, 4, y + 12, "label", g->label, 52);
    for (size_t i = 0; i < dots_shown(g); i++)
        draw_dot(out, a, dot_at(g, i), unit, middle);
    str_addf(
        out,
        "<path d=\"M%.1f %.1fH%.1fM%.1f %.1fv6M%.1f %.1fv6M%.1f %.1fv12\" class=\"whisker\" pointer-events=\"none\"/>",
        from, middle, to, from, middle - 3, to, middle - 3, at, middle - 6);
    str_addf(out, "<text x=\"%d\" y=\"%.1f\" class=\"value end\">", CHART_WIDTH, middle + 4);
    value_text(out, g->median, unit);
    str_add(out, "</text></g>\n");
}

static void table(str *out, const collect_chart *c)
{
    str_addf(out,
             "<details><summary>Numbers</summary><div class=\"scroll\"><table><thead><tr><th>Group</th>"
             "<th class=\"num\">Records</th><th class=\"num\">Outliers</th><th class=\"num\">Median, %s</th>"
             "<th class=\"num\">95%% interval</th></tr></thead><tbody>\n",
             shown(c->unit));
    for (size_t i = 0; i < c->count && i < MOST_TABLE; i++) {
        const collect_group *g = &c->groups[i];
        str_add(out, "<tr><th scope=\"row\">");
        html_text(out, g->label);
        str_addf(out, "</th><td class=\"num\">%zu</td><td class=\"num\">%zu</td><td class=\"num\">", g->count,
                 g->outliers);
        html_number(out, g->median);
        str_add(out, "</td><td class=\"num\">");
        html_number(out, g->lo);
        str_add(out, "–");
        html_number(out, g->hi);
        str_add(out, "</td></tr>\n");
    }
    str_add(out, "</tbody></table></div></details>\n");
}

void collect_plot(str *out, const collect_chart *c, const char *title)
{
    axis a = AXIS_EMPTY;
    size_t rows = c->count < MOST_ROWS ? c->count : MOST_ROWS;
    for (size_t i = 0; i < rows; i++) {
        const collect_group *g = &c->groups[i];
        axis_show(&a, g->lo, true);
        axis_show(&a, g->hi, true);
        for (size_t k = 0; k < dots_shown(g); k++)
            axis_show(&a, dot_at(g, k)->value, true);
    }
    axis_finish_auto(&a);
    a.from = 10;
    a.to = CHART_WIDTH - VALUE_WIDTH;
    double bottom = TOP + (double)rows * ROW_HEIGHT;
    str_addf(out, "<figure><svg viewBox=\"0 0 %d %.0f\" role=\"group\" aria-label=\"", CHART_WIDTH,
             bottom + AXIS_HEIGHT);
    html_text(out, title);
    str_add(out, "\">\n");
    svg_text_cut(out, 0, 14, "chart-title", title, 50);
    svg_ticks_below(out, &a, TOP, bottom);
    for (size_t i = 0; i < rows; i++)
        draw_group(out, &a, &c->groups[i], c->unit, TOP + (double)i * ROW_HEIGHT);
    str_add(out, "</svg>\n");
    if (rows < c->count)
        str_addf(out, "<p class=\"caption\">The best %zu of %zu groups.</p>", rows, c->count);
    table(out, c);
    str_add(out, "</figure>\n");
}
