/* The pass that makes chains: norms with the rotation, write or residual that follows. */
#include "plan_checks.h"

static node norm_of_heads(small *s, node x, uint32_t heads)
{
    uint32_t size = graph_at(s->g, x)->s.dims[LAST] / heads;
    return norm(s, graph_reshape(s->g, x, shape3(1, heads, size)));
}

static void heads_are_normed_turned_and_stored_in_one_step(void **unused)
{
    (void)unused;
    small s = begin(1);
    node at = number(&s, "at"), k = product(&s, s.x, 16), q = product(&s, s.x, 16), v = product(&s, s.x, 16);
    node normed_k = norm_of_heads(&s, k, 2),
         turned = rope_of(&s, graph_reshape(s.g, normed_k, shape2(1, 16)), 2, at, 4);
    node keys = graph_store(s.g, state(&s, "keys", 2, 8), turned, at), normed_v = norm_of_heads(&s, v, 2);
    node values = graph_store(s.g, state(&s, "values", 2, 8), normed_v, at), normed_q = norm_of_heads(&s, q, 2);
    node turned_q = rope_of(&s, graph_reshape(s.g, normed_q, shape2(1, 16)), 2, at, 0);
    graph_output(s.g, "o", graph_attention(s.g, turned_q, keys, values, at, (attention_spec){.scale = 1}));
    assert_int_equal(apply(&s, PASS_CHAIN), 4);
    const plan_step *of_k = step_with(&s, keys), *of_v = step_with(&s, values), *of_q = step_with(&s, turned_q);
    assert_true(plan_is_chain(of_k) && of_k->op == OP_STORE && of_k->norm == normed_k && of_k->rope == turned);
    assert_true(plan_is_chain(of_v) && of_v->op == OP_STORE && of_v->norm == normed_v && of_v->rope == 0);
    assert_true(plan_is_chain(of_q) && of_q->op == OP_ROPE && of_q->norm == normed_q && of_q->rope == turned_q);
    assert_int_equal(plan_root(s.g, of_k->x), k);
    assert_int_equal(plan_apply(s.p, PASS_SIBLINGS), 2); /* what stands between them is in no step's way */
    check_plan(s.p);
    end(&s);
}

static void chains_that_are_not_made(void **unused)
{
    (void)unused;
    enum { WHOLE, NORM_OF_ROW, WANTED, OTHER_PLACE, QUANTISED, CASES };
    for (int c = 0; c < CASES; c++) {
        small s = begin(1);
        node at = number(&s, "at"), row = number(&s, "row"), k = product(&s, s.x, 128), normed;
        normed = c == NORM_OF_ROW ? norm(&s, k) : graph_reshape(s.g, norm_of_heads(&s, k, 2), shape2(1, 128));
        node turned = rope_of(&s, normed, 2, at, 0);
        if (c == WANTED)
            graph_output(s.g, "normed", normed);
        node keys = graph_state(s.g, "keys", c == QUANTISED ? DTYPE_Q8_0 : DTYPE_F16, shape3(16, 2, 64));
        graph_store(s.g, keys, turned, c == OTHER_PLACE ? row : at);
        uint32_t removed = apply(&s, PASS_CHAIN), expected = c == WHOLE ? 2 : 1;
        if (removed != expected)
            fail_msg("case %d: %u steps are gone", c, removed);
        end(&s);
    }
}

static void a_norm_is_added_to_the_residual(void **unused)
{
    (void)unused;
    enum { ADDED, MULTIPLIED, READ_TWICE, CASES };
    for (int c = 0; c < CASES; c++) {
        small s = begin(1);
        node made = product(&s, s.x, 8), n = norm(&s, made);
        node sum = graph_binary(s.g, c == MULTIPLIED ? BINARY_MUL : BINARY_ADD, s.y, n);
        graph_output(s.g, "o", c == READ_TWICE ? add(&s, sum, n) : sum);
        assert_int_equal(apply(&s, PASS_CHAIN), c == ADDED);
        const plan_step *last = step_with(&s, sum);
        assert_int_equal(plan_is_chain(last), c == ADDED);
        if (c == ADDED) { /* which no product may take in: it is more than a sum */
            assert_int_equal(last->norm, n);
            assert_int_equal(plan_apply(s.p, PASS_EPILOGUE), 0);
            check_plan(s.p);
        }
        end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_are_normed_turned_and_stored_in_one_step),
        cmocka_unit_test(chains_that_are_not_made),
        cmocka_unit_test(a_norm_is_added_to_the_residual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
