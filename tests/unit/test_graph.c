/* src/graph: building graphs, and the CPU's answers to small ones. */
#include "graph_checks.h"

static void unary_functions(void **unused)
{
    (void)unused;
    static const struct {
        unary_kind kind;
        float right[3]; /* of -1, 0.5, 2 */
    } cases[] = {
        {UNARY_COPY, {-1, 0.5f, 2}},
        {UNARY_NEG, {1, -0.5f, -2}},
        {UNARY_ABS, {1, 0.5f, 2}},
        {UNARY_SQUARE, {1, 0.25f, 4}},
        {UNARY_EXP, {0.36787944f, 1.64872127f, 7.38905610f}},
        {UNARY_TANH, {-0.76159416f, 0.46211716f, 0.96402758f}},
        {UNARY_SIGMOID, {0.26894142f, 0.62245933f, 0.88079708f}},
        {UNARY_RELU, {0, 0.5f, 2}},
        {UNARY_SILU, {-0.26894142f, 0.31122967f, 1.76159416f}},
        {UNARY_GELU, {-0.15880801f, 0.34571401f, 1.95459769f}},
        {UNARY_SIN, {-0.84147098f, 0.47942554f, 0.90929743f}},
        {UNARY_COS, {0.54030231f, 0.87758256f, -0.41614684f}},
        {UNARY_GELU_ERF, {-0.15865525f, 0.34573123f, 1.95449974f}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        graph *g = graph_new();
        graph_output(g, "y", graph_unary(g, cases[i].kind, graph_input(g, "x", DTYPE_F32, shape1(3))));
        cpu_run *r = run_of(g, NULL);
        memcpy(cpu_floats(r, "x"), (float[]){-1, 0.5f, 2}, 3 * sizeof(float));
        run_ok(r);
        near(cpu_floats(r, "y"), cases[i].right, 3);
        cpu_run_free(r);
        graph_free(g);
    }
}

static void scaling_and_capping(void **unused)
{
    (void)unused;
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape1(2));
    graph_output(g, "scaled", graph_scale(g, x, 3, 1));
    graph_output(g, "capped", graph_softcap(g, x, 2));
    cpu_run *r = run_of(g, NULL);
    memcpy(cpu_floats(r, "x"), (float[]){1, 100}, 2 * sizeof(float));
    run_ok(r);
    near(cpu_floats(r, "scaled"), (float[]){4, 301}, 2);
    near(cpu_floats(r, "capped"), (float[]){0.92423431f, 2}, 2);
    cpu_run_free(r);
    graph_free(g);
}

static void binary_broadcasts(void **unused)
{
    (void)unused;
    graph *g = graph_new();
    node a = graph_input(g, "a", DTYPE_F32, shape2(2, 3)), row = graph_input(g, "row", DTYPE_F32, shape1(3));
    node column = graph_input(g, "column", DTYPE_F32, shape2(2, 1));
    graph_output(g, "sum", graph_binary(g, BINARY_ADD, a, row));
    graph_output(g, "product", graph_binary(g, BINARY_MUL, a, column));
    graph_output(g, "least", graph_binary(g, BINARY_MIN, a, row));
    cpu_run *r = run_of(g, NULL);
    memcpy(cpu_floats(r, "a"), (float[]){1, 2, 3, 4, 5, 6}, 6 * sizeof(float));
    memcpy(cpu_floats(r, "row"), (float[]){10, 0, -1}, 3 * sizeof(float));
    memcpy(cpu_floats(r, "column"), (float[]){2, -1}, 2 * sizeof(float));
    run_ok(r);
    near(cpu_floats(r, "sum"), (float[]){11, 2, 2, 14, 5, 5}, 6);
    near(cpu_floats(r, "product"), (float[]){2, 4, 6, -4, -5, -6}, 6);
    near(cpu_floats(r, "least"), (float[]){1, 0, -1, 4, 0, -1}, 6);
    cpu_run_free(r);
    graph_free(g);
}

