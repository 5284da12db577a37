/* src/graph/plan and its passes, one by one on small graphs; memory's places; costs. */
#include "graph/layout.h"
#include "graph/memory.h"
#include "graph/lower.h"
#include "model/decoder.h"
#include "random_graph.h"
#include "tiny_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

enum { NO_LIMIT = 1 << 30, LAST = GRAPH_MAX_DIMS - 1 };

/* ---- invariants ----------------------------------------------------------------- */

static bool is_work(graph_op op)
{
    return op != OP_INPUT && op != OP_WEIGHT && op != OP_STATE && op != OP_RESHAPE;
}

/* The input or state whose memory a value is in, or 0 if it has its own. */
static node in_place(const graph *g, node n)
{
    n = plan_root(g, n);
    const graph_node *at = graph_at(g, n);
    if (at->op == OP_STORE)
        return at->operands[0];
    if (at->op == OP_ASSIGN || at->op == OP_SAMPLE)
        return plan_root(g, at->operands[1]);
    return at->op == OP_INPUT || at->op == OP_STATE ? n : 0;
}

static bool writes_place(const graph *g, node n, node place)
{
    const graph_node *at = graph_at(g, n);
    if (at->op == OP_SAMPLE && plan_root(g, at->operands[4]) == place)
        return true;
    return (at->op == OP_STORE || at->op == OP_ASSIGN || at->op == OP_SAMPLE) && in_place(g, n) == place;
}

static bool touches_place(const graph *g, node n, node place)
{
    for (uint32_t i = 0; i < graph_at(g, n)->operand_count; i++)
        if (in_place(g, graph_at(g, n)->operands[i]) == place)
            return true;
    return writes_place(g, n, place);
}

/* Everything is computed once, after what it needs; what somebody wants is written; and what is written in place
 * is read and written in the graph's order. */
static void check_plan(const plan *p)
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

static small begin(uint32_t rows)
{
    small s = {.g = graph_new()};
    s.x = graph_input(s.g, "x", DTYPE_F32, shape2(rows, 8));
    s.y = graph_input(s.g, "y", DTYPE_F32, shape2(rows, 8));
    return s;
}

static node vector(small *s, uint32_t width)
{
    char name[16];
    snprintf(name, sizeof name, "v%u", s->weights++);
    return graph_weight(s->g, name, TYPE_F32, shape1(width));
}

static node product(small *s, node x, uint32_t width)
{
    char name[16];
    snprintf(name, sizeof name, "w%u", s->weights++);
    return graph_matmul(s->g, x, graph_weight(s->g, name, TYPE_F32, shape2(width, graph_at(s->g, x)->s.dims[LAST])));
}

static node norm(small *s, node x)
{
    return graph_rmsnorm(s->g, x, vector(s, graph_at(s->g, x)->s.dims[LAST]), 1e-5f, 0);
}

static node number(small *s, const char *name)
{
    return graph_input(s->g, name, DTYPE_U32, shape1(1));
}

static node state(small *s, const char *name, uint32_t heads, uint32_t size)
{
    return graph_state(s->g, name, DTYPE_F16, shape3(16, heads, size));
}

static node add(small *s, node a, node b)
{
    return graph_binary(s->g, BINARY_ADD, a, b);
}

/* One pass, on a new plan; how many steps it takes away. */
static uint32_t apply_within(small *s, plan_pass pass, uint64_t most_matrix_bytes)
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

static uint32_t apply(small *s, plan_pass pass)
{
    return apply_within(s, pass, NO_LIMIT);
}

static const plan_step *step_with(const small *s, node result)
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

static void end(small *s)
{
    plan_free(s->p);
    graph_free(s->g);
    *s = (small){0};
}

/* ---- norms ------------------------------------------------------------------------ */

static void norms_go_into_all_their_products(void **unused)
{
    (void)unused;
    for (uint32_t rows = 1; rows <= 3; rows++) {
        small s = begin(rows);
        node n = norm(&s, s.x), a = product(&s, n, 4), b = product(&s, n, 6);
        assert_int_equal(apply(&s, PASS_NORM), 1);
        assert_int_equal(s.p->count, 2);
        assert_int_equal(step_with(&s, a)->norm, n);
        assert_int_equal(step_with(&s, b)->norm, n);
        assert_int_equal(step_with(&s, b)->x, s.x);
        end(&s);
    }
}

static void norms_that_stay(void **unused)
{
    (void)unused;
    small s = begin(4); /* tiled products take x as it is */
    product(&s, norm(&s, s.x), 4);
    assert_int_equal(apply(&s, PASS_NORM), 0);
    end(&s);

    s = begin(1); /* wanted outside */
    node n = norm(&s, s.x);
    product(&s, n, 4);
    graph_output(s.g, "n", n);
    assert_int_equal(apply(&s, PASS_NORM), 0);
    end(&s);

    s = begin(1); /* wanted outside, in another shape */
    n = norm(&s, s.x);
    product(&s, n, 4);
    graph_output(s.g, "n", graph_reshape(s.g, n, shape2(2, 4)));
    assert_int_equal(apply(&s, PASS_NORM), 0);
    end(&s);

    s = begin(1); /* read by somebody who is no product */
    n = norm(&s, s.x);
    product(&s, n, 4);
    graph_unary(s.g, UNARY_SILU, n);
    assert_int_equal(apply(&s, PASS_NORM), 0);
    end(&s);

    s = begin(2); /* multiplied in another shape: the rows are others */
    product(&s, graph_reshape(s.g, norm(&s, s.x), shape2(4, 4)), 4);
    assert_int_equal(apply(&s, PASS_NORM), 0);
    end(&s);

    s = begin(1); /* nobody wants it at all */
    norm(&s, s.x);
    assert_int_equal(apply(&s, PASS_NORM), 0);
    end(&s);

    s = begin(1); /* a norm of a norm: the first is no product's */
    product(&s, norm(&s, norm(&s, s.x)), 4);
    assert_int_equal(apply(&s, PASS_NORM), 1);
    end(&s);
}

