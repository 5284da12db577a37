/* Every operator of a graph on every implementation, against the CPU's answer:
 * many shapes, every weight type. */
#include "gpu/compare.h"

static const uint32_t ROWS[] = {1, 3, 17}, LENGTHS[] = {1, 5, 64, 65, 300};

static void elementwise(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(1)};
    for (int r = 0; r < 3; r++)
        for (int l = 0; l < 5; l++)
            for (int kind = 0; kind < UNARY_SCALE; kind++) {
                graph *g = graph_new();
                node x = graph_input(g, "x", DTYPE_F32, shape2(ROWS[r], LENGTHS[l]));
                if (kind == UNARY_SQRT || kind == UNARY_LOG) /* above zero */
                    x = graph_scale(g, graph_unary(g, UNARY_SQUARE, x), 1, 0.1f);
                graph_output(g, "y", graph_unary(g, kind, x));
                graph_output(g, "z", graph_softcap(g, graph_scale(g, x, 3, -1), 2));
                compare_ways(g, &box, NAMES("x"), NAMES("y", "z"), 1, 1);
            }
}

/* Fused into the product's epilogue or not: a function that kernels/include/epilogue_functions.wgsl lacks shows here. */
static void functions_after_products(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(14)};
    for (int kind = 0; kind < UNARY_SCALE; kind++) {
        if (kind == UNARY_SQRT || kind == UNARY_LOG) /* of what is below zero, too */
            continue;
        graph *g = graph_new();
        node x = graph_input(g, "x", DTYPE_F32, shape2(1, 64));
        graph_output(g, "y", graph_unary(g, kind, graph_matmul(g, x, weight(g, &box, "w", TYPE_F16, shape2(12, 64)))));
        compare_ways(g, &box, NAMES("x"), NAMES("y"), 1, 1);
    }
}

static void broadcasting(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(2)};
    shape a = shape4(2, 3, 5, 7);
    shape others[] = {a, shape1(7), shape1(1), shape2(5, 1), shape3(3, 1, 7), shape4(2, 1, 1, 1), shape4(1, 3, 5, 1)};
    for (size_t s = 0; s < sizeof others / sizeof *others; s++)
        for (int kind = 0; kind < BINARY_COUNT; kind++) {
            graph *g = graph_new();
            node x = graph_input(g, "x", DTYPE_F32, a), y = graph_input(g, "y", DTYPE_F32, others[s]);
            if (kind == BINARY_DIV)
                y = graph_scale(g, graph_unary(g, UNARY_SQUARE, y), 1, 0.5f);
            graph_output(g, "z", graph_binary(g, kind, x, y));
            compare_ways(g, &box, NAMES("x", "y"), NAMES("z"), 1, 1);
        }
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape2(3, 9));
    graph_output(g, "z", graph_binary(g, BINARY_ADD, x, weight(g, &box, "bias", TYPE_F16, shape1(9))));
    compare_ways(g, &box, NAMES("x"), NAMES("z"), 1, 1);
}

static void rows_to_numbers(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(3)};
    for (int r = 0; r < 3; r++)
        for (int l = 0; l < 5; l++) {
            graph *g = graph_new();
            node x = graph_input(g, "x", DTYPE_F32, shape2(ROWS[r], LENGTHS[l]));
            node w = weight(g, &box, "w", TYPE_BF16, shape1(LENGTHS[l]));
            graph_output(g, "sum", graph_reduce(g, REDUCE_SUM, x));
            graph_output(g, "mean", graph_reduce(g, REDUCE_MEAN, x));
            graph_output(g, "max", graph_reduce(g, REDUCE_MAX, x));
            graph_output(g, "argmax", graph_reduce(g, REDUCE_ARGMAX, x));
            graph_output(g, "softmax", graph_softmax(g, x, 0.7f));
            graph_output(g, "norm", graph_rmsnorm(g, x, w, 1e-5f, l % 2));
            graph_output(g, "centred", graph_layernorm(g, x, w, l % 2 ? w : 0, 1e-5f));
            compare_ways(g, &box, NAMES("x"), NAMES("sum", "mean", "max", "argmax", "softmax", "norm", "centred"), 1,
                         1);
        }
}