static void reductions_and_softmax(void **unused)
{
    (void)unused;
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape2(2, 3));
    graph_output(g, "sum", graph_reduce(g, REDUCE_SUM, x));
    graph_output(g, "mean", graph_reduce(g, REDUCE_MEAN, x));
    graph_output(g, "max", graph_reduce(g, REDUCE_MAX, x));
    graph_output(g, "argmax", graph_reduce(g, REDUCE_ARGMAX, x));
    graph_output(g, "softmax", graph_softmax(g, x, 0.5f));
    cpu_run *r = run_of(g, NULL);
    memcpy(cpu_floats(r, "x"), (float[]){1, 5, 5, -1, -2, -6}, 6 * sizeof(float));
    run_ok(r);
    near(cpu_floats(r, "sum"), (float[]){11, -9}, 2);
    near(cpu_floats(r, "mean"), (float[]){11.0f / 3, -3}, 2);
    near(cpu_floats(r, "max"), (float[]){5, -1}, 2);
    assert_int_equal(cpu_words(r, "argmax")[0], 1); /* the first of equals */
    assert_int_equal(cpu_words(r, "argmax")[1], 0);
    near(cpu_floats(r, "softmax"),
         (float[]){0.06337894f, 0.46831053f, 0.46831053f, 0.59220107f, 0.35918811f, 0.04861082f}, 6);
    cpu_run_free(r);
    graph_free(g);
}

static void norm_matmul_gather(void **unused)
{
    (void)unused;
    float w[2][4] = {{1, 0, -1, 2}, {0.5f, 0.5f, 0.5f, 0.5f}}, scale[4] = {1, 2, 0, -1};
    named weights[] = {{"w", w}, {"scale", scale}, {0}};
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape2(2, 4)), ids = graph_input(g, "ids", DTYPE_U32, shape1(3));
    node matrix = graph_weight(g, "w", TYPE_F32, shape2(2, 4));
    graph_output(g, "y", graph_matmul(g, x, matrix));
    graph_output(g, "rows", graph_gather(g, matrix, ids));
    node scales = graph_weight(g, "scale", TYPE_F32, shape1(4)), first = graph_slice(g, ids, 1, 1);
    graph_output(g, "norm", graph_rmsnorm(g, x, scales, 0, 1));
    graph_output(g, "centred", graph_layernorm(g, x, scales, 0, 1));
    graph_output(g, "biased", graph_layernorm(g, x, scales, scales, 1));
    graph_output(g, "two rows", graph_gather_from(g, matrix, first, 2));
    cpu_run *r = run_of(g, weights);
    memcpy(cpu_floats(r, "x"), (float[]){1, 2, 3, 4, 2, 2, 2, 2}, 8 * sizeof(float));
    memcpy(cpu_words(r, "ids"), (uint32_t[]){1, 0, 1}, 3 * sizeof(uint32_t));
    run_ok(r);
    near(cpu_floats(r, "y"), (float[]){6, 5, 4, 4}, 4);
    near(cpu_floats(r, "rows"), (float[]){0.5f, 0.5f, 0.5f, 0.5f, 1, 0, -1, 2, 0.5f, 0.5f, 0.5f, 0.5f}, 12);
    float rms = sqrtf(7.5f);
    near(cpu_floats(r, "norm"), (float[]){2 / rms, 6 / rms, 3 / rms, 0, 2, 3, 1, 0}, 8);
    near(cpu_floats(r, "centred"), (float[]){-1, -2 / 3.0f, 0, -1, 0, 0, 0, 0}, 8);
    near(cpu_floats(r, "biased"), (float[]){0, 4 / 3.0f, 0, -2, 1, 2, 0, -1}, 8);
    near(cpu_floats(r, "two rows"), (float[]){1, 0, -1, 2, 0.5f, 0.5f, 0.5f, 0.5f}, 8);
    cpu_words(r, "ids")[0] = 2;
    err e = {0};
    assert_false(cpu_run_once(r, &e));
    assert_non_null(strstr(e.text, "row 2 of w"));
    cpu_run_free(r);
    graph_free(g);
}