/* n W + n: the product could take the norm in, but needs it once more. */
static void a_norm_that_is_added_as_well_stays(void **unused)
{
    (void)unused;
    small s = begin(1);
    node n = norm(&s, s.x);
    graph_output(s.g, "o", add(&s, product(&s, n, 8), n));
    s.p = plan_new(s.g, NO_LIMIT);
    assert_int_equal(plan_apply(s.p, PASS_EPILOGUE), 1);
    assert_int_equal(plan_apply(s.p, PASS_NORM), 0);
    check_plan(s.p);
    end(&s);
}

/* ---- gates ------------------------------------------------------------------------- */

static void gates_with_and_without_a_function(void **unused)
{
    (void)unused;
    for (int how = 0; how < 4; how++) {
        small s = begin(how % 2 ? 5 : 1);
        node gate = product(&s, s.x, 6), up = product(&s, s.x, 6);
        node act = how & 1 ? graph_unary(s.g, UNARY_GELU, gate) : 0, f = act ? act : gate;
        node both = how & 2 ? graph_binary(s.g, BINARY_MUL, f, up) : graph_binary(s.g, BINARY_MUL, up, f);
        graph_output(s.g, "o", both);
        assert_int_equal(apply(&s, PASS_GATE), act ? 3 : 2);
        assert_int_equal(s.p->count, 1);
        const plan_part *part = &s.p->steps[0].parts[0];
        assert_int_equal(s.p->steps[0].part_count, 1);
        assert_int_equal(part->act, act);
        assert_int_equal(part->result, both);
        assert_int_equal(s.p->steps[0].at, both);
        if (act) {
            assert_int_equal(part->matmul, gate);
            assert_int_equal(part->gate_of, up);
        }
        end(&s);
    }
}

static void gates_that_stay(void **unused)
{
    (void)unused;
    enum { SAME, SQUARE, OF_ITSELF, GATE_WANTED, ACT_WANTED, UP_READ, SCALED, TYPES, OTHER_X, SUM, BROADCAST, CASES };
    for (int c = 0; c < CASES; c++) {
        small s = begin(1);
        node gate = product(&s, s.x, 32), up = product(&s, c == OTHER_X ? s.y : s.x, c == BROADCAST ? 1 : 32);
        node act = c == SCALED ? graph_softcap(s.g, gate, 3) : graph_unary(s.g, UNARY_SILU, gate);
        if (c == TYPES)
            up = graph_matmul(s.g, s.x, graph_weight(s.g, "other", TYPE_F16, shape2(32, 8)));
        if (c == UP_READ)
            graph_unary(s.g, UNARY_COPY, up);
        if (c == GATE_WANTED)
            graph_output(s.g, "gate", gate);
        if (c == ACT_WANTED)
            graph_output(s.g, "act", act);
        if (c == SQUARE)
            up = act;
        if (c == OF_ITSELF)
            up = gate;
        graph_output(s.g, "o", graph_binary(s.g, c == SUM ? BINARY_ADD : BINARY_MUL, act, up));
        uint32_t removed = apply(&s, PASS_GATE);
        if (removed != (c == SAME ? 3 : 0))
            fail_msg("case %d: %u steps are gone", c, removed);
        end(&s);
    }
}

static void gates_within_the_limit(void **unused)
{
    (void)unused;
    small s = begin(1);
    node gate = product(&s, s.x, 64), up = product(&s, s.x, 64);
    graph_output(s.g, "o", graph_binary(s.g, BINARY_MUL, gate, up));
    uint64_t both = 2 * layout_bytes(TYPE_F32, 64, 8);
    assert_int_equal(apply_within(&s, PASS_GATE, both - 1), 0);
    assert_int_equal(apply_within(&s, PASS_GATE, both), 2);
    end(&s);
}

/* ---- after products ------------------------------------------------------------------ */

static void biases_functions_and_residuals(void **unused)
{
    (void)unused;
    small s = begin(3);
    node m = product(&s, s.x, 8), biased = add(&s, m, vector(&s, 8));
    node f = graph_unary(s.g, UNARY_SILU, biased), difference = graph_binary(s.g, BINARY_SUB, s.y, f);
    graph_output(s.g, "o", difference);
    assert_int_equal(apply(&s, PASS_EPILOGUE), 3);
    const plan_part *part = &s.p->steps[0].parts[0];
    assert_int_equal(s.p->count, 1);
    assert_int_equal(part->epilogue_count, 3);
    assert_int_equal(part->epilogue[0], biased);
    assert_int_equal(part->epilogue[1], f);
    assert_int_equal(part->result, difference);
    plan_operand o;
    assert_true(plan_operand_of(s.g, biased, m, &o));
    assert_false(o.per_row || o.first);
    assert_true(plan_operand_of(s.g, difference, f, &o));
    assert_true(o.per_row && o.first);
    assert_int_equal(o.other, s.y);
    end(&s);
}

static void so_many_afterwards_and_no_more(void **unused)
{
    (void)unused;
    small s = begin(1);
    node y = product(&s, s.x, 8);
    for (int i = 0; i < PLAN_MAX_EPILOGUE + 2; i++)
        y = graph_unary(s.g, UNARY_TANH, y);
    graph_output(s.g, "o", y);
    assert_int_equal(apply(&s, PASS_EPILOGUE), PLAN_MAX_EPILOGUE);
    assert_int_equal(s.p->count, 3);
    end(&s);
}

