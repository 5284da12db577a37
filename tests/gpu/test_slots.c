/* Rows that are texts of their own, each with a position and a part of the states: against the CPU's answer, by the kernels
 * that software gets and by those that GPUs get. */
#include "gpu/compare.h"

enum { HEADS = 4, KV_HEADS = 2 };

static weight_box box;
static uint32_t capacity = 40;

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
    shape state = shape4(rows, capacity, KV_HEADS, size);
    node keys = graph_store(g, graph_state(g, "keys", cache, state), k, at);
    node values = graph_store(g, graph_state(g, "values", cache, state), v, at);
    node a = graph_attention(g, q, keys, values, at, (attention_spec){.scale = 0.01f});
    graph_output(g, "attention", a);
    a = product(g, a, "o", TYPE_F32, width, HEADS * size);
    /* small, so that what bytes of x lose does not grow */
    float *o = box.items[box.count - 1].data;
    for (uint32_t i = 0; i < width * HEADS * size; i++)
        o[i] /= 8;
    graph_output(g, "y", graph_binary(g, BINARY_ADD, a, x));
    compare_ways(g, &box, NAMES("at", "x"), NAMES("attention", "y"), capacity, 4);
}

/* Heads with the same keys and values by one workgroup, over several blocks of positions; and the next block asked for
 * before one is used. */
static void heads_of_a_text_are_attended_together(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    box.r = rng_seed(7);
    tolerance = gpu_get_info(device)->type == GPU_TYPE_SOFTWARE ? 2e-3f : 2e-2f;
    capacity = 300;
    setenv("SOLO_TUNE", "gpu", 1);
    setenv("SOLO_ATTENTION", "always", 1);
    compare_layer(3, 64, 32, TYPE_F32, DTYPE_F16, false);
    setenv("SOLO_ATTENTION", "always,ahead", 1);
    compare_layer(2, 64, 128, TYPE_F32, DTYPE_F16, false);
    unsetenv("SOLO_ATTENTION");
    unsetenv("SOLO_TUNE");
    capacity = 40;
}

static void rows_have_their_own_positions(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "vulkan") == 0)
        skip();
    box.r = rng_seed(5);
    /* A state's half may be the next one. GPUs make bytes of x. */
    tolerance = gpu_get_info(device)->type == GPU_TYPE_SOFTWARE ? 2e-3f : 2e-2f;
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
    compare_ways(g, &box, NAMES("at", "x"), NAMES("y"), capacity, 1);
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
    setenv("SOLO_ONE_GROUPS", "1", 1); /* so that a team has several row4s, one after the other */
    highest_compared = LEVEL_TOKEN;
    compare_product(2, 64, 260, TYPE_F16, false);
    highest_compared = LEVEL_OPS;
    unsetenv("SOLO_ONE_GROUPS");
    whole_inputs = true;
    compare_product(8, 2048, 68, TYPE_Q4_0, false);
    whole_inputs = false;
    unsetenv("SOLO_TUNE");
}

/* ---- states that go from token to token, and experts -------------------------------------- */

static void compare_recurrent(uint32_t rows)
{
    enum { WIDTH = 4 };
    delta_spec spec = {.heads = 4, .key_heads = 2, .key_size = 12, .value_size = 20};
    uint32_t mixed = 2 * spec.key_heads * spec.key_size + spec.heads * spec.value_size;
    graph *g = graph_new();
    node at = graph_input(g, "at", DTYPE_U32, shape1(rows)), x = graph_input(g, "x", DTYPE_F32, shape2(rows, mixed));
    node gates = graph_input(g, "gates", DTYPE_F32, shape2(rows, spec.heads));
    node y = graph_conv(g, graph_scale(g, x, 0.3f, 0), weight(g, &box, "kernels", TYPE_F32, shape2(mixed, WIDTH)),
                        graph_state(g, "before", DTYPE_F32, shape3(rows, WIDTH - 1, mixed)), at, 0);
    graph_output(g, "mixed", y);
    node matrices = graph_state(g, "matrices", DTYPE_F32, shape4(rows, spec.heads, spec.key_size, spec.value_size));
    node rate = weight(g, &box, "rate", TYPE_F32, shape1(spec.heads));
    graph_output(g, "y", graph_delta(g, y, gates, graph_scale(g, gates, 2, 0), rate, matrices, at, 0, spec));
    compare_ways(g, &box, NAMES("at", "x", "gates"), NAMES("mixed", "y"), capacity, 5);
}

