/* memory_activations: the places of activations; a temporary one reuses the space of those no longer needed. */
#include "base/str.h"
#include "graph/memory_internal.h"
#include "graph/sample.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN_WORDS = 4 };

uint64_t memory_activation_words(uint64_t words)
{
    return (words + ALIGN_WORDS - 1) / ALIGN_WORDS * ALIGN_WORDS;
}

/* Inputs, outputs, and weights that kernels read as floats. */
static void place_kept(memory *m)
{
    for (uint32_t p = 0; p < m->plan_count; p++)
        for (node i = 1; i <= graph_count(m->plans[p]->g); i++) {
            const graph_node *n = graph_at(m->plans[p]->g, i);
            named *w = memory_named(m, p, i);
            if (!w || w->at != NO_PLACE || n->op == OP_STATE)
                continue;
            if (n->op == OP_WEIGHT && !(graph_weight_uses(m->plans[p]->g, i) & WEIGHT_AS_FLOATS))
                continue;
            if (n->op == OP_RESHAPE)
                continue; /* its root is kept for it */
            w->at = (uint32_t)m->kept_words;
            m->kept_words += memory_activation_words(shape_count(w->what->s));
        }
}

/* Words from `begin` to `end` are in use until the end of step `until`. */
typedef struct lease {
    uint64_t begin, end;
    uint32_t until;
} lease;

/* Takes the first gap of that size among the leases, which are in the order of their places. */
static uint64_t rent(lease *leases, uint32_t *count, uint64_t begin, uint64_t words, uint32_t now, uint32_t until)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++)
        if (leases[i].until >= now)
            leases[kept++] = leases[i];
    *count = kept;
    uint32_t at = 0;
    for (; at < kept && begin + words > leases[at].begin; at++)
        begin = leases[at].end;
    memmove(&leases[at + 1], &leases[at], (kept - at) * sizeof *leases);
    leases[at] = (lease){begin, begin + words, until};
    (*count)++;
    return begin;
}

/* Words that a step needs between its own dispatches; another step may reuse them. */
static uint64_t scratch_words(const plan *p, const plan_step *s)
{
    const graph_node *x = graph_at(p->g, graph_at(p->g, s->at)->operands[0]);
    if (s->op == OP_SAMPLE)
        return (uint64_t)sample_scratch_words(x->s.dims[LAST]) * x->s.dims[LAST - 1];
    if (s->op == OP_ATTENTION && plan_splits(p, s) > 1)
        return (uint64_t)plan_splits(p, s) * x->s.dims[1] * x->s.dims[2] * (x->s.dims[3] + 2);
    return 0;
}

/* A row that a product or a chain stores in an f16 state is also written as f32 elsewhere: only f32 words carry the epoch
 * bit. */
static bool goes_to_row_too(const plan *p, const plan_step *s, const graph_node *n)
{
    bool one_row =
        s->op == OP_MATMUL ? plan_rows(p, s) == 1 : plan_is_chain(s) && graph_at(p->g, n->operands[1])->s.dims[1] == 1;
    return p->no_alias && n->op == OP_STORE && n->type == DTYPE_F16 && one_row;
}

static uint32_t take_place(memory *m, uint32_t p, lease *leased, uint32_t *leases, uint64_t words, uint32_t now,
                           uint32_t until)
{
    uint64_t at = rent(leased, leases, m->kept_words, words, now, until), end = at + words;
    m->places[p].end = end > m->places[p].end ? end : m->places[p].end;
    m->most_words = end > m->most_words ? end : m->most_words;
    return (uint32_t)at;
}

static void place_passing(memory *m, uint32_t p)
{
    const plan *plan = m->plans[p];
    size_t slots = graph_count(plan->g) + 1;
    uint32_t *last = mem_alloc(slots * sizeof *last), leases = 0;
    lease *leased = mem_alloc((slots + plan->count + 1) * sizeof *leased);
    node nodes[PLAN_MAX_NODES];
    for (uint32_t i = 0; i < plan->count; i++) {
        uint32_t count = plan_reads(plan, &plan->steps[i], nodes);
        for (uint32_t k = 0; k < count; k++)
            last[nodes[k]] = i;
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        bool left_in_parts = plan->steps[i].split_output;
        uint32_t count = plan_writes(plan, &plan->steps[i], nodes);
        for (uint32_t k = 0; k < count; k++) {
            const graph_node *n = graph_at(plan->g, nodes[k]);
            bool row_too = goes_to_row_too(plan, &plan->steps[i], n);
            if ((n->op == OP_STORE && !row_too) || n->op == OP_ASSIGN || n->op == OP_SAMPLE ||
                memory_named(m, p, nodes[k]))
                continue;
            uint32_t until = plan->no_alias ? UINT32_MAX : last[nodes[k]] > i ? last[nodes[k]] : i;
            shape s = row_too ? graph_at(plan->g, n->operands[1])->s : n->s;
            uint64_t words =
                memory_activation_words(left_in_parts ? scratch_words(plan, &plan->steps[i]) : shape_count(s));
            m->places[p].at[nodes[k]] = take_place(m, p, leased, &leases, words, i, until);
        }
        uint64_t sums = plan_share_words(plan, &plan->steps[i]);
        if (sums)
            m->places[p].sums_at[plan->steps[i].parts[0].matmul] =
                take_place(m, p, leased, &leases, memory_activation_words(sums), i, plan->no_alias ? UINT32_MAX : i);
        uint64_t scratch = left_in_parts ? 0 : memory_activation_words(scratch_words(plan, &plan->steps[i]));
        if (scratch > m->places[p].scratch)
            m->places[p].scratch = (uint32_t)scratch;
    }
    free(last);
    free(leased);
}

bool memory_place_activations(memory *m, err *e)
{
    place_kept(m);
    m->most_words = m->kept_words;
    for (uint32_t p = 0; p < m->plan_count; p++)
        place_passing(m, p);
    uint64_t scratch = 0;
    for (uint32_t p = 0; p < m->plan_count; p++) {
        scratch = m->places[p].scratch > scratch ? m->places[p].scratch : scratch;
        m->places[p].scratch = (uint32_t)m->most_words;
    }
    m->most_words += scratch;
    if (m->most_words * 4 > m->limit)
        return err_set(e, "activations of %llu bytes, and this device binds %llu",
                       (unsigned long long)m->most_words * 4, (unsigned long long)m->limit);
    return true;
}
