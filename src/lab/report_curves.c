/* The line charts of the dispatch experiment: time against dispatches, against submits, barriers against workgroups. */
#include "base/os.h"
#include "base/stats.h"
#include "lab/report_html.h"
#include "lab/report_parts.h"
#include "lab/report_svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- time against the number of dispatches ---- */

static const char *submit_colour(const char *submit)
{
    static const char *const colours[] = {"p7", "p6", "p4", "p0", "p2"};
    for (size_t i = 0; submit_order[i]; i++)
        if (strcmp(submit, submit_order[i]) == 0)
            return colours[i];
    return "p9";
}

static series fitted_series(const view_result *r, const char *submit)
{
    series s = {.label = submit, .css_class = submit_colour(submit), .x = r->x, .y = r->y, .count = r->point_count};
    line_fit fit = stats_line(r->x, r->y, r->point_count);
    s.fitted = true;
    s.slope = fit.slope;
    s.intercept = fit.intercept;
    return s;
}

static void time_card(str *out, const picked *p, const char *impl, const char *kernel, axis x, axis y)
{
    words submits = words_of(p, "submit", submit_order);
    series lines[MOST_SHOWN];
    size_t count = 0;
    str y_name = {0};
    for (size_t i = 0; i < submits.count; i++) {
        const view_result *r = result_with(p, "impl", impl, "kernel", kernel, "submit", submits.items[i]);
        if (!r || !r->point_count)
            continue;
        lines[count++] = fitted_series(r, submits.items[i]);
        if (!y_name.length)
            str_addf(&y_name, "total time, %s", unit_shown(r->unit));
    }
    if (count)
        svg_lines(out, &(line_chart){impl, "Total time against the number of dispatches, with fitted lines.",
                                     "number of dispatches", y_name.data, lines, count, x, y});
    str_free(&y_name);
}

static void time_cards(str *out, const picked *p, const char *kernel)
{
    words impls = words_of(p, "impl", impl_order);
    axis x = AXIS_EMPTY, y = AXIS_EMPTY;
    for (size_t i = 0; i < p->count; i++) {
        const view_result *r = p->items[i];
        if (strcmp(view_param_text(r, "kernel"), kernel) != 0)
            continue;
        for (size_t k = 0; k < r->point_count; k++) {
            axis_show(&x, r->x[k], true);
            axis_show(&y, r->y[k], true);
        }
    }
    axis_finish_log_points(&x);
    axis_finish_log_points(&y);
    str_add(out, "<div class=\"cards\">\n");
    for (size_t i = 0; i < impls.count; i++)
        time_card(out, p, impls.items[i], kernel, x, y);
    str_add(out, "</div>\n");
}

static bool any_points(const picked *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i]->point_count)
            return true;
    return false;
}

/* The first kernel in the open; the others look alike and are folded away. */
void report_time_against_n(str *out, const record_view *record)
{
    picked p = results_named(record, "dispatch");
    if (any_points(&p)) {
        words kernels = words_of(&p, "kernel", kernel_order);
        section_open(out, "Time against the number of dispatches",
                     "Every point is one measured run, the line is the least-squares fit through all of them: the "
                     "steeper, the dearer a dispatch (the cost above is the median of such slopes, taken round by "
                     "round). Where a line is flat on the left, a fixed cost per run outweighs the dispatches. Both "
                     "scales are logarithmic and the same for all implementations.");
        for (size_t i = 0; i < kernels.count; i++) {
            str_add(out, i ? "<details><summary>" : "<h4>");
            str_add(out, *kernels.items[i] ? "Kernel " : "All kernels");
            html_text(out, kernels.items[i]);
            str_add(out, i ? "</summary>\n" : "</h4>\n");
            time_cards(out, &p, kernels.items[i]);
            str_add(out, i ? "</details>\n" : "");
        }
        section_close(out);
    }
    picked_free(&p);
}

/* ---- curves: submits and barriers ---- */

typedef struct curve_cards {
    const char *card_key, *series_key, *series_prefix, *x_key, *x_name, *y_name, *about;
    bool best_marked;
} curve_cards;

typedef struct curve {
    char label[48];
    double *x, *y, *lo, *hi;
    size_t count;
} curve;

static int by_x(const void *a, const void *b, void *key)
{
    double x = view_param_number(*(const view_result *const *)a, key);
    double y = view_param_number(*(const view_result *const *)b, key);
    return (x > y) - (x < y);
}

