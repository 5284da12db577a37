/* Bar charts: one bar per row with its 95% interval, and stacks. */
#include "lab/report_html.h"
#include "lab/report_svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOP = 26,         /* below the title */
    AXIS_HEIGHT = 20, /* tick labels */
    HEADING_HEIGHT = 23,
    BAR_HEIGHT = 16,  /* of a row; the bar itself is thinner */
    LABEL_CHAR = 7,   /* width of one character, generously */
    LABEL_LIMIT = 15, /* a longer label stands above its bar */
    VALUE_WIDTH = 58, /* at least */
    NOTE_WIDTH = 44,
};

bar *bars_add(bar_list *list, const char *group, const char *label, const view_result *r)
{
    if ((list->count & (list->count + 1)) == 0) /* full at 0, 1, 3, 7, ... */
        list->items = mem_grow(list->items, (2 * list->count + 1) * sizeof *list->items);
    bar *b = &list->items[list->count++];
    *b = (bar){.group = group, .label = label, .value = r->median, .lo = r->ci95[0], .hi = r->ci95[1], .unit = r->unit};
    return b;
}

void bars_show(axis *a, const view_result *r)
{
    axis_show(a, r->median, true);
    axis_show(a, r->ci95[0], true);
    axis_show(a, r->ci95[1], true);
}

void bars_free(bar_list *list)
{
    free(list->items);
    *list = (bar_list){0};
}

typedef struct layout {
    double left, right; /* of the bars */
    double value_right; /* where the values end */
    bool label_above;
    double row_height;
} layout;

static layout lay_out(size_t longest_label, double value_width, bool has_notes)
{
    layout l = {.label_above = longest_label > LABEL_LIMIT, .row_height = BAR_HEIGHT};
    l.left = l.label_above ? 10 : 20 + (double)longest_label * LABEL_CHAR;
    l.value_right = CHART_WIDTH - (has_notes ? NOTE_WIDTH : 0);
    l.right = l.value_right - value_width;
    if (l.label_above)
        l.row_height = 2 * BAR_HEIGHT;
    return l;
}

static void add_value(str *out, double value, const char *unit)
{
    html_number(out, value);
    str_add(out, " ");
    html_text(out, unit_shown(unit));
}

/* With room to the bar; a unit made to be long gets no more than a third. */
static double value_width(const bar *b)
{
    str text = {0};
    add_value(&text, b->value, b->unit);
    double width = 12 + (double)letters(text.data) * LABEL_CHAR;
    str_free(&text);
    return fmin(width, CHART_WIDTH / 3.0);
}

/* What a pointer held over the bar shows. */
static void add_tooltip(str *out, const bar *b)
{
    str_add(out, "<title>");
    html_text(out, b->group);
    str_add(out, *b->group ? " " : "");
    html_text(out, b->label);
    str_add(out, ": ");
    add_value(out, b->value, b->unit);
    str_add(out, ", 95% interval ");
    html_number(out, b->lo);
    str_add(out, " to ");
    html_number(out, b->hi);
    str_add(out, "</title>");
}

static void draw_interval(str *out, const axis *a, const bar *b, double middle)
{
    if (!isfinite(b->lo) || !isfinite(b->hi))
        return;
    double from = axis_at(a, b->lo), to = axis_at(a, b->hi);
    str_addf(out, "<path d=\"M%.1f %.1fH%.1fM%.1f %.1fv6M%.1f %.1fv6\" class=\"whisker\"/>", from, middle, to, from,
             middle - 3, to, middle - 3);
}

static void draw_bar(str *out, const axis *a, const bar *b, const layout *l, double y)
{
    double bar_y = l->label_above ? y + BAR_HEIGHT : y, middle = bar_y + BAR_HEIGHT / 2.0;
    bool drawable = b->value > 0;
    str_addf(out, "<g class=\"%s\">", colour_of(b->group));
    add_tooltip(out, b);
    svg_text_cut(out, 10, y + 12, "label", b->label, 50);
    if (drawable) {
        str_addf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"1.5\" class=\"%s\"/>", a->from,
                 bar_y + 3, axis_at(a, b->value) - a->from, BAR_HEIGHT - 6, b->faint ? "bar faint" : "bar");
        draw_interval(out, a, b, middle);
    }
    str_addf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"value end\">", l->value_right, middle + 4);
    if (drawable)
        add_value(out, b->value, b->unit);
    else
        str_add(out, "≤ 0: noise");
    str_add(out, "</text>");
    if (*b->note)
        svg_text(out, CHART_WIDTH, middle + 4, "note end", b->note);
    str_add(out, "</g>\n");
}

