/* Operators of encoders, over whole texts, on every implementation against the CPU's answer. */
#include "gpu/compare.h"

/* rows, heads, heads of keys, size, window, causal */
static void attention_over_a_whole_text(void **unused)
{
    (void)unused;
    static const uint32_t cases[][6] = {{1, 1, 1, 2, 0, 0},   {5, 4, 2, 16, 0, 0},   {70, 2, 1, 32, 0, 0},
                                        {9, 3, 3, 10, 4, 0},  {131, 2, 2, 8, 33, 0}, {7, 2, 1, 256, 0, 1},
                                        {66, 6, 2, 64, 1, 1}, {80, 2, 1, 18, 0, 1}};
    weight_box box = {.r = rng_seed(19)};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const uint32_t *n = cases[c];
        graph *g = graph_new();
        node q = graph_input(g, "q", DTYPE_F32, shape3(n[0], n[1], n[3])),
             k = graph_input(g, "k", DTYPE_F32, shape3(n[0], n[2], n[3])),
             v = graph_input(g, "v", DTYPE_F32, shape3(n[0], n[2], n[3])),
             last = graph_input(g, "last", DTYPE_U32, shape1(1));
        attention_spec spec = {
            .whole = true, .scale = 0.7f, .softcap = c % 2 ? 3 : 0, .window = n[4], .causal = n[5] == 1};
        graph_output(g, "y", graph_attention(g, q, k, v, last, spec));
        compare_ways(g, &box, NAMES("q", "k", "v", "last"), NAMES("y"), n[0], 2);
    }
}

static void pooling(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(20)};
    static const uint32_t rows[] = {1, 7, 130}, lengths[] = {1, 64, 67};
    for (int i = 0; i < 9; i++) {
        graph *g = graph_new();
        node x = graph_input(g, "x", DTYPE_F32, shape2(rows[i % 3], lengths[i / 3])),
             shares = graph_input(g, "shares", DTYPE_F32, shape2(1, rows[i % 3]));
        graph_output(g, "y", graph_pool(g, x, shares));
        compare_ways(g, &box, NAMES("x", "shares"), NAMES("y"), 1, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_over_a_whole_text),
        cmocka_unit_test(pooling),
    };
    return RUN_ON_EACH(tests);
}
