/* Every operator of a graph on every implementation, against the CPU's answer:
 * many shapes, every weight type. */
#include "base/rng.h"
#include "base/str.h"
#include "gpu/devices.h"
#include "graph/cpu.h"
#include "graph/run.h"
#include "graph/sample.h"

#include <math.h>

/* ---- weights made on the spot -------------------------------------------- */

enum { MOST_WEIGHTS = 8 };
typedef struct weight_box {
    struct {
        char name[32];
        void *data;
    } items[MOST_WEIGHTS];
    int count;
    rng r;
} weight_box;

static const void *find_weight(void *user, const char *name)
{
    weight_box *box = user;
    for (int i = 0; i < box->count; i++)
        if (strcmp(box->items[i].name, name) == 0)
            return box->items[i].data;
    return NULL;
}

/* Random blocks of any type. Types that are only ever read get random bytes, with
 * their scales (f16) kept to sensible numbers. */
static void fill_blocks(weight_box *box, tensor_type type, unsigned char *data, uint64_t weights)
{
    static const struct {
        tensor_type type;
        int scale_at[2];
    } scales[] = {{TYPE_Q2_K, {80, 82}},
                  {TYPE_Q3_K, {108, -1}},
                  {TYPE_Q4_K, {0, 2}},
                  {TYPE_Q5_K, {0, 2}},
                  {TYPE_Q6_K, {208, -1}}};
    const type_info *info = type_find(type);
    float *floats = mem_alloc(weights * sizeof *floats);
    for (uint64_t i = 0; i < weights; i++)
        floats[i] = (float)(rng_unit(&box->r) * 2 - 1);
    if (!type_from_f32(type, floats, data, weights)) {
        for (uint64_t i = 0; i < type_bytes(type, weights); i++)
            data[i] = (unsigned char)rng_next(&box->r);
        for (uint64_t b = 0; b < weights / info->block_weights; b++)
            for (size_t s = 0; s < sizeof scales / sizeof *scales; s++)
                for (int k = 0; scales[s].type == type && k < 2 && scales[s].scale_at[k] >= 0; k++) {
                    uint16_t h = f32_to_f16((float)(rng_unit(&box->r) * 0.01));
                    memcpy(data + b * info->block_bytes + scales[s].scale_at[k], &h, sizeof h);
                }
    }
    free(floats);
}

static node weight(graph *g, weight_box *box, const char *name, tensor_type type, shape s)
{
    uint64_t count = shape_count(s);
    unsigned char *data = mem_alloc(type_bytes(type, count));
    fill_blocks(box, type, data, count);
    assert_true(box->count < MOST_WEIGHTS);
    snprintf(box->items[box->count].name, sizeof box->items->name, "%s", name);
    box->items[box->count++].data = data;
    return graph_weight(g, name, type, s);
}

static void empty_box(weight_box *box)
{
    for (int i = 0; i < box->count; i++)
        free(box->items[i].data);
    box->count = 0;
}

/* ---- both ways ------------------------------------------------------------ */

static void compare_output(graph_run *way, cpu_run *cpu, const graph_node *n, const char *name, fusion_level level)
{
    err e = {0};
    uint64_t count = shape_count(n->s);
    float *got = mem_alloc(count * sizeof *got);
    if (!graph_run_read(way, name, got, &e))
        fail_msg("%s", e.text);
    for (uint64_t i = 0; i < count; i++) {
        if (n->type == DTYPE_U32) {
            assert_int_equal(((uint32_t *)(void *)got)[i], cpu_words(cpu, name)[i]);
            continue;
        }
        float right = cpu_floats(cpu, name)[i];
        if (!(fabsf(got[i] - right) <= 2e-4f * (1 + fabsf(right))))
            fail_msg("%s at %s: element %u is %g instead of %g", name, fusion_names[level], (unsigned)i, (double)got[i],
                     (double)right);
    }
    free(got);
}