static void what_is_not_taken_in_afterwards(void **unused)
{
    (void)unused;
    enum { SUM_OF_ITSELF, TWO_READERS, WANTED, COLUMN, SMALL_FIRST, HEADS, ONES, SCALAR, GATED, CASES };
    for (int c = 0; c < CASES; c++) {
        small s = begin(2);
        node m = product(&s, s.x, 8), y = 0;
        switch (c) {
        case SUM_OF_ITSELF: y = add(&s, m, m); break;
        case TWO_READERS:
            graph_reduce(s.g, REDUCE_SUM, m);
            y = graph_unary(s.g, UNARY_EXP, m);
            break;
        case WANTED:
            graph_output(s.g, "m", m);
            y = graph_unary(s.g, UNARY_EXP, m);
            break;
        case COLUMN: y = add(&s, m, graph_input(s.g, "column", DTYPE_F32, shape2(2, 1))); break;
        case SMALL_FIRST: /* the product itself is spread over something larger */
            y = add(&s, graph_input(s.g, "large", DTYPE_F32, shape3(5, 2, 8)), m);
            break;
        case HEADS: /* a bias for each element of a head is none for each row of the matrix */
            y = add(&s, graph_reshape(s.g, m, shape3(2, 2, 4)), vector(&s, 4));
            break;
        case ONES: y = add(&s, graph_reshape(s.g, m, shape2(16, 1)), vector(&s, 1)); break;
        case SCALAR: y = add(&s, m, vector(&s, 1)); break;
        case GATED: {
            node gated = graph_binary(s.g, BINARY_MUL, m, product(&s, s.x, 8));
            graph_output(s.g, "o", graph_unary(s.g, UNARY_EXP, gated));
            s.p = plan_new(s.g, NO_LIMIT);
            assert_int_equal(plan_apply(s.p, PASS_GATE), 2);
            assert_int_equal(plan_apply(s.p, PASS_EPILOGUE), 0);
            check_plan(s.p);
            end(&s);
            continue;
        }
        default: break;
        }
        graph_output(s.g, "o", y);
        uint32_t removed = apply(&s, PASS_EPILOGUE);
        if (removed)
            fail_msg("case %d: %u steps are gone", c, removed);
        end(&s);
    }
}

/* Of a sum of two products, one takes the other in. */
static void a_product_is_another_ones_residual(void **unused)
{
    (void)unused;
    small s = begin(1);
    node a = product(&s, s.x, 8), b = product(&s, s.y, 8), sum = add(&s, a, b);
    graph_output(s.g, "o", sum);
    assert_int_equal(apply(&s, PASS_EPILOGUE), 1);
    assert_int_equal(s.p->count, 2);
    assert_int_equal(step_with(&s, sum)->parts[0].matmul, a);
    assert_int_equal(step_with(&s, b), &s.p->steps[0]);
    end(&s);
}

/* ---- rotation and states --------------------------------------------------------------- */

static node rope_of(small *s, node x, uint32_t heads, node position, uint32_t rotated)
{
    uint32_t rows = graph_at(s->g, x)->s.dims[2], size = graph_at(s->g, x)->s.dims[LAST] / heads;
    return graph_rope(s->g, graph_reshape(s->g, x, shape3(rows, heads, size)), position,
                      (rope_spec){.rotated = rotated ? rotated : size, .base = 10000});
}

static void turned_and_stored(void **unused)
{
    (void)unused;
    small s = begin(5);
    node at = number(&s, "at"), k = product(&s, s.x, 16), v = product(&s, s.x, 16), q = product(&s, s.x, 16);
    node turned = rope_of(&s, k, 2, at, 0), keys = graph_store(s.g, state(&s, "keys", 2, 8), turned, at);
    node values = graph_store(s.g, state(&s, "values", 2, 8), graph_reshape(s.g, v, shape3(5, 2, 8)), at);
    node turned_q = rope_of(&s, q, 2, at, 0);
    graph_output(s.g, "o", graph_attention(s.g, turned_q, keys, values, at, (attention_spec){.scale = 1}));
    assert_int_equal(apply(&s, PASS_ROPE), 4);
    const plan_part *part = &step_with(&s, keys)->parts[0];
    assert_int_equal(part->matmul, k);
    assert_int_equal(part->rope, turned);
    assert_int_equal(part->store, keys);
    assert_int_equal(step_with(&s, values)->parts[0].store, values);
    assert_int_equal(step_with(&s, values)->parts[0].rope, 0);
    assert_int_equal(step_with(&s, turned_q)->parts[0].rope, turned_q);
    end(&s);
}

static void what_is_not_turned(void **unused)
{
    (void)unused;
    enum { WHOLE, PARTLY, SIXES, OTHER_HEADS, WANTED, TWICE, CASES };
    for (int c = 0; c < CASES; c++) {
        small s = begin(1);
        node at = number(&s, "at"), m = product(&s, s.x, c == SIXES ? 12 : 16), y;
        if (c == OTHER_HEADS) /* rows of four heads from two rows of the product */
            y = graph_rope(s.g, graph_reshape(s.g, m, shape3(2, 1, 8)), at, (rope_spec){.rotated = 8, .base = 1e4f});
        else
            y = rope_of(&s, m, 2, at, c == PARTLY ? 4 : 0);
        if (c == WANTED)
            graph_output(s.g, "m", m);
        if (c == TWICE) {
            y = rope_of(&s, graph_reshape(s.g, y, shape2(1, 16)), 2, at, 0);
        }
        graph_output(s.g, "o", y);
        uint32_t removed = apply(&s, PASS_ROPE);
        if (removed != (c == WHOLE || c == TWICE))
            fail_msg("case %d: %u steps are gone", c, removed);
        end(&s);
    }
}

