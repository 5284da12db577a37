/* The kernels that GPUs get make the same numbers, bit by bit, by separate dispatches and as the phases of one: a number that
 * is rounded the other way may become another byte, and then another token. And they are the CPU's, nearly. */
#include "gpu/compare.h"

enum { WIDTH = 256, HEADS = 18, KV_HEADS = 2, SIZE = 64, INNER = 512, CAPACITY = 64, POSITIONS = 48 };

/* A layer up to a stage of it. */
enum { ATTENTION = 1, OUTPUT, GATED, DOWN };
static const char *const stages[] = {"", "attention", "output", "gate and up", "down"};

static node heads_of(graph *g, weight_box *box, tensor_type type, node x, node at, const char *name, uint32_t heads,
                     bool turned)
{
    char bias[16];
    snprintf(bias, sizeof bias, "%s bias", name);
    node y = graph_matmul(g, x, weight(g, box, name, type, shape2(heads * SIZE, WIDTH)));
    y = graph_binary(g, BINARY_ADD, y, weight(g, box, bias, TYPE_F32, shape1(heads * SIZE)));
    y = graph_reshape(g, y, shape3(1, heads, SIZE));
    return turned ? graph_rope(g, y, at, (rope_spec){.rotated = SIZE, .base = 10000}) : y;
}

static node stored(graph *g, const char *name, node x, node at)
{
    return graph_store(g, graph_state(g, name, DTYPE_F16, shape3(CAPACITY, KV_HEADS, SIZE)), x, at);
}

static graph *layer(weight_box *box, tensor_type type, int stage)
{
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape2(1, WIDTH)), at = graph_input(g, "at", DTYPE_U32, shape1(1));
    node norm = graph_rmsnorm(g, x, weight(g, box, "norm", TYPE_F32, shape1(WIDTH)), 1e-5f, 0);
    node q = heads_of(g, box, type, norm, at, "q", HEADS, true);
    node k = heads_of(g, box, type, norm, at, "k", KV_HEADS, true);
    node v = heads_of(g, box, type, norm, at, "v", KV_HEADS, false);
    node y = graph_attention(g, q, stored(g, "keys", k, at), stored(g, "values", v, at), at,
                             (attention_spec){.scale = 0.002f});
    if (stage >= OUTPUT) {
        y = graph_matmul(g, y, weight(g, box, "output", type, shape2(WIDTH, HEADS * SIZE)));
        x = y = graph_binary(g, BINARY_ADD, x, y);
    }
    if (stage >= GATED) {
        norm = graph_rmsnorm(g, x, weight(g, box, "norm 2", TYPE_F32, shape1(WIDTH)), 1e-5f, 0);
        node gate = graph_matmul(g, norm, weight(g, box, "gate", type, shape2(INNER, WIDTH)));
        node up = graph_matmul(g, norm, weight(g, box, "up", type, shape2(INNER, WIDTH)));
        y = graph_binary(g, BINARY_MUL, graph_unary(g, UNARY_SILU, gate), up);
    }
    if (stage >= DOWN) {
        y = graph_matmul(g, y, weight(g, box, "down", type, shape2(WIDTH, INNER)));
        y = graph_binary(g, BINARY_ADD, x, y);
    }
    graph_output(g, "y", y);
    return g;
}

static void fill(float *x, rng *r)
{
    for (int i = 0; i < WIDTH; i++)
        x[i] = (float)(rng_unit(r) * 4 - 2);
}

/* What each position makes of it. */
typedef uint32_t made[POSITIONS][HEADS * SIZE];
static void run_on_gpu(graph *g, fusion_level level, weight_box *box, made y)
{
    err e = {0};
    rng r = rng_seed(19);
    float x[WIDTH];
    graph_run *run = graph_run_new(device, &(graph_use){.g = g, .level = level}, 1, find_weight, box, &e);
    if (!run || !graph_run_possible(run, 0, &e))
        fail_msg("%s", e.text);
    for (uint32_t at = 0; at < POSITIONS; at++) {
        fill(x, &r);
        assert_true(graph_run_write(run, "x", x, &e) && graph_run_write(run, "at", &at, &e));
        graph_run_once(run, 0, SUBMIT_BATCH);
        assert_true(graph_run_read(run, "y", y[at], &e));
    }
    graph_run_free(run);
}

/* How far the last ones are from the CPU's answer, of its spread. */
static double distance(graph *g, weight_box *box, const uint32_t *y, uint32_t count)
{
    err e = {0};
    rng r = rng_seed(19);
    double most = 0, squares = 0;
    cpu_run *cpu = cpu_run_new(g, find_weight, box, &e);
    assert_non_null(cpu);
    for (uint32_t at = 0; at < POSITIONS; at++) {
        fill(cpu_floats(cpu, "x"), &r);
        cpu_words(cpu, "at")[0] = at;
        assert_true(cpu_run_once(cpu, &e));
    }
    for (uint32_t i = 0; i < count; i++) {
        float got, right = cpu_floats(cpu, "y")[i];
        memcpy(&got, &y[i], sizeof got);
        most = fmax(most, fabs((double)got - right));
        squares += (double)right * right;
    }
    cpu_run_free(cpu);
    return most / sqrt(squares / count);
}

/* How many numbers differ. */
static uint32_t differing(tensor_type type, int stage)
{
    weight_box box = {.r = rng_seed(18)};
    graph *g = layer(&box, type, stage);
    static made together, apart;
    uint32_t different = 0;
    uint32_t count = (uint32_t)shape_count(graph_at(g, graph_find(g, "y"))->s);
    run_on_gpu(g, LEVEL_TOKEN, &box, together);
    run_on_gpu(g, LEVEL_OPS, &box, apart);
    for (uint32_t at = 0; at < POSITIONS; at++)
        for (uint32_t i = 0; i < count; i++)
            different += (together[at][i] & ~1u) != (apart[at][i] & ~1u); /* the lowest bit is a mark */
    double far = distance(g, &box, together[POSITIONS - 1], count);
    if (!(far < (type == TYPE_F16 ? 0.002 : 0.1))) /* x as bytes is not quite x */
        fail_msg("%s: up to %s the numbers are %g of their spread from the CPU's", type_find(type)->name, stages[stage],
                 far);
    graph_free(g);
    empty_box(&box);
    return different;
}

static void layers_make_the_same_bits(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    static const tensor_type types[] = {TYPE_Q8_0, TYPE_F16, TYPE_Q4_0};
    bool software = gpu_get_info(device)->type == GPU_TYPE_SOFTWARE;
    size_t count = software ? 1 : sizeof types / sizeof *types; /* it takes long to compile them there */
    setenv("SOLO_TUNE", "gpu", 1);
    setenv("SOLO_ONE_GROUPS", software ? "2" : "16", 1);
    bool same = true;
    for (size_t i = 0; i < count; i++)
        if (differing(types[i], DOWN)) {
            same = false;
            for (int stage = ATTENTION; stage <= DOWN; stage++)
                print_message("%s: %u numbers of %s are others in one dispatch\n", type_find(types[i])->name,
                              differing(types[i], stage), stages[stage]);
        }
    unsetenv("SOLO_TUNE");
    unsetenv("SOLO_ONE_GROUPS");
    assert_true(same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layers_make_the_same_bits)};
    return RUN_ON_EACH(tests);
}
