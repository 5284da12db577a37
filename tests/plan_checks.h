/* What the tests of plans share: the rules that every plan keeps, and small graphs to make plans of. */
#ifndef SOLO_TEST_PLAN_CHECKS_H
#define SOLO_TEST_PLAN_CHECKS_H

#include "base/str.h"
#include "graph/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NO_LIMIT = 1 << 30, LAST = GRAPH_MAX_DIMS - 1 };

/* ---- invariants ----------------------------------------------------------------- */

static inline bool is_work(graph_op op)
{
    return op != OP_INPUT && op != OP_WEIGHT && op != OP_STATE && op != OP_RESHAPE;
}

/* The input or state whose memory a value is in, or 0 if it has its own. */
static inline node in_place(const graph *g, node n)
{
    n = plan_root(g, n);
    const graph_node *at = graph_at(g, n);
    if (at->op == OP_STORE)
        return at->operands[0];
    if (at->op == OP_ASSIGN || at->op == OP_SAMPLE)
        return plan_root(g, at->operands[1]);
    return at->op == OP_INPUT || at->op == OP_STATE ? n : 0;
}

static inline bool writes_place(const graph *g, node n, node place)
{
    const graph_node *at = graph_at(g, n);
    if (at->op == OP_SAMPLE && plan_root(g, at->operands[4]) == place)
        return true;
    return (at->op == OP_STORE || at->op == OP_ASSIGN || at->op == OP_SAMPLE) && in_place(g, n) == place;
}

static inline bool touches_place(const graph *g, node n, node place)
{
    for (uint32_t i = 0; i < graph_at(g, n)->operand_count; i++)
        if (in_place(g, graph_at(g, n)->operands[i]) == place)
            return true;
    return writes_place(g, n, place);
}

/* Every node is computed once, after its operands; outputs are written; and tensors that are written in place are read
 * and written in the graph's order. */
static inline void check_plan(const plan *p)
{
    const graph *g = p->g;
    uint32_t slots = graph_count(g) + 1;
    uint32_t *step_of = mem_alloc(slots * sizeof *step_of); /* + 1 */
    bool *written = mem_alloc(slots * sizeof *written);
    node nodes[PLAN_MAX_NODES];
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t count = plan_reads(p, &p->steps[i], nodes);
        for (uint32_t k = 0; k < count; k++)
            if (is_work(graph_at(g, nodes[k])->op) && !written[nodes[k]])
                fail_msg("step %u reads node %u (%s), which is not there", i, nodes[k],
                         graph_op_names[graph_at(g, nodes[k])->op]);
        count = plan_nodes(p, &p->steps[i], nodes);
        for (uint32_t k = 0; k < count; k++) {
            if (step_of[nodes[k]] && nodes[k] != p->steps[i].norm) /* products each make their norm anew */
                fail_msg("node %u is computed twice", nodes[k]);
            step_of[nodes[k]] = i + 1;
        }
        count = plan_writes(p, &p->steps[i], nodes);
        for (uint32_t k = 0; k < count; k++)
            written[nodes[k]] = true;
    }
    for (node n = 1; n < slots; n++) {
        const graph_node *at = graph_at(g, n);
        if (is_work(at->op) && !step_of[n])
            fail_msg("node %u (%s) is never computed", n, graph_op_names[at->op]);
        if (at->name && is_work(graph_at(g, plan_root(g, n))->op))
            assert_true(written[plan_root(g, n)]);
        if (at->op != OP_INPUT && at->op != OP_STATE)
            continue;
        for (node a = 1; a < slots; a++)
            for (node b = a + 1; is_work(graph_at(g, a)->op) && touches_place(g, a, n) && b < slots; b++) {
                if (!is_work(graph_at(g, b)->op) || !touches_place(g, b, n) ||
                    (!writes_place(g, a, n) && !writes_place(g, b, n)))
                    continue;
                bool together = step_of[a] == step_of[b] && p->steps[step_of[a] - 1].assign_count > 1;
                if (step_of[a] > step_of[b] || (step_of[a] == step_of[b] && !together))
                    fail_msg("nodes %u (%s) and %u (%s) of %s change places", a, graph_op_names[graph_at(g, a)->op], b,
                             graph_op_names[graph_at(g, b)->op], at->name);
            }
    }
    free(step_of);
    free(written);
}

