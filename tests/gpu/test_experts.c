/* Mixtures of experts by the kernels that GPUs get, which software runs with SOLO_TUNE=gpu after a long time of compiling:
 * one row by matmul_row.wgsl, many by op_experts_rows.wgsl; and in one dispatch the same bits as by separate ones.
 * runs alone: workgroups that wait for each other */
#include "gpu/compare.h"
#include "graph/layout.h"
#include "graph/memory.h"

#include <stdlib.h>

enum { EXPERTS = 6, CHOSEN = 3, LAYERS = 2, RUNS = 12, MOST_WIDTH = 256 };

typedef struct form {
    uint32_t rows, width, inner;
    tensor_type type;
    bool clamped; /* with biases, too */
} form;

static node own(graph *g, weight_box *box, const char *name, uint32_t layer, tensor_type type, shape s)
{
    char text[32];
    snprintf(text, sizeof text, "%s %u", name, layer);
    return weight(g, box, text, type, s);
}

static node chosen(graph *g, weight_box *box, const form *f, node x, node routes, const char *name, uint32_t layer,
                   uint32_t rows, uint32_t columns)
{
    char bias[32];
    snprintf(bias, sizeof bias, "%s bias", name);
    node w = own(g, box, name, layer, f->type, shape2(EXPERTS * rows, columns));
    return graph_experts(g, x, w, f->clamped ? own(g, box, bias, layer, TYPE_F32, shape2(EXPERTS, rows)) : 0, EXPERTS,
                         routes);
}

static graph *layers(weight_box *box, const form *f, uint32_t count)
{
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape2(f->rows, f->width));
    for (uint32_t i = 0; i < count; i++) {
        node y = graph_rmsnorm(g, x, own(g, box, "norm", i, TYPE_F32, shape1(f->width)), 1e-5f, 0);
        node scores = graph_matmul(g, y, own(g, box, "router", i, TYPE_F32, shape2(EXPERTS, f->width)));
        node routes = graph_route(g, scores, CHOSEN, i % 2 ? ROUTE_OF_ALL : ROUTE_OF_CHOSEN);
        node gate = chosen(g, box, f, y, routes, "gate", i, f->inner, f->width);
        node up = chosen(g, box, f, y, routes, "up", i, f->inner, f->width);
        y = f->clamped ? graph_binary(g, BINARY_CLAMPED_GLU, gate, up)
                       : graph_binary(g, BINARY_MUL, graph_unary(g, UNARY_SILU, gate), up);
        y = chosen(g, box, f, y, routes, "down", i, f->width, f->inner);
        x = graph_binary(g, BINARY_ADD, x, graph_mix(g, y, routes));
    }
    graph_output(g, "y", x);
    return g;
}

/* x as bytes is not quite x: those have a wide limit, some hundredths of how far the numbers spread. */
static void experts_as_on_a_gpu(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    static const form forms[] = {
        {1, 64, 32, TYPE_F16, false},   {1, 96, 64, TYPE_Q8_0, true}, {1, 64, 128, TYPE_MXFP4, false},
        {1, 100, 36, TYPE_F32, true},   {1, 66, 34, TYPE_F32, false}, /* rows that do not make fours */
        {37, 64, 96, TYPE_Q4_0, false}, {70, 68, 33, TYPE_F32, true}, {300, 32, 64, TYPE_F16, false},
    };
    weight_box box = {.r = rng_seed(41)};
    setenv("SOLO_TUNE", "gpu", 1);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        bool bytes = forms[i].rows == 1 && type_find(forms[i].type)->block_weights > 1;
        tolerance = bytes ? 2 : 4e-4f;
        compare_ways(layers(&box, &forms[i], 1), &box, NAMES("x"), NAMES("y"), 1, 1);
    }
    tolerance = 2e-4f;
    unsetenv("SOLO_TUNE");
}

/* Runs `count` layers by one dispatch and by separate ones, and returns in how many buffers their weights lie. */
static uint32_t expect_same_bits(const form *f, uint32_t count)
{
    static uint32_t made[2][RUNS][MOST_WIDTH];
    weight_box box = {.r = rng_seed(42)};
    err e = {0};
    graph *g = layers(&box, f, count);
    graph_use uses[] = {{.g = g, .level = LEVEL_TOKEN}, {.g = g, .level = LEVEL_OPS}};
    graph_run *run = graph_run_new(device, uses, 2, find_weight, &box, &e);
    if (!run || !graph_run_possible(run, 0, &e))
        fail_msg("%s", e.text);
    for (uint32_t which = 0; which < 2; which++) {
        rng r = rng_seed(43);
        for (int i = 0; i < RUNS; i++) {
            float x[MOST_WIDTH];
            for (uint32_t k = 0; k < f->width; k++)
                x[k] = (float)(rng_unit(&r) * 4 - 2);
            bool ok = graph_run_write(run, "x", x, &e);
            graph_run_once(run, which, SUBMIT_BATCH);
            if (!ok || !graph_run_read(run, "y", made[which][i], &e))
                fail_msg("%s", e.text);
        }
    }
    uint32_t different = 0, buffers = 0;
    for (int i = 0; i < RUNS; i++)
        for (uint32_t k = 0; k < f->width; k++) /* the lowest bit is the epoch bit */
            different += (made[0][i][k] & ~1u) != (made[1][i][k] & ~1u);
    assert_int_equal(different, 0);
    for (node n = 1; n <= graph_count(g); n++)
        if (graph_at(g, n)->op == OP_WEIGHT && graph_weight_uses(g, n) & WEIGHT_AS_MATRIX) {
            uint32_t arena = memory_matrix_of(graph_run_memory(run), 0, n)->pieces[0].arena;
            buffers = arena >= buffers ? arena + 1 : buffers;
        }
    graph_run_free(run);
    graph_free(g);
    empty_box(&box);
    return buffers;
}

static void one_dispatch_makes_the_same_bits(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    setenv("SOLO_TUNE", "gpu", 1);
    setenv("SOLO_ONE_GROUPS", "2", 1);
    gpu_info *info = (gpu_info *)(uintptr_t)gpu_get_info(device);
    uint64_t limit = info->max_storage_binding_bytes;
    info->max_storage_binding_bytes = 90000; /* gate and up of each layer lie in a buffer of their own */
    assert_int_equal(expect_same_bits(&(form){1, 64, 64, TYPE_Q8_0, true}, LAYERS), 3);
    info->max_storage_binding_bytes = limit;
    unsetenv("SOLO_ONE_GROUPS");
    unsetenv("SOLO_TUNE");
}

/* More buffers of weights than could be bound twice. */
static void weights_in_many_buffers(void **unused)
{
    (void)unused;
    gpu_info *info = (gpu_info *)(uintptr_t)gpu_get_info(device), before = *info;
    if (!info->has_wgsl)
        skip();
    static const tensor_type types[] = {TYPE_MXFP4, TYPE_Q6_K};
    info->max_storage_buffers = 16;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        uint32_t width = types[i] == TYPE_Q6_K ? 256 : 128;
        form f = {1, width, width, types[i], true};
        uint64_t layer = 3 * layout_bytes(types[i], EXPERTS * f.inner, f.width);
        info->max_storage_binding_bytes = layer + layer / 8;
        uint32_t buffers = expect_same_bits(&f, 10);
        assert_in_range(buffers, 9, 13);
    }
    *info = before;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(experts_as_on_a_gpu),
                                       cmocka_unit_test(one_dispatch_makes_the_same_bits),
                                       cmocka_unit_test(weights_in_many_buffers)};
    return RUN_ON_EACH(tests);
}
