/* Operators against the CPU's answer: random weights of any type, a graph run at every level, outputs compared. */
#ifndef SOLO_TESTS_GPU_COMPARE_H
#define SOLO_TESTS_GPU_COMPARE_H

#include "base/rng.h"
#include "base/str.h"
#include "gpu/devices.h"
#include "graph/cpu.h"
#include "graph/run.h"
#include "graph/sample.h"
#include "weight_blocks.h"

#include <math.h>

/* ---- weights made on the spot -------------------------------------------- */

enum { MOST_WEIGHTS = 96 };
typedef struct weight_box {
    struct {
        char name[32];
        void *data;
    } items[MOST_WEIGHTS];
    int count;
    rng r;
} weight_box;

static const void *find_weight(void *user, const char *name, uint64_t first, uint64_t bytes, err *e)
{
    (void)bytes, (void)e;
    weight_box *box = user;
    for (int i = 0; i < box->count; i++)
        if (strcmp(box->items[i].name, name) == 0)
            return (const char *)box->items[i].data + first;
    return NULL;
}

/* Random blocks of any type. Types that are only ever read get random blocks. */
static void fill_blocks(weight_box *box, tensor_type type, unsigned char *data, uint64_t weights)
{
    float *floats = mem_alloc(weights * sizeof *floats);
    for (uint64_t i = 0; i < weights; i++)
        floats[i] = (float)(rng_unit(&box->r) * 2 - 1);
    if (!type_from_f32(type, floats, data, weights))
        random_blocks(type, data, weights / type_find(type)->block_weights, &box->r);
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

/* How far apart answers may be. A number that another way makes the slightest bit smaller may be another half in a state. */
static float tolerance = 2e-4f;

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
        if (!(fabsf(got[i] - right) <= tolerance * (1 + fabsf(right))))
            fail_msg("%s at %s: element %u is %g instead of %g", name, fusion_names[level], (unsigned)i, (double)got[i],
                     (double)right);
    }
    free(got);
}

/* The highest level that is compared. */
static fusion_level highest_compared = LEVEL_OPS;
/* Inputs that are whole numbers of up to seven bits and a sign, in each 32 the largest one, too: nothing is lost when kernels round
 * them to such numbers. */
static bool whole_inputs = false;

static float random_input(rng *r, uint64_t i)
{
    if (!whole_inputs)
        return (float)(rng_unit(r) * 4 - 2);
    return (i % 32 == 5 ? 127.0f : (float)rng_below(r, 255) - 127) / 32;
}

/* Random inputs, every way, outputs compared; `runs` times with states living on. */

static inline void compare_ways(graph *g, weight_box *box, const char *const *inputs, const char *const *outputs,
                                uint32_t word_limit, uint32_t runs)
{
    const int LEVELS = (int)highest_compared + 1;
    err e = {0};
    graph_run *ways[LEVEL_COUNT] = {0};
    cpu_run *cpu = cpu_run_new(g, find_weight, box, &e);
    for (int level = LEVEL_NONE; cpu && level < LEVELS; level++)
        ways[level] =
            graph_run_new(device, &(graph_use){.g = g, .level = (fusion_level)level}, 1, find_weight, box, &e);
    if (cpu && e.kind == ERR_NONE)
        graph_run_possible(ways[LEVELS - 1], 0, &e);
    if (e.kind != ERR_NONE)
        fail_msg("%s", e.text);
    for (uint32_t run = 0; run < runs; run++) {
        for (const char *const *in = inputs; *in; in++) {
            const graph_node *n = graph_at(g, graph_find(g, *in));
            for (uint64_t i = 0; i < shape_count(n->s); i++) {
                if (n->type == DTYPE_U32)
                    cpu_words(cpu, *in)[i] = rng_below(&box->r, word_limit);
                else
                    cpu_floats(cpu, *in)[i] = random_input(&box->r, i);
            }
            const void *data = n->type == DTYPE_U32 ? (const void *)cpu_words(cpu, *in) : cpu_floats(cpu, *in);
            for (int level = LEVEL_NONE; level < LEVELS; level++)
                assert_true(graph_run_write(ways[level], *in, data, &e));
        }
        if (!cpu_run_once(cpu, &e))
            fail_msg("%s", e.text);
        for (int level = LEVEL_NONE; level < LEVELS; level++) {
            graph_run_once(ways[level], 0, SUBMIT_BATCH);
            for (const char *const *o = outputs; *o; o++)
                compare_output(ways[level], cpu, graph_at(g, graph_find(g, *o)), *o, (fusion_level)level);
        }
    }
    for (int level = LEVEL_NONE; level < LEVELS; level++)
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

typedef struct attention_case {
    uint32_t rows, heads, kv_heads, size, window;
    float softcap;
    dtype cache;
} attention_case;

static inline void compare_attention(const attention_case *c, weight_box *box)
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
    if (c->heads > 2) /* a score more, in some cases */
        spec.sinks = weight(g, box, "sinks", TYPE_F32, shape1(c->heads));
    graph_output(g, "y", graph_attention(g, q, graph_store(g, keys, k, at), graph_store(g, values, v, at), at, spec));
    /* Positions anywhere in the cache: what was not written is zero, here as there. */
    compare_ways(g, box, NAMES("q", "k", "v", "at"), NAMES("y"), CAPACITY - c->rows + 1, 2);
}

#endif
