/* What every back end shares: choosing one, counting, keeping the first error,
 * and the blocking forms built on the callbacks. */
#include "gpu/gpu.h"
#include "base/clock.h"
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

void gpu_mark_lost(gpu *g, const char *why)
{
    gpu_fail(g, "device lost: %s", why);
    g->lost = true;
}

bool gpu_ok(const gpu *g, err *e)
{
    if (g->backend->settle && !g->lost)
        g->backend->settle((gpu *)g);
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

void gpu_open(const gpu_choice *choice, gpu_opened opened, void *user)
{
    err e = {0};
    gpu *g = gpu_open_now(choice, &e);
    opened(user, g, g ? NULL : &e);
}

static void free_kept_kernels(gpu *g);

void gpu_close(gpu *g)
{
    if (!g)
        return;
    free_kept_kernels(g);
    g->backend->close(g);
}

const gpu_info *gpu_get_info(const gpu *g)
{
    return &g->info;
}

bool gpu_is_worth_tuning(const gpu_info *info)
{
    const char *wish = getenv("SOLO_TUNE");
    return info->type != GPU_TYPE_SOFTWARE || (wish && strcmp(wish, "gpu") == 0);
}

/* What is told in the environment, as whole bytes; 0 if nothing usable is. */
static uint64_t pretended_memory(void)
{
    const char *text = getenv("SOLO_GPU_MEMORY");
    char *end;
    unsigned long long bytes = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    return bytes && !*end ? bytes : 0;
}

const gpu_info *gpu_ask_memory(gpu *g)
{
    uint64_t pretended = pretended_memory();
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

/* ---- memory -------------------------------------------------------------- */

gpu_buffer *gpu_buffer_new(gpu *g, uint64_t bytes, gpu_use use)
{
    if (bytes == 0 || bytes % 4 != 0)
        gpu_fail(g, "a buffer of %llu bytes: the size must be a multiple of 4 and not 0", (unsigned long long)bytes);
    else if (bytes > g->info.max_buffer_bytes)
        gpu_fail(g, "a buffer of %llu bytes is larger than this device allows (%llu)", (unsigned long long)bytes,
                 (unsigned long long)g->info.max_buffer_bytes);
    gpu_buffer *b = g->backend->buffer_new(g, g->error.kind == ERR_NONE ? bytes : 4, use);
    b->owner = g;
    b->bytes = bytes;
    b->use = use;
    return b;
}

void gpu_buffer_free(gpu_buffer *b)
{
    if (b)
        b->owner->backend->buffer_free(b);
}

uint64_t gpu_buffer_bytes(const gpu_buffer *b)
{
    return b->bytes;
}

static bool in_buffer(gpu *g, const gpu_buffer *b, uint64_t offset, uint64_t bytes, const char *what)
{
    if (offset % 4 == 0 && bytes % 4 == 0 && offset <= b->bytes && bytes <= b->bytes - offset)
        return true;
    gpu_fail(g, "%s of %llu bytes at %llu does not fit a buffer of %llu, or is not a multiple of 4", what,
             (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)b->bytes);
    return false;
}

void gpu_write(gpu *g, gpu_buffer *b, uint64_t offset, const void *data, size_t bytes)
{
    if (g->error.kind != ERR_NONE || !in_buffer(g, b, offset, bytes, "a write"))
        return;
    g->counters.bytes_written += bytes;
    g->backend->write(g, b, offset, data, bytes);
}

void gpu_read(gpu *g, gpu_buffer *b, uint64_t offset, void *data, size_t bytes, gpu_done done, void *user)
{
    if (g->error.kind != ERR_NONE || !in_buffer(g, b, offset, bytes, "a read")) {
        done(user, false);
        return;
    }
    g->counters.bytes_read += bytes;
    g->backend->read(g, b, offset, data, bytes, done, user);
}

/* ---- kernels ------------------------------------------------------------- */

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

gpu_kernel *gpu_kernel_new(gpu *g, const gpu_kernel_desc *desc)
{
    char *key = kernel_key(desc);
    for (gpu_kernel *k = g->kernels; k; k = k->next)
        if (strcmp(k->key, key) == 0) {
            free(key);
            return k;
        }
    gpu_kernel *k = g->backend->kernel_new(g, desc);
    k->owner = g;
    k->binding_count = desc->binding_count;
    if (g->error.kind == ERR_NONE && !desc->ahead) {
        k->key = key;
        k->next = g->kernels;
        g->kernels = k;
    } else
        free(key);
    return k;
}

void gpu_kernel_free(gpu_kernel *k)
{
    if (k && !k->key)
        k->owner->backend->kernel_free(k);
}

static void free_kept_kernels(gpu *g)
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
    gpu_part whole[GPU_MAX_BINDINGS] = {0};
    if (count != k->binding_count)
        gpu_fail(g, "%u buffers bound to a kernel that takes %u", count, k->binding_count);
    for (uint32_t i = 0; i < count && i < GPU_MAX_BINDINGS; i++) {
        whole[i] = parts[i];
        if (whole[i].bytes == 0 && whole[i].offset < whole[i].buffer->bytes)
            whole[i].bytes = whole[i].buffer->bytes - whole[i].offset;
        in_buffer(g, whole[i].buffer, whole[i].offset, whole[i].bytes, "a binding");
        uint64_t limit = whole[i].buffer->use == GPU_USE_UNIFORM ? g->info.max_uniform_binding_bytes
                                                                 : g->info.max_storage_binding_bytes;
        if (whole[i].bytes > limit)
            gpu_fail(g, "binding %u of %llu bytes is larger than this device allows (%llu)", i,
                     (unsigned long long)whole[i].bytes, (unsigned long long)limit);
    }
    g->counters.bind_groups++;
    gpu_bindings *b = g->backend->bindings_new(g, k, whole, count);
    b->owner = g;
    return b;
}

void gpu_bindings_free(gpu_bindings *b)
{
    if (b)
        b->owner->backend->bindings_free(b);
}

/* ---- work ---------------------------------------------------------------- */

gpu_recording *gpu_record(gpu *g, bool replayable)
{
    if (replayable && !g->info.can_replay)
        gpu_fail(g, "commands cannot be submitted twice here");
    gpu_recording *r = g->backend->record(g, replayable);
    r->owner = g;
    r->replayable = replayable;
    return r;
}

void gpu_pass_begin(gpu_recording *r, gpu_timer *timer, int edges)
{
    r->owner->counters.passes += r->owner->info.has_passes;
    r->owner->backend->pass_begin(r, timer, edges);
}

void gpu_set_kernel(gpu_recording *r, gpu_kernel *k)
{
    r->owner->backend->set_kernel(r, k);
}

void gpu_set_bindings(gpu_recording *r, gpu_bindings *b)
{
    r->owner->backend->set_bindings(r, b);
}

void gpu_dispatch(gpu_recording *r, uint32_t x, uint32_t y, uint32_t z)
{
    r->owner->counters.dispatches++;
    r->owner->backend->dispatch(r, x, y, z);
}

void gpu_dispatch_indirect(gpu_recording *r, gpu_buffer *b, uint64_t offset)
{
    r->owner->counters.dispatches++;
    r->owner->backend->dispatch_indirect(r, b, offset);
}

void gpu_pass_end(gpu_recording *r)
{
    r->owner->backend->pass_end(r);
}

void gpu_copy(gpu_recording *r, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to, uint64_t to_offset,
              uint64_t bytes)
{
    if (from == to)
        gpu_fail(r->owner, "a copy from a buffer to itself");
    else if (in_buffer(r->owner, from, from_offset, bytes, "a copy") &&
             in_buffer(r->owner, to, to_offset, bytes, "a copy"))
        r->owner->backend->copy(r, from, from_offset, to, to_offset, bytes);
}

gpu_commands *gpu_finish(gpu_recording *r)
{
    gpu *g = r->owner;
    bool replayable = r->replayable;
    gpu_commands *c = g->backend->finish(r);
    c->owner = g;
    c->replayable = replayable;
    return c;
}

void gpu_submit(gpu *g, gpu_commands *c)
{
    g->counters.submits++;
    g->backend->submit(g, c);
}

void gpu_commands_free(gpu_commands *c)
{
    if (c)
        c->owner->backend->commands_free(c);
}

/* A read under way. It is not on the stack: when the device is lost the callback
 * may come later, or never, and must then find something that is still there. */
typedef struct completion {
    bool done, ok, abandoned;
    char data[];
} completion;

static void complete(void *user, bool ok)
{
    completion *c = user;
    c->done = true;
    c->ok = ok;
    if (c->abandoned)
        free(c);
}

/* Poll until it is done. False, and the completion is no longer ours, if the
 * device was lost first. */
static bool await(gpu *g, completion *c)
{
    uint64_t start = 0;
    for (uint64_t polls = 1; !c->done && !g->lost; polls++) {
        g->backend->poll(g);
        if (polls % 4096 == 0) {
            uint64_t now = clock_ns();
            start = start ? start : now;
            if (now - start > GPU_HANG_NS)
                gpu_mark_lost(g, "the GPU did not finish in five minutes");
        }
    }
    if (!c->done)
        c->abandoned = true;
    return c->done;
}

void gpu_when_done(gpu *g, gpu_done done, void *user)
{
    if (g->error.kind != ERR_NONE)
        done(user, false);
    else
        g->backend->when_done(g, done, user);
}

void gpu_poll(gpu *g)
{
    g->backend->poll(g);
}

bool gpu_wait(gpu *g, err *e)
{
    if (g->error.kind != ERR_NONE)
        return gpu_ok(g, e);
    g->backend->wait(g);
    return gpu_ok(g, e);
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

bool gpu_read_now(gpu *g, gpu_buffer *b, uint64_t offset, void *data, size_t bytes, err *e)
{
    completion *c = mem_alloc(sizeof *c + bytes);
    gpu_read(g, b, offset, c->data, bytes, complete, c);
    /* Software has to compute what is read: asking again and again would take a processor from it. */
    if (g->wait_mode == GPU_WAIT_BLOCKING && g->info.can_block)
        gpu_wait(g, e);
    if (await(g, c)) {
        if (c->ok)
            memcpy(data, c->data, bytes);
        else
            gpu_fail(g, "reading a buffer failed");
        free(c);
    }
    return gpu_ok(g, e);
}

/* ---- device time --------------------------------------------------------- */

gpu_timer *gpu_timer_new(gpu *g)
{
    if (!g->info.has_timestamps)
        gpu_fail(g, "no timestamps on this device");
    gpu_timer *t = g->backend->timer_new(g);
    t->owner = g;
    return t;
}

void gpu_timer_free(gpu_timer *t)
{
    if (t)
        t->owner->backend->timer_free(t);
}

bool gpu_timer_read_now(gpu_timer *t, double *ns, err *e)
{
    if (!gpu_ok(t->owner, e))
        return false;
    return t->owner->backend->timer_read(t, ns, e) && gpu_ok(t->owner, e);
}

void gpu_launch(gpu *g, gpu_kernel *k, gpu_bindings *b, uint32_t groups)
{
    gpu_recording *r = gpu_record(g, false);
    gpu_pass_begin(r, NULL, 0);
    gpu_set_kernel(r, k);
    gpu_set_bindings(r, b);
    gpu_dispatch(r, groups, 1, 1);
    gpu_pass_end(r);
    gpu_submit(g, gpu_finish(r));
}
