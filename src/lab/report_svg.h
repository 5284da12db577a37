/* report_svg: axes and charts.
 *
 * A chart is drawn for a width of CHART_WIDTH, which is a phone's; wider screens
 * put several side by side. Colours come from classes of the style sheet, so that
 * light and dark both work. */
#ifndef SOLO_REPORT_SVG_H
#define SOLO_REPORT_SVG_H

#include "base/str.h"
#include "lab/record_read.h"

#include <stdbool.h>
#include <stddef.h>

enum { CHART_WIDTH = 360, MOST_TICKS = 8 };

/* Zero-initialise with AXIS_EMPTY, show it every value, then call one of the
 * two finishers; charts that share an axis can be held against each other. */
typedef struct axis {
    bool log;
    double lo, hi;   /* values */
    double from, to; /* where those lie, in chart units */
} axis;
#define AXIS_EMPTY ((axis){.lo = 1e300, .hi = -1e300})

void axis_show(axis *a, double value, bool must_be_positive);
void axis_finish_log(axis *a);        /* from a power of ten below every bar */
void axis_finish_log_points(axis *a); /* from a power of ten at or below every point */
void axis_finish_from_zero(axis *a);
/* Logarithmic where the values span more than a factor of 20. */
void axis_finish_auto(axis *a);
double axis_at(const axis *a, double value); /* kept within the chart */
size_t axis_ticks(const axis *a, double ticks[MOST_TICKS]);

/* ---- bars ---- */

typedef struct bar {
    const char *group; /* implementation: a heading, and the colour */
    const char *label;
    double value, lo, hi;
    const char *unit;
    char note[24]; /* printed after the value, such as "1.4×" */
    bool faint;    /* the lesser one of a pair */
} bar;

/* Bars that grow in number; free with bars_free. */
typedef struct bar_list {
    bar *items;
    size_t count;
} bar_list;

bar *bars_add(bar_list *list, const char *group, const char *label, const view_result *result);
void bars_show(axis *a, const view_result *result); /* the value and its interval */
void bars_free(bar_list *list);

typedef struct bar_chart {
    const char *title, *about;
    const bar *bars;
    size_t count;
    axis axis; /* finished */
} bar_chart;

void svg_bars(str *out, const bar_chart *c);

/* One row of a stack: its parts end to end. */
typedef struct stack_row {
    const char *label, *unit;
    const double *parts;
    char note[48];
} stack_row;

typedef struct stack_chart {
    const char *title, *about;
    const char *const *part_names;
    size_t part_count;
    const stack_row *rows;
    size_t row_count;
    axis axis; /* from zero */
} stack_chart;

void svg_stack(str *out, const stack_chart *c);

/* ---- points and lines ---- */

typedef struct series {
    const char *label, *css_class;
    const double *x, *y, *lo, *hi; /* lo and hi may be NULL */
    size_t count;
    bool joined; /* by a line from point to point */
    bool fitted; /* draw y = intercept + slope * x */
    double slope, intercept;
    bool best_marked; /* ring around the smallest y */
} series;

typedef struct line_chart {
    const char *title, *about, *x_name, *y_name;
    const series *series;
    size_t count;
    axis x, y; /* finished */
} line_chart;

void svg_lines(str *out, const line_chart *c);

/* ---- shared by the above ---- */

void svg_open(str *out, const char *title, const char *about, double height);
void svg_close(str *out);
void svg_text(str *out, double x, double y, const char *css_class, const char *text);
/* The same, cut with "…" after `most` characters: SVG text does not wrap. */
void svg_text_cut(str *out, double x, double y, const char *css_class, const char *text, size_t most);
enum { TICK_ROOM = 32 };
void tick_text(char out[TICK_ROOM], double value); /* 10000 is "10k" */
/* Upright grid lines, each named below it where the names do not touch. */
void svg_ticks_below(str *out, const axis *a, double top, double bottom);
size_t letters(const char *text); /* characters, not bytes */

#endif
