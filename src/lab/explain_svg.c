/* A plan as a picture: the operators of a layer, and the steps they are fused into.
 *
 * On the left stands every operator of a layer and of what is around it, on the
 * right the steps, and ribbons show where each operator went. Bars are bytes moved,
 * all to one scale. */
#include "lab/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 1000,
    TOP = 96,
    LEFT_X = 96,
    LEFT_WIDTH = 270,
    RIGHT_X = 530,
    RIGHT_WIDTH = 370,
    LINE = 17,
    LETTERS = 54,       /* in a line of a box on the right */
    SHORT_LETTERS = 29, /* on the left */
    GAP = 8,
    BAR_HEIGHT = 5,
    FRAME = 9, /* from the boxes of a layer to the line around them */
    NONE = UINT32_MAX,
};

typedef struct box {
    uint32_t step;
    double y, height;
    bool in_layer;
} box;

/* The steps that are drawn, of a plan before or after. */
typedef struct column {
    const explained *x;
    explained_block layer; /* what covers most by repeating; times 0: nothing does */
    uint32_t shown;        /* the first step of the one that is drawn */
    box *boxes;
    uint32_t count;
    double left, width;
    bool is_right;
} column;

/* ---- text -------------------------------------------------------------------------- */

static void add_escaped(str *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length && text[i]; i++)
        switch (text[i]) {
        case '<': str_add(out, "&lt;"); break;
        case '>': str_add(out, "&gt;"); break;
        case '&': str_add(out, "&amp;"); break;
        case '"': str_add(out, "&quot;"); break;
        default: str_add_bytes(out, (unsigned char)text[i] < ' ' ? "?" : &text[i], 1); break;
        }
}

static void add_text(str *out, double x, double y, const char *css, const char *text, size_t length)
{
    str_addf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, css);
    add_escaped(out, text, length);
    str_add(out, "</text>\n");
}

/* How many letters of `text` go into the next line: up to a " + " if it is too long. */
static size_t line_of(const char *text)
{
    size_t length = strlen(text), best = 0;
    if (length <= LETTERS)
        return length;
    for (size_t i = 1; i < LETTERS; i++)
        if (text[i] == '+' && text[i - 1] == ' ')
            best = i - 1;
    return best ? best : LETTERS;
}

static uint32_t lines_of(const char *text)
{
    uint32_t lines = 0;
    for (; *text; lines++) {
        text += line_of(text);
        text += *text == ' ';
    }
    return lines ? lines : 1;
}

/* ---- where things are -------------------------------------------------------------- */

static bool in_block(const explained_block *b, uint32_t step)
{
    return b->times > 1 && step >= b->first && step < b->first + b->count * b->times;
}

static bool of_a_layer(const plan *p, uint32_t step)
{
    node nodes[PLAN_MAX_NODES];
    uint32_t count = plan_reads(p, &p->steps[step], nodes);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = graph_at(p->g, nodes[i])->name;
        if (name && strncmp(name, "blk.", 4) == 0)
            return true;
    }
    return false;
}

/* The steps before the layers, one of those, the steps after; all steps where none repeats. */
static void choose_boxes(column *c)
{
    const plan *p = c->x->p;
    uint32_t first = c->layer.first, end = c->layer.first + c->layer.count * c->layer.times;
    for (uint32_t i = 0; i < p->count; i++)
        if (of_a_layer(p, i)) {
            first = i < first ? i : first;
            end = i >= end ? i + 1 : end;
        }
    c->boxes = mem_alloc((p->count + 1) * sizeof *c->boxes);
    for (uint32_t i = 0; i < p->count; i++) {
        bool in_layer = c->layer.times > 1 && i >= c->shown && i < c->shown + c->layer.count;
        if (c->layer.times < 2 || in_layer || i < first || i >= end)
            c->boxes[c->count++] = (box){.step = i, .in_layer = in_layer};
    }
}

