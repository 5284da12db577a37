/* explain: the steps of a plan with their costs, the blocks that repeat, and their measured times. */
#include "lab/explain.h"
#include "graph/layout.h"
#include "graph/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAST = GRAPH_MAX_DIMS - 1 };

/* ---- one step -------------------------------------------------------------------- */

static void shape_words(shape s, str *out)
{
    int first = 0;
    while (first < LAST && s.dims[first] == 1)
        first++;
    for (int i = first; i < GRAPH_MAX_DIMS; i++)
        str_addf(out, "%s%u", i > first ? " x " : "", s.dims[i]);
}

static void product_shape(const plan *p, const plan_step *s, str *out)
{
    uint32_t rows = plan_rows(p, s);
    if (rows > 1)
        str_addf(out, "%u x ", rows);
    str_addf(out, "%u ->", graph_at(p->g, s->x)->s.dims[LAST]);
    for (uint32_t i = 0; i < s->part_count; i++) {
        uint32_t columns = graph_at(p->g, s->parts[i].matmul)->s.dims[LAST];
        str_addf(out, s->parts[i].gate_of ? "%s 2 x %u" : "%s %u", i ? " +" : "", columns);
    }
}

static void step_shape(const plan *p, const plan_step *s, uint32_t depth, char *out, size_t room)
{
    const graph_node *n = graph_at(p->g, s->at), *x = graph_at(p->g, n->operands[0]);
    str text = {0};
    if (s->part_count)
        product_shape(p, s, &text);
    else if (s->op == OP_ATTENTION) {
        uint32_t seen = depth + x->s.dims[1], window = n->as.attention.window;
        if (x->s.dims[1] > 1)
            str_addf(&text, "%u x ", x->s.dims[1]);
        str_addf(&text, "%u heads of %u, %u seen", x->s.dims[2], x->s.dims[3], window && seen > window ? window : seen);
    } else if (s->op == OP_SAMPLE)
        str_addf(&text, "%u -> 1", x->s.dims[LAST]);
    else
        shape_words(s->op == OP_STORE ? graph_at(p->g, n->operands[1])->s : n->s, &text);
    snprintf(out, room, "%s", text.data);
    str_free(&text);
}

static tensor_type matrix_type(const plan *p, const plan_step *s)
{
    node matrices[PLAN_MAX_NODES];
    plan_matrices(p, s, matrices);
    return graph_at(p->g, matrices[0])->as.weight;
}

static void step_kernel(const plan *p, const plan_step *s, char out[48])
{
    if (s->op == OP_MATMUL)
        snprintf(out, 48, "matmul_%s.%s", plan_rows(p, s) < PLAN_TILED_ROWS ? "vec" : "tile",
                 type_find(matrix_type(p, s))->name);
    else if (plan_is_chain(s))
        snprintf(out, 48, s->op == OP_BINARY ? "op_rmsnorm" : "head_row");
    else if (s->op == OP_GATHER || s->op == OP_EXPERTS)
        snprintf(out, 48, "op_%s.%s", graph_op_names[s->op], type_find(matrix_type(p, s))->name);
    else
        snprintf(out, 48, "op_%s", graph_op_names[s->op]);
}

/* A matrix too large to be bound at once lies in pieces of so many rows, a dispatch each. */
static uint32_t pieces_of(const plan *p, const plan_step *s)
{
    node matrices[PLAN_MAX_NODES];
    plan_matrices(p, s, matrices);
    const graph_node *w = graph_at(p->g, matrices[0]);
    uint32_t columns = w->s.dims[LAST], rows = (uint32_t)(shape_count(w->s) / columns);
    if (layout_bytes(w->as.weight, rows, columns) <= p->most_matrix_bytes)
        return 1;
    uint64_t most = p->most_matrix_bytes / (layout_bytes(w->as.weight, 64, columns) / 64 + 1) / 64 * 64;
    return most ? (uint32_t)((rows + most - 1) / most) : 1;
}

static uint32_t step_dispatches(const plan *p, const plan_step *s)
{
    if (s->op == OP_MATMUL || s->op == OP_GATHER)
        return pieces_of(p, s);
    return s->op == OP_SAMPLE || (s->op == OP_ATTENTION && plan_splits(p, s) > 1 && !s->split_output) ? 2 : 1;
}

static uint64_t bytes_of(const plan_cost *c)
{
    return c->weight_bytes + c->state_bytes + c->activation_bytes;
}

static void set_limit(explained_step *s, const explain_options *o)
{
    double gflops = o->gflops > 0 ? o->gflops : o->gbps * EXPLAIN_FLOPS_PER_BYTE;
    double by_bytes = o->gbps > 0 ? (double)bytes_of(&s->cost) / o->gbps / 1e3 : 0;
    double by_operations = gflops > 0 ? (double)s->cost.flops / gflops / 1e3 : 0;
    s->by_operations = by_operations > by_bytes;
    s->limit_us = s->by_operations ? by_operations : by_bytes;
}

/* ---- steps that come again and again ------------------------------------------------ */

static bool alike(const explained_step *a, const explained_step *b)
{
    return strcmp(a->kernel, b->kernel) == 0 && strcmp(a->what, b->what) == 0 && strcmp(a->shape, b->shape) == 0 &&
           memcmp(&a->cost, &b->cost, sizeof a->cost) == 0;
}