static void rope_rotates_pairs(void **unused)
{
    (void)unused;
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        graph *g = graph_new();
        node x = graph_input(g, "x", DTYPE_F32, shape3(2, 1, 6)), at = graph_input(g, "at", DTYPE_U32, shape1(1));
        graph_output(g, "y", graph_rope(g, x, at, (rope_spec){.rotated = 4, .interleaved = interleaved, .base = 100}));
        cpu_run *r = run_of(g, NULL);
        memcpy(cpu_floats(r, "x"), (float[]){1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}, 12 * sizeof(float));
        cpu_words(r, "at")[0] = 0;
        run_ok(r);
        /* Position 0 rotates nothing, position 1 by 1 and by 0.1. */
        float c = cosf(1), s = sinf(1), c1 = cosf(0.1f), s1 = sinf(0.1f);
        float half[] = {c - 3 * s, 2 * c1 - 4 * s1, s + 3 * c, 2 * s1 + 4 * c1, 5, 6};
        float pairs[] = {c - 2 * s, s + 2 * c, 3 * c1 - 4 * s1, 3 * s1 + 4 * c1, 5, 6};
        near(cpu_floats(r, "y"), (float[]){1, 2, 3, 4, 5, 6}, 6);
        near(cpu_floats(r, "y") + 6, interleaved ? pairs : half, 6);
        cpu_run_free(r);
        graph_free(g);
    }
}

/* Of equal scores the first comes first; four matrices of one row each. */
static void experts_are_chosen_and_mixed(void **unused)
{
    (void)unused;
    float w[4][2] = {{1, 0}, {0, 1}, {5, 5}, {2, -1}}, bias[4] = {0, 10, 0, 1};
    named weights[] = {{"w", w}, {"bias", bias}, {0}};
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape2(1, 2)), scores = graph_input(g, "scores", DTYPE_F32, shape2(1, 4));
    node matrices = graph_weight(g, "w", TYPE_F32, shape2(4, 2)),
         biases = graph_weight(g, "bias", TYPE_F32, shape2(4, 1));
    node chosen = graph_route(g, scores, 2, ROUTE_OF_CHOSEN), all = graph_route(g, scores, 2, ROUTE_OF_ALL);
    node each = graph_experts(g, x, matrices, biases, 4, chosen);
    graph_output(g, "mixed", graph_mix(g, each, chosen));
    graph_output(g, "of chosen", chosen);
    graph_output(g, "of all", all);
    graph_output(g, "each", each);
    cpu_run *r = run_of(g, weights);
    memcpy(cpu_floats(r, "x"), (float[]){3, 4}, 2 * sizeof(float));
    memcpy(cpu_floats(r, "scores"), (float[]){0, 1, -1, 1}, 4 * sizeof(float));
    run_ok(r);
    float sum = 2 + expf(-1) + expf(-2);
    near(cpu_floats(r, "of chosen"), (float[]){1, 3, 0.5f, 0.5f}, 4);
    near(cpu_floats(r, "of all"), (float[]){1, 3, 1 / sum, 1 / sum}, 4);
    near(cpu_floats(r, "each"), (float[]){14, 3}, 2);
    near(cpu_floats(r, "mixed"), (float[]){8.5f}, 1);
    cpu_run_free(r);
    graph_free(g);
}

/* A sink takes its share of the weights, and gives nothing. */
static void a_sink_takes_a_share(void **unused)
{
    (void)unused;
    float sinks[1] = {0};
    named weights[] = {{"sinks", sinks}, {0}};
    graph *g = graph_new();
    node q = graph_input(g, "q", DTYPE_F32, shape3(1, 1, 2)), at = graph_input(g, "at", DTYPE_U32, shape1(1));
    node stored = graph_store(g, graph_state(g, "cache", DTYPE_F32, shape3(4, 1, 2)), q, at);
    attention_spec spec = {.scale = 1, .sinks = graph_weight(g, "sinks", TYPE_F32, shape1(1))};
    graph_output(g, "y", graph_attention(g, q, stored, stored, at, spec));
    cpu_run *r = run_of(g, weights);
    memcpy(cpu_floats(r, "q"), (float[]){1, 2}, 2 * sizeof(float)); /* a score of 5 beside one of 0 */
    run_ok(r);
    float share = expf(5) / (expf(5) + 1);
    near(cpu_floats(r, "y"), (float[]){share, 2 * share}, 2);
    cpu_run_free(r);
    graph_free(g);
}