static uint32_t step_with(const plan *p, node n)
{
    node nodes[PLAN_MAX_NODES];
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t count = plan_nodes(p, &p->steps[i], nodes);
        for (uint32_t k = 0; k < count; k++)
            if (nodes[k] == n)
                return i;
    }
    return 0;
}

static column left_column(const explained *x)
{
    column c = {.x = x, .left = LEFT_X, .width = LEFT_WIDTH};
    for (uint32_t i = 0; i < x->block_count; i++) {
        const explained_block *b = &x->blocks[i];
        if (b->times > 1 && b->count * b->times > c.layer.count * c.layer.times)
            c.layer = *b;
    }
    c.shown = c.layer.first;
    choose_boxes(&c);
    return c;
}

/* The same layer as on the left. */
static column right_column(const explained *x, const column *left)
{
    column c = {.x = x, .left = RIGHT_X, .width = RIGHT_WIDTH, .is_right = true};
    if (left->layer.times > 1) {
        uint32_t at = step_with(x->p, left->x->p->steps[left->shown].at);
        for (uint32_t i = 0; i < x->block_count; i++)
            if (in_block(&x->blocks[i], at))
                c.layer = x->blocks[i];
        c.shown = c.layer.times > 1 ? at - (at - c.layer.first) % c.layer.count : 0;
    }
    choose_boxes(&c);
    return c;
}

static bool edge_of_layer(const column *c, uint32_t i)
{
    return i > 0 && c->boxes[i].in_layer != c->boxes[i - 1].in_layer;
}

static void place_left(column *c)
{
    double y = TOP;
    for (uint32_t i = 0; i < c->count; i++) {
        y += edge_of_layer(c, i) ? 2 * FRAME + GAP : 0;
        c->boxes[i].y = y;
        c->boxes[i].height = LINE + 2 * BAR_HEIGHT;
        y += c->boxes[i].height + GAP;
    }
}

/* The box whose step computes a node, or NONE. */
static uint32_t box_with(const column *c, node n)
{
    node nodes[PLAN_MAX_NODES];
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t count = plan_nodes(c->x->p, &c->x->p->steps[c->boxes[i].step], nodes);
        for (uint32_t k = 0; k < count; k++)
            if (nodes[k] == n)
                return i;
    }
    return NONE;
}

/* The box on the right that box `i` on the left went into. */
static uint32_t goes_to(const column *left, const column *right, uint32_t i)
{
    node nodes[PLAN_MAX_NODES];
    plan_nodes(left->x->p, &left->x->p->steps[left->boxes[i].step], nodes);
    return box_with(right, nodes[0]);
}

/* Beside the middle of what went into it, and below the one before. */
static void place_right(const column *left, column *c)
{
    double below = TOP;
    for (uint32_t i = 0; i < c->count; i++) {
        box *b = &c->boxes[i];
        double sum = 0;
        uint32_t members = 0;
        for (uint32_t k = 0; k < left->count; k++)
            if (goes_to(left, c, k) == i) {
                sum += left->boxes[k].y + left->boxes[k].height / 2;
                members++;
            }
        b->height = LINE * (lines_of(c->x->steps[b->step].what) + 1) + 2 * BAR_HEIGHT + 2;
        below += edge_of_layer(c, i) ? 2 * FRAME + GAP : 0;
        b->y = members ? sum / members - b->height / 2 : below;
        if (b->y < below)
            b->y = below;
        below = b->y + b->height + GAP;
    }
}

/* ---- drawing ------------------------------------------------------------------------ */

static const char *kind_of(graph_op op)
{
    switch (op) {
    case OP_MATMUL:
    case OP_EXPERTS:
    case OP_GATHER: return "product";
    case OP_ATTENTION:
    case OP_ATTENTION_WHOLE: return "attention";
    case OP_ROPE:
    case OP_STORE: return "cache";
    case OP_ASSIGN:
    case OP_SAMPLE: return "choice";
    default: return "small";
    }
}

