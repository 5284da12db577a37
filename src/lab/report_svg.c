/* report_svg: scales, axes, ticks and labels of charts in SVG. */
#include "lab/report_svg.h"

#include "lab/report_html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDEST_LOG 1e6
enum { TICK_CHAR = 7 }; /* width of one character, generously */

/* ---- axes ---- */

void axis_show(axis *a, double value, bool must_be_positive)
{
    if (!isfinite(value) || (must_be_positive && value <= 0))
        return;
    value = fmin(fmax(value, -1e200), 1e200); /* so that no span overflows */
    a->lo = fmin(a->lo, value);
    a->hi = fmax(a->hi, value);
}

static bool is_empty(const axis *a)
{
    return a->lo > a->hi;
}

static void finish_log(axis *a, double room_below)
{
    a->log = true;
    if (is_empty(a) || a->hi <= 0) {
        a->lo = 0.1;
        a->hi = 1;
        return;
    }
    /* a value that is mere noise around zero must not squeeze all others */
    a->lo = fmax(fmax(a->lo, a->hi / WIDEST_LOG), 1e-200);
    a->lo = pow(10, floor(log10(a->lo * room_below)));
    a->hi *= 1.1;
}

/* The smallest bar keeps some length. */
void axis_finish_log(axis *a)
{
    finish_log(a, 0.8);
}

void axis_finish_log_points(axis *a)
{
    finish_log(a, 1);
}

void axis_finish_from_zero(axis *a)
{
    a->log = false;
    if (is_empty(a) || a->hi <= 0)
        a->hi = 1;
    a->lo = 0;
    a->hi *= 1.05;
}

void axis_finish_auto(axis *a)
{
    if (!is_empty(a) && a->lo > 0 && a->hi > 20 * a->lo)
        axis_finish_log(a);
    else
        axis_finish_from_zero(a);
}

double axis_at(const axis *a, double value)
{
    double share;
    if (!isfinite(value))
        value = a->lo;
    if (a->log)
        share = value <= a->lo ? 0 : log(value / a->lo) / log(a->hi / a->lo);
    else
        share = (value - a->lo) / (a->hi - a->lo);
    return a->from + fmin(fmax(share, 0), 1) * (a->to - a->from);
}

static size_t log_ticks(const axis *a, double ticks[MOST_TICKS])
{
    double decades = log10(a->hi / a->lo);
    size_t count = 0;
    if (decades < 1.3) {
        static const double within[] = {1, 2, 5, 10, 20};
        for (size_t i = 0; i < 5; i++)
            if (a->lo * within[i] <= a->hi)
                ticks[count++] = a->lo * within[i];
        return count;
    }
    int step = (int)ceil(decades / (MOST_TICKS - 2));
    for (double at = a->lo; at <= a->hi && count < MOST_TICKS; at *= pow(10, step))
        ticks[count++] = at;
    return count;
}

static size_t linear_ticks(const axis *a, double ticks[MOST_TICKS])
{
    double rough = (a->hi - a->lo) / 4, power = pow(10, floor(log10(rough)));
    double share = rough / power; /* 1 to 10; rounded to 1, 2, 5 or 10 */
    double step = power * (share >= 7.5 ? 10 : share >= 3.5 ? 5 : share >= 1.5 ? 2 : 1);
    size_t count = 0;
    for (double at = 0; at <= a->hi && count < MOST_TICKS; at += step)
        ticks[count++] = at;
    return count;
}

size_t axis_ticks(const axis *a, double ticks[MOST_TICKS])
{
    return a->log ? log_ticks(a, ticks) : linear_ticks(a, ticks);
}

/* ---- the frame of a chart ---- */

void svg_open(str *out, const char *title, const char *about, double height)
{
    str_addf(out, "<figure><svg viewBox=\"0 0 %d %.0f\" role=\"img\">\n<title>", CHART_WIDTH, height);
    html_text(out, title);
    str_add(out, "</title><desc>");
    html_text(out, about);
    str_add(out, "</desc>\n");
    svg_text_cut(out, 0, 14, "chart-title", title, 50);
}

void svg_close(str *out)
{
    str_add(out, "</svg></figure>\n");
}

size_t letters(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

void svg_text_cut(str *out, double x, double y, const char *css_class, const char *text, size_t most)
{
    if (letters(text) <= most) {
        svg_text(out, x, y, css_class, text);
        return;
    }
    size_t seen = 0, bytes = 0;
    for (; text[bytes]; bytes++) {
        seen += ((unsigned char)text[bytes] & 0xc0) != 0x80;
        if (seen == most) /* the start of the last character that would fit: the dots take its place */
            break;
    }
    str cut = {0};
    str_add_bytes(&cut, text, bytes);
    str_add(&cut, "…");
    svg_text(out, x, y, css_class, cut.data);
    str_free(&cut);
}

void tick_text(char out[TICK_ROOM], double value)
{
    double shown = value;
    const char *suffix = "";
    if (value >= 1e6 && value < 1e9) {
        shown = value / 1e6;
        suffix = "M";
    } else if (value >= 1e3 && value < 1e6) {
        shown = value / 1e3;
        suffix = "k";
    }
    snprintf(out, TICK_ROOM, "%.4g%s", shown, suffix);
}

void svg_ticks_below(str *out, const axis *a, double top, double bottom)
{
    double ticks[MOST_TICKS], free_from = -INFINITY;
    size_t count = axis_ticks(a, ticks);
    char text[TICK_ROOM];
    for (size_t i = 0; i < count; i++) {
        double x = axis_at(a, ticks[i]);
        str_addf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>\n", x, x, top, bottom);
        tick_text(text, ticks[i]);
        double half = (double)strlen(text) * TICK_CHAR / 2;
        if (x - half < free_from)
            continue;
        svg_text(out, x, bottom + 14, "tick middle", text);
        free_from = x + half + TICK_CHAR;
    }
}

void svg_text(str *out, double x, double y, const char *css_class, const char *text)
{
    str_addf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, css_class);
    html_text(out, text);
    str_add(out, "</text>\n");
}
