/* web: the back end of a page, and of other hosts of JavaScript that have WebGPU.
 *
 * Objects live on the other side (host.h); here are their numbers. A page must not block, so
 * what waits suspends C as a whole, and nothing of C runs in between: what comes back is put into
 * memory by the page and heard of here, after the wait. Kernels compile while more of them are
 * made; whether they are good is asked for (await_errors) before the first work that may use them.  */
#include "base/str.h"
#include "gpu/backend.h"
#include "gpu/web/host.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct web {
    gpu base;
    host_id device;
    bool unchecked; /* something was made since it was last known that all is good */
} web;

typedef struct web_object {
    union { /* the largest of what back ends begin their types with, so that one type does for all */
        gpu_buffer buffer;
        gpu_kernel kernel;
        gpu_bindings bindings;
        gpu_recording recording;
        gpu_commands commands;
        gpu_timer timer;
    } base;
    host_id id;
} web_object;

static web_object *object_new(host_id id)
{
    web_object *o = mem_alloc(sizeof *o);
    o->id = id;
    return o;
}

static void object_free(void *object)
{
    web_object *o = object;
    if (o->id)
        host_free(o->id);
    free(o);
}

static host_id id_of(const void *object)
{
    return ((const web_object *)object)->id;
}

static host_id device_of(gpu *g)
{
    return ((web *)g)->device;
}

/* ---- waiting ---------------------------------------------------------------- */

typedef struct reading {
    gpu_done done;
    void *user;
} reading;

/* What happened while C was suspended. */
static void hear(gpu *g)
{
    char text[1024];
    int32_t ok, kind;
    while ((kind = host_error(device_of(g), text, sizeof text)) != 0) {
        if (kind == 2)
            gpu_mark_lost(g, text);
        else
            gpu_fail(g, "%s", text);
    }
    for (reading *r; (r = host_came(device_of(g), &ok)) != NULL; free(r))
        r->done(r->user, ok);
}

static void await_errors(gpu *g)
{
    web *w = (web *)g;
    if (!w->unchecked)
        return;
    w->unchecked = false;
    host_await_errors(w->device);
    hear(g);
}

static void wait(gpu *g)
{
    await_errors(g);
    host_wait(device_of(g));
    hear(g);
}

static void poll(gpu *g)
{
    await_errors(g);
    host_poll(device_of(g));
    hear(g);
}

static void when_done(gpu *g, gpu_done done, void *user)
{
    wait(g);
    done(user, g->error.kind == ERR_NONE);
}

/* ---- the device --------------------------------------------------------------- */

static void ask_texts(gpu_info *info, host_id device)
{
    host_get_text(device, HOST_VERSION, info->impl_version, sizeof info->impl_version);
    host_get_text(device, HOST_BACKEND, info->backend, sizeof info->backend);
    host_get_text(device, HOST_VENDOR, info->vendor, sizeof info->vendor);
    host_get_text(device, HOST_DEVICE, info->device, sizeof info->device);
    host_get_text(device, HOST_DRIVER, info->driver, sizeof info->driver);
}

static void ask_numbers(gpu_info *info, host_id device)
{
    info->type = (gpu_type)host_get_number(device, HOST_TYPE);
    info->has_subgroups = host_get_number(device, HOST_SUBGROUPS) != 0;
    info->has_f16 = host_get_number(device, HOST_F16) != 0;
    info->has_timestamps = host_get_number(device, HOST_TIMESTAMPS) != 0;
    info->has_matrix = host_get_number(device, HOST_MATRIX) != 0;
    info->subgroup_min = (uint32_t)host_get_number(device, HOST_SUBGROUP_MIN);
    info->subgroup_max = (uint32_t)host_get_number(device, HOST_SUBGROUP_MAX);
    info->max_buffer_bytes = (uint64_t)host_get_number(device, HOST_BUFFER_BYTES);
    info->max_storage_binding_bytes = (uint64_t)host_get_number(device, HOST_STORAGE_BINDING_BYTES);
    info->max_uniform_binding_bytes = (uint64_t)host_get_number(device, HOST_UNIFORM_BINDING_BYTES);
    info->max_storage_buffers = (uint32_t)host_get_number(device, HOST_STORAGE_BUFFERS);
    info->max_workgroup_bytes = (uint32_t)host_get_number(device, HOST_WORKGROUP_BYTES);
    info->max_workgroup_threads = (uint32_t)host_get_number(device, HOST_WORKGROUP_THREADS);
    info->max_workgroups = (uint32_t)host_get_number(device, HOST_WORKGROUPS);
    info->uniform_align_bytes = (uint32_t)host_get_number(device, HOST_UNIFORM_ALIGN);
}