/* A part knows one position: the place in a state must be what turned it. */
static void stored_elsewhere_than_turned(void **unused)
{
    (void)unused;
    small s = begin(1);
    node at = number(&s, "at"), row = number(&s, "row"), m = product(&s, s.x, 16), turned = rope_of(&s, m, 2, at, 0);
    node kept = graph_store(s.g, state(&s, "keys", 2, 8), turned, row);
    assert_int_equal(apply(&s, PASS_ROPE), 1);
    assert_int_equal(step_with(&s, kept)->op, OP_STORE);
    assert_int_equal(step_with(&s, turned)->parts[0].rope, turned);
    end(&s);
}

/* Pieces of a matrix may begin within a head, or between the halves of a word. */
static void matrices_in_pieces_are_not_turned(void **unused)
{
    (void)unused;
    small s = begin(1);
    node at = number(&s, "at"), m = product(&s, s.x, 1024);
    graph_store(s.g, state(&s, "keys", 8, 128), rope_of(&s, m, 8, at, 0), at);
    uint64_t bytes = layout_bytes(TYPE_F32, 1024, 8);
    assert_int_equal(apply_within(&s, PASS_ROPE, bytes - 256), 0);
    assert_int_equal(apply_within(&s, PASS_ROPE, bytes), 2);
    end(&s);
}

/* The position is read when the product is made: not after somebody changed it. */
static void nothing_is_turned_by_a_later_position(void **unused)
{
    (void)unused;
    small s = begin(1);
    node at = number(&s, "at"), m = product(&s, s.x, 16), turned = rope_of(&s, m, 2, at, 0);
    graph_assign(s.g, at, at, (assign_spec){.added = 1});
    graph_store(s.g, state(&s, "keys", 2, 8), turned, at);
    assert_int_equal(apply(&s, PASS_ROPE), 1); /* the rotation, not the store */
    end(&s);
}

/* ---- siblings ------------------------------------------------------------------------ */

static void three_of_one_x(void **unused)
{
    (void)unused;
    small s = begin(1);
    node made[5];
    for (int i = 0; i < 5; i++)
        made[i] = product(&s, s.x, 4 + (uint32_t)i);
    assert_int_equal(apply(&s, PASS_SIBLINGS), 3);
    assert_int_equal(s.p->count, 2);
    assert_int_equal(step_with(&s, made[0])->part_count, PLAN_MAX_PARTS);
    assert_int_equal(step_with(&s, made[4])->part_count, 2);
    end(&s);
}

static void products_that_stay_apart(void **unused)
{
    (void)unused;
    enum { TOGETHER, OTHER_X, TYPES, NEEDED, NEEDED_BETWEEN, ONE_NORMED, CASES };
    for (int c = 0; c < CASES; c++) {
        small s = begin(1);
        node a = product(&s, s.x, 8), b = 0;
        if (c == TYPES)
            b = graph_matmul(s.g, s.x, graph_weight(s.g, "other", TYPE_F16, shape2(8, 8)));
        else if (c == ONE_NORMED)
            b = product(&s, norm(&s, s.x), 8);
        else if (c != NEEDED && c != NEEDED_BETWEEN)
            b = product(&s, c == OTHER_X ? s.y : s.x, 8);
        if (c == NEEDED) /* it is the other's residual */
            b = add(&s, product(&s, s.x, 8), graph_unary(s.g, UNARY_TANH, a));
        if (c == NEEDED_BETWEEN) {
            graph_output(s.g, "t", graph_unary(s.g, UNARY_TANH, a));
            b = product(&s, s.x, 8);
        }
        graph_output(s.g, "o", b);
        plan_free(s.p);
        s.p = plan_new(s.g, NO_LIMIT);
        plan_apply(s.p, PASS_NORM);
        if (c == NEEDED)
            assert_int_equal(plan_apply(s.p, PASS_EPILOGUE), 2);
        uint32_t removed = plan_apply(s.p, PASS_SIBLINGS);
        check_plan(s.p);
        if (removed != (c == TOGETHER))
            fail_msg("case %d: %u steps are gone", c, removed);
        end(&s);
    }
}

static void siblings_within_the_limit(void **unused)
{
    (void)unused;
    small s = begin(1);
    for (int i = 0; i < 3; i++)
        product(&s, s.x, 64);
    uint64_t one = layout_bytes(TYPE_F32, 64, 8);
    assert_int_equal(apply_within(&s, PASS_SIBLINGS, 2 * one - 1), 0);
    assert_int_equal(apply_within(&s, PASS_SIBLINGS, 2 * one), 1);
    assert_int_equal(apply_within(&s, PASS_SIBLINGS, 3 * one), 2);
    end(&s);
}

static node stored(small *s, node state, node rows, node position)
{
    return graph_store(s->g, state, graph_reshape(s->g, rows, shape3(1, 1, 8)), position);
}