/* Two query heads share one stored head; row by row and all at once agree. */
static void attention_sees_what_was_stored(void **unused)
{
    (void)unused;
    float outputs[2][4 * 8];
    for (int at_once = 0; at_once < 2; at_once++) {
        uint32_t rows = at_once ? 4 : 1;
        graph *g = graph_new();
        node q = graph_input(g, "q", DTYPE_F32, shape3(rows, 2, 4)),
             k = graph_input(g, "k", DTYPE_F32, shape3(rows, 1, 4));
        node at = graph_input(g, "at", DTYPE_U32, shape1(1));
        node cache = graph_state(g, "cache", DTYPE_F32, shape3(8, 1, 4));
        node stored = graph_store(g, cache, k, at);
        attention_spec spec = {.scale = 0.5f, .window = 3, .softcap = 5};
        graph_output(g, "y", graph_attention(g, q, stored, stored, at, spec));
        cpu_run *r = run_of(g, NULL);
        for (uint32_t t = 0; t < 4; t += rows) {
            for (uint32_t i = 0; i < rows * 8; i++)
                cpu_floats(r, "q")[i] = sinf((float)(t * 8 + i));
            for (uint32_t i = 0; i < rows * 4; i++)
                cpu_floats(r, "k")[i] = cosf((float)(t * 4 + i) * 0.7f);
            cpu_words(r, "at")[0] = t;
            run_ok(r);
            memcpy(outputs[at_once] + t * 8, cpu_floats(r, "y"), rows * 8 * sizeof(float));
        }
        cpu_words(r, "at")[0] = 8;
        err e = {0};
        assert_false(cpu_run_once(r, &e));
        assert_non_null(strstr(e.text, "do not fit cache"));
        cpu_run_free(r);
        graph_free(g);
    }
    near(outputs[0], outputs[1], 32);
    /* The first row sees only itself. */
    for (int i = 0; i < 8; i++)
        assert_true(fabsf(outputs[0][i] - cosf((float)(i % 4) * 0.7f)) < 1e-6f);
}

static void slices_and_shapes(void **unused)
{
    (void)unused;
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape2(2, 4));
    graph_output(g, "middle", graph_slice(g, x, 1, 2));
    graph_output(g, "flat", graph_unary(g, UNARY_COPY, graph_reshape(g, x, shape1(8))));
    cpu_run *r = run_of(g, NULL);
    memcpy(cpu_floats(r, "x"), (float[]){1, 2, 3, 4, 5, 6, 7, 8}, 8 * sizeof(float));
    run_ok(r);
    near(cpu_floats(r, "middle"), (float[]){2, 3, 6, 7}, 4);
    near(cpu_floats(r, "flat"), (float[]){1, 2, 3, 4, 5, 6, 7, 8}, 8);
    cpu_run_free(r);
    graph_free(g);
}

static void expect_graph_error(graph *g, const char *part)
{
    err e = {0};
    assert_false(graph_ok(g, &e));
    if (!strstr(e.text, part))
        fail_msg("'%s' does not say '%s'", e.text, part);
    assert_null(cpu_run_new(g, find_weight, &(named){0}, &e));
    graph_free(g);
}

