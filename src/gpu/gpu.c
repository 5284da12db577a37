/* gpu: opening a device by any back end, its facts and counters, and the first error it keeps. */
#include "gpu/gpu.h"
#include "base/str.h"
#include "gpu/backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors -------------------------------------------------------------- */

void gpu_fail(gpu *g, const char *fmt, ...)
{
    if (g->error.kind != ERR_NONE)
        return;
    str text = {0};
    va_list ap;
    va_start(ap, fmt);
    str_vaddf(&text, fmt, ap);
    va_end(ap);
    err_set(&g->error, "%s: %s", g->info.impl, text.data ? text.data : "unknown error");
    str_free(&text);
}

void gpu_mark_hung(gpu *g)
{
    char why[64];
    snprintf(why, sizeof why, "the GPU did not finish in %llu minutes",
             (unsigned long long)(gpu_hang_ns(g) / 60000000000ull));
    gpu_mark_lost(g, why);
}

void gpu_mark_lost(gpu *g, const char *why)
{
    gpu_fail(g, "device lost: %s", why);
    g->lost = true;
}

bool gpu_ok(const gpu *g, err *e)
{
    if (g->backend->await_errors && !g->lost)
        g->backend->await_errors((gpu *)g);
    if (g->error.kind == ERR_NONE)
        return true;
    return err_set_kind(e, g->error.kind, "%s", g->error.text);
}

void gpu_take_error(gpu *g, err *e)
{
    if (e)
        *e = g->error;
    if (!g->lost)
        err_clear(&g->error);
}

void gpu_lose(gpu *g)
{
    g->backend->lose(g);
}

/* ---- the device ---------------------------------------------------------- */

static bool right_adapter(const gpu *g, gpu_adapter_want want, err *e)
{
    if (want == GPU_ADAPTER_GPU && g->info.type == GPU_TYPE_SOFTWARE)
        return err_set_kind(e, ERR_NO_GPU, "%s: a GPU was asked for and only software is here (%s)", g->info.impl,
                            g->info.device);
    if (want == GPU_ADAPTER_SOFTWARE && g->info.type != GPU_TYPE_SOFTWARE && g->info.type != GPU_TYPE_NONE)
        return err_set_kind(e, ERR_NO_GPU, "%s: software was asked for and only a GPU is here (%s)", g->info.impl,
                            g->info.device);
    return true;
}

/* With no implementation named: the first that works, WebGPU before the controls. */
static gpu *open_best(const gpu_choice *choice, err *e)
{
    str tried = {0};
    for (int i = 0; gpu_impl_names[i] && strcmp(gpu_impl_names[i], "stub") != 0; i++) {
        gpu_choice one = *choice;
        err why = {0};
        one.impl = gpu_impl_names[i];
        gpu *g = gpu_open_now(&one, &why);
        if (g) {
            str_free(&tried);
            return g;
        }
        str_addf(&tried, "%s%s", i ? "; " : "", why.text);
    }
    err_set_kind(e, ERR_NO_GPU, "no usable GPU: %s", tried.data);
    str_free(&tried);
    return NULL;
}

gpu *gpu_open_now(const gpu_choice *choice, err *e)
{
    if (!choice->impl)
        return open_best(choice, e);
    const gpu_backend *backend = gpu_backend_named(choice->impl);
    if (!backend) {
        err_set_kind(e, ERR_USAGE, "unknown implementation '%s' (dawn, wgpu, vulkan, cuda, stub or a library's path)",
                     choice->impl);
        return NULL;
    }
    gpu *g = backend->open(choice, e);
    if (!g)
        return NULL;
    if (!g->info.family[0])
        snprintf(g->info.family, sizeof g->info.family, "%s", backend->name);
    g->wait_mode = g->info.type == GPU_TYPE_SOFTWARE ? GPU_WAIT_BLOCKING : GPU_WAIT_POLLING;
    if (!right_adapter(g, choice->adapter, e)) {
        gpu_close(g);
        return NULL;
    }
    return g;
}

void gpu_close(gpu *g)
{
    if (!g)
        return;
    gpu_free_kernels(g);
    g->backend->close(g);
}

const gpu_info *gpu_get_info(const gpu *g)
{
    return &g->info;
}

bool gpu_is_worth_tuning(const gpu_info *info)
{
    const char *wish = getenv("SOLO_TUNE");
    return info->type != GPU_TYPE_SOFTWARE || (wish && (strcmp(wish, "gpu") == 0 || strcmp(wish, "matrix") == 0));
}

/* The size that an environment variable sets, in bytes; 0 if it sets no usable one. */
static uint64_t pretended_bytes(const char *variable)
{
    const char *text = getenv(variable);
    char *end;
    unsigned long long bytes = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    return bytes && !*end ? bytes : 0;
}

uint32_t gpu_workgroup_bytes(const gpu_info *info)
{
    uint64_t pretended = pretended_bytes("SOLO_WORKGROUP_BYTES");
    return pretended && pretended < info->max_workgroup_bytes ? (uint32_t)pretended : info->max_workgroup_bytes;
}

const gpu_info *gpu_ask_memory(gpu *g)
{
    uint64_t pretended = pretended_bytes("SOLO_GPU_MEMORY");
    memory_size size = {pretended, pretended};
    if (!pretended && g->backend->memory && !g->lost)
        size = g->backend->memory(g);
    g->info.memory_bytes = size.total;
    g->info.memory_free_bytes = size.free;
    return &g->info;
}

const char *gpu_type_name(gpu_type type)
{
    switch (type) {
    case GPU_TYPE_DISCRETE: return "discrete GPU";
    case GPU_TYPE_INTEGRATED: return "integrated GPU";
    case GPU_TYPE_SOFTWARE: return "software";
    case GPU_TYPE_NONE: return "none";
    case GPU_TYPE_UNKNOWN: break;
    }
    return "unknown";
}

gpu_counters gpu_get_counters(const gpu *g)
{
    return g->counters;
}

gpu_counters gpu_counters_since(const gpu *g, gpu_counters before)
{
    gpu_counters now = g->counters;
    return (gpu_counters){now.dispatches - before.dispatches,
                          now.passes - before.passes,
                          now.submits - before.submits,
                          now.bind_groups - before.bind_groups,
                          now.bytes_written - before.bytes_written,
                          now.bytes_read - before.bytes_read};
}

const char *const gpu_wait_names[] = {"polling", "blocking"};

void gpu_set_wait_mode(gpu *g, gpu_wait_mode mode)
{
    g->wait_mode = mode;
}

gpu_wait_mode gpu_get_wait_mode(const gpu *g)
{
    return g->wait_mode;
}
