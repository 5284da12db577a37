/* The operators of latent attention and of a router of groups on every implementation, against the CPU's answer. */
#include "gpu/compare.h"

static void a_matrix_for_each_head(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(41)};
    static const tensor_type types[] = {TYPE_F32, TYPE_F16, TYPE_BF16, TYPE_Q8_0, TYPE_Q4_0, TYPE_Q4_K};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (uint32_t rows = 1; rows < 8; rows += 3) {
            uint32_t block = type_find(types[t])->block_weights, length = block == 1 ? 7 + 30 * rows : block;
            tolerance = block >= 256 ? 1e-3f : 2e-4f;
            graph *g = graph_new();
            node x = graph_input(g, "x", DTYPE_F32, shape3(rows, 3, length));
            graph_output(g, "y", graph_heads(g, weight(g, &box, "w", types[t], shape2(3 * 13, length)), x));
            compare_ways(g, &box, NAMES("x"), NAMES("y"), 1, 1);
        }
    tolerance = 2e-4f;
}

static void rows_are_joined(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(42)};
    static const uint32_t lengths[][2] = {{1, 1}, {64, 5}, {3, 130}};
    for (int l = 0; l < 3; l++) {
        graph *g = graph_new();
        node x = graph_input(g, "x", DTYPE_F32, shape3(3, 2, lengths[l][0])),
             y = graph_input(g, "y", DTYPE_F32, shape3(3, 2, lengths[l][1]));
        graph_output(g, "z", graph_join(g, x, graph_scale(g, y, 2, 0)));
        compare_ways(g, &box, NAMES("x", "y"), NAMES("z"), 1, 1);
    }
}

/* The largest are looked for in some groups only: elsewhere there may be larger ones. */
static void the_largest_of_some_groups(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(43)};
    static const uint32_t cases[][4] = {{4, 2, 8, 3}, {3, 1, 300, 300}, {8, 8, 2, 5}, {6, 2, 50, 7}};
    for (int c = 0; c < 4; c++)
        for (uint32_t rows = 1; rows < 6; rows += 4) {
            uint32_t groups = cases[c][0], used = cases[c][1], each = cases[c][2];
            graph *g = graph_new();
            node x = graph_input(g, "x", DTYPE_F32, shape2(rows, groups * each)),
                 scores = graph_input(g, "scores", DTYPE_F32, shape2(rows, groups));
            node ids = graph_topk_of(g, x, cases[c][3], graph_topk(g, scores, used), groups);
            graph_output(g, "ids", ids);
            graph_output(g, "values", graph_weigh(g, x, ids, false, 1.5f));
            graph_output(g, "shares", graph_weigh(g, graph_unary(g, UNARY_SIGMOID, x), ids, true, 2.5f));
            compare_ways(g, &box, NAMES("x", "scores"), NAMES("ids", "values", "shares"), 1, 2);
        }
}

/* Values are the first elements of the keys. */
static void values_that_are_part_of_keys(void **unused)
{
    (void)unused;
    enum { CAPACITY = 160 };
    weight_box box = {.r = rng_seed(44)};
    static const struct {
        uint32_t rows, heads, kv_heads, size, value_size;
        dtype cache;
    } cases[] = {{1, 4, 1, 20, 14, DTYPE_F32}, {5, 4, 2, 24, 2, DTYPE_F16},     {70, 2, 1, 32, 30, DTYPE_F32},
                 {1, 3, 1, 64, 32, DTYPE_F16}, {2, 16, 1, 576, 512, DTYPE_F16}, {3, 2, 1, 128, 64, DTYPE_Q8_0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (cases[c].size > 256 && strcmp(gpu_get_info(device)->family, "vulkan") == 0)
            continue; /* its kernels have room for 256 */
        uint32_t rows = cases[c].rows, size = cases[c].size;
        graph *g = graph_new();
        node q = graph_input(g, "q", DTYPE_F32, shape3(rows, cases[c].heads, size)),
             k = graph_input(g, "k", DTYPE_F32, shape3(rows, cases[c].kv_heads, size)),
             at = graph_input(g, "at", DTYPE_U32, shape1(1));
        node keys = graph_state(g, "keys", cases[c].cache, shape3(CAPACITY, cases[c].kv_heads, size));
        node stored = graph_store(g, keys, k, at);
        attention_spec spec = {.scale = 1 / sqrtf((float)size), .value_size = cases[c].value_size};
        graph_output(g, "y", graph_attention(g, q, stored, stored, at, spec));
        tolerance = cases[c].cache == DTYPE_F32 ? 2e-4f : 2e-3f;
        whole_inputs = cases[c].cache >= DTYPE_Q8_0; /* that are not rounded */
        compare_ways(g, &box, NAMES("q", "k", "at"), NAMES("y"), CAPACITY - rows + 1, 2);
    }
    tolerance = 2e-4f;
    whole_inputs = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_for_each_head),
        cmocka_unit_test(rows_are_joined),
        cmocka_unit_test(the_largest_of_some_groups),
        cmocka_unit_test(values_that_are_part_of_keys),
    };
    return RUN_ON_EACH(tests);
}