/* What is stored first must not come last, and not after somebody looked by another name. */
static void stores_keep_their_order(void **unused)
{
    (void)unused;
    for (int c = 0; c < 3; c++) {
        small s = begin(1);
        node at = number(&s, "at"), keys = state(&s, "keys", 1, 8), q = graph_reshape(s.g, s.y, shape3(1, 1, 8));
        node first = stored(&s, keys, product(&s, s.x, 8), at);
        if (c == 0) /* attention over the state itself */
            graph_output(s.g, "o", graph_attention(s.g, q, keys, keys, at, (attention_spec){.scale = 1}));
        if (c == 1) { /* over what a later store leaves */
            node second = stored(&s, keys, s.y, at);
            graph_output(s.g, "o", graph_attention(s.g, q, second, second, at, (attention_spec){.scale = 1}));
        }
        if (c == 2) /* two stores to the same rows cannot be one step */
            stored(&s, keys, product(&s, s.x, 8), at);
        graph_output(s.g, "p", product(&s, s.x, 4));
        s.p = plan_new(s.g, NO_LIMIT);
        plan_apply(s.p, PASS_ROPE);
        plan_apply(s.p, PASS_SIBLINGS);
        check_plan(s.p);
        assert_int_equal(step_with(&s, first)->part_count, 1);
        end(&s);
    }
}

/* ---- assignments --------------------------------------------------------------------- */

static void assignments_side_by_side(void **unused)
{
    (void)unused;
    small s = begin(1);
    node at = number(&s, "at");
    for (int i = 0; i < PLAN_MAX_ASSIGNS + 2; i++)
        graph_assign(s.g, at, at, (assign_spec){.added = 1});
    graph_output(s.g, "o", graph_unary(s.g, UNARY_TANH, s.x));
    graph_assign(s.g, at, at, (assign_spec){.added = 1});
    assert_int_equal(apply(&s, PASS_ASSIGN), PLAN_MAX_ASSIGNS + 2 - 2);
    assert_int_equal(s.p->count, 4);
    assert_int_equal(s.p->steps[0].assign_count, PLAN_MAX_ASSIGNS);
    assert_int_equal(s.p->steps[1].assign_count, 2);
    assert_int_equal(s.p->steps[3].assign_count, 1);
    end(&s);
}

/* ---- in any order ------------------------------------------------------------------- */

static void apply_in_any_order(const graph *g, rng *r, uint64_t most_matrix_bytes)
{
    plan *p = plan_new(g, most_matrix_bytes);
    uint32_t order[2 * PASS_COUNT], before = p->count, removed = 0;
    check_plan(p);
    for (uint32_t i = 0; i < 2 * PASS_COUNT; i++)
        order[i] = i % PASS_COUNT;
    rng_shuffle(r, order, 2 * PASS_COUNT);
    for (uint32_t i = 0; i < 2 * PASS_COUNT; i++) {
        removed += plan_apply(p, (plan_pass)order[i]);
        check_plan(p);
        assert_int_equal(p->count + removed, before);
    }
    plan_free(p);
}

static const tiny_model TINY[] = {
    {"llama", 2, 32, 64, 4, 2, 8, 48, TYPE_F16, false, false, false, false},
    {"qwen2", 2, 32, 32, 2, 1, 16, 48, TYPE_Q8_0, true, false, false, true},
    {"qwen3", 2, 32, 32, 2, 1, 16, 48, TYPE_F32, false, true, false, true},
    {"gemma2", 3, 32, 32, 2, 2, 6, 48, TYPE_F16, false, false, true, true},
};

static void decoders_in_any_order(void **unused)
{
    (void)unused;
    rng r = rng_seed(11);
    char path[64];
    snprintf(path, sizeof path, "/tmp/solo-plan-%d.gguf", (int)getpid());
    for (size_t i = 0; i < sizeof TINY / sizeof *TINY; i++) {
        err e = {0};
        assert_true(tiny_model_write(&TINY[i], i + 1, path, &e));
        model *m = model_open(path, &e);
        if (!m)
            fail_msg("%s", e.text);
        for (uint32_t rows = 1; rows <= 8; rows += 7) {
            graph *g = decoder_graph(m, &(decoder_options){.rows = rows, .context_tok = 32, .one_row = rows > 1}, &e);
            if (!g)
                fail_msg("%s", e.text);
            for (int k = 0; k < 20; k++)
                apply_in_any_order(g, &r, k % 4 ? NO_LIMIT : 4096);
            graph_free(g);
        }
        model_close(m);
        unlink(path);
    }
}

static void random_graphs_in_any_order(void **unused)
{
    (void)unused;
    rng r = rng_seed(12);
    for (uint64_t seed = 0; seed < 300; seed++) {
        err e = {0};
        random_graph b = random_graph_new(seed, 10);
        if (!graph_ok(b.g, &e))
            fail_msg("seed %u: %s", (unsigned)seed, e.text);
        apply_in_any_order(b.g, &r, seed % 4 ? NO_LIMIT : 2048);
        random_graph_free(&b);
    }
}

/* The whole of a layer comes down to five steps. */
static void a_layer_is_five_steps(void **unused)
{
    (void)unused;
    char path[64];
    snprintf(path, sizeof path, "/tmp/solo-plan-%d.gguf", (int)getpid());
    err e = {0};
    assert_true(tiny_model_write(&TINY[1], 1, path, &e));
    model *m = model_open(path, &e);
    graph *g = decoder_graph(m, &(decoder_options){.rows = 1, .context_tok = 32}, &e);
    plan *p = plan_new(g, NO_LIMIT);
    plan_fuse(p, LEVEL_NONE);
    assert_int_equal(p->count, 1 + 2 * 21 + 2);
    plan_fuse(p, LEVEL_OPS);
    assert_int_equal(p->count, 1 + 2 * 5 + 1);
    assert_int_equal(p->steps[1].part_count, 3);
    plan_free(p);
    graph_free(g);
    model_close(m);
    unlink(path);
}

/* ---- memory -------------------------------------------------------------------------- */

static gpu *open_stub(void)
{
    err e = {0};
    gpu *g = gpu_open_now(&(gpu_choice){.impl = "stub"}, &e);
    if (!g)
        fail_msg("%s", e.text);
    return g;
}

