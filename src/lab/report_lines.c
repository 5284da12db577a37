/* Charts of points and lines, each line named at its right end. */
#include "lab/report_html.h"
#include "lab/report_svg.h"

#include <math.h>
#include <stdlib.h>

enum { LEFT = 44, RIGHT = CHART_WIDTH - 62, TOP = 40, BOTTOM = 236, HEIGHT = 272, MOST_POINTS = 600, CURVE_STEPS = 48 };
enum { NAME_GAP = 13 };

static void draw_axes(str *out, const line_chart *c)
{
    double ticks[MOST_TICKS];
    char text[TICK_ROOM];
    size_t count = axis_ticks(&c->y, ticks);
    for (size_t i = 0; i < count; i++) {
        double y = axis_at(&c->y, ticks[i]);
        str_addf(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>", LEFT, RIGHT, y, y);
        tick_text(text, ticks[i]);
        svg_text(out, LEFT - 5, y + 4, "tick end", text);
    }
    svg_ticks_below(out, &c->x, TOP, BOTTOM);
    svg_text(out, 0, TOP - 10, "tick", c->y_name);
    svg_text(out, (LEFT + RIGHT) / 2.0, BOTTOM + 31, "tick middle", c->x_name);
}

static void draw_fit(str *out, const line_chart *c, const series *s)
{
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < s->count; i++) {
        lo = fmin(lo, s->x[i]);
        hi = fmax(hi, s->x[i]);
    }
    if (!isfinite(lo) || !isfinite(s->slope) || !isfinite(s->intercept))
        return;
    bool spread = c->x.log && lo > 0;
    str_add(out, "<path class=\"line\" d=\"");
    for (int i = 0; i <= CURVE_STEPS; i++) {
        double share = (double)i / CURVE_STEPS;
        double x = spread ? lo * pow(hi / lo, share) : lo + share * (hi - lo);
        str_addf(out, "%c%.1f %.1f", i ? 'L' : 'M', axis_at(&c->x, x), axis_at(&c->y, s->intercept + s->slope * x));
    }
    str_add(out, "\"/>\n");
}

static void draw_joined(str *out, const line_chart *c, const series *s)
{
    str_add(out, "<path class=\"line\" d=\"");
    for (size_t i = 0; i < s->count; i++)
        str_addf(out, "%c%.1f %.1f", i ? 'L' : 'M', axis_at(&c->x, s->x[i]), axis_at(&c->y, s->y[i]));
    str_add(out, "\"/>\n");
}

/* Of very many points every k-th is drawn: more could not be distinguished. */
static void draw_points(str *out, const line_chart *c, const series *s)
{
    size_t step = s->count / MOST_POINTS + 1;
    for (size_t i = 0; i < s->count; i += step) {
        double x = axis_at(&c->x, s->x[i]), y = axis_at(&c->y, s->y[i]);
        if (s->lo && s->hi)
            str_addf(out, "<path d=\"M%.1f %.1fV%.1f\" class=\"whisker\"/>", x, axis_at(&c->y, s->lo[i]),
                     axis_at(&c->y, s->hi[i]));
        str_addf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" class=\"dot\"/>\n", x, y, s->joined ? "3" : "2");
    }
}

static void draw_best(str *out, const line_chart *c, const series *s)
{
    size_t best = 0;
    for (size_t i = 1; i < s->count; i++)
        best = s->y[i] < s->y[best] ? i : best;
    double x = axis_at(&c->x, s->x[best]), y = axis_at(&c->y, s->y[best]);
    str_addf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" class=\"best\"/>\n", x, y);
    str_addf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"value middle\">", x, y < TOP + 14 ? y + 18 : y - 9);
    html_number(out, s->y[best]);
    str_addf(out, " at %.6g</text>\n", s->x[best]);
}

typedef struct name_place {
    size_t series;
    double y;
} name_place;

static int by_height(const void *a, const void *b)
{
    double x = ((const name_place *)a)->y, y = ((const name_place *)b)->y;
    return (x > y) - (x < y);
}

static double end_height(const line_chart *c, const series *s)
{
    size_t last = 0;
    for (size_t i = 1; i < s->count; i++)
        last = s->x[i] >= s->x[last] ? i : last;
    return axis_at(&c->y, s->fitted ? s->intercept + s->slope * s->x[last] : s->y[last]);
}

/* Names beside the ends of their lines, pushed apart where they would touch. */
static void draw_names(str *out, const line_chart *c)
{
    name_place *places = mem_alloc(c->count * sizeof *places);
    for (size_t i = 0; i < c->count; i++)
        places[i] = (name_place){i, end_height(c, &c->series[i])};
    qsort(places, c->count, sizeof *places, by_height);
    for (size_t i = 1; i < c->count; i++)
        places[i].y = fmax(places[i].y, places[i - 1].y + NAME_GAP);
    double over = c->count ? places[c->count - 1].y - BOTTOM : 0;
    for (size_t i = c->count; over > 0 && i-- > 0;) {
        double highest = i + 1 < c->count ? places[i + 1].y - NAME_GAP : BOTTOM;
        places[i].y = fmin(places[i].y, highest);
    }
    for (size_t i = 0; i < c->count; i++) {
        const series *s = &c->series[places[i].series];
        str_addf(out, "<g class=\"%s\">", s->css_class);
        svg_text_cut(out, RIGHT + 6, places[i].y + 4, "name", s->label, 8);
        str_add(out, "</g>\n");
    }
    free(places);
}

void svg_lines(str *out, const line_chart *given)
{
    line_chart placed = *given;
    const line_chart *c = &placed;
    placed.x.from = LEFT;
    placed.x.to = RIGHT;
    placed.y.from = BOTTOM;
    placed.y.to = TOP;
    svg_open(out, c->title, c->about, HEIGHT);
    draw_axes(out, c);
    for (size_t i = 0; i < c->count; i++) {
        const series *s = &c->series[i];
        str_addf(out, "<g class=\"%s\"><title>", s->css_class);
        html_text(out, s->label);
        str_add(out, "</title>\n");
        if (s->fitted)
            draw_fit(out, c, s);
        if (s->joined)
            draw_joined(out, c, s);
        draw_points(out, c, s);
        if (s->best_marked && s->count)
            draw_best(out, c, s);
        str_add(out, "</g>\n");
    }
    draw_names(out, c);
    svg_close(out);
}
