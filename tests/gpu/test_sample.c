/* Choosing a token on every implementation: the very tokens that the CPU chooses. */
#include "sampling.h"
#include "gpu/devices.h"
#include "graph/kernel_text.h"

#include <stdbool.h>

enum { THREADS = 256, ALONE = 1, HISTORY = 50, ARGUMENT_BYTES = 512, BEFORE = 3 };

/* The two kernels, or the one that does it alone, compiled once for each device: on software that takes seconds. */
static struct kernels {
    gpu_kernel *scan, *last; /* no scan: alone */
    uint32_t threads;
} kernels;

/* Memory for one vocabulary. */
typedef struct chooser {
    gpu_bindings *scan_bindings, *last_bindings;
    gpu_buffer *activations, *arguments[2], *weights, *states;
    sample_places places;
    uint32_t scan_groups;
    uint32_t history[HISTORY];
} chooser;

/* With workgroups of another size than the file's: in WGSL alone. */
static gpu_kernel *make_kernel(const char *name, uint32_t threads)
{
    kernel_variant v = {.name = name};
    if (threads != THREADS)
        kernel_set_constant(&v, CONSTANT_THREADS, threads);
    gpu_source *source = kernel_text(&v);
    gpu_kernel_desc d = {.source = source,
                         .entry = "main",
                         .workgroup_size = threads,
                         .binding_count = 5,
                         .bindings = {GPU_BIND_UNIFORM, GPU_BIND_READ, GPU_BIND_WRITE, GPU_BIND_WRITE, GPU_BIND_READ}};
    gpu_kernel *k = gpu_kernel_new(device, &d);
    kernel_text_free(source);
    return k;
}

static void drop_kernels(void)
{
    gpu_kernel_free(kernels.scan);
    gpu_kernel_free(kernels.last);
    kernels = (struct kernels){0};
}

static void want_kernels(uint32_t threads)
{
    if (kernels.threads == threads)
        return;
    drop_kernels();
    if (threads == ALONE)
        kernels = (struct kernels){NULL, make_kernel("op_sample_single_thread", threads), threads};
    else
        kernels = (struct kernels){make_kernel("op_sample_scan", threads), make_kernel("op_sample", threads), threads};
}

static gpu_bindings *bind(chooser *c, gpu_kernel *k, int which, const uint32_t *words)
{
    c->arguments[which] = gpu_buffer_new(device, ARGUMENT_BYTES, GPU_USE_UNIFORM);
    gpu_write(device, c->arguments[which], 0, words, SAMPLE_ARGUMENTS * 4);
    gpu_part parts[] = {
        {c->arguments[which], 0, 0}, {c->weights, 0, 0}, {c->activations, 0, 0}, {c->states, 0, 0}, {c->weights, 0, 0}};
    return gpu_bindings_new(device, k, parts, 5);
}

/* Everything lies at odd places, one after another. */
static chooser chooser_new(uint32_t vocab, uint32_t threads)
{
    chooser c = {0};
    want_kernels(threads);
    uint32_t at = 7, scan[SAMPLE_ARGUMENTS], last[SAMPLE_ARGUMENTS];
    c.places = (sample_places){.vocab = vocab, .position_plus = BEFORE, .history_tok = HISTORY, .append = 1};
    c.places.logits = at, at += vocab;
    c.places.settings = at, at += SAMPLE_WORDS;
    c.places.position = at++;
    c.places.out = at++;
    c.places.history = at, at += HISTORY;
    c.places.scratch = at, at += sample_scratch_words(vocab);
    c.activations = gpu_buffer_new(device, at * 4ull, GPU_USE_STORAGE);
    c.weights = gpu_buffer_new(device, 16, GPU_USE_STORAGE);
    c.states = gpu_buffer_new(device, 4, GPU_USE_STORAGE);
    sample_arguments(&c.places, threads == ALONE ? THREADS : threads, scan, last);
    c.scan_groups = scan[ARG_GROUPS];
    if (kernels.scan)
        c.scan_bindings = bind(&c, kernels.scan, 0, scan);
    c.last_bindings = bind(&c, kernels.last, 1, last);
    return c;
}