static gpu *open(const gpu_choice *choice, err *e)
{
    if (choice->no_validation || choice->no_robustness) {
        err_set(e, "web: validation and robustness cannot be switched off in a page");
        return NULL;
    }
    host_id device = host_open(choice->adapter);
    if (!device) {
        char why[512];
        host_error(0, why, sizeof why);
        err_set_kind(e, ERR_NO_GPU, "web: %s", why);
        return NULL;
    }
    web *w = mem_alloc(sizeof *w);
    w->device = device;
    w->base.backend = &gpu_web_backend;
    gpu_info *info = &w->base.info;
    snprintf(info->impl, sizeof info->impl, "web");
    ask_texts(info, device);
    ask_numbers(info, device);
    info->has_passes = info->can_indirect = info->has_wgsl = info->can_compile_ahead = true;
    info->has_packed_dot = true; /* gpu_check_features finds out */
    return &w->base;
}

static void close(gpu *g)
{
    host_close(device_of(g));
    free(g);
}

static void lose(gpu *g)
{
    host_lose(device_of(g));
    while (!g->lost)
        poll(g);
}

/* ---- memory --------------------------------------------------------------------- */

static gpu_buffer *buffer_new(gpu *g, uint64_t bytes, gpu_use use)
{
    ((web *)g)->unchecked = true;
    return &object_new(host_buffer(device_of(g), (double)bytes, use))->base.buffer;
}

static void buffer_free(gpu_buffer *b)
{
    object_free(b);
}

static void write_buffer(gpu *g, gpu_buffer *b, uint64_t offset, const void *data, size_t bytes)
{
    (void)g;
    host_write(id_of(b), (double)offset, data, (uint32_t)bytes);
}

static void read_buffer(gpu *g, gpu_buffer *b, uint64_t offset, void *data, size_t bytes, gpu_done done, void *user)
{
    (void)g;
    reading *r = mem_alloc(sizeof *r);
    *r = (reading){done, user};
    host_read(id_of(b), (double)offset, data, (uint32_t)bytes, r);
}

/* ---- kernels --------------------------------------------------------------------- */

static host_id make_kernel(gpu *g, const gpu_kernel_desc *desc)
{
    uint8_t kinds[GPU_MAX_BINDINGS];
    for (uint32_t i = 0; i < desc->binding_count; i++)
        kinds[i] = (uint8_t)desc->bindings[i];
    ((web *)g)->unchecked = true;
    return host_kernel(device_of(g), desc->source->name, desc->source->wgsl, desc->entry, kinds,
                       (int32_t)desc->binding_count, desc->idle, desc->ahead);
}

static gpu_kernel *kernel_new(gpu *g, const gpu_kernel_desc *desc)
{
    return &object_new(make_kernel(g, desc))->base.kernel;
}

static bool kernel_is_ready(gpu_kernel *k)
{
    return host_kernel_is_ready(id_of(k));
}

/* The page finds the kernel by its text; errors come as those of any other kernel do. */
static void kernel_finish(gpu_kernel *k, const gpu_kernel_desc *desc)
{
    web_object *o = (web_object *)k;
    host_id ahead = o->id;
    o->id = make_kernel(k->owner, desc);
    host_free(ahead);
}

static void kernel_free(gpu_kernel *k)
{
    object_free(k);
}