static const char *kind_of_box(const column *c, uint32_t i)
{
    return kind_of(c->x->p->steps[c->boxes[i].step].op);
}

static uint64_t bytes_of(const explained_step *s)
{
    return s->cost.weight_bytes + s->cost.state_bytes + s->cost.activation_bytes;
}

static double most_bytes(const column *c)
{
    double most = 1;
    for (uint32_t i = 0; i < c->count; i++)
        if ((double)bytes_of(&c->x->steps[c->boxes[i].step]) > most)
            most = (double)bytes_of(&c->x->steps[c->boxes[i].step]);
    return most;
}

static void draw_box(str *out, const column *c, uint32_t i, double most)
{
    const box *b = &c->boxes[i];
    const explained_step *s = &c->x->steps[b->step];
    double bar = (double)bytes_of(s) / most * (c->width - 16), y = b->y + LINE - 1;
    char amount[24], text[160], times[16] = "";
    explain_amount((double)bytes_of(s), "B", amount);
    str_addf(out,
             "<g class=\"%s\"><rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"5\"/>\n",
             kind_of_box(c, i), c->left, b->y, c->width, b->height);
    str_addf(out, "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" rx=\"1\"/></g>\n",
             c->left + 8, b->y + b->height - BAR_HEIGHT - 3, bar < 1 ? 1 : bar, BAR_HEIGHT);
    if (!c->is_right) {
        snprintf(text, sizeof text, strlen(s->what) > SHORT_LETTERS ? "%.*s…" : "%.*s", SHORT_LETTERS, s->what);
        add_text(out, c->left + 8, y, "what", text, sizeof text);
        add_text(out, c->left + c->width - 8, y, "amount end", amount, sizeof amount);
        return;
    }
    for (const char *rest = s->what; *rest; y += LINE) {
        size_t length = line_of(rest);
        add_text(out, c->left + 8, y, "what", rest, length);
        rest += length;
        rest += *rest == ' ';
    }
    if (s->dispatches > 1)
        snprintf(times, sizeof times, " x%u", s->dispatches);
    snprintf(text, sizeof text, "%s%s: %s", s->kernel, times, s->shape);
    add_text(out, c->left + 8, y, "amount", text, sizeof text);
    if (s->time_us > 0)
        snprintf(text, sizeof text, "%s, %.3g of %.3g µs", amount, s->time_us, s->limit_us);
    else if (s->limit_us > 0)
        snprintf(text, sizeof text, s->limit_us < 0.01 ? "%s" : "%s, %.2g µs", amount, s->limit_us);
    else
        snprintf(text, sizeof text, "%s", amount);
    add_text(out, c->left + c->width - 8, y, "amount end", text, sizeof text);
}

static void draw_layer(str *out, const column *c)
{
    double top = 0, bottom = 0;
    char text[48];
    for (uint32_t i = 0; i < c->count; i++)
        if (c->boxes[i].in_layer) {
            top = top > 0 ? top : c->boxes[i].y;
            bottom = c->boxes[i].y + c->boxes[i].height;
        }
    if (c->layer.times < 2)
        return;
    str_addf(out, "<rect class=\"layer\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"9\"/>\n",
             c->left - FRAME, top - FRAME, c->width + 2 * FRAME, bottom - top + 2 * FRAME);
    snprintf(text, sizeof text, "%u times", c->layer.times);
    double x = c->is_right ? c->left + c->width - 4 : c->left + 4;
    add_text(out, x, top - FRAME - 3, c->is_right ? "times end" : "times", text, sizeof text);
}

