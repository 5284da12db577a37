/* The kernels that are specialized for GPUs and for shapes, against the CPU's results: with SOLO_TUNE=gpu software
 * devices run them, after a long time of compiling.
 * runs alone: workgroups that wait for each other */
#include "graph/megakernel_test.h"
#include "gpu/compare.h"
#include "graph/megakernel.h"

/* The kernels specialized for shapes, including those that loop over virtual workgroups and pieces of x. */
static void matrices_as_on_a_gpu(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    static const tensor_type types[] = {TYPE_F16, TYPE_Q4_0};
    weight_box box = {.r = rng_seed(11)};
    setenv("SOLO_TUNE", "gpu", 1);
    for (int t = 0; t < 2; t++)
        for (uint32_t rows = 1; rows < 80; rows += 70) {
            graph *g = graph_new();
            node x = graph_input(g, "x", DTYPE_F32, shape2(rows, 768));
            node norm = graph_rmsnorm(g, x, weight(g, &box, "norm", TYPE_F32, shape1(768)), 1e-5f, 0);
            node gate = graph_matmul(g, norm, weight(g, &box, "gate", types[t], shape2(90, 768)));
            node up = graph_matmul(g, norm, weight(g, &box, "up", types[t], shape2(90, 768)));
            node y = graph_matmul(g, x, weight(g, &box, "w", types[t], shape2(37, 768)));
            graph_output(g, "gated", graph_binary(g, BINARY_MUL, graph_unary(g, UNARY_GELU, gate), up));
            graph_output(g, "sum", graph_binary(g, BINARY_ADD, y, weight(g, &box, "bias", TYPE_F32, shape1(37))));
            compare_ways(g, &box, NAMES("x"), NAMES("gated", "sum"), 1, 1);
        }
    unsetenv("SOLO_TUNE");
}

/* Integer weights by an x rounded to int8: exact if x was integers, nearly exact otherwise. Small matrices are read
 * word by word, as floats. */
static void bytes_as_on_a_gpu(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    static const struct {
        tensor_type type;
        uint32_t rows, length;
        enum { PLAIN, NORMED, GATED } form;
    } cases[] = {{TYPE_Q8_0, 37, 96, PLAIN},    {TYPE_Q4_1, 90, 896, GATED},    {TYPE_Q8_0, 90, 4096, NORMED},
                 {TYPE_Q4_1, 30, 288, PLAIN},   {TYPE_Q5_0, 37, 320, PLAIN},    {TYPE_Q5_1, 21, 64, PLAIN},
                 {TYPE_Q4_K, 37, 768, PLAIN},   {TYPE_Q5_K, 37, 1024, PLAIN},   {TYPE_Q4_0, 3, 96, PLAIN},
                 {TYPE_Q4_0, 130, 9600, PLAIN}, {TYPE_Q4_0, 3200, 4096, PLAIN}, {TYPE_Q8_0, 41, 9600, PLAIN},
                 {TYPE_Q8_0, 24, 7168, PLAIN},  {TYPE_IQ4_NL, 37, 320, PLAIN},  {TYPE_TQ2_0, 30, 512, PLAIN},
                 {TYPE_Q2_K, 37, 768, PLAIN},   {TYPE_Q3_K, 21, 2816, PLAIN},   {TYPE_Q6_K, 37, 768, PLAIN},
                 {TYPE_Q6_K, 24, 4096, NORMED}, {TYPE_IQ4_XS, 21, 768, PLAIN},  {TYPE_MXFP4, 21, 320, PLAIN},
                 {TYPE_IQ2_XXS, 9, 768, PLAIN}, {TYPE_IQ2_XS, 9, 768, PLAIN},   {TYPE_IQ2_S, 9, 768, PLAIN},
                 {TYPE_IQ3_XXS, 9, 768, PLAIN}, {TYPE_IQ3_S, 9, 768, PLAIN},    {TYPE_IQ1_S, 9, 768, PLAIN},
                 {TYPE_IQ1_M, 9, 768, PLAIN}};
    weight_box box = {.r = rng_seed(17)};
    float usual = tolerance;
    setenv("SOLO_TUNE", "gpu", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        graph *g = graph_new();
        node x = graph_input(g, "x", DTYPE_F32, shape2(1, cases[i].length));
        node w = weight(g, &box, "w", cases[i].type, shape2(cases[i].rows, cases[i].length));
        whole_inputs = cases[i].form != NORMED;
        if (cases[i].form == NORMED) {
            node norm = weight(g, &box, "norm", TYPE_F32, shape1(cases[i].length));
            x = graph_rmsnorm(g, x, norm, 1e-5f, 0);
            tolerance = 0.25f; /* five times what rounding 4,096 numbers to 127 steps makes of such a sum, usually */
        }
        node y = graph_matmul(g, x, w);
        if (cases[i].form == GATED) {
            node up = weight(g, &box, "up", cases[i].type, shape2(cases[i].rows, cases[i].length));
            y = graph_binary(g, BINARY_MUL, graph_unary(g, UNARY_SILU, y), graph_matmul(g, x, up));
        }
        graph_output(g, "y", y);
        compare_ways(g, &box, NAMES("x"), NAMES("y"), 1, 1);
        tolerance = usual;
    }
    whole_inputs = false;
    unsetenv("SOLO_TUNE");
}