typedef struct place {
    node n;
    uint64_t begin, end;
    uint32_t from, until; /* steps */
} place;

/* Everything of a plan among the activations, and how long it is needed. */
static uint32_t places_of(const memory *m, uint32_t which, const plan *p, place *out)
{
    const graph *g = p->g;
    node nodes[PLAN_MAX_NODES];
    uint32_t count = 0;
    for (node n = 1; n <= graph_count(g); n++) {
        const graph_node *at = graph_at(g, n);
        bool beside = at->op == OP_WEIGHT && graph_weight_uses(g, n) & WEIGHT_AS_FLOATS;
        if (at->op == OP_INPUT || beside)
            out[count++] = (place){n, memory_at(m, which, n), 0, 0, UINT32_MAX};
    }
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t written = plan_writes(p, &p->steps[i], nodes);
        for (uint32_t k = 0; k < written; k++) {
            graph_op op = graph_at(g, nodes[k])->op;
            if (op != OP_STORE && op != OP_ASSIGN && op != OP_SAMPLE)
                out[count++] = (place){nodes[k], memory_at(m, which, nodes[k]), 0, i, i};
        }
    }
    for (uint32_t k = 0; k < count; k++) {
        out[k].end = out[k].begin + shape_count(graph_at(g, out[k].n)->s);
        for (uint32_t i = 0; i < p->count && out[k].until != UINT32_MAX; i++) {
            uint32_t reads = plan_reads(p, &p->steps[i], nodes);
            for (uint32_t r = 0; r < reads; r++)
                if (nodes[r] == out[k].n)
                    out[k].until = i;
        }
        for (node n = 1; n <= graph_count(g); n++)
            if (graph_at(g, n)->name && plan_root(g, n) == out[k].n)
                out[k].until = UINT32_MAX;
    }
    return count;
}

static void check_places(const memory *m, uint32_t which, const plan *p)
{
    place *places = mem_alloc((graph_count(p->g) + 1) * 2 * sizeof *places);
    uint32_t count = places_of(m, which, p, places);
    uint64_t words = gpu_buffer_bytes(memory_activations(m)) / 4;
    for (uint32_t a = 0; a < count; a++) {
        assert_true(places[a].end <= words && places[a].begin % 4 == 0);
        for (uint32_t b = a + 1; b < count; b++) {
            bool same_time = places[a].from <= places[b].until && places[b].from <= places[a].until;
            if (same_time && places[a].begin < places[b].end && places[b].begin < places[a].end)
                fail_msg("nodes %u and %u lie on each other", places[a].n, places[b].n);
        }
        /* and none lies on what steps leave for themselves */
        assert_true(places[a].end <= memory_scratch_at(m, which) || places[a].begin >= words);
    }
    free(places);
}

static void nothing_lies_on_anything_else(void **unused)
{
    (void)unused;
    gpu *g = open_stub();
    for (uint64_t seed = 0; seed < 100; seed++) {
        err e = {0};
        random_graph b = random_graph_new(seed, 12);
        plan *plans[] = {plan_new(b.g, NO_LIMIT), plan_new(b.g, NO_LIMIT)};
        plan_fuse(plans[0], LEVEL_OPS);
        memory *m = memory_new(g, plans, 2, &e);
        if (!m)
            fail_msg("%s", e.text);
        for (uint32_t i = 0; i < 2; i++)
            check_places(m, i, plans[i]);
        /* what has a name has one place in all plans */
        for (node n = 1; n <= graph_count(b.g); n++) {
            const graph_node *at = graph_at(b.g, n);
            uint32_t word;
            uint64_t words;
            if (!at->name || at->op == OP_WEIGHT || at->op == OP_STATE)
                continue;
            assert_true(memory_find(m, at->name, &word, &words));
            assert_int_equal(words, shape_count(at->s));
            for (uint32_t i = 0; i < 2; i++)
                assert_int_equal(memory_at(m, i, n), word);
        }
        memory_free(m);
        for (uint32_t i = 0; i < 2; i++)
            plan_free(plans[i]);
        random_graph_free(&b);
    }
    gpu_close(g);
}

/* An output may be a value seen in another shape, or what an input becomes; a state is none. */
static void outputs_by_another_name(void **unused)
{
    (void)unused;
    gpu *g = open_stub();
    small s = begin(1);
    node at = number(&s, "at"), y = graph_unary(s.g, UNARY_TANH, s.x);
    graph_output(s.g, "seen", graph_reshape(s.g, y, shape2(2, 4)));
    graph_unary(s.g, UNARY_TANH, graph_unary(s.g, UNARY_EXP, s.y));
    graph_output(s.g, "next", graph_assign(s.g, at, at, (assign_spec){.added = 1}));
    graph_output(s.g, "kept", stored(&s, state(&s, "keys", 1, 8), s.x, at));
    /* a second plan in which the same lies elsewhere, if nobody takes care */
    small t = begin(1);
    node other = graph_unary(t.g, UNARY_EXP, t.y);
    graph_output(t.g, "seen", graph_reshape(t.g, graph_unary(t.g, UNARY_TANH, other), shape2(2, 4)));
    plan *plans[] = {plan_new(s.g, NO_LIMIT), plan_new(t.g, NO_LIMIT)};
    err e = {0};
    memory *m = memory_new(g, plans, 2, &e);
    assert_non_null(m);
    uint32_t word, input;
    uint64_t words;
    assert_true(memory_find(m, "seen", &word, &words));
    assert_int_equal(words, 8);
    assert_int_equal(word, memory_at(m, 0, graph_find(s.g, "seen")));
    assert_int_equal(word, memory_at(m, 1, graph_find(t.g, "seen")));
    assert_true(memory_find(m, "next", &word, &words));
    assert_true(memory_find(m, "at", &input, &words));
    assert_int_equal(word, input);
    assert_false(memory_find(m, "kept", &word, &words));
    assert_false(memory_find(m, "keys", &word, &words));
    memory_free(m);
    for (uint32_t i = 0; i < 2; i++)
        plan_free(plans[i]);
    end(&s);
    end(&t);
    gpu_close(g);
}