/* ---- small graphs --------------------------------------------------------------- */

typedef struct small {
    graph *g;
    plan *p;
    node x, y; /* [rows, 8] */
    uint32_t weights;
} small;

static inline small begin(uint32_t rows)
{
    small s = {.g = graph_new()};
    s.x = graph_input(s.g, "x", DTYPE_F32, shape2(rows, 8));
    s.y = graph_input(s.g, "y", DTYPE_F32, shape2(rows, 8));
    return s;
}

static inline node vector(small *s, uint32_t width)
{
    char name[16];
    snprintf(name, sizeof name, "v%u", s->weights++);
    return graph_weight(s->g, name, TYPE_F32, shape1(width));
}

static inline node product(small *s, node x, uint32_t width)
{
    char name[16];
    snprintf(name, sizeof name, "w%u", s->weights++);
    return graph_matmul(s->g, x, graph_weight(s->g, name, TYPE_F32, shape2(width, graph_at(s->g, x)->s.dims[LAST])));
}

static inline node norm(small *s, node x)
{
    return graph_rmsnorm(s->g, x, vector(s, graph_at(s->g, x)->s.dims[LAST]), 1e-5f, 0);
}

static inline node number(small *s, const char *name)
{
    return graph_input(s->g, name, DTYPE_U32, shape1(1));
}

static inline node state(small *s, const char *name, uint32_t heads, uint32_t size)
{
    return graph_state(s->g, name, DTYPE_F16, shape3(16, heads, size));
}

static inline node add(small *s, node a, node b)
{
    return graph_binary(s->g, BINARY_ADD, a, b);
}

/* One pass, on a new plan; how many steps it takes away. */
static inline uint32_t apply_within(small *s, plan_pass pass, uint64_t most_matrix_bytes)
{
    err e = {0};
    if (!graph_ok(s->g, &e))
        fail_msg("%s", e.text);
    plan_free(s->p);
    s->p = plan_new(s->g, most_matrix_bytes);
    uint32_t removed = plan_apply(s->p, pass);
    check_plan(s->p);
    assert_int_equal(plan_apply(s->p, pass), 0); /* once is enough */
    return removed;
}

static inline uint32_t apply(small *s, plan_pass pass)
{
    return apply_within(s, pass, NO_LIMIT);
}

static inline const plan_step *step_with(const small *s, node result)
{
    node nodes[PLAN_MAX_NODES];
    for (uint32_t i = 0; i < s->p->count; i++) {
        uint32_t count = plan_writes(s->p, &s->p->steps[i], nodes);
        for (uint32_t k = 0; k < count; k++)
            if (nodes[k] == result)
                return &s->p->steps[i];
    }
    fail_msg("no step writes node %u", result);
    return NULL;
}

static inline void end(small *s)
{
    plan_free(s->p);
    graph_free(s->g);
    *s = (small){0};
}

static inline node stored(small *s, node state, node rows, node position)
{
    return graph_store(s->g, state, graph_reshape(s->g, rows, shape3(1, 1, 8)), position);
}

/* `rotated` elements of each head of x, or all of them. */
static inline node rope_of(small *s, node x, uint32_t heads, node position, uint32_t rotated)
{
    uint32_t rows = graph_at(s->g, x)->s.dims[2], size = graph_at(s->g, x)->s.dims[LAST] / heads;
    return graph_rope(s->g, graph_reshape(s->g, x, shape3(rows, heads, size)), position,
                      (rope_spec){.rotated = rotated ? rotated : size, .base = 10000});
}

#endif
