/* The passes that fuse steps of a plan, one by one on small graphs. */
#include "graph/layout.h"
#include "plan_checks.h"

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

    s = begin(1); /* an output */
    node n = norm(&s, s.x);
    product(&s, n, 4);
    graph_output(s.g, "n", n);
    assert_int_equal(apply(&s, PASS_NORM), 0);
    end(&s);

    s = begin(1); /* an output in another shape */
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

    s = begin(1); /* nothing reads it */
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

static void fuses_rotation_and_store(void **unused)
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

static void keeps_rotations_that_cannot_be_fused(void **unused)
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

/* A part has one position: the place in a state must be that of its rotation. */
static void keeps_a_store_at_another_position(void **unused)
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
static void keeps_rotations_of_matrices_in_pieces(void **unused)
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
static void keeps_a_rotation_by_a_later_position(void **unused)
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
    enum { TOGETHER, READ_BETWEEN, OTHER_X, TYPES, NEEDED, ONE_NORMED, CASES }; /* the first two do not */
    for (int c = 0; c < CASES; c++) {
        small s = begin(1);
        node a = product(&s, s.x, 8), b = 0;
        if (c == TYPES)
            b = graph_matmul(s.g, s.x, graph_weight(s.g, "other", TYPE_F16, shape2(8, 8)));
        else if (c == ONE_NORMED)
            b = product(&s, norm(&s, s.x), 8);
        else if (c != NEEDED && c != READ_BETWEEN)
            b = product(&s, c == OTHER_X ? s.y : s.x, 8);
        if (c == NEEDED) /* it is the other's residual */
            b = add(&s, product(&s, s.x, 8), graph_unary(s.g, UNARY_TANH, a));
        if (c == READ_BETWEEN) { /* the other comes earlier */
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
        if (removed != (c <= READ_BETWEEN))
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
        const plan_step *step = step_with(&s, first); /* it stays where it is: the other product comes to it */
        assert_int_equal(step->part_count, 2);
        assert_true(step->parts[0].store == first && step->parts[1].store == 0);
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
        cmocka_unit_test(fuses_rotation_and_store),
        cmocka_unit_test(keeps_rotations_that_cannot_be_fused),
        cmocka_unit_test(keeps_a_store_at_another_position),
        cmocka_unit_test(keeps_rotations_of_matrices_in_pieces),
        cmocka_unit_test(keeps_a_rotation_by_a_later_position),
        cmocka_unit_test(three_of_one_x),
        cmocka_unit_test(products_that_stay_apart),
        cmocka_unit_test(siblings_within_the_limit),
        cmocka_unit_test(stores_keep_their_order),
        cmocka_unit_test(assignments_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