/* Equal values: the first wins, here as there. */
static void argmax_takes_the_first(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(4)};
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape2(4, 200));
    graph_output(g, "y", graph_reduce(g, REDUCE_ARGMAX, graph_scale(g, x, 0, 1)));
    compare_ways(g, &box, NAMES("x"), NAMES("y"), 1, 1);
}

static tensor_type TYPES[TYPE_NUMBERS];
static uint32_t type_count; /* found when the tests begin */

/* Where software compiles long: types that are read by the same kernels as others are compared in fewer shapes. */
static bool is_rare(tensor_type type)
{
    return type >= TYPE_IQ2_XXS && type != TYPE_BF16;
}

static void matrices_of_every_type(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(5)};
    for (uint32_t t = 0; t < type_count; t++) {
        uint32_t block = type_find(TYPES[t])->block_weights;
        uint32_t lengths[] = {block == 1 ? 7 : block, block * 3};
        for (int l = is_rare(TYPES[t]); l < 2; l++)
            for (uint32_t rows = 1; rows < (is_rare(TYPES[t]) ? 2 : 4); rows += 2) {
                graph *g = graph_new();
                node x = graph_input(g, "x", DTYPE_F32, shape2(rows, lengths[l])),
                     ids = graph_input(g, "ids", DTYPE_U32, shape1(5));
                node w = weight(g, &box, "w", TYPES[t], shape2(37, lengths[l]));
                node other = weight(g, &box, "other", TYPE_F16, shape2(3, lengths[l])); /* shares the arena */
                graph_output(g, "y", graph_matmul(g, x, w));
                graph_output(g, "z", graph_matmul(g, x, other));
                graph_output(g, "rows", graph_gather(g, w, ids));
                compare_ways(g, &box, NAMES("x", "ids"), NAMES("y", "z", "rows"), 37, 1);
            }
    }
}

/* The row that the position names, and those after it, out of a matrix that is longer than both together. */
static void rows_from_a_position(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(25)};
    for (uint32_t t = 0; t < type_count; t++) {
        graph *g = graph_new();
        node at = graph_input(g, "at", DTYPE_U32, shape1(1));
        node w = weight(g, &box, "w", TYPES[t], shape2(50, type_find(TYPES[t])->block_weights * 2));
        graph_output(g, "one", graph_gather_from(g, w, at, 1));
        graph_output(g, "some", graph_gather_from(g, w, at, 13));
        compare_ways(g, &box, NAMES("at"), NAMES("one", "some"), 37, 1);
    }
}

/* Products with three of seven matrices, chosen for each row; then of a row of its own for each; added up. With or without
 * norm, biases, a gate, a clamped gate, and something that is added to the result. */
static void chosen_matrices(void **unused)
{
    (void)unused;
    enum { EXPERTS = 7, CHOSEN = 3, FORMS = 4 };
    static const uint32_t row_counts[] = {1, 2, 5, 40};
    weight_box box = {.r = rng_seed(35)};
    for (uint32_t t = 0; t < type_count; t++)
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t rows = row_counts[(i + t) % 4], form = (i + t / 4) % FORMS;
            if (is_rare(TYPES[t]) && i > 2)
                break;
            uint32_t block = type_find(TYPES[t])->block_weights, length = block == 1 ? (i % 2 ? 39 : 40) : block * 2;
            uint32_t inner = block == 1 ? (i % 2 ? 13 : 16) : block, out = i % 2 ? 11 : 12;
            /* Weights in blocks of 256 are larger here, and sums of so many of their products cancel out. */
            tolerance = block >= 256 ? 1e-3f : 2e-4f;
            graph *g = graph_new();
            node x = graph_input(g, "x", DTYPE_F32, shape2(rows, length));
            node y = graph_rmsnorm(g, x, weight(g, &box, "norm", TYPE_F32, shape1(length)), 1e-5f, 0);
            node scores = graph_matmul(g, y, weight(g, &box, "router", TYPE_F32, shape2(EXPERTS, length)));
            node routes = graph_route(g, scores, CHOSEN, form == 1 ? ROUTE_OF_ALL : ROUTE_OF_CHOSEN);
            bool biased = form == 0 || form == 3;
            node bias = biased ? weight(g, &box, "bias.up", TYPE_F32, shape2(EXPERTS, inner)) : 0;
            node up = graph_experts(g, y, weight(g, &box, "up", TYPES[t], shape2(EXPERTS * inner, length)), bias,
                                    EXPERTS, routes);
            node z = graph_unary(g, UNARY_SILU, up);
            if (form > 1) {
                bias = biased ? weight(g, &box, "bias.gate", TYPE_F32, shape2(EXPERTS, inner)) : 0;
                node gate = graph_experts(g, y, weight(g, &box, "gate", TYPES[t], shape2(EXPERTS * inner, length)),
                                          bias, EXPERTS, routes);
                z = form == 2 ? graph_binary(g, BINARY_MUL, z, gate) : graph_binary(g, BINARY_CLAMPED_GLU, gate, up);
            }
            bias = biased ? weight(g, &box, "bias.down", TYPE_F32, shape2(EXPERTS, out)) : 0;
            node down = weight(g, &box, "down", TYPES[t], shape2(EXPERTS * out, inner));
            node sum = graph_mix(g, graph_experts(g, z, down, bias, EXPERTS, routes), routes);
            if (form)
                sum = graph_binary(g, BINARY_ADD, graph_slice(g, x, 1, out), sum);
            graph_output(g, "routes", routes);
            graph_output(g, "y", sum);
            compare_ways(g, &box, NAMES("x"), NAMES("y", "routes"), 1, 1);
        }
    tolerance = 2e-4f;
}