static void curve_fill(curve *c, const picked *sorted, const curve_cards *what, const char *card, const char *name)
{
    double *all = mem_alloc(4 * sorted->count * sizeof *all);
    c->x = all;
    c->y = all + sorted->count;
    c->lo = c->y + sorted->count;
    c->hi = c->lo + sorted->count;
    snprintf(c->label, sizeof c->label, "%s%s", what->series_prefix, name);
    for (size_t i = 0; i < sorted->count; i++) {
        const view_result *r = sorted->items[i];
        double x = view_param_number(r, what->x_key);
        if (!isfinite(x) || strcmp(view_param_text(r, what->card_key), card) != 0 ||
            strcmp(view_param_text(r, what->series_key), name) != 0)
            continue;
        c->x[c->count] = x;
        c->y[c->count] = r->median;
        c->lo[c->count] = r->ci95[0];
        c->hi[c->count++] = r->ci95[1];
    }
}

static void curve_card(str *out, const picked *sorted, const curve_cards *what, const char *card)
{
    words names = words_of(sorted, what->series_key, impl_order);
    curve curves[MOST_SHOWN] = {0};
    series lines[MOST_SHOWN];
    size_t count = 0;
    axis x = AXIS_EMPTY, y = AXIS_EMPTY;
    for (size_t i = 0; i < names.count; i++) {
        curve *c = &curves[i];
        const view_result *any =
            result_with(sorted, what->card_key, card, what->series_key, names.items[i], NULL, NULL);
        curve_fill(c, sorted, what, card, names.items[i]);
        for (size_t k = 0; k < c->count; k++) {
            axis_show(&x, c->x[k], true);
            axis_show(&y, c->y[k], true);
            axis_show(&y, c->hi[k], true);
            axis_show(&y, c->lo[k], true);
        }
        if (c->count)
            lines[count++] = (series){.label = c->label,
                                      .css_class = colour_of(view_param_text(any, "impl")),
                                      .x = c->x,
                                      .y = c->y,
                                      .lo = c->lo,
                                      .hi = c->hi,
                                      .count = c->count,
                                      .joined = true,
                                      .best_marked = what->best_marked};
    }
    axis_finish_log_points(&x);
    axis_finish_auto(&y);
    str title = {0};
    if (strcmp(what->card_key, "kernel") == 0)
        kernel_title(&title, card);
    else
        str_add(&title, card);
    if (count)
        svg_lines(out, &(line_chart){title.data, what->about, what->x_name, what->y_name, lines, count, x, y});
    str_free(&title);
    for (size_t i = 0; i < names.count; i++)
        free(curves[i].x);
}

static void curves_per_card(str *out, const picked *p, const curve_cards *what)
{
    words cards = words_of(p, what->card_key, impl_order);
    os_sort(p->items, p->count, sizeof *p->items, by_x, (void *)what->x_key);
    str_add(out, "<div class=\"cards\">\n");
    for (size_t i = 0; i < cards.count; i++)
        curve_card(out, p, what, cards.items[i]);
    str_add(out, "</div>\n");
    numbers_table(out, "The numbers", p->items, p->count);
}

void report_submits(str *out, const record_view *record)
{
    picked p = results_named(record, "submits");
    if (p.count) {
        section_open(
            out, "How many submits",
            "The time for the same dispatches when they are spread over more and more submits. With few, the GPU may "
            "stand idle "
            "while the host records; with many, every submit adds its own cost. The ring is the lowest point.");
        curves_per_card(out, &p,
                        &(curve_cards){"impl", "dispatches", "of ", "submits", "number of submits",
                                       "µs for all of them", "Time for all dispatches against the number of submits.",
                                       true});
        section_close(out);
    }
    picked_free(&p);
}

void report_barriers(str *out, const record_view *record)
{
    picked p = results_named(record, "barrier");
    if (p.count) {
        section_open(out, "What a grid barrier costs instead",
                     "Inside one dispatch, steps are kept apart by a barrier that all workgroups reach. This is what "
                     "one barrier takes against the number of workgroups: where it stays below the cost of a "
                     "dispatch, fusing into one dispatch pays.");
        curves_per_card(out, &p,
                        &(curve_cards){"kernel", "impl", "", "workgroups", "workgroups", "µs per barrier",
                                       "Cost of a grid barrier against the number of workgroups.", false});
        section_close(out);
    }
    picked_free(&p);
}
