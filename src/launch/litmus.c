/* The litmus test: its kernel, its effort, its verdict. */
#include "launch/litmus.h"
#include "launch/litmus_test.h"
#include "base/str.h"
#include "kernels.h"
#include "launch/persistent.h"

#include <stdlib.h>
#include <string.h>

/* With more, numbers in the report would not stay below 2^32. */
enum { MAX_WORKGROUPS = 4096, MAX_THREADS = 1024 };

enum { BINDINGS = 5, REGIONS = 4, GENERATIONS = 2, WORDS_AT_LEAST = 256, THREADS_IN_TEXT = 256 };

/* As the kernels have them. */
struct params {
    launch_params launch;
    uint32_t steps, words, slots, seed;
};
enum { REPORT_WRONG, REPORT_ROUNDS, REPORT_UNCHECKED, REPORT_FIRST, REPORT_WORDS = REPORT_FIRST + 4 };

/* A GPU makes a round in some ten microseconds and polls the barrier about once in one. In software
 * polls take nanoseconds, rounds longer, and workgroups are threads that others keep waiting. */
static const struct effort {
    uint32_t rounds, spin_limit, tries;
} ON_GPU = {1000, 1u << 16, 3}, IN_SOFTWARE = {60, 1u << 24, 3};

const char *litmus_verdict_name(litmus_verdict verdict)
{
    switch (verdict) {
    case LITMUS_PASSED: return "passed";
    case LITMUS_WRONG: return "wrong";
    case LITMUS_TIMED_OUT: return "timed out";
    case LITMUS_UNKNOWN: break;
    }
    return "unknown";
}

