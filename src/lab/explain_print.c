/* A plan as text, for a terminal of 100 columns. */
#include "lab/explain.h"

#include <stdio.h>
#include <string.h>

enum { BAR = 40, SHARE_BAR = 20, BLOCK_MARK = 7 };

static void add_bar(str *out, double share, int most)
{
    int length = (int)(share * most + 0.5);
    for (int i = 0; i < length && i < most; i++)
        str_add(out, "#");
}

static void add_micros(str *out, double us, int width)
{
    char text[16] = "-";
    if (us > 0)
        snprintf(text, sizeof text, us >= 100 ? "%.0f" : us >= 10 ? "%.1f" : us >= 1 ? "%.2f" : "%.3f", us);
    str_addf(out, " %*s", width, text);
}

static void add_amounts(str *out, const plan_cost *c)
{
    char text[24];
    const uint64_t bytes[] = {c->weight_bytes, c->state_bytes, c->activation_bytes};
    for (int i = 0; i < 3; i++) {
        explain_amount((double)bytes[i], "B", text);
        str_addf(out, " %8s", text);
    }
    explain_amount((double)c->flops, "", text);
    str_addf(out, " %7s", text);
}

/* ---- what the passes do --------------------------------------------------------- */

static const char *const PASS_WORDS[PASS_COUNT] = {[PASS_NORM] = "norms go into the products that follow",
                                                   [PASS_GATE] = "f(gate) * up: both products in one",
                                                   [PASS_MIX] = "sums over experts, and the residual",
                                                   [PASS_EPILOGUE] = "biases, functions, residuals after a product",
                                                   [PASS_ROPE] = "RoPE, and the write into the cache",
                                                   [PASS_CHAIN] = "norms with what comes after them",
                                                   [PASS_SIBLINGS] = "products of the same x together",
                                                   [PASS_COMBINE] = "splits of attention combined by the product",
                                                   [PASS_ASSIGN] = "assignments for the next run together"};

static void print_passes(const explain *x, str *out)
{
    uint32_t steps = x->before.p->count;
    str_addf(out, "STEPS\n  %-55s %5u  ", "each operator by itself", steps);
    add_bar(out, 1, BAR - 10);
    str_add(out, "\n");
    for (int pass = 0; x->o.level != LEVEL_NONE && pass < PASS_COUNT; pass++) {
        steps -= x->removed[pass];
        str_addf(out, "  %-9s %-45s %5d  ", pass_names[pass], PASS_WORDS[pass], -(int)x->removed[pass]);
        add_bar(out, (double)steps / x->before.p->count, BAR - 10);
        str_add(out, "\n");
    }
    str_addf(out, "  %-55s %5u\n\n", "left", x->after.p->count);
}

/* ---- the plan ------------------------------------------------------------------- */

/* Alike steps take times that differ a little: their mean. */
static double mean_time(const explained *x, const explained_block *b, uint32_t step)
{
    double sum = 0;
    for (uint32_t i = 0; i < b->times; i++)
        sum += x->steps[step + i * b->count].time_us;
    return sum / b->times;
}

static void print_step(const explain *x, const explained_block *b, uint32_t i, double whole, str *out)
{
    const explained_step *s = &x->after.steps[i];
    char mark[16] = "";
    if (b->times > 1)
        snprintf(mark, sizeof mark, i == b->first ? "%u x |" : "|", b->times);
    double time = mean_time(&x->after, b, i), share = (x->timed ? time : s->limit_us) * b->times;
    str_addf(out, "%*s %-70s ", BLOCK_MARK, mark, s->what);
    add_bar(out, whole > 0 ? share / whole : 0, SHARE_BAR);
    while (out->data[out->length - 1] == ' ')
        out->data[--out->length] = 0;
    str_addf(out, "\n%*s   %-16s%s", BLOCK_MARK, b->times > 1 ? "|" : "", s->kernel, s->dispatches > 1 ? "" : "   ");
    if (s->dispatches > 1)
        str_addf(out, " x%u", s->dispatches);
    str_addf(out, " %-24s", s->shape);
    add_amounts(out, &s->cost);
    add_micros(out, s->limit_us, 6);
    str_add(out, s->by_operations ? "*" : " ");
    if (x->timed)
        add_micros(out, time, 6);
    while (out->data[out->length - 1] == ' ')
        out->data[--out->length] = 0;
    str_add(out, "\n");
}