/* Matrices that one step binds lie in one buffer, even if one of them was needed before by itself. */
static void matrices_of_a_step_lie_together(void **unused)
{
    (void)unused;
    gpu *g = open_stub(); /* it binds 1 GiB */
    small s = begin(1);
    node x = graph_input(s.g, "long", DTYPE_F32, shape1(1 << 14));
    node gate = graph_weight(s.g, "gate", TYPE_F16, shape2(1 << 14, 1 << 14)), /* 512 MiB each */
        filler = graph_weight(s.g, "filler", TYPE_F16, shape2(1 << 14, 1 << 14)),
         up = graph_weight(s.g, "up", TYPE_F16, shape2(1 << 14, 1 << 14));
    graph_output(s.g, "a", graph_matmul(s.g, graph_unary(s.g, UNARY_TANH, x), gate));
    graph_output(s.g, "b", graph_matmul(s.g, graph_unary(s.g, UNARY_EXP, x), filler));
    graph_output(s.g, "c", graph_binary(s.g, BINARY_MUL, graph_matmul(s.g, x, gate), graph_matmul(s.g, x, up)));
    s.p = plan_new(s.g, 1u << 30);
    assert_int_equal(plan_apply(s.p, PASS_GATE), 2);
    err e = {0};
    memory *m = memory_new(g, &s.p, 1, &e);
    if (!m)
        fail_msg("%s", e.text);
    assert_int_equal(memory_matrix_of(m, 0, gate)->pieces[0].arena, memory_matrix_of(m, 0, up)->pieces[0].arena);
    memory_free(m);
    end(&s);
    gpu_close(g);
}

/* Steps that ask for more than one buffer are refused, not run on the wrong one. */
static void what_does_not_lie_together_is_told(void **unused)
{
    (void)unused;
    gpu *g = open_stub();
    small s = begin(1);
    node at = number(&s, "at"), q = graph_input(s.g, "q", DTYPE_F32, shape3(1, 1, 256));
    node states[3]; /* of 512 MiB each: two in a buffer */
    for (int i = 0; i < 3; i++) {
        char name[8];
        snprintf(name, sizeof name, "s%d", i);
        states[i] = graph_state(s.g, name, DTYPE_F32, shape3(1 << 19, 1, 256));
    }
    for (int i = 0; i < 3; i++)
        graph_attention(s.g, q, states[i], states[(i + 1) % 3], at, (attention_spec){.scale = 1});
    s.p = plan_new(s.g, NO_LIMIT);
    err e = {0};
    memory *m = memory_new(g, &s.p, 1, &e);
    if (!m)
        fail_msg("%s", e.text);
    device_profile t = device_profile_for(gpu_get_info(g));
    dispatch_desc out[LOWER_MAX_DISPATCHES];
    uint32_t refused = 0;
    for (uint32_t i = 0; i < s.p->count; i++)
        refused +=
            lower_step(&t, &(launch_form){.row_threads = t.row_threads}, m, 0, s.p, &s.p->steps[i], out, &e) == 0;
    assert_int_equal(refused, 2);
    assert_non_null(strstr(e.text, "keys and values"));
    memory_free(m);
    end(&s);
    gpu_close(g);
}

/* Odd rows of a state are refused wherever the store came to be. */
static void odd_states_are_told(void **unused)
{
    (void)unused;
    small s = begin(1);
    node at = number(&s, "at");
    graph_store(s.g, state(&s, "keys", 1, 3), graph_reshape(s.g, product(&s, s.x, 3), shape3(1, 1, 3)), at);
    graph_output(s.g, "o", product(&s, s.x, 4));
    for (int level = LEVEL_NONE; level <= LEVEL_OPS; level++) {
        err e = {0};
        s.p = plan_new(s.g, NO_LIMIT);
        plan_fuse(s.p, (fusion_level)level);
        assert_false(lower_possible(s.p, &e));
        assert_non_null(strstr(e.text, "even number"));
        plan_free(s.p);
    }
    s.p = NULL;
    end(&s);
}

/* ---- what operators refuse ------------------------------------------------------------- */

static void products_are_with_weights(void **unused)
{
    (void)unused;
    err e = {0};
    small s = begin(8);
    assert_int_equal(graph_matmul(s.g, s.x, s.y), 0);
    assert_false(graph_ok(s.g, &e));
    assert_non_null(strstr(e.text, "must be a weight"));
    end(&s);
    err_clear(&e);
    s = begin(8);
    assert_int_equal(graph_gather(s.g, s.x, number(&s, "at")), 0);
    assert_false(graph_ok(s.g, &e));
    assert_non_null(strstr(e.text, "from a weight"));
    end(&s);
}

/* ---- costs --------------------------------------------------------------------------- */

static void check_cost(plan_cost c, uint64_t weights, uint64_t states, uint64_t activations, uint64_t flops)
{
    assert_int_equal(c.weight_bytes, weights);
    assert_int_equal(c.state_bytes, states);
    assert_int_equal(c.activation_bytes, activations);
    assert_int_equal(c.flops, flops);
}

