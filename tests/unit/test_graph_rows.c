/* src/graph: the CPU's answers to operators whose rows have to do with each other. */
#include "graph_checks.h"

/* A convolution of each row with the one before; a matrix of one number that fades by half and learns half. */
static void states_go_from_row_to_row(void **unused)
{
    (void)unused;
    static const float kernels[] = {2, 3}, rate[] = {-1};
    named weights[] = {{"kernels", kernels}, {"rate", rate}, {0}};
    graph *g = graph_new();
    node at = graph_input(g, "at", DTYPE_U32, shape1(1)), last = graph_input(g, "last", DTYPE_U32, shape1(1));
    node x = graph_input(g, "x", DTYPE_F32, shape2(2, 1)), qkv = graph_input(g, "qkv", DTYPE_F32, shape2(2, 3));
    node gate = graph_input(g, "gate", DTYPE_F32, shape2(2, 1)); /* zeros: softplus is log 2, sigmoid 1/2 */
    graph_output(g, "y",
                 graph_conv(g, x, graph_weight(g, "kernels", TYPE_F32, shape2(1, 2)),
                            graph_state(g, "row", DTYPE_F32, shape2(1, 1)), at, last));
    graph_output(g, "z",
                 graph_delta(g, qkv, gate, gate, graph_weight(g, "rate", TYPE_F32, shape1(1)),
                             graph_state(g, "matrix", DTYPE_F32, shape3(1, 1, 1)), at, last,
                             (delta_spec){.heads = 1, .key_heads = 1, .key_size = 1, .value_size = 1}));
    cpu_run *r = run_of(g, weights);
    memcpy(cpu_floats(r, "x"), (float[]){1, -1}, 8);
    memcpy(cpu_floats(r, "qkv"), (float[]){3, 5, 2, -1, 1, 4}, 24);
    for (int again = 0; again < 2; again++) { /* from the start: what was before does not count */
        cpu_words(r, "at")[0] = 0;
        cpu_words(r, "last")[0] = 1;
        run_ok(r);
        near(cpu_floats(r, "y"), (float[]){3 / (1 + expf(-3)), -1 / (1 + expf(1))}, 2);
        near(cpu_floats(r, "z"), (float[]){1, -2.25f}, 2); /* 0 + 2/2; 1/2 + (4 - 1/2)/2 */
        near(cpu_floats(r, "matrix"), (float[]){2.25f}, 1);
    }
    cpu_words(r, "at")[0] = 2; /* on from there, but the second row does not count */
    cpu_words(r, "last")[0] = 0;
    run_ok(r);
    near(cpu_floats(r, "y"), (float[]){1 / (1 + expf(-1))}, 1); /* 3 - 2 */
    near(cpu_floats(r, "z"), (float[]){1.5625f, 0}, 2);         /* 1.125 + (2 - 1.125)/2 */
    near(cpu_floats(r, "matrix"), (float[]){1.5625f}, 1);
    near(cpu_floats(r, "row"), (float[]){1}, 1);
    cpu_run_free(r);
    graph_free(g);
}

/* A matrix for each head, rows one behind the other, the largest of some groups, values that are part of keys. */
static void heads_joins_and_groups(void **unused)
{
    (void)unused;
    static const float matrices[] = {1, 2, 3, 4, 5, 6}; /* of head 0: (1, 2); of head 1: (3, 4); and so on */
    named weights[] = {{"matrices", matrices}, {0}};
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape3(1, 3, 2)), at = graph_input(g, "at", DTYPE_U32, shape1(1));
    node y = graph_heads(g, graph_weight(g, "matrices", TYPE_F32, shape2(3, 2)), x);
    node both = graph_join(g, x, y), row = graph_reshape(g, both, shape2(1, 9));
    node groups = graph_input(g, "groups", DTYPE_U32, shape2(1, 2));
    graph_output(g, "y", y);
    graph_output(g, "both", both);
    graph_output(g, "places", graph_topk_of(g, row, 2, groups, 3));
    node keys = graph_store(g, graph_state(g, "keys", DTYPE_F32, shape3(2, 3, 3)), both, at);
    graph_output(g, "z", graph_attention(g, both, keys, keys, at, (attention_spec){.scale = 1, .value_size = 1}));
    cpu_run *r = run_of(g, weights);
    memcpy(cpu_floats(r, "x"), (float[]){1, 1, 1, 0, 0, -1}, 24);
    memcpy(cpu_words(r, "groups"), (uint32_t[]){2, 1}, 8);
    run_ok(r);
    near(cpu_floats(r, "y"), (float[]){3, 3, -6}, 3);
    near(cpu_floats(r, "both"), (float[]){1, 1, 3, 1, 0, 3, 0, -1, -6}, 9);
    assert_int_equal(cpu_words(r, "places")[0], 5); /* the 3 of group 0 does not count */
    assert_int_equal(cpu_words(r, "places")[1], 3);
    near(cpu_floats(r, "z"), (float[]){1, 1, 0}, 3); /* the only position's first elements */
    cpu_run_free(r);
    graph_free(g);
}

/* Three rows count, of five. The scores are 0, so that a row is the mean of those it sees. */
static void attention_over_a_whole_text(void **unused)
{
    (void)unused;
    static const struct {
        attention_spec spec;
        float means[5];
    } cases[] = {{{.whole = true}, {3, 3, 3, 3, 3}},
                 {{.whole = true, .causal = true}, {1, 2, 3, 3, 3}},
                 {{.whole = true, .window = 2}, {2, 3, 4, 4, 4}},
                 {{.whole = true, .window = 1}, {1, 3, 5, 5, 5}},
                 {{.whole = true, .window = 2, .causal = true}, {1, 2, 4, 4, 4}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        graph *g = graph_new();
        node q = graph_input(g, "q", DTYPE_F32, shape3(5, 4, 2)), k = graph_input(g, "k", DTYPE_F32, shape3(5, 2, 2)),
             v = graph_input(g, "v", DTYPE_F32, shape3(5, 2, 2)), last = graph_input(g, "last", DTYPE_U32, shape1(1));
        graph_output(g, "y", graph_attention(g, q, k, v, last, cases[c].spec));
        cpu_run *r = run_of(g, NULL);
        cpu_words(r, "last")[0] = 2;
        for (int i = 0; i < 20; i++)
            cpu_floats(r, "v")[i] =
                (float)(i / 4 * 2 + 1) * (i % 4 < 2 ? 1 : -1); /* heads of 1, 3, 5 .. and -1, -3 .. */
        run_ok(r);
        for (int i = 0; i < 40; i++)
            assert_true(fabsf(cpu_floats(r, "y")[i] - cases[c].means[i / 8] * (i % 8 < 4 ? 1 : -1)) < 1e-6f);
        cpu_run_free(r);
        graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_go_from_row_to_row),
        cmocka_unit_test(heads_joins_and_groups),
        cmocka_unit_test(attention_over_a_whole_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