static void print_plan(const explain *x, str *out)
{
    explained_step total = explain_total(&x->after, NULL);
    double whole = x->timed ? total.time_us + x->waiting_us : total.limit_us;
    bool any = false;
    str_addf(out, "THE PLAN at %s: %u steps, %u %s%s\n", fusion_names[x->o.level], x->after.p->count, total.dispatches,
             x->o.level > LEVEL_OPS ? "phases of one dispatch" : "dispatches",
             whole > 0
                 ? x->timed ? "; limit and time in us, bars: share of the time" : "; limit in us, bars: share of it"
                 : "");
    str_addf(out, "%*s   %-44s %8s %8s %8s %7s %6s%s\n\n", BLOCK_MARK, "", "", "weights", "states", "others", "flops",
             "limit", x->timed ? "    time" : "");
    for (uint32_t i = 0; i < x->after.block_count; i++) {
        const explained_block *b = &x->after.blocks[i];
        for (uint32_t k = b->first; k < b->first + b->count; k++) {
            print_step(x, b, k, whole, out);
            any = any || x->after.steps[k].by_operations;
        }
    }
    if (x->waiting_us > 0) {
        str_addf(out, "%*s the launch, and phases that wait for each other\n%*s%88s", BLOCK_MARK, "", BLOCK_MARK, "",
                 "");
        add_micros(out, x->waiting_us, 6);
        str_add(out, "\n");
        total.time_us += x->waiting_us;
    }
    str_addf(out, "\n%*s   %-44s", BLOCK_MARK, "", x->o.rows > 1 ? "a run" : "a token");
    add_amounts(out, &total.cost);
    add_micros(out, total.limit_us, 6);
    if (x->timed)
        str_add(out, " "), add_micros(out, total.time_us, 6);
    str_add(out, "\n");
    if (x->o.rows > 1) {
        double rows = x->o.rows;
        plan_cost c = total.cost;
        plan_cost each = {(uint64_t)((double)c.weight_bytes / rows), (uint64_t)((double)c.state_bytes / rows),
                          (uint64_t)((double)c.activation_bytes / rows), (uint64_t)((double)c.flops / rows)};
        str_addf(out, "%*s   %-44s", BLOCK_MARK, "", "a token");
        add_amounts(out, &each);
        add_micros(out, total.limit_us / rows, 6);
        if (x->timed)
            str_add(out, " "), add_micros(out, total.time_us / rows, 6);
        str_add(out, "\n");
    }
    if (any)
        str_add(out, "\n  *  its operations take longer than its bytes\n");
}

static void print_verdict(const explain *x, str *out)
{
    explained_step total = explain_total(&x->after, NULL), before = explain_total(&x->before, NULL);
    total.time_us += x->waiting_us;
    if (total.limit_us > 0)
        str_addf(out, "\nThe limit allows %.0f tokens a second.", x->o.rows * 1e6 / total.limit_us);
    if (x->timed && total.time_us > 0)
        str_addf(out, " The device's own time allows %.0f: %.0f%% of that.", x->o.rows * 1e6 / total.time_us,
                 100 * total.limit_us / total.time_us);
    if (total.limit_us > 0)
        str_add(out, "\n");
    if (x->o.level == LEVEL_NONE)
        return;
    char was[24], is[24];
    explain_amount((double)before.cost.activation_bytes, "B", was);
    explain_amount((double)total.cost.activation_bytes, "B", is);
    str_addf(out, "%sUnfused it would be %u dispatches, and %s of activations between them instead of %s.\n",
             total.limit_us > 0 ? "" : "\n", before.dispatches, was, is);
}

void explain_print(const explain *x, str *out)
{
    str_addf(out, "%s\n%s\n", x->model, x->about);
    if (x->o.context_tok) /* of a language model */
        str_addf(out, "%u token%s a run, %u positions before, room for %u\n", x->o.rows, x->o.rows > 1 ? "s" : "",
                 x->o.depth, x->o.context_tok);
    if (x->device[0])
        str_addf(out, "%s\n", x->device);
    str_add(out, "\n");
    print_passes(x, out);
    print_plan(x, out);
    print_verdict(x, out);
}