/* Each way to cut a product for many rows, with k that do not fill the last step. */
static void blocks_as_on_a_gpu(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    static const struct {
        uint32_t rows, k, columns;
        tensor_type type;
    } cases[] = {
        {9, 100, 70, TYPE_F32}, {16, 96, 33, TYPE_Q4_0}, {200, 40, 16384, TYPE_F16}, {512, 44, 1280, TYPE_F16}};
    weight_box box = {.r = rng_seed(14)};
    setenv("SOLO_TUNE", "gpu", 1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        graph *g = graph_new();
        node x = graph_input(g, "x", DTYPE_F32, shape2(cases[c].rows, cases[c].k));
        node w = weight(g, &box, "w", cases[c].type, shape2(cases[c].columns, cases[c].k));
        graph_output(g, "y", graph_matmul(g, x, w));
        compare_ways(g, &box, NAMES("x"), NAMES("y"), 1, 1);
    }
    unsetenv("SOLO_TUNE");
}

/* Rows that share what they read: 32 at a time, 16, and 16 of long heads. */
static void attention_as_on_a_gpu(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    weight_box box = {.r = rng_seed(13)};
    static const attention_case cases[] = {{70, 2, 1, 32, 0, 0, DTYPE_F32},
                                           {33, 4, 2, 64, 20, 0, DTYPE_F16},
                                           {41, 2, 2, 80, 0, 5, DTYPE_F16},
                                           /* A row, or a few, by subgroups. */
                                           {1, 4, 2, 64, 0, 0, DTYPE_F16},
                                           {1, 6, 6, 32, 0, 30, DTYPE_F16},
                                           {3, 2, 1, 128, 90, 0, DTYPE_F16},
                                           /* The largest heads. */
                                           {1, 2, 1, 512, 0, 0, DTYPE_F16},
                                           {26, 2, 1, 512, 0, 0, DTYPE_F16}};
    setenv("SOLO_TUNE", "gpu", 1);
    tolerance = 5e-4f;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        compare_attention(&cases[c], &box);
    static const attention_case quantised[] = {{33, 4, 2, 64, 20, 0, DTYPE_Q8_0}, {1, 4, 2, 64, 0, 0, DTYPE_Q4_0}};
    whole_inputs = true;
    for (size_t c = 0; c < sizeof quantised / sizeof *quantised; c++)
        compare_attention(&quantised[c], &box);
    whole_inputs = false;
    tolerance = 2e-4f;
    unsetenv("SOLO_TUNE");
}

/* As many workgroups as are resident, in the form that was found to be the best: the first time by trying, then as it is
 * remembered. */