/* Many rows, which kernels take some at a time: numbers of them, lengths and columns that fill none of these, in every
 * type, and what may follow a product. */
static void many_rows_of_every_type(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(15)};
    static const uint32_t rows[] = {4, 7, 8, 9, 12, 17, 31, 33, 64, 70}, columns[] = {1, 37, 66, 3, 130};
    for (uint32_t t = 0; t < type_count; t++) {
        uint32_t block = type_find(TYPES[t])->block_weights;
        uint32_t lengths[] = {block == 1 ? 7 : block, block == 1 ? 66 : block * 3};
        for (uint32_t l = is_rare(TYPES[t]); l < 2; l++) {
            uint32_t n = columns[(t + l) % 5], m = rows[(2 * t + l) % 10];
            graph *g = graph_new();
            node x = graph_input(g, "x", DTYPE_F32, shape2(m, lengths[l]));
            node gate = graph_matmul(g, x, weight(g, &box, "gate", TYPES[t], shape2(n, lengths[l])));
            node up = graph_matmul(g, x, weight(g, &box, "up", TYPES[t], shape2(n, lengths[l])));
            node y = graph_matmul(g, x, weight(g, &box, "w", TYPES[t], shape2(lengths[l], lengths[l])));
            y = graph_binary(g, BINARY_ADD, y, weight(g, &box, "bias", TYPE_F32, shape1(lengths[l])));
            graph_output(g, "gated", graph_binary(g, BINARY_MUL, graph_unary(g, UNARY_SILU, gate), up));
            graph_output(g, "sum", graph_binary(g, BINARY_SUB, x, y));
            compare_ways(g, &box, NAMES("x"), NAMES("gated", "sum"), 1, 1);
        }
    }
}

/* Products of 1 to 70 rows, each with a norm before it, by one matrix. */
static void every_number_of_rows(void **unused)
{
    (void)unused;
    enum { MOST = 70, LENGTH = 45 };
    static char names[2][MOST][8];
    const char *inputs[MOST + 1] = {0}, *outputs[MOST + 1] = {0};
    weight_box box = {.r = rng_seed(16)};
    graph *g = graph_new();
    node w = weight(g, &box, "w", TYPE_F16, shape2(37, LENGTH)),
         norm = weight(g, &box, "norm", TYPE_F32, shape1(LENGTH));
    for (uint32_t i = 0; i < MOST; i++) {
        snprintf(names[0][i], sizeof names[0][i], "x%u", i + 1);
        snprintf(names[1][i], sizeof names[1][i], "y%u", i + 1);
        inputs[i] = names[0][i];
        outputs[i] = names[1][i];
        node x = graph_input(g, inputs[i], DTYPE_F32, shape2(i + 1, LENGTH));
        graph_output(g, outputs[i], graph_matmul(g, graph_rmsnorm(g, x, norm, 1e-5f, 0), w));
    }
    compare_ways(g, &box, inputs, outputs, 1, 1);
}