static uint32_t power_of_two_from(uint32_t n)
{
    uint32_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

/* The text with another number of threads. SPIR-V is as it is. */
static bool with_threads(const gpu_source *source, uint32_t threads, gpu_source *out, str *text, err *e)
{
    static const char line[] = "const THREADS = 256u;";
    *out = *source;
    if (threads == THREADS_IN_TEXT)
        return true;
    const char *at = strstr(source->wgsl, line);
    if (!at)
        return err_set(e, "kernel %s has no line '%s'", source->name, line);
    str_add_bytes(text, source->wgsl, (size_t)(at - source->wgsl));
    str_addf(text, "const THREADS = %uu;%s", threads, at + sizeof line - 1);
    *out = (gpu_source){.name = source->name, .shared = source->shared, .wgsl = text->data};
    return true;
}

typedef struct litmus {
    gpu *g;
    uint32_t workgroups, threads;
    gpu_kernel *kernel;
    gpu_buffer *params, *data, *grid, *report, *floats;
    gpu_bindings *bindings;
} litmus;

static struct params params_for(const litmus *l, const struct effort *effort, uint32_t try)
{
    uint32_t words = power_of_two_from(l->threads > WORDS_AT_LEAST ? l->threads : WORDS_AT_LEAST);
    return (struct params){.steps = effort->rounds / 2 * 3,
                           .words = words,
                           .slots = power_of_two_from(words * l->workgroups),
                           .launch = {.spin_limit = effort->spin_limit, .polls_epoch = 1},
                           .seed = 0x50105010u + try * 0x01000193u};
}

static void set_up(litmus *l, const gpu_source *source, uint32_t slots)
{
    gpu *g = l->g;
    l->kernel = gpu_kernel_new(g, &(gpu_kernel_desc){.source = source,
                                                     .entry = "litmus",
                                                     .workgroup_size = l->threads,
                                                     .binding_count = BINDINGS,
                                                     .bindings = {GPU_BIND_UNIFORM, GPU_BIND_WRITE, GPU_BIND_WRITE,
                                                                  GPU_BIND_WRITE, GPU_BIND_WRITE}});
    l->params = gpu_buffer_new(g, sizeof(struct params), GPU_USE_UNIFORM);
    l->data = gpu_buffer_new(g, (uint64_t)slots * REGIONS * GENERATIONS * sizeof(uint32_t), GPU_USE_STORAGE);
    l->grid = gpu_buffer_new(g, GRID_WORDS * sizeof(uint32_t), GPU_USE_STORAGE);
    l->floats = gpu_buffer_new(g, (uint64_t)slots * sizeof(float), GPU_USE_STORAGE);
    l->report = gpu_buffer_new(g, REPORT_WORDS * sizeof(uint32_t), GPU_USE_STORAGE);
    gpu_part parts[BINDINGS] = {
        {.buffer = l->params}, {.buffer = l->data}, {.buffer = l->grid}, {.buffer = l->report}, {.buffer = l->floats}};
    l->bindings = gpu_bindings_new(g, l->kernel, parts, BINDINGS);
}

static void tear_down(litmus *l)
{
    gpu_bindings_free(l->bindings);
    gpu_buffer_free(l->params);
    gpu_buffer_free(l->data);
    gpu_buffer_free(l->grid);
    gpu_buffer_free(l->floats);
    gpu_buffer_free(l->report);
    gpu_kernel_free(l->kernel);
}

/* The epoch bits of another try mean nothing. */
static void clear_floats(const litmus *l)
{
    uint64_t bytes = gpu_buffer_bytes(l->floats);
    void *zeros = mem_alloc(bytes);
    gpu_write(l->g, l->floats, 0, zeros, bytes);
    free(zeros);
}

static bool run_once(litmus *l, const struct params *params, litmus_result *out, err *e)
{
    gpu *g = l->g;
    persistent p = {.g = g, .grid = l->grid};
    uint32_t report[REPORT_WORDS] = {0};
    bool timed_out = false;
    gpu_write(g, l->params, 0, params, sizeof *params);
    persistent_reset(&p);
    clear_floats(l);
    gpu_write(g, l->report, 0, report, sizeof report);
    gpu_launch(g, l->kernel, l->bindings, l->workgroups);
    if (!gpu_wait(g, e) || !persistent_timed_out(&p, &timed_out, e) ||
        !gpu_read_now(g, l->report, 0, report, sizeof report, e))
        return false;
    const uint32_t *first = report + REPORT_FIRST;
    *out = (litmus_result){.rounds = report[REPORT_ROUNDS] / (l->workgroups * l->threads),
                           .wrong = report[REPORT_WRONG],
                           .wrong_place = first[0],
                           .wrong_round = first[1],
                           .wrong_got = first[2],
                           .wrong_wanted = first[3]};
    uint32_t rounds = params->steps / 3 * 2;
    /* a kernel that did less than it says has shown nothing */
    if (!timed_out && report[REPORT_ROUNDS] != rounds * l->workgroups * l->threads)
        return err_set(e, "%s: the litmus kernel made %u of %u rounds", gpu_get_info(g)->impl, out->rounds, rounds);
    out->verdict = report[REPORT_WRONG] ? LITMUS_WRONG : timed_out ? LITMUS_TIMED_OUT : LITMUS_PASSED;
    return true;
}

bool gpu_litmus_of(gpu *g, const gpu_source *source, uint32_t workgroups, uint32_t threads, litmus_result *out, err *e)
{
    const gpu_info *info = gpu_get_info(g);
    *out = (litmus_result){0};
    if (!gpu_ok(g, e))
        return false;
    if (info->type == GPU_TYPE_NONE)
        return true;
    if (workgroups == 0 || workgroups > MAX_WORKGROUPS || threads == 0 || threads > MAX_THREADS ||
        workgroups > info->max_workgroups || threads > info->max_workgroup_threads)
        return err_set(e, "%s: no litmus test with %u workgroups of %u threads", info->impl, workgroups, threads);
    if (!info->has_wgsl && (threads != THREADS_IN_TEXT || !source->spirv || strcmp(info->family, "vulkan") != 0))
        return err_set(e, "%s: no litmus test with %u threads here", info->impl, threads);

    const struct effort *effort = info->type == GPU_TYPE_SOFTWARE ? &IN_SOFTWARE : &ON_GPU;
    litmus l = {.g = g, .workgroups = workgroups, .threads = threads};
    gpu_source wanted;
    str text = {0};
    bool ok = with_threads(source, threads, &wanted, &text, e);
    if (ok) {
        set_up(&l, &wanted, params_for(&l, effort, 0).slots);
        for (uint32_t try = 0; ok && try < effort->tries; try++) {
            struct params params = params_for(&l, effort, try);
            ok = run_once(&l, &params, out, e);
            if (out->verdict != LITMUS_TIMED_OUT)
                break;
        }
        tear_down(&l);
        /* what failed here must not make the work after it fail */
        gpu_take_error(g, NULL);
    }
    str_free(&text);
    if (!ok)
        *out = (litmus_result){0};
    return ok;
}

bool gpu_litmus(gpu *g, uint32_t workgroups, uint32_t threads, litmus_result *out, err *e)
{
    return gpu_litmus_of(g, &kernel_litmus, workgroups, threads, out, e);
}
