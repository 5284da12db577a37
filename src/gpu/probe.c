/* Probing a device: each feature by a shader that uses it, bandwidth by a copy kernel. */
#include "gpu/probe.h"
#include "base/clock.h"
#include "base/stats.h"
#include "base/str.h"
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One workgroup of a kernel that works on a few words in place. */
static bool run_on_words(gpu *g, const gpu_source *source, const char *entry, uint32_t threads, uint32_t *words,
                         uint32_t count)
{
    size_t bytes = count * sizeof *words;
    gpu_kernel *k = gpu_kernel_new(g, &(gpu_kernel_desc){.source = source,
                                                         .entry = entry,
                                                         .workgroup_size = threads,
                                                         .binding_count = 1,
                                                         .bindings = {GPU_BIND_WRITE}});
    gpu_buffer *b = gpu_buffer_new(g, bytes, GPU_USE_STORAGE);
    gpu_write(g, b, 0, words, bytes);
    gpu_bindings *bind = gpu_bindings_new(g, k, &(gpu_part){.buffer = b}, 1);
    gpu_launch(g, k, bind, 1);
    bool ok = gpu_read_now(g, b, 0, words, bytes, NULL);
    /* A failed probe means the feature is not there, not that the device is broken. */
    gpu_take_error(g, NULL);
    gpu_bindings_free(bind);
    gpu_buffer_free(b);
    gpu_kernel_free(k);
    return ok;
}

/* A kernel that copies memory. */
typedef struct copier {
    gpu_kernel *kernel;
    gpu_buffer *source, *target, *count;
    gpu_bindings *bindings;
} copier;

static copier copier_new(gpu *g, uint64_t bytes)
{
    copier c = {
        .kernel = gpu_kernel_new(g, &(gpu_kernel_desc){.source = &kernel_copy,
                                                       .entry = "copy",
                                                       .workgroup_size = 256,
                                                       .binding_count = 3,
                                                       .bindings = {GPU_BIND_READ, GPU_BIND_WRITE, GPU_BIND_UNIFORM}}),
        .source = gpu_buffer_new(g, bytes, GPU_USE_STORAGE),
        .target = gpu_buffer_new(g, bytes, GPU_USE_STORAGE),
        .count = gpu_buffer_new(g, 16, GPU_USE_UNIFORM)};
    gpu_write(g, c.count, 0, (uint32_t[4]){(uint32_t)(bytes / 16)}, 16);
    c.bindings =
        gpu_bindings_new(g, c.kernel, (gpu_part[]){{.buffer = c.source}, {.buffer = c.target}, {.buffer = c.count}}, 3);
    return c;
}

static void copier_record(const copier *c, gpu_recording *r, uint32_t groups, int times)
{
    for (int i = 0; i < times; i++) {
        gpu_set_kernel(r, c->kernel);
        gpu_set_bindings(r, c->bindings);
        gpu_dispatch(r, groups, 1, 1);
    }
}

static void copier_free(copier *c)
{
    gpu_bindings_free(c->bindings);
    gpu_buffer_free(c->source);
    gpu_buffer_free(c->target);
    gpu_buffer_free(c->count);
    gpu_kernel_free(c->kernel);
}

static bool f16_works(gpu *g)
{
    uint32_t words[3] = {2048, 0, 1};
    return run_on_words(g, &kernel_f16, "probe", 1, words, 3) && words[1] == 2048;
}

static bool subgroups_work(gpu *g)
{
    uint32_t words[3] = {0};
    if (!run_on_words(g, &kernel_subgroups, "probe", 128, words, 3))
        return false;
    uint32_t size = words[0];
    if (size < 2 || words[1] != size * (size - 1) / 2 || words[2] != 0)
        return false;
    gpu_info *info = (gpu_info *)gpu_get_info(g);
    if (!info->subgroup_min)
        info->subgroup_min = info->subgroup_max = size;
    return true;
}

static bool packed_dot_works(gpu *g)
{
    /* (1, -2, 3, 4) . (5, 6, -7, 8) = 5 - 12 - 21 + 32 */
    uint32_t words[3] = {0x0403fe01u, 0x08f90605u, 0};
    return run_on_words(g, &kernel_packed_dot, "probe", 1, words, 3) && words[2] == 4;
}

/* A product of small whole numbers in one of the shapes that hardware has: rows x depth by depth x columns. */
static bool matrix_works(gpu *g, uint32_t rows, uint32_t columns, uint32_t depth)
{
    enum { MOST = 256, THREADS = 128 };
    uint32_t words[MOST] = {0};
    char shape[96];
    str text = {0};
    snprintf(shape, sizeof shape, "const ROWS = %uu; const COLUMNS = %uu; const DEPTH = %uu;", rows, columns, depth);
    str_add_replaced(&text, kernel_matrix.wgsl, "const SHAPE = 0u;", shape);
    gpu_source source = {.name = kernel_matrix.name, .wgsl = text.data};
    bool ok = run_on_words(g, &source, "probe", THREADS, words, MOST);
    for (uint32_t i = 0; ok && i < rows * columns; i++) {
        float sum = 0, seen;
        for (uint32_t k = 0; k < depth; k++)
            sum += (float)((i / columns + k) % 7) * (float)((i % columns + 3 * k) % 5);
        memcpy(&seen, &words[i], sizeof seen);
        ok = seen == sum;
    }
    str_free(&text);
    return ok;
}