/* Queries, keys and values of many rows by one step: rotated in both ways, into a cache of either type. */
static void many_rows_into_a_cache(void **unused)
{
    (void)unused;
    enum { CAPACITY = 90, LENGTH = 64, HEADS = 4, KV_HEADS = 2 };
    weight_box box = {.r = rng_seed(17)};
    for (uint32_t how = 0; how < 4; how++) {
        uint32_t rows = 5 + 13 * how, size = 16 + 8 * (how % 2);
        dtype type = how > 1 ? DTYPE_F16 : DTYPE_F32;
        tensor_type weights = how % 2 ? TYPE_Q8_0 : TYPE_Q4_0;
        graph *g = graph_new();
        node x = graph_input(g, "x", DTYPE_F32, shape2(rows, LENGTH)), at = graph_input(g, "at", DTYPE_U32, shape1(1));
        node made[3];
        for (int i = 0; i < 3; i++) {
            uint32_t heads = i == 0 ? HEADS : KV_HEADS;
            node y = graph_matmul(
                g, x, weight(g, &box, (const char *[]){"q", "k", "v"}[i], weights, shape2(heads * size, LENGTH)));
            y = graph_reshape(g, y, shape3(rows, heads, size));
            rope_spec spec = {.rotated = size, .interleaved = how % 2, .base = 10000, .magnitude = 1};
            made[i] = i < 2 ? graph_rope(g, y, at, spec) : y;
        }
        node keys = graph_state(g, "keys", type, shape3(CAPACITY, KV_HEADS, size)),
             values = graph_state(g, "values", type, shape3(CAPACITY, KV_HEADS, size));
        attention_spec spec = {.scale = 0.002f};
        graph_output(g, "y",
                     graph_attention(g, made[0], graph_store(g, keys, made[1], at), graph_store(g, values, made[2], at),
                                     at, spec));
        float usual = tolerance;
        tolerance = type == DTYPE_F16 ? 2e-3f : usual; /* keys and values that round to another half */
        compare_ways(g, &box, NAMES("x", "at"), NAMES("y"), CAPACITY - rows + 1, 3);
        tolerance = usual;
    }
}

/* A weight that is a matrix here and added there. */
static void weights_used_both_ways(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(10)};
    for (uint32_t t = 0; t < type_count; t++) {
        graph *g = graph_new();
        uint32_t length = type_find(TYPES[t])->block_weights * 2;
        node x = graph_input(g, "x", DTYPE_F32, shape2(3, length));
        node other = weight(g, &box, "other", TYPE_F32, shape2(2, length)),
             w = weight(g, &box, "w", TYPES[t], shape2(3, length));
        graph_output(g, "sum", graph_binary(g, BINARY_ADD, x, w));
        graph_output(g, "product", graph_matmul(g, x, w));
        graph_output(g, "more", graph_matmul(g, x, other));
        compare_ways(g, &box, NAMES("x"), NAMES("sum", "product", "more"), 1, 1);
    }
}

static void rotations(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(6)};
    static const uint32_t sizes[] = {2, 16, 64, 80, 128};
    for (int s = 0; s < 5; s++)
        for (int how = 0; how < 4; how++) {
            graph *g = graph_new();
            node x = graph_input(g, "x", DTYPE_F32, shape3(3, 2, sizes[s])),
                 at = graph_input(g, "at", DTYPE_U32, shape1(1));
            rope_spec spec = {.rotated = how & 1 ? sizes[s] : sizes[s] / 4 * 2,
                              .interleaved = how > 1,
                              .base = 10000,
                              .magnitude = 1.2f};
            if (spec.rotated == 0)
                spec.rotated = 2;
            if (how == 3) {
                node divisors = weight(g, &box, "divisors", TYPE_F32, shape1(spec.rotated / 2));
                float *d = (float *)find_weight(&box, "divisors", 0, 0, NULL);
                for (uint32_t i = 0; i < spec.rotated / 2; i++)
                    d[i] = 1 + fabsf(d[i]);
                spec.factors = divisors;
            }
            graph_output(g, "y", graph_rope(g, x, at, spec));
            compare_ways(g, &box, NAMES("x", "at"), NAMES("y"), 200, 1);
        }
}

