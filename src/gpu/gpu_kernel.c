/* gpu_kernel: kernels, kept with the device once compiled, and the buffers bound to them. */
#include "base/str.h"
#include "gpu/backend.h"
#include "gpu/gpu_test.h"

#include <stdlib.h>
#include <string.h>

/* Compiling takes longer than anything else here, and graphs are made of the same few
 * kernels: those that compiled stay with the device until it is closed. */
static char *kernel_key(const gpu_kernel_desc *desc)
{
    str key = {0};
    str_addf(&key, "%s %u", desc->entry, desc->workgroup_size);
    for (uint32_t i = 0; i < desc->binding_count; i++)
        str_addf(&key, " %d", desc->bindings[i]);
    /* either may be missing: a control written in CUDA has no other text to be told by */
    str_addf(&key, "\n%s", desc->source->wgsl ? desc->source->wgsl : "");
    str_addf(&key, "\n%s", desc->source->cuda ? desc->source->cuda : "");
    return key.data;
}

/* Where the list has the kernel of this key, or ends. */
static gpu_kernel **find_kept(gpu *g, const char *key)
{
    gpu_kernel **at = &g->kernels;
    while (*at && strcmp((*at)->key, key) != 0)
        at = &(*at)->next;
    return at;
}

/* A kernel that was made ahead is needed now. One that failed is not kept: it is the caller's. */
static gpu_kernel *finish_kernel(gpu *g, gpu_kernel **at, const gpu_kernel_desc *desc)
{
    gpu_kernel *k = *at;
    bool had_error = g->error.kind != ERR_NONE;
    k->ahead = false;
    g->backend->kernel_finish(k, desc);
    if (g->refuses_ahead)
        gpu_fail(g, "kernel '%s': refused", desc->source->name);
    if (had_error || g->error.kind == ERR_NONE)
        return k;
    *at = k->next;
    free(k->key);
    k->key = NULL;
    return k;
}

static gpu_kernel *kernel_of_text(gpu *g, const gpu_kernel_desc *desc)
{
    char *key = kernel_key(desc);
    gpu_kernel **at = find_kept(g, key);
    if (*at) {
        free(key);
        return (*at)->ahead && !desc->ahead ? finish_kernel(g, at, desc) : *at;
    }
    gpu_kernel_desc wanted = *desc;
    wanted.ahead = desc->ahead && g->info.can_compile_ahead;
    gpu_kernel *k = g->backend->kernel_new(g, &wanted);
    k->owner = g;
    k->binding_count = desc->binding_count;
    k->ahead = wanted.ahead;
    if (g->error.kind == ERR_NONE || k->ahead) {
        k->key = key;
        k->next = g->kernels;
        g->kernels = k;
    } else
        free(key);
    return k;
}

gpu_kernel *gpu_kernel_new(gpu *g, const gpu_kernel_desc *desc)
{
    if (!desc->source->shared)
        return kernel_of_text(g, desc);
    gpu_source source = *desc->source;
    gpu_kernel_desc joined = *desc;
    str text = {0};
    str_addf(&text, "%s%s", source.shared, source.wgsl);
    source.wgsl = text.data;
    joined.source = &source;
    gpu_kernel *k = kernel_of_text(g, &joined);
    str_free(&text);
    return k;
}

void gpu_kernel_free(gpu_kernel *k)
{
    if (k && !k->key)
        k->owner->backend->kernel_free(k);
}

bool gpu_kernel_is_ready(gpu_kernel *k)
{
    return !k->ahead || k->owner->lost || k->owner->backend->kernel_is_ready(k);
}

bool gpu_is_compiling(gpu *g)
{
    for (gpu_kernel *k = g->kernels; k; k = k->next)
        if (!gpu_kernel_is_ready(k))
            return true;
    return false;
}

void gpu_refuse_ahead(gpu *g, bool refuse)
{
    g->refuses_ahead = refuse;
}

void gpu_free_kernels(gpu *g)
{
    while (g->kernels) {
        gpu_kernel *k = g->kernels;
        g->kernels = k->next;
        free(k->key);
        g->backend->kernel_free(k);
    }
}

gpu_bindings *gpu_bindings_new(gpu *g, gpu_kernel *k, const gpu_part *parts, uint32_t count)
{
    gpu_part resolved[GPU_MAX_BINDINGS] = {0};
    if (count != k->binding_count)
        gpu_fail(g, "%u buffers bound to a kernel that takes %u", count, k->binding_count);
    for (uint32_t i = 0; i < count && i < GPU_MAX_BINDINGS; i++) {
        resolved[i] = parts[i];
        if (resolved[i].bytes == 0 && resolved[i].offset < resolved[i].buffer->bytes)
            resolved[i].bytes = resolved[i].buffer->bytes - resolved[i].offset;
        gpu_in_buffer(g, resolved[i].buffer, resolved[i].offset, resolved[i].bytes, "a binding");
        uint64_t limit = resolved[i].buffer->use == GPU_USE_UNIFORM ? g->info.max_uniform_binding_bytes
                                                                    : g->info.max_storage_binding_bytes;
        if (resolved[i].bytes > limit)
            gpu_fail(g, "binding %u of %llu bytes is larger than this device allows (%llu)", i,
                     (unsigned long long)resolved[i].bytes, (unsigned long long)limit);
    }
    g->counters.bind_groups++;
    gpu_bindings *b = g->backend->bindings_new(g, k, resolved, count);
    b->owner = g;
    return b;
}

void gpu_bindings_free(gpu_bindings *b)
{
    if (b)
        b->owner->backend->bindings_free(b);
}
