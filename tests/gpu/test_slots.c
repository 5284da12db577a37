/* Rows that are texts of their own, each with a position and a part of the states: against the CPU's answer, by the kernels
 * that software gets and by those that GPUs get. */
#include "gpu/compare.h"

enum { HEADS = 4, KV_HEADS = 2, CAPACITY = 40 };

static weight_box box;

static node product(graph *g, node x, const char *name, tensor_type type, uint32_t rows, uint32_t columns)
{
    return graph_matmul(g, x, weight(g, &box, name, type, shape2(rows, columns)));
}

/* q over what is stored before and now; with a bias, a norm before and a residual behind, as layers have them. */
static void compare_layer(uint32_t rows, uint32_t width, uint32_t size, tensor_type type, dtype cache, bool normed)
{
    graph *g = graph_new();
    node at = graph_input(g, "at", DTYPE_U32, shape1(rows)), x = graph_input(g, "x", DTYPE_F32, shape2(rows, width));
    node y = normed ? graph_rmsnorm(g, x, weight(g, &box, "norm", TYPE_F32, shape1(width)), 1e-5f, 0) : x;
    node q = product(g, y, "q", type, HEADS * size, width), k = product(g, y, "k", type, KV_HEADS * size, width);
    node v = product(g, y, "v", type, KV_HEADS * size, width);
    q = graph_binary(g, BINARY_ADD, q, weight(g, &box, "bias", TYPE_F32, shape1(HEADS * size)));
    rope_spec turn = {.rotated = size, .base = 1000};
    q = graph_rope(g, graph_reshape(g, q, shape3(rows, HEADS, size)), at, turn);
    k = graph_rope(g, graph_reshape(g, k, shape3(rows, KV_HEADS, size)), at, turn);
    v = graph_reshape(g, v, shape3(rows, KV_HEADS, size));
    shape state = shape4(rows, CAPACITY, KV_HEADS, size);
    node keys = graph_store(g, graph_state(g, "keys", cache, state), k, at);
    node values = graph_store(g, graph_state(g, "values", cache, state), v, at);
    node a = graph_attention(g, q, keys, values, at, (attention_spec){.scale = 0.01f});
    graph_output(g, "attention", a);
    a = product(g, a, "o", TYPE_F32, width, HEADS * size);
    graph_output(g, "y", graph_binary(g, BINARY_ADD, a, x));
    compare_ways(g, &box, NAMES("at", "x"), NAMES("attention", "y"), CAPACITY, 4);
}

static void rows_have_their_own_positions(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "vulkan") == 0)
        skip();
    box.r = rng_seed(5);
    tolerance = 2e-3f; /* a state's half may be the next one */
    compare_layer(2, 64, 16, TYPE_F32, DTYPE_F32, true);
    compare_layer(3, 64, 32, TYPE_Q8_0, DTYPE_F16, false);
    compare_layer(8, 64, 32, TYPE_Q4_0, DTYPE_F16, false);
    compare_layer(16, 64, 16, TYPE_Q5_0, DTYPE_F16, false);
}

/* An idle row stores nothing. */
static void idle_rows_store_nothing(void **unused)
{
    (void)unused;
    enum { ROWS = 3, WIDTH = 2, HAS = 4 };
    if (strcmp(gpu_get_info(device)->family, "vulkan") == 0)
        skip();
    err e = {0};
    graph *g = graph_new();
    node at = graph_input(g, "at", DTYPE_U32, shape1(ROWS));
    node x = graph_input(g, "x", DTYPE_F32, shape3(ROWS, 1, WIDTH));
    node state = graph_store(g, graph_state(g, "state", DTYPE_F32, shape4(ROWS, HAS, 1, WIDTH)), x, at);
    graph_output(g, "seen", graph_attention(g, x, state, state, at, (attention_spec){.scale = 1}));
    graph_run *r = graph_run_new(device, &(graph_use){.g = g, .level = LEVEL_OPS}, 1, find_weight, &box, &e);
    if (!r)
        fail_msg("%s", e.text);
    uint32_t positions[ROWS] = {1, 0xffffffff, HAS};
    float rows[ROWS][WIDTH] = {{1, 2}, {3, 4}, {5, 6}}, seen[ROWS][WIDTH];
    assert_true(graph_run_write(r, "at", positions, &e) && graph_run_write(r, "x", rows, &e));
    graph_run_once(r, 0, SUBMIT_BATCH);
    /* All look at their first positions, in the second run: what is not stored is still 0. */
    memcpy(positions, (uint32_t[]){0xffffffff, 0, 0}, sizeof positions);
    memset(rows, 0, sizeof rows);
    assert_true(graph_run_write(r, "at", positions, &e) && graph_run_write(r, "x", rows, &e));
    graph_run_once(r, 0, SUBMIT_BATCH);
    memcpy(positions, (uint32_t[]){2, 3, 3}, sizeof positions);
    assert_true(graph_run_write(r, "at", positions, &e));
    graph_run_once(r, 0, SUBMIT_BATCH);
    assert_true(graph_run_read(r, "seen", seen, &e));
    assert_float_equal(seen[0][0], 1.0f / 3, 1e-5f); /* of three positions, one is {1, 2} */
    assert_float_equal(seen[0][1], 2.0f / 3, 1e-5f);
    for (int row = 1; row < ROWS; row++)
        assert_true(seen[row][0] == 0 && seen[row][1] == 0);
    graph_run_free(r);
    graph_free(g);
}

/* The products that read weights once for all rows: x as floats, and as bytes, which
 * lose nothing of these inputs. */
static void compare_product(uint32_t rows, uint32_t width, uint32_t out, tensor_type type, bool normed)
{
    graph *g = graph_new();
    node at = graph_input(g, "at", DTYPE_U32, shape1(rows)), x = graph_input(g, "x", DTYPE_F32, shape2(rows, width));
    node y = normed ? graph_rmsnorm(g, x, weight(g, &box, "norm", TYPE_F32, shape1(width)), 1e-5f, 0) : x;
    y = product(g, y, "w", type, out, width);
    y = graph_binary(g, BINARY_ADD, y, weight(g, &box, "bias", TYPE_F32, shape1(out)));
    graph_output(
        g, "y", graph_rope(g, graph_reshape(g, y, shape3(rows, 1, out)), at, (rope_spec){.rotated = out, .base = 100}));
    compare_ways(g, &box, NAMES("at", "x"), NAMES("y"), CAPACITY, 1);
}

static void products_of_gpus_read_weights_once(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    box.r = rng_seed(6);
    tolerance = 2e-3f;
    setenv("SOLO_TUNE", "gpu", 1);
    compare_product(3, 128, 36, TYPE_F16, true);
    whole_inputs = true;
    compare_product(8, 2048, 68, TYPE_Q4_0, false);
    whole_inputs = false;
    unsetenv("SOLO_TUNE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_have_their_own_positions),
                                       cmocka_unit_test(idle_rows_store_nothing),
                                       cmocka_unit_test(products_of_gpus_read_weights_once)};
    return RUN_ON_EACH(tests);
}