/* The box that writes what box `i` reads as `n`. A step of a later layer stands for itself in the one drawn. */
static uint32_t writer_box(const column *c, node n)
{
    const plan *p = c->x->p;
    node nodes[PLAN_MAX_NODES];
    for (uint32_t s = 0; s < p->count; s++) {
        uint32_t count = plan_writes(p, &p->steps[s], nodes), step = s;
        for (uint32_t k = 0; k < count; k++) {
            if (nodes[k] != n)
                continue;
            if (in_block(&c->layer, s))
                step = c->shown + (s - c->layer.first) % c->layer.count;
            for (uint32_t i = 0; i < c->count; i++)
                if (c->boxes[i].step == step)
                    return i;
        }
    }
    return NONE;
}

static void draw_arrow(str *out, const column *c, uint32_t from, uint32_t to)
{
    const box *a = &c->boxes[from], *b = &c->boxes[to];
    double start = a->y + a->height, end = b->y;
    if (to == from + 1) {
        double x = c->left + c->width / 2;
        str_addf(out, "<path class=\"flow\" d=\"M%.1f %.1fV%.1f\"/>\n", x, start, end);
        return;
    }
    uint32_t far = to - from < 9 ? to - from : 9;
    double x = c->is_right ? c->left + c->width : c->left, away = (c->is_right ? 1.0 : -1.0) * (14 + 9.0 * far);
    start = a->y + a->height * 0.7;
    end = b->y + b->height * 0.3;
    str_addf(out, "<path class=\"flow\" d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>\n", x, start, x + away, start,
             x + away, end, x, end);
}

static void draw_flow(str *out, const column *c)
{
    node nodes[PLAN_MAX_NODES];
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t count = plan_reads(c->x->p, &c->x->p->steps[c->boxes[i].step], nodes), done[PLAN_MAX_NODES], drawn = 0;
        for (uint32_t k = 0; k < count; k++) {
            uint32_t from = writer_box(c, nodes[k]);
            bool again = false;
            for (uint32_t d = 0; d < drawn; d++)
                again = again || done[d] == from;
            if (from == NONE || from >= i || again)
                continue;
            done[drawn++] = from;
            draw_arrow(out, c, from, i);
        }
    }
}

static void draw_ribbons(str *out, const column *left, const column *right)
{
    uint32_t *into = mem_alloc((left->count + 1) * sizeof *into),
             *members = mem_alloc((right->count + 1) * sizeof *into),
             *done = mem_alloc((right->count + 1) * sizeof *into);
    for (uint32_t i = 0; i < left->count; i++) {
        into[i] = goes_to(left, right, i);
        if (into[i] != NONE)
            members[into[i]]++;
    }
    for (uint32_t i = 0; i < left->count; i++) {
        if (into[i] == NONE)
            continue;
        const box *a = &left->boxes[i], *b = &right->boxes[into[i]];
        double share = b->height / members[into[i]], top = b->y + share * done[into[i]]++;
        double x0 = left->left + left->width, x1 = right->left, middle = (x0 + x1) / 2;
        str_addf(out,
                 "<path class=\"ribbon %s\" d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1fV%.1fC%.1f %.1f %.1f %.1f %.1f "
                 "%.1fZ\"/>\n",
                 kind_of_box(right, into[i]), x0, a->y + 2, middle, a->y + 2, middle, top, x1, top, top + share, middle,
                 top + share, middle, a->y + a->height - 2, x0, a->y + a->height - 2);
    }
    free(into);
    free(members);
    free(done);
}

