/* The kernels that GPUs get make the same numbers, bit by bit, by separate dispatches and as the phases of one: a number that
 * is rounded the other way may become another byte, and then another token. And they are the CPU's, nearly.
 * runs alone: two workgroups that wait for each other, and gigabytes for compiling them */
#include "gpu/compare.h"

enum { CAPACITY = 1024, POSITIONS = 48, MOST = 8192 };

typedef struct form {
    const char *name;
    uint32_t width, heads, kv_heads, size, inner;
    bool
        varied; /* every second layer has a window, which is not split, does not turn, and has values of another type */
} form;
static const form small = {"small layers", 256, 18, 2, 64, 512, false};
static const form blocks = {"layers of blocks of 256", 256, 20, 2, 64, 512, false};
static const form varied = {"layers that differ", 256, 20, 2, 64, 512, true};
static const form qwen = {"layers of Qwen2.5-0.5B", 896, 14, 2, 64, 4864, false};
/* Heads of 96 take op_attention.wgsl. */
static const form phi = {"layers of Phi-3-mini", 3072, 32, 32, 96, MOST, false};

/* Layers, the last of them up to a stage. */
enum { LAYERS = 3, ATTENTION = 1, OUTPUT, GATED, DOWN };
static const char *const stages[] = {"", "attention", "output", "gate and up", "down"};

typedef struct building {
    graph *g;
    weight_box *box;
    const form *f;
    tensor_type type;
    node at;
    uint32_t layer;
} building;

/* A weight of this layer; of one row it is f32. */
static node own_weight(const building *b, const char *name, uint32_t rows, uint32_t columns)
{
    char own[32];
    snprintf(own, sizeof own, "%s %u", name, b->layer);
    bool other = b->f->varied && b->layer % 2 && strcmp(name, "v") == 0;
    tensor_type type = rows == 1 ? TYPE_F32 : other ? TYPE_F16 : b->type;
    return weight(b->g, b->box, own, type, rows > 1 ? shape2(rows, columns) : shape1(columns));
}

static node heads_of(const building *b, node x, const char *name, uint32_t heads, bool turned)
{
    char bias[16];
    snprintf(bias, sizeof bias, "%s bias", name);
    node y = graph_matmul(b->g, x, own_weight(b, name, heads * b->f->size, b->f->width));
    y = graph_binary(b->g, BINARY_ADD, y, own_weight(b, bias, 1, heads * b->f->size));
    y = graph_reshape(b->g, y, shape3(1, heads, b->f->size));
    return turned ? graph_rope(b->g, y, b->at, (rope_spec){.rotated = b->f->size, .base = 1000000}) : y;
}

static node stored(const building *b, const char *name, node x)
{
    char own[32];
    snprintf(own, sizeof own, "%s %u", name, b->layer);
    return graph_store(b->g, graph_state(b->g, own, DTYPE_F16, shape3(CAPACITY, b->f->kv_heads, b->f->size)), x, b->at);
}

static node layer(const building *b, node x, int stage)
{
    graph *g = b->g;
    const form *f = b->f;
    node norm = graph_rmsnorm(g, x, own_weight(b, "norm", 1, f->width), 1e-5f, 0);
    bool odd = f->varied && b->layer % 2;
    node q = heads_of(b, norm, "q", f->heads, !odd);
    node k = heads_of(b, norm, "k", f->kv_heads, !odd);
    node v = heads_of(b, norm, "v", f->kv_heads, false);
    node y = graph_attention(g, q, stored(b, "keys", k), stored(b, "values", v), b->at,
                             (attention_spec){.scale = 0.002f, .window = odd ? 40 : 0});
    if (stage >= OUTPUT) {
        y = graph_matmul(g, y, own_weight(b, "output", f->width, f->heads * f->size));
        x = y = graph_binary(g, BINARY_ADD, x, y);
    }
    if (stage >= GATED) {
        norm = graph_rmsnorm(g, x, own_weight(b, "norm 2", 1, f->width), 1e-5f, 0);
        node gate = graph_matmul(g, norm, own_weight(b, "gate", f->inner, f->width));
        node up = graph_matmul(g, norm, own_weight(b, "up", f->inner, f->width));
        y = graph_binary(g, BINARY_MUL, graph_unary(g, UNARY_SILU, gate), up);
    }
    if (stage >= DOWN) {
        y = graph_matmul(g, y, own_weight(b, "down", f->width, f->inner));
        y = graph_binary(g, BINARY_ADD, x, y);
    }
    return y;
}

static graph *layers(weight_box *box, const form *f, tensor_type type, int stage)
{
    building b = {.g = graph_new(), .box = box, .f = f, .type = type};
    node x = graph_input(b.g, "x", DTYPE_F32, shape2(1, f->width));
    b.at = graph_input(b.g, "at", DTYPE_U32, shape1(1));
    for (b.layer = 0; b.layer < LAYERS; b.layer++)
        x = layer(&b, x, b.layer + 1 < LAYERS ? DOWN : stage);
    graph_output(b.g, "y", x);
    return b.g;
}