static void megakernel_as_on_a_gpu(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(15)};
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    setenv("SOLO_TUNE", "gpu", 1);
    highest_compared = LEVEL_TOKEN;
    for (int time = 0; time < 2; time++) {
        graph *g = graph_new();
        node x = graph_input(g, "x", DTYPE_F32, shape2(1, 128));
        node norm = graph_rmsnorm(g, x, weight(g, &box, "norm", TYPE_F32, shape1(128)), 1e-5f, 0);
        node up = graph_matmul(g, norm, weight(g, &box, "up", TYPE_F16, shape2(200, 128)));
        node down = graph_matmul(g, up, weight(g, &box, "down", TYPE_F16, shape2(128, 200)));
        graph_output(g, "y", graph_binary(g, BINARY_ADD, down, x));
        compare_ways(g, &box, NAMES("x"), NAMES("y"), 1, 3);
        if (getenv("SOLO_CACHE") && strcmp(getenv("SOLO_CACHE"), "off") != 0)
            assert_int_equal(system("grep -lq 'tuning of one dispatch' \"$SOLO_CACHE\"/*"), 0);
    }
    highest_compared = LEVEL_OPS;
    unsetenv("SOLO_TUNE");
}

/* The same few steps again and again, as a model's layers are. */
static graph *layers(weight_box *box, int count)
{
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape2(1, 128));
    for (int i = 0; i < count; i++) {
        char names[3][16];
        for (int k = 0; k < 3; k++)
            snprintf(names[k], sizeof names[k], "%s %d", (const char *[]){"norm", "up", "down"}[k], i);
        node norm = graph_rmsnorm(g, x, weight(g, box, names[0], TYPE_F32, shape1(128)), 1e-5f, 0);
        node up = graph_matmul(g, norm, weight(g, box, names[1], TYPE_F16, shape2(96, 128)));
        x = graph_binary(g, BINARY_ADD, graph_matmul(g, up, weight(g, box, names[2], TYPE_F16, shape2(128, 96))), x);
    }
    graph_output(g, "y", x);
    return g;
}

/* After a time-out all workgroups leave, wherever it was; and the next dispatch does not take stale floats for new
 * ones: their epoch bits differ. The results are those of separate dispatches, except for the epoch bits. */
static void megakernel_times_out_and_goes_on(void **unused)
{
    (void)unused;
    err e = {0};
    weight_box box = {.r = rng_seed(16)};
    uint32_t apart[128], together[128];
    float x[128];
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    setenv("SOLO_TUNE", "gpu", 1);
    setenv("SOLO_ONE_GROUPS", "2", 1);
    graph *g = layers(&box, 3);
    const graph_use uses[] = {{.g = g, .level = LEVEL_TOKEN}, {.g = g, .level = LEVEL_OPS}};
    graph_run *run = graph_run_new(device, uses, 2, find_weight, &box, &e);
    assert_true(run && graph_run_possible(run, 0, &e));
    for (int i = 0; i < 128; i++)
        x[i] = (float)(rng_unit(&box.r) * 4 - 2);
    assert_true(graph_run_write(run, "x", x, &e));
    graph_run_once(run, 1, SUBMIT_BATCH);
    assert_true(graph_run_read(run, "y", apart, &e));
    megakernel *mega = graph_run_megakernel(run, 0);
    assert_int_equal(megakernel_phase_count(mega), 6);
    for (uint32_t barrier = 0; barrier < 6; barrier++) {
        bool timed_out = false;
        megakernel_set_stall(mega, barrier);
        graph_run_once(run, 0, SUBMIT_BATCH);
        assert_true(gpu_wait(device, &e) && megakernel_timed_out(mega, &timed_out, &e));
        assert_int_equal(timed_out, barrier > 0);
        megakernel_set_stall(mega, 0);
        for (int time = 0; time < 3; time++) {
            graph_run_once(run, 0, SUBMIT_BATCH);
            assert_true(graph_run_read(run, "y", together, &e));
            for (int i = 0; i < 128; i++)
                assert_int_equal(together[i] & ~1u, apart[i]);
        }
    }
    graph_run_free(run);
    graph_free(g);
    empty_box(&box);
    unsetenv("SOLO_TUNE");
    unsetenv("SOLO_ONE_GROUPS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_as_on_a_gpu),   cmocka_unit_test(bytes_as_on_a_gpu),
        cmocka_unit_test(blocks_as_on_a_gpu),     cmocka_unit_test(attention_as_on_a_gpu),
        cmocka_unit_test(megakernel_as_on_a_gpu), cmocka_unit_test(megakernel_times_out_and_goes_on),
    };
    return RUN_ON_EACH(tests);
}