static void chooser_free(chooser *c)
{
    gpu_bindings_free(c->scan_bindings);
    gpu_bindings_free(c->last_bindings);
    gpu_buffer_free(c->activations);
    gpu_buffer_free(c->arguments[0]);
    gpu_buffer_free(c->arguments[1]);
    gpu_buffer_free(c->weights);
    gpu_buffer_free(c->states);
}

static void write_words(chooser *c, uint32_t at, const void *words, uint32_t count)
{
    gpu_write(device, c->activations, at * 4ull, words, count * 4ull);
}

/* One choice on the GPU and on the CPU. */
static void compare(chooser *c, const float *logits, const sample_settings *s, uint32_t so_far, const char *what)
{
    sample_words words = sample_pack(s);
    uint32_t vocab = c->places.vocab, position = so_far - BEFORE, kept, got[1 + HISTORY], none = 0xfffffff0u;
    write_words(c, c->places.settings, &words, SAMPLE_WORDS);
    write_words(c, c->places.position, &position, 1);
    write_words(c, c->places.out, &none, 1);
    write_words(c, c->places.history, c->history, HISTORY);
    gpu_recording *r = gpu_record(device, false);
    gpu_pass_begin(r, NULL, 0);
    if (kernels.scan) {
        gpu_set_kernel(r, kernels.scan);
        gpu_set_bindings(r, c->scan_bindings);
        gpu_dispatch(r, c->scan_groups, 1, 1);
    }
    gpu_set_kernel(r, kernels.last);
    gpu_set_bindings(r, c->last_bindings);
    gpu_dispatch(r, 1, 1, 1);
    gpu_pass_end(r);
    gpu_submit(device, gpu_finish(r));
    err e = {0};
    if (!gpu_read_now(device, c->activations, c->places.out * 4ull, got, sizeof got, &e))
        fail_msg("%s", e.text);
    uint32_t right = sample_on_cpu(logits, vocab, &words, c->history, HISTORY, so_far, &kept);
    if (got[0] != (right & ~SAMPLE_NOT_FINITE))
        fail_msg(
            "%s: token %u instead of %u: vocabulary %u, %u kept, temperature %g, k %u, p %.9g, min_p %g, penalty %g "
            "for %u, seed %u, %u so far",
            what, got[0], right, vocab, kept, (double)s->temperature, s->top_k, (double)s->top_p, (double)s->min_p,
            (double)s->repeat_penalty, s->repeat_last, s->seed, so_far);
    c->history[so_far % HISTORY] = right;
    assert_memory_equal(got + 1, c->history, sizeof c->history);
}

static const char *const kind_names[] = {"peaked", "flat",        "normal",     "equal", "few values",
                                         "masked", "not numbers", "all masked", "huge"};

/* `texts` times logits of each of the kinds, with `choices` settings each. */
static void compare_many(uint32_t vocab, uint32_t threads, uint32_t texts, uint32_t choices, uint64_t seed)
{
    rng r = rng_seed(seed);
    chooser c = chooser_new(vocab, threads);
    float *logits = mem_alloc(vocab * sizeof *logits);
    for (uint32_t text = 0; text < texts; text++) {
        logit_kind kind = (logit_kind)(text % LOGIT_KINDS);
        make_logits(logits, vocab, kind, &r);
        write_words(&c, c.places.logits, logits, vocab);
        for (uint32_t i = 0; i < HISTORY; i++)
            c.history[i] = rng_below(&r, vocab + vocab / 8);
        for (uint32_t i = 0; i < choices; i++) {
            sample_settings s = make_settings(vocab, &r);
            compare(&c, logits, &s, BEFORE + rng_below(&r, 120), kind_names[kind]);
        }
    }
    free(logits);
    chooser_free(&c);
}

static void test_small_vocabularies(void **unused)
{
    (void)unused;
    static const uint32_t vocabs[] = {1, 2, 5, 64, 255, 256, 257, 1000, 1024, 1025};
    for (size_t i = 0; i < sizeof vocabs / sizeof *vocabs; i++)
        compare_many(vocabs[i], THREADS, LOGIT_KINDS, 12, 100 + i);
}