static const char STYLE[] =
    "<style>\n"
    "svg{--paper:#fbfbf9;--card:#fff;--ink:#1c1d20;--soft:#5b5f66;--rule:#b9bcc2;--product:#0072b2;--attention:#c25e00;"
    "--cache:#00805d;--choice:#9a4f80;--small:#7d7d7d;background:var(--paper);"
    "font:13px system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",Arial,sans-serif}\n"
    "@media (prefers-color-scheme:dark){svg{--paper:#131417;--card:#1b1d21;--ink:#e9e9e6;--soft:#a3a7ae;--rule:#565b64;"
    "--product:#3d9fdc;--attention:#f0803c;--cache:#1fb98c;--choice:#d98fb8;--small:#9a9a9a}}\n"
    "text{fill:var(--ink)}.title{font-size:19px;font-weight:650}.head{font-size:15px;font-weight:650}\n"
    ".amount,.note{fill:var(--soft);font-size:11px}.note{font-size:12.5px}.end{text-anchor:end}\n"
    ".times{font-size:12.5px;font-weight:650;fill:var(--soft)}\n"
    ".product{--c:var(--product)}.attention{--c:var(--attention)}.cache{--c:var(--cache)}.choice{--c:var(--choice)}"
    ".small{--c:var(--small)}\n"
    ".box{fill:var(--card);stroke:var(--c);stroke-width:1.3}.bar{fill:var(--c)}\n"
    ".ribbon{fill:var(--c);opacity:.16}.layer{fill:none;stroke:var(--rule);stroke-dasharray:5 4}\n"
    ".flow{fill:none;stroke:var(--soft);stroke-width:1.1;opacity:.75;marker-end:url(#tip)}.tip{fill:var(--soft)}\n"
    "</style>\n"
    "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" "
    "orient=\"auto\"><path class=\"tip\" d=\"M0 0 8 4 0 8z\"/></marker></defs>\n";

static void draw_heading(str *out, const explain *x, const column *c, const char *title)
{
    char text[160];
    explained_step total = explain_total(c->x, NULL);
    explain_amount((double)total.cost.activation_bytes, "B", text);
    add_text(out, c->left, TOP - 38, "head", title, strlen(title));
    str_addf(out, "<text x=\"%.1f\" y=\"%d\" class=\"note\">%u dispatches a %s; %s of activations</text>\n", c->left,
             TOP - 21, total.dispatches, x->o.rows > 1 ? "run" : "token", text);
}

void explain_svg(const explain *x, str *out)
{
    column left = left_column(&x->before), right = right_column(&x->after, &left);
    place_left(&left);
    place_right(&left, &right);
    double bottom = 0, most = most_bytes(&left) > most_bytes(&right) ? most_bytes(&left) : most_bytes(&right);
    const box *last[] = {&left.boxes[left.count - 1], &right.boxes[right.count - 1]};
    for (int i = 0; i < 2; i++)
        bottom = last[i]->y + last[i]->height > bottom ? last[i]->y + last[i]->height : bottom;
    char text[256], amount[24];
    str_addf(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" role=\"img\" "
             "aria-label=\"Operators before and steps after fusion\">\n",
             WIDTH, bottom + 44, WIDTH);
    str_add(out, STYLE);
    str_addf(out, "<rect width=\"%d\" height=\"%.0f\" style=\"fill:var(--paper)\"/>\n", WIDTH, bottom + 44);
    snprintf(text, sizeof text, "%s: what is launched for a %s", x->model, x->o.rows > 1 ? "run" : "token");
    add_text(out, LEFT_X, 34, "title", text, sizeof text);
    draw_heading(out, x, &left, "Every operator");
    snprintf(text, sizeof text, "Fused: %s", fusion_names[x->o.level]);
    draw_heading(out, x, &right, text);
    draw_ribbons(out, &left, &right);
    const column *columns[] = {&left, &right};
    for (int k = 0; k < 2; k++) {
        draw_layer(out, columns[k]);
        draw_flow(out, columns[k]);
        for (uint32_t i = 0; i < columns[k]->count; i++)
            draw_box(out, columns[k], i, most);
    }
    explain_amount(most, "B", amount);
    snprintf(text, sizeof text,
             "Bars: bytes read and written, all to one scale; the longest is %s. Arrows: who needs what.", amount);
    add_text(out, LEFT_X, bottom + 28, "note", text, sizeof text);
    str_add(out, "</svg>\n");
    free(left.boxes);
    free(right.boxes);
}