static gpu_bindings *bindings_new(gpu *g, gpu_kernel *k, const gpu_part *parts, uint32_t count)
{
    double numbers[3 * GPU_MAX_BINDINGS];
    for (uint32_t i = 0; i < count; i++) {
        numbers[3 * i] = id_of(parts[i].buffer);
        numbers[3 * i + 1] = (double)parts[i].offset;
        numbers[3 * i + 2] = (double)parts[i].bytes;
    }
    ((web *)g)->unchecked = true;
    return &object_new(g->error.kind == ERR_NONE ? host_bindings(id_of(k), numbers, (int32_t)count) : 0)->base.bindings;
}

static void bindings_free(gpu_bindings *b)
{
    object_free(b);
}

/* ---- work --------------------------------------------------------------------------- */

/* On a device with an error nothing is recorded, and no wait will succeed. */
static gpu_recording *record(gpu *g, bool replayable)
{
    (void)replayable;
    await_errors(g);
    return &object_new(g->error.kind == ERR_NONE ? host_record(device_of(g)) : 0)->base.recording;
}

static void pass_begin(gpu_recording *r, gpu_timer *timer, int edges)
{
    if (id_of(r))
        host_pass_begin(id_of(r), timer ? id_of(timer) : 0, edges);
}

static void set_kernel(gpu_recording *r, gpu_kernel *k)
{
    if (id_of(r))
        host_set_kernel(id_of(r), id_of(k));
}

static void set_bindings(gpu_recording *r, gpu_bindings *b)
{
    if (id_of(r))
        host_set_bindings(id_of(r), id_of(b));
}

static void dispatch(gpu_recording *r, uint32_t x, uint32_t y, uint32_t z)
{
    if (id_of(r))
        host_dispatch(id_of(r), x, y, z);
}

static void dispatch_indirect(gpu_recording *r, gpu_buffer *b, uint64_t offset)
{
    if (id_of(r))
        host_dispatch_indirect(id_of(r), id_of(b), (double)offset);
}

static void pass_end(gpu_recording *r)
{
    if (id_of(r))
        host_pass_end(id_of(r));
}

static void copy(gpu_recording *r, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to, uint64_t to_offset,
                 uint64_t bytes)
{
    if (id_of(r))
        host_copy(id_of(r), id_of(from), (double)from_offset, id_of(to), (double)to_offset, (double)bytes);
}

/* The same object goes on as commands. */
static gpu_commands *finish(gpu_recording *r)
{
    web_object *o = (web_object *)r;
    if (o->id)
        host_finish(o->id);
    o->base.commands = (gpu_commands){0};
    return &o->base.commands;
}

static void submit(gpu *g, gpu_commands *c)
{
    (void)g;
    if (id_of(c))
        host_submit(id_of(c));
    free(c);
}

/* ---- device time --------------------------------------------------------------------- */

static gpu_timer *timer_new(gpu *g)
{
    return &object_new(g->error.kind == ERR_NONE ? host_timer(device_of(g)) : 0)->base.timer;
}

static void timer_free(gpu_timer *t)
{
    object_free(t);
}

static bool timer_read(gpu_timer *t, double *ns, err *e)
{
    *ns = id_of(t) ? host_timer_read(id_of(t)) : -1;
    hear(t->owner);
    return *ns >= 0 || err_set(e, "web: timestamps could not be read");
}

const gpu_backend gpu_web_backend = {
    .name = "web",
    .open = open,
    .close = close,
    .lose = lose,
    .buffer_new = buffer_new,
    .buffer_free = buffer_free,
    .write = write_buffer,
    .read = read_buffer,
    .kernel_new = kernel_new,
    .kernel_free = kernel_free,
    .kernel_is_ready = kernel_is_ready,
    .kernel_finish = kernel_finish,
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
    .commands_free = NULL, /* nothing can be submitted again */
    .when_done = when_done,
    .poll = poll,
    .wait = wait,
    .await_errors = await_errors,
    .timer_new = timer_new,
    .timer_free = timer_free,
    .timer_read = timer_read,
};