static void compare_experts(uint32_t rows, tensor_type type)
{
    enum { EXPERTS = 5, CHOSEN = 2, SIZE = 64, INNER = 32 };
    graph *g = graph_new();
    node at = graph_input(g, "at", DTYPE_U32, shape1(rows)), x = graph_input(g, "x", DTYPE_F32, shape2(rows, SIZE));
    node turned =
        graph_rope(g, graph_reshape(g, x, shape3(rows, 1, SIZE)), at, (rope_spec){.rotated = SIZE, .base = 9});
    node y = graph_reshape(g, turned, shape2(rows, SIZE));
    node routes = graph_route(g, product(g, y, "router", TYPE_F32, EXPERTS, SIZE), CHOSEN, ROUTE_OF_CHOSEN);
    node gate = graph_experts(g, y, weight(g, &box, "gate", type, shape2(EXPERTS * INNER, SIZE)), 0, EXPERTS, routes);
    node up = graph_experts(g, y, weight(g, &box, "up", type, shape2(EXPERTS * INNER, SIZE)), 0, EXPERTS, routes);
    node z = graph_binary(g, BINARY_MUL, graph_unary(g, UNARY_SILU, gate), up);
    z = graph_experts(g, z, weight(g, &box, "down", type, shape2(EXPERTS * SIZE, INNER)), 0, EXPERTS, routes);
    graph_output(g, "y", graph_binary(g, BINARY_ADD, graph_mix(g, z, routes), y));
    compare_ways(g, &box, NAMES("at", "x"), NAMES("y"), capacity, 1);
}

static void rows_have_their_own_states_and_experts(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "vulkan") == 0)
        skip();
    box.r = rng_seed(7);
    tolerance = 2e-3f;
    compare_recurrent(2);
    compare_recurrent(9);
    compare_experts(2, TYPE_F32);
    compare_experts(7, TYPE_Q4_0);
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        return;
    setenv("SOLO_TUNE", "gpu", 1);
    compare_recurrent(3);
    compare_experts(6, TYPE_F16);
    unsetenv("SOLO_TUNE");
}

/* ---- the choice of tokens ---------------------------------------------------------------- */

enum { TEXTS = 3, VOCAB = 70, ROOM = 6, RUNS = 8 };

static graph *choice(void)
{
    graph *g = graph_new();
    node logits = graph_unary(g, UNARY_COPY, graph_input(g, "x", DTYPE_F32, shape2(TEXTS, VOCAB)));
    graph_sample_rows(g, graph_input(g, "tokens", DTYPE_U32, shape1(TEXTS)), logits,
                      graph_input(g, "settings", DTYPE_U32, shape2(TEXTS, SAMPLE_WORDS)),
                      graph_input(g, "at", DTYPE_U32, shape1(TEXTS)),
                      graph_input(g, "history", DTYPE_U32, shape2(TEXTS, ROOM + 1)),
                      graph_input(g, "control", DTYPE_U32, shape2(TEXTS, SAMPLE_CONTROL_WORDS)),
                      graph_input(g, "steering", DTYPE_U32, shape2(TEXTS, sample_steering_words(VOCAB))));
    return g;
}