static bool starts_group(const bar *bars, size_t i)
{
    return *bars[i].group && (i == 0 || strcmp(bars[i].group, bars[i - 1].group) != 0);
}

void svg_bars(str *out, const bar_chart *c)
{
    size_t longest = 0, headings = 0;
    double width = VALUE_WIDTH;
    bool has_notes = false;
    for (size_t i = 0; i < c->count; i++) {
        longest = letters(c->bars[i].label) > longest ? letters(c->bars[i].label) : longest;
        headings += starts_group(c->bars, i);
        width = fmax(width, value_width(&c->bars[i]));
        has_notes = has_notes || *c->bars[i].note;
    }
    layout l = lay_out(longest, width, has_notes);
    axis a = c->axis;
    a.from = l.left;
    a.to = l.right;
    double bottom = TOP + (double)headings * HEADING_HEIGHT + (double)c->count * l.row_height, y = TOP;
    svg_open(out, c->title, c->about, bottom + AXIS_HEIGHT);
    svg_ticks_below(out, &a, TOP, bottom);
    for (size_t i = 0; i < c->count; i++) {
        if (starts_group(c->bars, i)) {
            str_addf(out, "<g class=\"%s\">", colour_of(c->bars[i].group));
            str_addf(out, "<rect x=\"0\" y=\"%.1f\" width=\"5\" height=\"11\" class=\"bar\"/>", y + 8);
            svg_text_cut(out, 10, y + 18, "group", c->bars[i].group, 48);
            str_add(out, "</g>\n");
            y += HEADING_HEIGHT;
        }
        draw_bar(out, &a, &c->bars[i], &l, y);
        y += l.row_height;
    }
    svg_close(out);
}

/* ---- stacks ---- */

static void draw_stack(str *out, const stack_chart *c, const axis *a, const stack_row *row, double y)
{
    double sum = 0;
    svg_text_cut(out, 10, y + 15, "label", row->label, LABEL_LIMIT);
    for (size_t k = 0; k < c->part_count; k++) {
        double part = row->parts[k];
        if (!(part > 0))
            continue;
        double from = axis_at(a, sum), to = axis_at(a, sum + part);
        str_addf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"16\" class=\"part p%zu\"><title>", from,
                 y + 3, to - from, k % 10);
        html_text(out, c->part_names[k]);
        str_add(out, ": ");
        add_value(out, part, row->unit);
        str_add(out, "</title></rect>\n");
        sum += part;
    }
    str_addf(out, "<text x=\"%d\" y=\"%.1f\" class=\"value end\">", CHART_WIDTH, y + 15);
    add_value(out, sum, row->unit);
    str_add(out, "</text>\n");
    if (*row->note)
        svg_text(out, a->from, y + 31, "note", row->note);
}

void svg_stack(str *out, const stack_chart *c)
{
    enum { ROW = 36 };
    size_t longest = 0;
    for (size_t i = 0; i < c->row_count; i++)
        longest = letters(c->rows[i].label) > longest ? letters(c->rows[i].label) : longest;
    axis a = c->axis;
    a.from = 20 + (double)(longest < LABEL_LIMIT ? longest : LABEL_LIMIT) * LABEL_CHAR;
    a.to = CHART_WIDTH - VALUE_WIDTH;
    double bottom = TOP + (double)c->row_count * ROW;
    svg_open(out, c->title, c->about, bottom + AXIS_HEIGHT);
    svg_ticks_below(out, &a, TOP, bottom);
    for (size_t i = 0; i < c->row_count; i++)
        draw_stack(out, c, &a, &c->rows[i], TOP + (double)i * ROW);
    svg_close(out);
}