static void fill(float *x, uint32_t width, rng *r)
{
    for (uint32_t i = 0; i < width; i++)
        x[i] = (float)(rng_unit(r) * 4 - 2);
}

/* What each position makes of it, in one dispatch and by separate ones: one run, as models have it, so that both have the same threads. */
typedef uint32_t made[POSITIONS][MOST];
static void run_on_gpu(graph *g, const form *f, weight_box *box, made together, made apart)
{
    err e = {0};
    graph_use uses[] = {{.g = g, .level = LEVEL_TOKEN}, {.g = g, .level = LEVEL_OPS}};
    float x[MOST];
    graph_run *run = graph_run_new(device, uses, 2, find_weight, box, &e);
    if (!run || !graph_run_possible(run, 0, &e))
        fail_msg("%s", e.text);
    for (uint32_t which = 0; which < 2; which++) {
        rng r = rng_seed(19);
        for (uint32_t at = 0; at < POSITIONS; at++) {
            fill(x, f->width, &r);
            bool ok = graph_run_write(run, "x", x, &e) && graph_run_write(run, "at", &at, &e);
            graph_run_once(run, which, SUBMIT_BATCH);
            if (!ok || !graph_run_read(run, "y", which ? apart[at] : together[at], &e))
                fail_msg("position %u: %s", at, e.text);
        }
    }
    graph_run_free(run);
}

/* How far the last ones are from the CPU's answer, of its spread. */
static double distance(graph *g, const form *f, weight_box *box, const uint32_t *y, uint32_t count)
{
    err e = {0};
    rng r = rng_seed(19);
    double most = 0, squares = 0;
    cpu_run *cpu = cpu_run_new(g, find_weight, box, &e);
    assert_non_null(cpu);
    for (uint32_t at = 0; at < POSITIONS; at++) {
        fill(cpu_floats(cpu, "x"), f->width, &r);
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
static uint32_t differing(const form *f, tensor_type type, int stage)
{
    weight_box box = {.r = rng_seed(18)};
    graph *g = layers(&box, f, type, stage);
    static made together, apart;
    uint32_t different = 0;
    uint32_t count = (uint32_t)shape_count(graph_at(g, graph_find(g, "y"))->s);
    run_on_gpu(g, f, &box, together, apart);
    for (uint32_t at = 0; at < POSITIONS; at++)
        for (uint32_t i = 0; i < count; i++)
            different += (together[at][i] & ~1u) != (apart[at][i] & ~1u); /* the lowest bit is the epoch bit */
    double far =
        f != &qwen && f != &phi ? distance(g, f, &box, together[POSITIONS - 1], count) : 0; /* else it takes long */
    if (!(far < (type == TYPE_F16 ? 0.002 : 0.25))) /* x as bytes is not quite x */
        fail_msg("%s: up to %s the numbers are %g of their spread from the CPU's", type_find(type)->name, stages[stage],
                 far);
    graph_free(g);
    empty_box(&box);
    return different;
}

static bool makes_the_same_bits(const form *f, const tensor_type *types, size_t count)
{
    bool same = true;
    for (size_t i = 0; i < count; i++)
        if (differing(f, types[i], DOWN)) {
            same = false;
            for (int stage = ATTENTION; stage <= DOWN; stage++)
                print_message("%s, %s: %u numbers of %s are others in one dispatch\n", f->name,
                              type_find(types[i])->name, differing(f, types[i], stage), stages[stage]);
        }
    return same;
}

static void layers_make_the_same_bits(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    static const tensor_type types[] = {TYPE_Q8_0, TYPE_F16,  TYPE_Q4_0, TYPE_IQ4_NL, TYPE_MXFP4,
                                        TYPE_Q4_K, TYPE_Q3_K, TYPE_Q6_K, TYPE_IQ4_XS, TYPE_IQ3_S};
    enum { BLOCKS_OF_32 = 5 }; /* of the first types, which fit rows of any model */
    bool software = gpu_get_info(device)->type == GPU_TYPE_SOFTWARE;
    size_t count = software ? 1 : sizeof types / sizeof *types; /* it takes long to compile them there */
    setenv("SOLO_TUNE", "gpu", 1);
    setenv("SOLO_ONE_GROUPS", software ? "2" : "16", 1);
    bool same = makes_the_same_bits(&small, types, software ? count : BLOCKS_OF_32);
    setenv("SOLO_ONE_THREADS", "256", 1); /* which a device may find faster */
    same &= makes_the_same_bits(&small, types, 1);
    unsetenv("SOLO_ONE_THREADS");
    if (!software) {
        same &= makes_the_same_bits(&blocks, types + BLOCKS_OF_32, count - BLOCKS_OF_32);
        same &= makes_the_same_bits(&varied, types, count);
        unsetenv("SOLO_ONE_GROUPS");
        same &= makes_the_same_bits(&qwen, types, BLOCKS_OF_32);
        same &= makes_the_same_bits(&phi, types + 2, 1);
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