static void attention_over_a_cache(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(7)};
    static const attention_case cases[] = {{1, 4, 4, 16, 0, 0, DTYPE_F32},  {5, 4, 2, 16, 0, 0, DTYPE_F32},
                                           {3, 6, 1, 64, 0, 30, DTYPE_F16}, {70, 2, 1, 32, 0, 0, DTYPE_F32},
                                           {9, 3, 3, 10, 4, 0, DTYPE_F16},  {100, 2, 2, 8, 33, 5, DTYPE_F32},
                                           {2, 2, 1, 256, 0, 0, DTYPE_F32}, {4, 14, 2, 64, 100, 0, DTYPE_F16},
                                           {13, 3, 1, 36, 7, 0, DTYPE_F16}, {21, 2, 2, 128, 0, 0, DTYPE_F16}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        compare_attention(&cases[c], &box);
    /* Numbers that are far from halfway between two steps: every way to divide rounds them alike. */
    static const attention_case quantised[] = {{1, 4, 2, 32, 0, 0, DTYPE_Q8_0},
                                               {5, 4, 2, 64, 0, 30, DTYPE_Q4_0},
                                               {70, 2, 1, 64, 33, 0, DTYPE_Q4_0},
                                               {21, 2, 2, 128, 0, 0, DTYPE_Q8_0}};
    whole_inputs = true;
    for (size_t c = 0; c < sizeof quantised / sizeof *quantised; c++)
        compare_attention(&quantised[c], &box);
    whole_inputs = false;
}

static void slices(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(8)};
    for (uint32_t start = 0; start < 60; start += 13) {
        graph *g = graph_new();
        node x = graph_input(g, "x", DTYPE_F32, shape2(7, 100));
        graph_output(g, "y", graph_slice(g, x, start, 40));
        graph_output(g, "z", graph_unary(g, UNARY_COPY, graph_reshape(g, x, shape2(70, 10))));
        compare_ways(g, &box, NAMES("x"), NAMES("y", "z"), 1, 1);
    }
}

static void rows_and_places(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(12)};
    static const uint32_t lengths[] = {5, 64, 300, 1000};
    for (int l = 0; l < 4; l++) {
        graph *g = graph_new();
        node x = graph_input(g, "x", DTYPE_F32, shape2(6, lengths[l])),
             rows = graph_input(g, "rows", DTYPE_U32, shape1(3));
        graph_output(g, "picked", graph_pick(g, x, rows));
        graph_output(g, "largest", graph_topk(g, x, 5));
        /* Equal values: the first of them comes first. */
        graph_output(g, "first", graph_topk(g, graph_scale(g, x, 0, 1), 3));
        compare_ways(g, &box, NAMES("x", "rows"), NAMES("picked", "largest", "first"), 6, 1);
    }
}