/* Random inputs, every way, outputs compared; `runs` times with states living on. */
static void compare_ways(graph *g, weight_box *box, const char *const *inputs, const char *const *outputs,
                         uint32_t word_limit, uint32_t runs)
{
    enum { LEVELS = LEVEL_OPS + 1 };
    err e = {0};
    graph_run *ways[LEVELS] = {0};
    cpu_run *cpu = cpu_run_new(g, find_weight, box, &e);
    for (int level = 0; cpu && level < LEVELS; level++)
        ways[level] = graph_run_new(device, &(graph_use){g, (fusion_level)level}, 1, find_weight, box, &e);
    if (e.kind != ERR_NONE)
        fail_msg("%s", e.text);
    for (uint32_t run = 0; run < runs; run++) {
        for (const char *const *in = inputs; *in; in++) {
            const graph_node *n = graph_at(g, graph_find(g, *in));
            for (uint64_t i = 0; i < shape_count(n->s); i++) {
                if (n->type == DTYPE_U32)
                    cpu_words(cpu, *in)[i] = rng_below(&box->r, word_limit);
                else
                    cpu_floats(cpu, *in)[i] = (float)(rng_unit(&box->r) * 4 - 2);
            }
            const void *data = n->type == DTYPE_U32 ? (const void *)cpu_words(cpu, *in) : cpu_floats(cpu, *in);
            for (int level = 0; level < LEVELS; level++)
                assert_true(graph_run_write(ways[level], *in, data, &e));
        }
        if (!cpu_run_once(cpu, &e))
            fail_msg("%s", e.text);
        for (int level = 0; level < LEVELS; level++) {
            graph_run_once(ways[level], 0, SUBMIT_BATCH);
            for (const char *const *o = outputs; *o; o++)
                compare_output(ways[level], cpu, graph_at(g, graph_find(g, *o)), *o, (fusion_level)level);
        }
    }
    for (int level = 0; level < LEVELS; level++)
        graph_run_free(ways[level]);
    cpu_run_free(cpu);
    graph_free(g);
    empty_box(box);
}

#define NAMES(...) \
    (const char *const[]) \
    { \
        __VA_ARGS__, NULL \
    }

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
            compare_ways(g, &box, NAMES("x"), NAMES("sum", "mean", "max", "argmax", "softmax", "norm"), 1, 1);
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

static const tensor_type TYPES[] = {TYPE_F32,  TYPE_F16,  TYPE_BF16, TYPE_Q4_0, TYPE_Q4_1, TYPE_Q5_0, TYPE_Q5_1,
                                    TYPE_Q8_0, TYPE_Q2_K, TYPE_Q3_K, TYPE_Q4_K, TYPE_Q5_K, TYPE_Q6_K};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

