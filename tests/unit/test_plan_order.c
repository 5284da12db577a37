/* Plans of whole models: passes in any order keep the rules, what operators refuse, and costs. */
#include "model/decoder.h"
#include "plan_checks.h"
#include "random_graph.h"
#include "open_tiny.h"

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
    {"llama", 2, 32, 64, 4, 2, 8, 48, TYPE_F16, .ffn_bias = true},
    {"qwen2", 2, 32, 32, 2, 1, 16, 48, TYPE_Q8_0, .qkv_bias = true, .tied = true},
    {"qwen3", 2, 32, 32, 2, 1, 16, 48, TYPE_F32, .qk_norm = true, .tied = true},
    {"gemma2", 3, 32, 32, 2, 2, 6, 48, TYPE_F16, .post_norms = true, .tied = true},
};

static void decoders_in_any_order(void **unused)
{
    (void)unused;
    rng r = rng_seed(11);
    for (size_t i = 0; i < sizeof TINY / sizeof *TINY; i++) {
        err e = {0};
        model *m = open_tiny(&TINY[i], i + 1);
        for (uint32_t rows = 1; rows <= 8; rows += 7) {
            graph *g = decoder_graph(m, &(decoder_options){.rows = rows, .context_tok = 32, .one_row = rows > 1}, &e);
            if (!g)
                fail_msg("%s", e.text);
            for (int k = 0; k < 20; k++)
                apply_in_any_order(g, &r, k % 4 ? NO_LIMIT : 4096);
            graph_free(g);
        }
        model_close(m);
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

/* A layer is fused into five steps. */
static void a_layer_is_five_steps(void **unused)
{
    (void)unused;
    err e = {0};
    model *m = open_tiny(&TINY[1], 1);
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
        cmocka_unit_test(decoders_in_any_order), cmocka_unit_test(random_graphs_in_any_order),
        cmocka_unit_test(a_layer_is_five_steps), cmocka_unit_test(products_are_with_weights),
        cmocka_unit_test(costs_by_hand),         cmocka_unit_test(costs_of_parts_and_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
