/* Random graphs of all operators: the CPU's answer, the same without fusion, and
 * with all of it, on every implementation; and on those that compile what they are
 * given, as one dispatch. A seed that fails is named. */
#include "base/clock.h"
#include "gpu/devices.h"
#include "graph/cpu.h"
#include "graph/run.h"
#include "random_graph.h"

enum { LEVELS = LEVEL_TOKEN + 1, GRAPHS = 100, STEPS = 9 };
static const uint64_t BUDGET_NS = 9000000000; /* for an implementation: software compiles slowly */

static const void *random_find_weight(void *user, const char *name, uint64_t first, uint64_t bytes, err *e)
{
    (void)bytes, (void)e;
    const random_graph *b = user;
    for (uint32_t i = 0; i < b->weight_count; i++)
        if (strcmp(b->weights[i].name, name) == 0)
            return (const char *)b->weights[i].data + first;
    return NULL;
}

typedef struct ways {
    random_graph *b;
    uint64_t seed;
    cpu_run *cpu;
    graph_run *gpu[LEVELS];
} ways;

/* An input in all ways. */
static void put(const ways *w, const char *name, const void *data, size_t words)
{
    err e = {0};
    node n = graph_find(w->b->g, name);
    assert_int_equal(words, shape_count(graph_at(w->b->g, n)->s));
    memcpy(graph_at(w->b->g, n)->type == DTYPE_U32 ? (void *)cpu_words(w->cpu, name) : (void *)cpu_floats(w->cpu, name),
           data, words * 4);
    for (int level = LEVEL_NONE; level < LEVELS; level++)
        if (w->gpu[level] && graph_run_place(w->gpu[level], name).words &&
            !graph_run_write(w->gpu[level], name, data, &e))
            fail_msg("%s", e.text);
}

static void put_all(const ways *w)
{
    random_graph *b = w->b;
    uint32_t words[64] = {0}, most = RANDOM_CAPACITY - b->rows + 1;
    float floats[17 * 64];
    uint32_t x_count = (uint32_t)shape_count(graph_at(b->g, graph_find(b->g, "x"))->s);
    for (uint32_t i = 0; i < x_count; i++)
        floats[i] = (float)(rng_unit(&b->r) * 4 - 2);
    put(w, "x", floats, x_count);
    words[0] = random_below(b, most);
    put(w, "at", words, 1);
    words[0] = random_below(b, most < b->rows ? most : b->rows); /* a row of x, too */
    put(w, "row", words, 1);
    for (uint32_t i = 0; i < b->rows; i++)
        words[i] = random_below(b, RANDOM_VOCAB);
    put(w, "ids", words, b->rows);
    if (b->rows == 1) {
        sample_words settings = sample_pack(&(sample_settings){.temperature = 1, .top_k = 4, .seed = b->rows});
        put(w, "sampling", &settings, SAMPLE_WORDS);
        memset(words, 0, sizeof words);
        put(w, "history", words, 8);
    }
}

static void compare(const ways *w, const char *name, fusion_level level)
{
    err e = {0};
    const graph_node *n = graph_at(w->b->g, graph_find(w->b->g, name));
    uint64_t count = shape_count(n->s);
    float *got = mem_alloc(count * sizeof *got);
    if (!graph_run_read(w->gpu[level], name, got, &e))
        fail_msg("seed %u: %s", (unsigned)w->seed, e.text);
    for (uint64_t i = 0; i < count; i++) {
        if (n->type == DTYPE_U32) {
            uint32_t word;
            memcpy(&word, &got[i], 4);
            if (word != cpu_words(w->cpu, name)[i])
                fail_msg("seed %u, %s at %s: element %u is %u instead of %u", (unsigned)w->seed, name,
                         fusion_names[level], (unsigned)i, word, cpu_words(w->cpu, name)[i]);
            continue;
        }
        float right = cpu_floats(w->cpu, name)[i];
        if (!(fabsf(got[i] - right) <= 2e-3f * (1 + fabsf(right))))
            fail_msg("seed %u, %s at %s: element %u is %g instead of %g", (unsigned)w->seed, name, fusion_names[level],
                     (unsigned)i, (double)got[i], (double)right);
    }
    free(got);
}

static void run_graph(uint64_t seed, uint32_t steps, int levels)
{
    err e = {0};
    random_graph b = random_graph_new(seed, steps);
    ways w = {&b, seed, cpu_run_new(b.g, random_find_weight, &b, &e), {NULL}};
    for (int level = LEVEL_NONE; w.cpu && level < levels; level++) {
        w.gpu[level] =
            graph_run_new(device, &(graph_use){.g = b.g, .level = (fusion_level)level}, 1, random_find_weight, &b, &e);
        if (w.gpu[level])
            graph_run_possible(w.gpu[level], 0, &e);
    }
    if (e.kind != ERR_NONE)
        fail_msg("seed %u: %s", (unsigned)seed, e.text);
    assert_true(graph_run_dispatches(w.gpu[LEVEL_OPS], 0) <= graph_run_dispatches(w.gpu[LEVEL_NONE], 0));
    for (int run = 0; run < 2; run++) { /* states live on */
        put_all(&w);
        if (!cpu_run_once(w.cpu, &e))
            fail_msg("seed %u: %s", (unsigned)seed, e.text);
        for (int level = LEVEL_NONE; level < levels; level++) {
            graph_run_once(w.gpu[level], 0, SUBMIT_BATCH);
            for (uint32_t i = 0; i < b.output_count; i++) {
                char name[16];
                snprintf(name, sizeof name, "o%u", i);
                compare(&w, name, (fusion_level)level);
            }
            compare(&w, "at", (fusion_level)level);
            compare(&w, "ids", (fusion_level)level);
        }
    }
    for (int level = LEVEL_NONE; level < LEVELS; level++)
        graph_run_free(w.gpu[level]);
    cpu_run_free(w.cpu);
    random_graph_free(&b);
}

static void random_graphs(void **unused)
{
    (void)unused;
    const char *only = getenv("SOLO_FUSION_SEED"); /* to look at one that failed */
    if (only) {
        run_graph(strtoull(only, NULL, 10), STEPS,
                  strcmp(gpu_get_info(device)->family, "dawn") ? LEVEL_OPS + 1 : LEVELS);
        return;
    }
    uint64_t began = clock_ns();
    uint32_t done = 0;
    for (; done < GRAPHS && clock_ns() - began < BUDGET_NS; done++)
        run_graph(1000 + done, STEPS, LEVEL_OPS + 1);
    print_message("# %u random graphs\n", done);
    assert_true(done > 0);
}

/* Software takes long to compile all phases as one, so these are fewer and smaller. */
static void random_graphs_as_a_megakernel(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    uint64_t began = clock_ns();
    uint32_t done = 0;
    for (; done < GRAPHS && clock_ns() - began < 2 * BUDGET_NS; done++)
        run_graph(2000 + done, STEPS / 2 + done % 3, LEVELS);
    print_message("# %u random graphs as one dispatch\n", done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_graphs),
                                       cmocka_unit_test(random_graphs_as_a_megakernel)};
    return RUN_ON_EACH(tests);
}