/* A run that sets its own next inputs, and chooses from logits: three runs, of which only the first is given any. */
static void runs_that_go_on_by_themselves(void **unused)
{
    (void)unused;
    enum { VOCAB = 700, LIST = 9 };
    err e = {0};
    weight_box box = {.r = rng_seed(13)};
    graph *g = graph_new();
    node token = graph_input(g, "token", DTYPE_U32, shape1(2)), at = graph_input(g, "at", DTYPE_U32, shape1(1));
    node list = graph_input(g, "list", DTYPE_U32, shape1(LIST)), step = graph_input(g, "step", DTYPE_U32, shape1(1));
    node settings = graph_input(g, "settings", DTYPE_U32, shape1(SAMPLE_WORDS));
    node w = weight(g, &box, "w", TYPE_F16, shape2(VOCAB, 32));
    node logits = graph_matmul(g, graph_pick(g, graph_gather(g, w, token), step), w);
    graph_output(g, "logits", logits);
    graph_assign(g, list, at, (assign_spec){.added = 3, .index = at});
    node so_far = graph_assign(g, at, at, (assign_spec){.added = 1, .more = step});
    graph_sample(g, token, logits, settings, so_far, list);
    sample_words words = sample_pack(&(sample_settings){.temperature = 0.7f, .top_k = 40, .seed = 5});
    cpu_run *cpu = cpu_run_new(g, find_weight, &box, &e);
    assert_non_null(cpu);
    memcpy(cpu_words(cpu, "settings"), &words, sizeof words);
    cpu_words(cpu, "token")[0] = 3;
    for (int level = LEVEL_NONE; level <= LEVEL_OPS; level++) {
        graph_run *way =
            graph_run_new(device, &(graph_use){.g = g, .level = (fusion_level)level}, 1, find_weight, &box, &e);
        if (!way)
            fail_msg("%s", e.text);
        uint32_t start[2] = {3, 0}, zero = 0, empty[LIST] = {0}, got[LIST];
        assert_true(graph_run_write(way, "settings", &words, &e) && graph_run_write(way, "token", start, &e) &&
                    graph_run_write(way, "at", &zero, &e) && graph_run_write(way, "list", empty, &e));
        for (int run = 0; run < 3; run++) {
            graph_run_once(way, 0, SUBMIT_BATCH);
            if (level == LEVEL_NONE)
                assert_true(cpu_run_once(cpu, &e));
        }
        static const char *const names[] = {"token", "at", "list"};
        for (int i = 0; i < 3; i++) {
            uint64_t count = shape_count(graph_at(g, graph_find(g, names[i]))->s);
            assert_true(graph_run_read(way, names[i], got, &e));
            assert_memory_equal(got, cpu_words(cpu, names[i]), count * sizeof *got);
        }
        graph_run_free(way);
    }
    cpu_run_free(cpu);
    graph_free(g);
    empty_box(&box);
}

/* More workgroups than one dimension of a grid takes. */
static void large_grids(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(9)};
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape2(1, 8));
    graph_output(g, "y", graph_matmul(g, x, weight(g, &box, "w", TYPE_F16, shape2(70001, 8))));
    compare_ways(g, &box, NAMES("x"), NAMES("y"), 1, 1);
}

static void what_cannot_run_says_why(void **unused)
{
    (void)unused;
    err e = {0};
    weight_box box = {0};
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape1(32));
    graph_output(g, "y", graph_matmul(g, x, graph_weight(g, "absent", TYPE_Q4_0, shape2(2, 32))));
    assert_null(graph_run_new(device, &(graph_use){.g = g, .level = LEVEL_NONE}, 1, find_weight, &box, &e));
    assert_non_null(strstr(e.text, "weight absent is missing"));
    graph_free(g);

    err_clear(&e);
    g = graph_new();
    x = graph_input(g, "x", DTYPE_F32, shape1(1 << 14));
    graph_output(g, "y", graph_matmul(g, x, graph_weight(g, "vast", TYPE_F32, shape2(1 << 22, 1 << 14))));
    assert_null(graph_run_new(device, &(graph_use){.g = g, .level = LEVEL_NONE}, 1, find_weight, &box, &e));
    assert_non_null(strstr(e.text, "weight vast has 274877906944 bytes"));
    graph_free(g);
    assert_true(gpu_ok(device, &e));
}

int main(void)
{
    type_count = all_types(TYPES);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise),
        cmocka_unit_test(functions_after_products),
        cmocka_unit_test(broadcasting),
        cmocka_unit_test(rows_to_numbers),
        cmocka_unit_test(argmax_takes_the_first),
        cmocka_unit_test(matrices_of_every_type),
        cmocka_unit_test(rows_from_a_position),
        cmocka_unit_test(chosen_matrices),
        cmocka_unit_test(many_rows_of_every_type),
        cmocka_unit_test(every_number_of_rows),
        cmocka_unit_test(many_rows_into_a_cache),
        cmocka_unit_test(weights_used_both_ways),
        cmocka_unit_test(rotations),
        cmocka_unit_test(attention_over_a_cache),
        cmocka_unit_test(slices),
        cmocka_unit_test(rows_and_places),
        cmocka_unit_test(runs_that_go_on_by_themselves),
        cmocka_unit_test(large_grids),
        cmocka_unit_test(what_cannot_run_says_why),
    };
    return RUN_ON_EACH(tests);
}