/* The shapes that work, the best one first. */
static void find_matrix_shapes(gpu *g, gpu_info *info)
{
    static const uint32_t shapes[][3] = {{16, 16, 16}, {16, 8, 16}, {8, 16, 16}, {8, 8, 8}};
    str names = {0};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const uint32_t *s = shapes[i];
        if (!matrix_works(g, s[0], s[1], s[2]))
            continue;
        str_addf(&names, "%s%ux%ux%u", names.length ? " " : "", s[0], s[1], s[2]);
        if (!info->matrix_rows) {
            info->matrix_rows = s[0];
            info->matrix_columns = s[1];
            info->matrix_depth = s[2];
        }
    }
    info->has_matrix = info->matrix_rows > 0;
    snprintf(info->matrix_shapes, sizeof info->matrix_shapes, "%s", names.data ? names.data : "");
    str_free(&names);
}

static bool quads_work(gpu *g)
{
    enum { THREADS = 128 };
    uint32_t words[THREADS] = {0};
    bool ok = run_on_words(g, &kernel_quads, "probe", THREADS, words, THREADS);
    for (uint32_t i = 0; i < THREADS; i++)
        ok = ok && words[i] == ((i ^ 1) | (i ^ 2) << 16);
    return ok;
}

/* Long enough for a coarse clock to move. */
static bool timestamps_work(gpu *g)
{
    enum { BYTES = 1 << 20, TIMES = 8, GROUPS = 16 };
    double ns = -1;
    gpu_timer *t = gpu_timer_new(g);
    copier c = copier_new(g, BYTES);
    gpu_recording *r = gpu_record(g, false);
    gpu_pass_begin(r, t, GPU_TIME_BEGIN | GPU_TIME_END);
    copier_record(&c, r, GROUPS, TIMES);
    gpu_pass_end(r);
    gpu_submit(g, gpu_finish(r));
    bool ok = gpu_wait(g, NULL) && gpu_timer_read_now(t, &ns, NULL) && ns > 0;
    gpu_take_error(g, NULL);
    copier_free(&c);
    gpu_timer_free(t);
    return ok;
}

static bool check(gpu *g, bool all, err *e)
{
    gpu_info *info = (gpu_info *)gpu_get_info(g);
    if (gpu_ok(g, e) && info->has_wgsl && info->type != GPU_TYPE_NONE) {
        all |= info->type != GPU_TYPE_SOFTWARE;
        info->has_f16 = info->has_f16 && (!all || f16_works(g));
        info->has_subgroups = info->has_subgroups && ((!all && info->subgroup_min) || subgroups_work(g));
        info->has_packed_dot = !all || packed_dot_works(g);
        info->has_quads =
            info->has_subgroups && strcmp(info->family, "web") == 0 && gpu_is_worth_tuning(info) && quads_work(g);
        info->has_matrix = info->has_matrix && info->has_subgroups && info->has_f16;
        if (info->has_matrix)
            find_matrix_shapes(g, info);
    }
    return gpu_ok(g, e);
}

bool gpu_check_language(gpu *g, err *e)
{
    return check(g, false, e);
}

bool gpu_check_features(gpu *g, err *e)
{
    gpu_info *info = (gpu_info *)gpu_get_info(g);
    if (!check(g, true, e))
        return false;
    info->has_timestamps = info->has_timestamps && (info->type == GPU_TYPE_NONE || timestamps_work(g));
    return gpu_ok(g, e);
}

/* ---- copy bandwidth ------------------------------------------------------ */

static bool time_copies(gpu *g, const copier *c, uint32_t groups, int copies, double *us, err *e)
{
    double start = clock_us();
    gpu_recording *r = gpu_record(g, false);
    gpu_pass_begin(r, NULL, 0);
    copier_record(c, r, groups, copies);
    gpu_pass_end(r);
    gpu_submit(g, gpu_finish(r));
    bool ok = gpu_wait(g, e);
    *us = clock_us() - start;
    return ok;
}

bool gpu_copy_bandwidth(gpu *g, double *gbps, err *e)
{
    enum { ROUNDS = 5, FEW = 2, MOST = 4096 };
    const double LONG_US =
        40e3; /* long enough that a page, which may learn of the end a millisecond late, is accurate */
    const gpu_info *info = gpu_get_info(g);
    *gbps = 0;
    if (info->type == GPU_TYPE_NONE)
        return true;
    uint64_t bytes = info->type == GPU_TYPE_SOFTWARE ? 16u << 20 : 512u << 20;
    if (bytes > info->max_storage_binding_bytes)
        bytes = info->max_storage_binding_bytes / 16 * 16;
    uint32_t groups = info->type == GPU_TYPE_SOFTWARE ? 16 : 4096;
    copier c = copier_new(g, bytes);
    uint32_t mark = 0x50105010, seen = 0;
    gpu_write(g, c.source, bytes - 4, &mark, 4);

    /* The slope between few and many copies leaves the cost of launching out. */
    double rates[ROUNDS], few, many = 0;
    int times = FEW;
    bool ok = time_copies(g, &c, groups, FEW, &few, e);
    while (ok && many < LONG_US && times < MOST) {
        times *= 2;
        ok = time_copies(g, &c, groups, times, &many, e);
    }
    for (int i = 0; ok && i < ROUNDS; i++) {
        ok = time_copies(g, &c, groups, FEW, &few, e) && time_copies(g, &c, groups, times, &many, e);
        rates[i] = 2.0 * (double)bytes * (times - FEW) / ((many - few) * 1e3);
    }
    ok = ok && gpu_read_now(g, c.target, bytes - 4, &seen, 4, e);
    if (ok && seen != mark)
        ok = err_set(e, "%s: the copy kernel did not copy", info->impl);
    if (ok)
        *gbps = stats_summary((samples){rates, ROUNDS, 1}).median;
    copier_free(&c);
    return ok;
}