static void matrices_of_every_type(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(5)};
    for (int t = 0; t < TYPE_COUNT; t++) {
        uint32_t block = type_find(TYPES[t])->block_weights;
        uint32_t lengths[] = {block == 1 ? 7 : block, block * 3};
        for (int l = 0; l < 2; l++)
            for (uint32_t rows = 1; rows < 4; rows += 2) {
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

/* The kernels that a GPU gets for its shapes, several turns and pieces of x included. */
static void matrices_as_on_a_gpu(void **unused)
{
    (void)unused;
    static const tensor_type types[] = {TYPE_F16, TYPE_Q4_0};
    weight_box box = {.r = rng_seed(11)};
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        return; /* software takes a minute to compile them */
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

/* Each way to cut a product for many rows, with k that do not fill the last step. */
static void blocks_as_on_a_gpu(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t rows, k, columns;
        tensor_type type;
    } cases[] = {
        {9, 100, 70, TYPE_F32}, {16, 96, 33, TYPE_Q4_0}, {200, 40, 16384, TYPE_F16}, {512, 44, 1280, TYPE_F16}};
    weight_box box = {.r = rng_seed(14)};
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        return;
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

/* A weight that is a matrix here and added there. */
static void weights_used_both_ways(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(10)};
    for (int t = 0; t < TYPE_COUNT; t++) {
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
                float *d = (float *)find_weight(&box, "divisors");
                for (uint32_t i = 0; i < spec.rotated / 2; i++)
                    d[i] = 1 + fabsf(d[i]);
                spec.factors = divisors;
            }
            graph_output(g, "y", graph_rope(g, x, at, spec));
            compare_ways(g, &box, NAMES("x", "at"), NAMES("y"), 200, 1);
        }
}

typedef struct attention_case {
    uint32_t rows, heads, kv_heads, size, window;
    float softcap;
    dtype cache;
} attention_case;

static void compare_attention(const attention_case *c, weight_box *box)
{
    enum { CAPACITY = 160 };
    graph *g = graph_new();
    node q = graph_input(g, "q", DTYPE_F32, shape3(c->rows, c->heads, c->size));
    node k = graph_input(g, "k", DTYPE_F32, shape3(c->rows, c->kv_heads, c->size)),
         v = graph_input(g, "v", DTYPE_F32, shape3(c->rows, c->kv_heads, c->size));
    node at = graph_input(g, "at", DTYPE_U32, shape1(1));
    node keys = graph_state(g, "keys", c->cache, shape3(CAPACITY, c->kv_heads, c->size));
    node values = graph_state(g, "values", c->cache, shape3(CAPACITY, c->kv_heads, c->size));
    attention_spec spec = {.scale = 1 / sqrtf((float)c->size), .softcap = c->softcap, .window = c->window};
    graph_output(g, "y", graph_attention(g, q, graph_store(g, keys, k, at), graph_store(g, values, v, at), at, spec));
    /* Positions anywhere in the cache: what was not written is zero, here as there. */
    compare_ways(g, box, NAMES("q", "k", "v", "at"), NAMES("y"), CAPACITY - c->rows + 1, 2);
}

static void attention_over_a_cache(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(7)};
    static const attention_case cases[] = {{1, 4, 4, 16, 0, 0, DTYPE_F32},  {5, 4, 2, 16, 0, 0, DTYPE_F32},
                                           {3, 6, 1, 64, 0, 30, DTYPE_F16}, {70, 2, 1, 32, 0, 0, DTYPE_F32},
                                           {9, 3, 3, 10, 4, 0, DTYPE_F16},  {100, 2, 2, 8, 33, 5, DTYPE_F32},
                                           {2, 2, 1, 256, 0, 0, DTYPE_F32}, {4, 14, 2, 64, 100, 0, DTYPE_F16}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        compare_attention(&cases[c], &box);
}

/* Rows that share what they read: 32 at a time, 16, and 16 of long heads. */
static void attention_as_on_a_gpu(void **unused)
{
    (void)unused;
    weight_box box = {.r = rng_seed(13)};
    static const attention_case cases[] = {
        {70, 2, 1, 32, 0, 0, DTYPE_F32}, {33, 4, 2, 64, 20, 0, DTYPE_F16}, {41, 2, 2, 80, 0, 5, DTYPE_F16}};
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        return;
    setenv("SOLO_TUNE", "gpu", 1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        compare_attention(&cases[c], &box);
    unsetenv("SOLO_TUNE");
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
        graph_run *way = graph_run_new(device, &(graph_use){g, (fusion_level)level}, 1, find_weight, &box, &e);
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
    assert_null(graph_run_new(device, &(graph_use){g, LEVEL_NONE}, 1, find_weight, &box, &e));
    assert_non_null(strstr(e.text, "weight absent is missing"));
    graph_free(g);

    err_clear(&e);
    g = graph_new();
    x = graph_input(g, "x", DTYPE_F32, shape1(1 << 14));
    graph_output(g, "y", graph_matmul(g, x, graph_weight(g, "vast", TYPE_F32, shape2(1 << 22, 1 << 14))));
    assert_null(graph_run_new(device, &(graph_use){g, LEVEL_NONE}, 1, find_weight, &box, &e));
    assert_non_null(strstr(e.text, "weight vast has 274877906944 bytes"));
    graph_free(g);
    assert_true(gpu_ok(device, &e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise),
        cmocka_unit_test(broadcasting),
        cmocka_unit_test(rows_to_numbers),
        cmocka_unit_test(argmax_takes_the_first),
        cmocka_unit_test(matrices_of_every_type),
        cmocka_unit_test(matrices_as_on_a_gpu),
        cmocka_unit_test(blocks_as_on_a_gpu),
        cmocka_unit_test(weights_used_both_ways),
        cmocka_unit_test(rotations),
        cmocka_unit_test(attention_over_a_cache),
        cmocka_unit_test(attention_as_on_a_gpu),
        cmocka_unit_test(slices),
        cmocka_unit_test(rows_and_places),
        cmocka_unit_test(runs_that_go_on_by_themselves),
        cmocka_unit_test(large_grids),
        cmocka_unit_test(what_cannot_run_says_why),
    };
    return RUN_ON_EACH(tests);
}