static void test_middling_vocabularies(void **unused)
{
    (void)unused;
    compare_many(4099, THREADS, LOGIT_KINDS, 25, 200);
    compare_many(32000, THREADS, LOGIT_KINDS, 8, 201);
}

/* Every way through the kernel, on a vocabulary of each length of slice. */
static void test_large_vocabularies(void **unused)
{
    (void)unused;
    static const sample_settings ways[] = {
        {0},
        {.temperature = 1.2f},
        {.temperature = 0.8f, .top_k = 40, .repeat_penalty = 1.1f},
        {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f},
        {.temperature = 1, .top_p = 0.9f, .repeat_penalty = 0.9f},
        {.temperature = 1, .min_p = 0.05f},
        {.temperature = 1, .top_k = 5000, .top_p = 0.98f},
        {.temperature = 0, .repeat_penalty = 1.3f},
    };
    static const uint32_t vocabs[] = {151936, 261001, 300007};
    static const logit_kind kinds[] = {NORMAL, PEAKED, FLAT};
    rng r = rng_seed(300);
    for (size_t v = 0; v < 3; v++) {
        chooser c = chooser_new(vocabs[v], THREADS);
        float *logits = mem_alloc(vocabs[v] * sizeof *logits);
        for (size_t k = 0; k < 2; k++) {
            logit_kind kind = kinds[(v + k) % 3];
            make_logits(logits, vocabs[v], kind, &r);
            write_words(&c, c.places.logits, logits, vocabs[v]);
            for (uint32_t i = 0; i < HISTORY; i++)
                c.history[i] = rng_below(&r, vocabs[v]);
            for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
                sample_settings s = ways[i];
                s.seed = (uint32_t)rng_next(&r);
                compare(&c, logits, &s, 20 + (uint32_t)i, kind_names[kind]);
            }
        }
        free(logits);
        chooser_free(&c);
    }
}

/* Other sizes of workgroups choose the same; the kernels' SPIR-V is made for one. Each takes seconds to compile on
 * software: one of each sort. */
static void test_other_workgroups(void **unused)
{
    (void)unused;
    uint32_t threads = strcmp(gpu_get_info(device)->family, "dawn") == 0 ? 64 : 1024;
    if (threads > gpu_get_info(device)->max_workgroup_threads)
        skip();
    compare_many(777, threads, LOGIT_KINDS, 6, 400);
    compare_many(20011, threads, LOGIT_KINDS, 6, 401);
}

/* One thread alone chooses the same; large vocabularies take it long. */
static void test_alone(void **unused)
{
    (void)unused;
    static const uint32_t vocabs[] = {1, 2, 64, 257, 1025, 4099};
    for (size_t i = 0; i < sizeof vocabs / sizeof *vocabs; i++)
        compare_many(vocabs[i], ALONE, 2 * LOGIT_KINDS, 12, 500 + i);
    compare_many(32000, ALONE, LOGIT_KINDS, 2, 510);
}

static int close_all(void **state)
{
    drop_kernels();
    return close_device(state);
}

int main(void)
{
    const struct CMUnitTest vulkan[] = {
        cmocka_unit_test(test_small_vocabularies),
        cmocka_unit_test(test_middling_vocabularies),
        cmocka_unit_test(test_large_vocabularies),
    };
    const struct CMUnitTest webgpu[] = {
        cmocka_unit_test(test_small_vocabularies),
        cmocka_unit_test(test_middling_vocabularies),
        cmocka_unit_test(test_large_vocabularies),
        cmocka_unit_test(test_other_workgroups),
        cmocka_unit_test(test_alone),
    };
    return cmocka_run_group_tests_name("dawn", webgpu, open_dawn, close_all) +
           cmocka_run_group_tests_name("wgpu", webgpu, open_wgpu, close_all) +
           cmocka_run_group_tests_name("vulkan", vulkan, open_vulkan, close_all);
}