static void compare_words(graph_run *r, cpu_run *cpu, const char *name, uint32_t run, fusion_level level)
{
    err e = {0};
    graph_place place = graph_run_place(r, name);
    uint32_t got[TEXTS * SAMPLE_CONTROL_WORDS];
    if (!graph_run_read(r, name, got, &e))
        fail_msg("%s", e.text);
    for (uint64_t i = 0; i < place.words; i++)
        if (got[i] != cpu_words(cpu, name)[i])
            fail_msg("%s at %s, run %u: word %u is %u instead of %u", name, fusion_names[level], run, (unsigned)i,
                     got[i], cpu_words(cpu, name)[i]);
}

static void fill(cpu_run *cpu)
{
    static const sample_settings how[TEXTS] = {{.temperature = 1, .seed = 4},
                                               {.temperature = 0.8f, .top_k = 9, .seed = 5, .repeat_penalty = 1.2f},
                                               {.temperature = 0}};
    sample_control control[TEXTS] = {
        {.left = 5}, {.left = 100, .steered = SAMPLE_ADDED}, {.left = 100, .steered = SAMPLE_ONLY_SET}};
    rng r = rng_seed(3);
    for (uint32_t i = 0; i < TEXTS * VOCAB; i++)
        cpu_floats(cpu, "x")[i] = (float)(rng_unit(&r) * 8);
    for (uint32_t i = 0; i < TEXTS; i++) {
        sample_words words = sample_pack(&how[i]);
        uint32_t *steering = cpu_words(cpu, "steering") + i * sample_steering_words(VOCAB);
        memcpy(cpu_words(cpu, "settings") + i * SAMPLE_WORDS, &words, sizeof words);
        for (uint32_t k = 0; k < VOCAB; k++) {
            float added = (float)rng_unit(&r);
            steering[k / 32] |= (uint32_t)(k % 3 == 1) << k % 32;
            memcpy(&steering[(VOCAB + 31) / 32 + k], &added, sizeof added);
        }
        cpu_words(cpu, "at")[i] = i;
    }
    memcpy(cpu_words(cpu, "control"), control, sizeof control);
}

/* Each row ends where it ends: at its limit, or with its part of the state; steered or not. */
static void compare_choice(fusion_level level)
{
    err e = {0};
    graph *g = choice();
    cpu_run *cpu = cpu_run_new(g, find_weight, &box, &e);
    graph_run *r = graph_run_new(device, &(graph_use){.g = g, .level = level}, 1, find_weight, &box, &e);
    if (!cpu || !r || !graph_run_possible(r, 0, &e))
        fail_msg("%s", e.text);
    fill(cpu);
    assert_true(graph_run_write(r, "x", cpu_floats(cpu, "x"), &e));
    static const char *const inputs[] = {"settings", "steering", "at", "control"};
    for (int i = 0; i < 4; i++)
        assert_true(graph_run_write(r, inputs[i], cpu_words(cpu, inputs[i]), &e));
    for (uint32_t run = 0; run < RUNS; run++) {
        if (!cpu_run_once(cpu, &e))
            fail_msg("%s", e.text);
        graph_run_once(r, 0, SUBMIT_BATCH);
        static const char *const outputs[] = {"tokens", "at", "history", "control"};
        for (int i = 0; i < 4; i++)
            compare_words(r, cpu, outputs[i], run, level);
    }
    for (uint32_t i = 0; i < TEXTS; i++)
        assert_true(cpu_words(cpu, "at")[i] >= ROOM);
    assert_int_equal(cpu_words(cpu, "tokens")[2] % 3, 1);
    graph_run_free(r);
    cpu_run_free(cpu);
    graph_free(g);
}

static void rows_choose_their_own_tokens(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "vulkan") == 0)
        skip();
    compare_choice(LEVEL_OPS);
    compare_choice(LEVEL_TOKEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_their_own_positions), cmocka_unit_test(heads_of_a_text_are_attended_together),
        cmocka_unit_test(idle_rows_store_nothing),       cmocka_unit_test(rows_have_their_own_states_and_experts),
        cmocka_unit_test(rows_choose_their_own_tokens),  cmocka_unit_test(products_of_gpus_read_weights_once)};
    return RUN_ON_EACH(tests);
}