/* How often the `count` steps from `first` on come, one time after the other. */
static uint32_t times_alike(const explained *x, uint32_t first, uint32_t count)
{
    uint32_t at = first + count;
    while (at < x->p->count && alike(&x->steps[at], &x->steps[at - count]))
        at++;
    return (at - first) / count;
}

/* From the first step on: whatever number of steps covers most by repeating. */
static void find_blocks(explained *x)
{
    x->blocks = mem_alloc((x->p->count + 1) * sizeof *x->blocks);
    for (uint32_t at = 0; at < x->p->count;) {
        explained_block best = {at, 1, 1};
        for (uint32_t count = 1; at + 2 * count <= x->p->count; count++) {
            uint32_t times = times_alike(x, at, count);
            if (times > 1 && times * count > best.times * best.count)
                best = (explained_block){at, count, times};
        }
        explained_block *last = x->block_count ? &x->blocks[x->block_count - 1] : NULL;
        if (best.times == 1 && last && last->times == 1)
            last->count++;
        else
            x->blocks[x->block_count++] = best;
        at += best.count * best.times;
    }
}

static void explain_plan(explained *x, plan *p, const explain_options *o)
{
    x->p = p;
    x->steps = mem_alloc((p->count + 1) * sizeof *x->steps);
    for (uint32_t i = 0; i < p->count; i++) {
        explained_step *s = &x->steps[i];
        step_kernel(p, &p->steps[i], s->kernel);
        explain_words(p, &p->steps[i], s->what, sizeof s->what);
        step_shape(p, &p->steps[i], o->depth, s->shape, sizeof s->shape);
        s->dispatches = step_dispatches(p, &p->steps[i]);
        s->cost = plan_cost_of(p, &p->steps[i], o->depth);
        set_limit(s, o);
    }
    find_blocks(x);
}

/* ---- all of it ------------------------------------------------------------------------ */

explain *explain_new(const graph *g, const explain_options *o)
{
    explain *x = mem_alloc(sizeof *x);
    x->o = *o;
    if (x->o.level == LEVEL_AUTO)
        x->o.level = LEVEL_OPS;
    if (!x->o.most_matrix_bytes || x->o.most_matrix_bytes > UINT32_MAX)
        x->o.most_matrix_bytes = UINT32_MAX;
    explain_plan(&x->before, plan_new(g, x->o.most_matrix_bytes), &x->o);
    plan *p = plan_new(g, x->o.most_matrix_bytes);
    for (int pass = 0; o->level != LEVEL_NONE && pass < PASS_COUNT; pass++)
        x->removed[pass] = plan_apply(p, (plan_pass)pass);
    explain_plan(&x->after, p, &x->o);
    return x;
}

static void free_explained(explained *x)
{
    plan_free(x->p);
    free(x->steps);
    free(x->blocks);
}

void explain_free(explain *x)
{
    if (!x)
        return;
    free_explained(&x->before);
    free_explained(&x->after);
    free(x);
}

bool explain_time(explain *x, graph_run *r, err *e)
{
    uint32_t dispatches = graph_run_stages(r, 0), count = x->after.p->count;
    if (graph_run_plan(r, 0)->count != count)
        return err_set(e, "the plan that was run has %u steps instead of %u", graph_run_plan(r, 0)->count, count);
    double *ns = mem_alloc((dispatches + 1) * sizeof *ns), *us = mem_alloc((count + 1) * sizeof *us);
    double whole_ns = 0;
    bool ok = graph_run_profile(r, 0, 1, ns, &whole_ns, e);
    if (ok)
        x->whole_us = x->timed && x->whole_us < whole_ns / 1e3 ? x->whole_us : whole_ns / 1e3;
    for (uint32_t i = 0; ok && i < count; i++)
        x->after.steps[i].dispatches = 0;
    for (uint32_t i = 0; ok && i < dispatches; i++) {
        graph_dispatch d = graph_run_dispatch(r, 0, i);
        explained_step *s = &x->after.steps[d.step];
        us[d.step] += ns[i] / 1e3;
        if (s->dispatches++ == 0 && (i + 1 == dispatches || graph_run_dispatch(r, 0, i + 1).step != d.step))
            memcpy(s->kernel, d.kernel, sizeof s->kernel); /* the plan does not know which it will be on a device */
    }
    for (uint32_t i = 0; ok && i < count; i++) {
        explained_step *s = &x->after.steps[i];
        s->time_us = x->timed && s->time_us < us[i] ? s->time_us : us[i];
    }
    x->timed = x->timed || ok;
    double rest = x->whole_us - explain_total(&x->after, NULL).time_us;
    x->waiting_us = rest > 0 ? rest : 0;
    free(ns);
    free(us);
    return ok;
}

explained_step explain_total(const explained *x, const explained_block *block)
{
    explained_step t = {0};
    uint32_t first = block ? block->first : 0, count = block ? block->count : x->p->count;
    for (uint32_t i = first; i < first + count; i++) {
        const explained_step *s = &x->steps[i];
        t.cost.weight_bytes += s->cost.weight_bytes;
        t.cost.state_bytes += s->cost.state_bytes;
        t.cost.activation_bytes += s->cost.activation_bytes;
        t.cost.flops += s->cost.flops;
        t.dispatches += s->dispatches;
        t.limit_us += s->limit_us;
        t.time_us += s->time_us;
    }
    return t;
}
