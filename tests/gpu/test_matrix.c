/* The kernels for matrix units against the CPU's results. A device without them has threads that stand in for them
 * (SOLO_TUNE=matrix), so that everything else of these kernels is tested everywhere. */
#include "gpu/compare.h"
#include "gpu/probe.h"
#include "graph/lower.h"

/* x and weights are rounded to f16. */
static const float MATRIX_TOLERANCE = 8e-3f;

static void begin(void)
{
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    err e = {0};
    assert_true(gpu_check_language(device, &e));
    if (!gpu_get_info(device)->has_matrix)
        setenv("SOLO_TUNE", "matrix", 1);
    assert_true(device_profile_for(gpu_get_info(device)).matrix_depth > 0);
    tolerance = MATRIX_TOLERANCE;
}

static void end(void)
{
    tolerance = 2e-4f;
    unsetenv("SOLO_TUNE");
}

/* Every weight type, with rows and columns that do not fill the last tile, and every part of an epilogue. */
static void products(void **unused)
{
    (void)unused;
    static const struct {
        tensor_type type;
        uint32_t rows, k, n;
    } cases[] = {
        {TYPE_F16, 33, 96, 37},   {TYPE_F16, 64, 32, 128},  {TYPE_BF16, 24, 64, 5},    {TYPE_F32, 70, 96, 66},
        {TYPE_Q4_0, 130, 64, 90}, {TYPE_Q4_1, 25, 96, 34},  {TYPE_Q5_0, 40, 32, 35},   {TYPE_Q5_1, 31, 64, 33},
        {TYPE_Q8_0, 65, 96, 130}, {TYPE_Q2_K, 33, 256, 36}, {TYPE_Q3_K, 33, 256, 36},  {TYPE_Q4_K, 40, 512, 70},
        {TYPE_Q5_K, 33, 256, 36}, {TYPE_Q6_K, 33, 256, 36}, {TYPE_IQ4_NL, 33, 96, 36}, {TYPE_IQ2_XS, 33, 256, 36}};
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weight_box box = {.r = rng_seed(31 + (uint32_t)i)};
        tensor_type type = cases[i].type;
        /* The weights of K types are larger here, and sums of 256 and more cancel out. */
        tolerance = cases[i].k >= 256 ? 0.1f : MATRIX_TOLERANCE;
        uint32_t n = cases[i].n, k = cases[i].k;
        graph *g = graph_new();
        node x = graph_input(g, "x", DTYPE_F32, shape2(cases[i].rows, k));
        node more = graph_input(g, "more", DTYPE_F32, shape2(cases[i].rows, n));
        node sum = graph_binary(g, BINARY_ADD, graph_matmul(g, x, weight(g, &box, "w", type, shape2(n, k))),
                                weight(g, &box, "bias", TYPE_F32, shape1(n)));
        graph_output(g, "sum", graph_binary(g, BINARY_ADD, sum, more));
        compare_ways(g, &box, NAMES("x", "more"), NAMES("sum"), 1, 1);
    }
    end();
}

/* Tiles that software does not choose: eight subgroups that share k, and fewer chunks of weights than threads. */
static void tiles(void **unused)
{
    (void)unused;
    static const char *const shapes[] = {"1,1,8,1,1,128", "2,1,1,1,5,32"};
    static const tensor_type types[] = {TYPE_F16, TYPE_Q4_0};
    begin();
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; i++) {
        weight_box box = {.r = rng_seed(71 + (uint32_t)i)};
        enum { ROWS = 35, LENGTH = 256, COLUMNS = 130 };
        setenv("SOLO_MATRIX_TILE", shapes[i / 2], 1);
        graph *g = graph_new();
        node x = graph_input(g, "x", DTYPE_F32, shape2(ROWS, LENGTH));
        node more = graph_input(g, "more", DTYPE_F32, shape2(ROWS, COLUMNS));
        node product = graph_matmul(g, x, weight(g, &box, "w", types[i % 2], shape2(COLUMNS, LENGTH)));
        graph_output(g, "y", graph_binary(g, BINARY_ADD, product, more));
        tolerance = 0.05f; /* of long sums, which cancel out */
        compare_ways(g, &box, NAMES("x", "more"), NAMES("y"), 1, 1);
    }
    unsetenv("SOLO_MATRIX_TILE");
    end();
}

/* What only such products read lies in memory as f16: a norm's result, and f(gate) * up. */
static void feed_forward(void **unused)
{
    (void)unused;
    enum { WIDTH = 64 };
    static const tensor_type types[] = {TYPE_F16, TYPE_Q4_0, TYPE_Q8_0};
    begin();
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        weight_box box = {.r = rng_seed(51 + (uint32_t)i)};
        graph *g = graph_new();
        node x = graph_input(g, "x", DTYPE_F32, shape2(50, WIDTH));
        node norm = graph_rmsnorm(g, x, weight(g, &box, "norm", TYPE_F32, shape1(WIDTH)), 1e-5f, 0);
        node gate = graph_matmul(g, norm, weight(g, &box, "gate", types[i], shape2(WIDTH, WIDTH)));
        node up = graph_matmul(g, norm, weight(g, &box, "up", types[i], shape2(WIDTH, WIDTH)));
        node both = graph_binary(g, BINARY_MUL, graph_unary(g, UNARY_SILU, gate), up);
        node down = graph_matmul(g, both, weight(g, &box, "down", types[i], shape2(WIDTH, WIDTH)));
        graph_output(g, "y", graph_binary(g, BINARY_ADD, down, x));
        tolerance = 0.1f; /* of sums of products of sums, some of which cancel out */
        compare_ways(g, &box, NAMES("x"), NAMES("y"), 1, 1);
    }
    end();
}

/* Heads of several sizes, windows, soft caps, fewer rows than a tile has. */
static void attention(void **unused)
{
    (void)unused;
    static const attention_case cases[] = {{70, 2, 1, 32, 0, 0, DTYPE_F16},
                                           {33, 4, 2, 64, 20, 0, DTYPE_F16},
                                           {41, 2, 2, 80, 0, 5, DTYPE_F16},
                                           {64, 2, 1, 128, 30, 0, DTYPE_F16},
                                           {25, 2, 1, 64, 0, 0, DTYPE_F32}};
    weight_box box = {.r = rng_seed(61)};
    begin();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        compare_attention(&cases[c], &box);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products), cmocka_unit_test(tiles),
                                       cmocka_unit_test(feed_forward), cmocka_unit_test(attention)};
    return RUN_ON_EACH(tests);
}