static void graphs_that_do_not_fit_say_so(void **unused)
{
    (void)unused;
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape2(2, 4));
    /* Going on after an error is harmless. */
    node y = graph_matmul(g, x, graph_weight(g, "w", TYPE_F32, shape2(3, 5)));
    graph_output(g, "y", graph_unary(g, UNARY_EXP, graph_binary(g, BINARY_ADD, y, x)));
    expect_graph_error(g, "matmul of 2x4 and 3x5");

    g = graph_new();
    graph_weight(g, "w", TYPE_Q4_0, shape2(3, 33));
    expect_graph_error(g, "weight w has rows of 33, which q4_0 cannot hold");

    g = graph_new();
    x = graph_input(g, "x", DTYPE_F32, shape2(2, 4));
    graph_route(g, x, 5, ROUTE_OF_ALL);
    expect_graph_error(g, "a row has not that many");

    g = graph_new();
    x = graph_input(g, "x", DTYPE_F32, shape2(2, 4));
    graph_experts(g, x, graph_weight(g, "w", TYPE_F32, shape2(15, 4)), 0, 5, graph_route(g, x, 2, ROUTE_OF_ALL));
    expect_graph_error(g, "experts of 2x4 and 15x4: rows, matrices");

    g = graph_new();
    graph_input(g, "x", DTYPE_F32, shape2(2, 0));
    expect_graph_error(g, "dimension of 0");

    g = graph_new();
    graph_input(g, "x", DTYPE_F32, shape1(1));
    graph_input(g, "x", DTYPE_F32, shape1(1));
    expect_graph_error(g, "two nodes are called x");

    g = graph_new();
    x = graph_input(g, "x", DTYPE_F32, shape2(2, 4));
    graph_binary(g, BINARY_ADD, x, graph_input(g, "z", DTYPE_F32, shape2(2, 3)));
    expect_graph_error(g, "binary of 2x4 and 2x3");

    g = graph_new();
    graph_slice(g, graph_input(g, "x", DTYPE_F32, shape1(4)), 2, 3);
    expect_graph_error(g, "beyond the row");

    g = graph_new();
    x = graph_input(g, "x", DTYPE_F32, shape2(2, 4));
    node at = graph_input(g, "at", DTYPE_U32, shape1(1)), gate;
    graph_conv(g, x, graph_weight(g, "w", TYPE_F32, shape2(4, 3)), graph_state(g, "s", DTYPE_F32, shape2(3, 4)), at, 0);
    expect_graph_error(g, "conv of 2x4 and 4x3");

    g = graph_new();
    x = graph_input(g, "x", DTYPE_F32, shape2(2, 3));
    at = graph_input(g, "at", DTYPE_U32, shape1(1));
    gate = graph_input(g, "gate", DTYPE_F32, shape2(2, 1));
    node rate = graph_weight(g, "rate", TYPE_F32, shape1(1)), state = graph_state(g, "s", DTYPE_F32, shape3(1, 1, 2));
    graph_delta(g, x, gate, gate, rate, state, at, 0, (delta_spec){1, 1, 1, 1, false});
    expect_graph_error(g, "delta of 2x3 and 2x1");

    g = graph_new();
    x = graph_input(g, "x", DTYPE_F32, shape3(2, 3, 4));
    graph_heads(g, graph_weight(g, "w", TYPE_F32, shape2(7, 4)), x);
    expect_graph_error(g, "heads of 7x4 and 2x3x4");

    g = graph_new();
    x = graph_input(g, "x", DTYPE_F32, shape2(3, 4));
    graph_join(g, x, graph_input(g, "y", DTYPE_F32, shape2(2, 4)));
    expect_graph_error(g, "join of 3x4 and 2x4");

    g = graph_new();
    x = graph_input(g, "x", DTYPE_F32, shape2(1, 6));
    graph_topk_of(g, x, 3, graph_topk(g, graph_input(g, "y", DTYPE_F32, shape2(1, 3)), 1), 3);
    expect_graph_error(g, "with enough in them"); /* three of a group of two */

    g = graph_new();
    graph_output(g, "y", 0);
    expect_graph_error(g, "output y is no node");
}

static void a_missing_weight_is_named(void **unused)
{
    (void)unused;
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape1(4));
    graph_output(g, "y", graph_matmul(g, x, graph_weight(g, "blk.0.w", TYPE_F32, shape2(2, 4))));
    err e = {0};
    assert_null(cpu_run_new(g, find_weight, &(named){0}, &e));
    assert_non_null(strstr(e.text, "weight blk.0.w is missing"));
    graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_functions),
        cmocka_unit_test(scaling_and_capping),
        cmocka_unit_test(binary_broadcasts),
        cmocka_unit_test(reductions_and_softmax),
        cmocka_unit_test(norm_matmul_gather),
        cmocka_unit_test(rope_rotates_pairs),
        cmocka_unit_test(experts_are_chosen_and_mixed),
        cmocka_unit_test(a_sink_takes_a_share),
        cmocka_unit_test(attention_sees_what_was_stored),
        cmocka_unit_test(slices_and_shapes),
        cmocka_unit_test(graphs_that_do_not_fit_say_so),
        cmocka_unit_test(a_missing_weight_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
