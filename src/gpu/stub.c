/* stub: a back end whose every call does nothing.
 *
 * What a measurement costs on it is what the harness itself costs. Buffers are real
 * memory, so that code which writes and reads them works, but no kernel ever runs. */
#include "base/str.h"
#include "gpu/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct stub {
    gpu base;
    gpu_bindings bindings;
    gpu_recording recording;
    gpu_commands commands;
    gpu_timer timer;
} stub;

typedef struct stub_buffer {
    gpu_buffer base;
    char data[];
} stub_buffer;

static gpu *open(const gpu_choice *choice, err *e)
{
    (void)choice, (void)e;
    stub *s = mem_alloc(sizeof *s);
    s->base.backend = &gpu_stub_backend;
    gpu_info *info = &s->base.info;
    snprintf(info->family, sizeof info->family, "stub");
    snprintf(info->impl, sizeof info->impl, "stub");
    snprintf(info->backend, sizeof info->backend, "none");
    snprintf(info->vendor, sizeof info->vendor, "none");
    snprintf(info->device, sizeof info->device, "does nothing");
    info->type = GPU_TYPE_NONE;
    info->can_replay = info->can_indirect = info->has_passes = true;
    info->max_buffer_bytes = info->max_storage_binding_bytes = 1ull << 30;
    info->max_uniform_binding_bytes = 65536;
    info->max_storage_buffers = GPU_MAX_BINDINGS;
    info->max_workgroup_bytes = 16384;
    info->max_workgroup_threads = 256;
    info->max_workgroups = 65535;
    info->uniform_align_bytes = 256;
    return &s->base;
}

static void close(gpu *g)
{
    free(g);
}

static void lose(gpu *g)
{
    gpu_mark_lost(g, "destroyed");
}

static gpu_buffer *buffer_new(gpu *g, uint64_t bytes, gpu_use use)
{
    (void)g, (void)use;
    stub_buffer *b = mem_alloc(sizeof *b + bytes);
    return &b->base;
}

static void buffer_free(gpu_buffer *b)
{
    free(b);
}

static void write_buffer(gpu *g, gpu_buffer *b, uint64_t offset, const void *data, size_t bytes)
{
    (void)g;
    memcpy(((stub_buffer *)b)->data + offset, data, bytes);
}

static void read_buffer(gpu *g, gpu_buffer *b, uint64_t offset, void *data, size_t bytes, gpu_done done, void *user)
{
    (void)g;
    memcpy(data, ((stub_buffer *)b)->data + offset, bytes);
    done(user, true);
}

static gpu_kernel *kernel_new(gpu *g, const gpu_kernel_desc *desc)
{
    (void)g, (void)desc;
    return mem_alloc(sizeof(gpu_kernel)); /* one each: those that were made are kept in a list */
}

static void kernel_free(gpu_kernel *k)
{
    free(k);
}

static gpu_bindings *bindings_new(gpu *g, gpu_kernel *k, const gpu_part *parts, uint32_t count)
{
    (void)k, (void)parts, (void)count;
    return &((stub *)g)->bindings;
}

static void bindings_free(gpu_bindings *b)
{
    (void)b;
}

static gpu_recording *record(gpu *g, bool replayable)
{
    (void)replayable;
    return &((stub *)g)->recording;
}

static void pass_begin(gpu_recording *r, gpu_timer *timer, int edges)
{
    (void)r, (void)timer, (void)edges;
}

static void set_kernel(gpu_recording *r, gpu_kernel *k)
{
    (void)r, (void)k;
}

static void set_bindings(gpu_recording *r, gpu_bindings *b)
{
    (void)r, (void)b;
}

static void dispatch(gpu_recording *r, uint32_t x, uint32_t y, uint32_t z)
{
    (void)r, (void)x, (void)y, (void)z;
}

static void dispatch_indirect(gpu_recording *r, gpu_buffer *b, uint64_t offset)
{
    (void)r, (void)b, (void)offset;
}

static void pass_end(gpu_recording *r)
{
    (void)r;
}

static void copy(gpu_recording *r, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to, uint64_t to_offset,
                 uint64_t bytes)
{
    (void)r;
    memmove(((stub_buffer *)to)->data + to_offset, ((stub_buffer *)from)->data + from_offset, bytes);
}

static gpu_commands *finish(gpu_recording *r)
{
    return &((stub *)r->owner)->commands;
}

static void submit(gpu *g, gpu_commands *c)
{
    (void)g, (void)c;
}

static void commands_free(gpu_commands *c)
{
    (void)c;
}

static void when_done(gpu *g, gpu_done done, void *user)
{
    (void)g;
    done(user, true);
}

static void poll(gpu *g)
{
    (void)g;
}

static gpu_timer *timer_new(gpu *g)
{
    return &((stub *)g)->timer;
}

static void timer_free(gpu_timer *t)
{
    (void)t;
}

static bool timer_read(gpu_timer *t, double *ns, err *e)
{
    (void)t, (void)ns;
    return err_set(e, "stub: no timestamps on this device");
}

const gpu_backend gpu_stub_backend = {
    .name = "stub",
    .open = open,
    .close = close,
    .lose = lose,
    .buffer_new = buffer_new,
    .buffer_free = buffer_free,
    .write = write_buffer,
    .read = read_buffer,
    .kernel_new = kernel_new,
    .kernel_free = kernel_free,
    .bindings_new = bindings_new,
    .bindings_free = bindings_free,
    .record = record,
    .pass_begin = pass_begin,
    .set_kernel = set_kernel,
    .set_bindings = set_bindings,
    .dispatch = dispatch,
    .dispatch_indirect = dispatch_indirect,
    .pass_end = pass_end,
    .copy = copy,
    .finish = finish,
    .submit = submit,
    .commands_free = commands_free,
    .when_done = when_done,
    .poll = poll,
    .wait = poll,
    .timer_new = timer_new,
    .timer_free = timer_free,
    .timer_read = timer_read,
};