static void costs_by_hand(void **unused)
{
    (void)unused;
    small s = begin(2);
    node at = number(&s, "at"), ids = graph_input(s.g, "ids", DTYPE_U32, shape1(2));
    node table = graph_weight(s.g, "table", TYPE_Q8_0, shape2(512, 64));
    node x = graph_gather(s.g, table, ids);                                                                   /* 0 */
    node n = norm(&s, x), big = graph_weight(s.g, "big", TYPE_Q4_0, shape2(128, 64));                         /* 1 */
    node m = graph_matmul(s.g, n, big);                                                                       /* 2 */
    node biased = add(&s, m, vector(&s, 128));                                                                /* 3 */
    node kept = graph_store(s.g, state(&s, "keys", 2, 64), graph_reshape(s.g, biased, shape3(2, 2, 64)), at); /* 4 */
    node q = graph_reshape(s.g, graph_input(s.g, "q", DTYPE_F32, shape2(2, 256)), shape3(2, 4, 64));
    graph_output(s.g, "o", graph_attention(s.g, q, kept, kept, at, (attention_spec){.scale = 1}));              /* 5 */
    graph_output(s.g, "p", graph_attention(s.g, q, kept, kept, at, (attention_spec){.scale = 1, .window = 5})); /* 6 */
    s.p = plan_new(s.g, NO_LIMIT);
    enum { DEPTH = 10 };
    plan_cost c[7];
    for (uint32_t i = 0; i < 7; i++)
        c[i] = plan_cost_of(s.p, &s.p->steps[i], DEPTH);
    check_cost(c[0], 2 * 64 / 32 * 34, 0, 2 * 4 + 2 * 64 * 4, 2 * 64);
    check_cost(c[1], 64 * 4, 0, 2 * 2 * 64 * 4, 2 * 64);
    check_cost(c[2], 128 * 64 / 32 * 18, 0, (2 * 64 + 2 * 128) * 4, 2 * 2 * 64 * 128);
    check_cost(c[3], 128 * 4, 0, 2 * 2 * 128 * 4, 2 * 128);
    check_cost(c[4], 0, 2 * 128 * 2, 2 * 128 * 4 + 4, 2 * 128);
    check_cost(c[5], 0, 2 * (DEPTH + 2) * 128 * 2, (2 * 256 + 1 + 2 * 256) * 4, 4 * (DEPTH + 2) * 2 * 256);
    check_cost(c[6], 0, 2 * 5 * 128 * 2, (2 * 256 + 1 + 2 * 256) * 4, 4 * 5 * 2 * 256);

    /* Fused: the weights and the states as before, and of the activations what goes in and comes out. */
    plan_fuse(s.p, LEVEL_OPS);
    const plan_step *fused = step_with(&s, kept);
    assert_int_equal(fused->norm, n);
    check_cost(plan_cost_of(s.p, fused, DEPTH), 64 * 4 + 128 * 64 / 32 * 18 + 128 * 4, 2 * 128 * 2, 2 * 64 * 4 + 4,
               2 * 2 * 64 * 128);
    end(&s);
}

/* Of rows of which some are taken only those count. */
static void costs_of_parts_and_sums(void **unused)
{
    (void)unused;
    small s = begin(16);
    node rows = graph_input(s.g, "rows", DTYPE_U32, shape1(3));
    graph_pick(s.g, s.x, rows);
    graph_slice(s.g, s.x, 2, 4);
    graph_reduce(s.g, REDUCE_SUM, s.x);
    s.p = plan_new(s.g, NO_LIMIT);
    check_cost(plan_cost_of(s.p, &s.p->steps[0], 0), 0, 0, (2 * 3 * 8 + 3) * 4, 3 * 8);
    check_cost(plan_cost_of(s.p, &s.p->steps[1], 0), 0, 0, 2 * 16 * 4 * 4, 16 * 4);
    check_cost(plan_cost_of(s.p, &s.p->steps[2], 0), 0, 0, (16 * 8 + 16) * 4, 16 * 8);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_go_into_all_their_products),
        cmocka_unit_test(norms_that_stay),
        cmocka_unit_test(a_norm_that_is_added_as_well_stays),
        cmocka_unit_test(gates_with_and_without_a_function),
        cmocka_unit_test(gates_that_stay),
        cmocka_unit_test(gates_within_the_limit),
        cmocka_unit_test(biases_functions_and_residuals),
        cmocka_unit_test(so_many_afterwards_and_no_more),
        cmocka_unit_test(what_is_not_taken_in_afterwards),
        cmocka_unit_test(a_product_is_another_ones_residual),
        cmocka_unit_test(turned_and_stored),
        cmocka_unit_test(what_is_not_turned),
        cmocka_unit_test(stored_elsewhere_than_turned),
        cmocka_unit_test(matrices_in_pieces_are_not_turned),
        cmocka_unit_test(nothing_is_turned_by_a_later_position),
        cmocka_unit_test(three_of_one_x),
        cmocka_unit_test(products_that_stay_apart),
        cmocka_unit_test(siblings_within_the_limit),
        cmocka_unit_test(stores_keep_their_order),
        cmocka_unit_test(assignments_side_by_side),
        cmocka_unit_test(decoders_in_any_order),
        cmocka_unit_test(random_graphs_in_any_order),
        cmocka_unit_test(a_layer_is_five_steps),
        cmocka_unit_test(nothing_lies_on_anything_else),
        cmocka_unit_test(outputs_by_another_name),
        cmocka_unit_test(matrices_of_a_step_lie_together),
        cmocka_unit_test(what_does_not_lie_together_is_told),
        cmocka_unit_test(odd_states_are_told),
        cmocka_unit_test(products_are_with_weights),
        cmocka_unit_test(costs_by_hand),
        cmocka_unit_test(costs_of_parts_and_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
