/* The public API's devices and memory on them. */
#include "api/internal.h"
#include "base/str.h"
#include "base/version.h"
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

bool api_result(solo_error *to, const err *e, bool ok)
{
    if (ok || !to || to->status)
        return ok;
    to->status = e->kind ? (int)e->kind : ERR_FAILED;
    snprintf(to->text, sizeof to->text, "%s", e->text);
    return ok;
}

bool api_is_here(const void *thing, solo_error *to)
{
    err e = {0};
    return thing || api_result(to, &e, err_set_kind(&e, ERR_USAGE, "something that is needed is NULL"));
}

const char *solo_library_version(void)
{
    return solo_version;
}

solo_device *solo_device_open_with(const solo_device_options *o, solo_error *to)
{
    static const solo_device_options none = {0};
    err e = {0};
    o = o ? o : &none;
    gpu_choice choice = {.impl = o->impl, .own_kernels = o->own_kernels};
    if (o->gpu_only)
        choice.adapter = GPU_ADAPTER_GPU;
    gpu *g = sim_open_gpu(&choice, &e);
    if (!api_result(to, &e, g != NULL))
        return NULL;
    solo_device *d = mem_alloc(sizeof *d);
    d->g = g;
    return d;
}

solo_device *solo_device_open(const char *impl, solo_error *to)
{
    return solo_device_open_with(&(solo_device_options){.impl = impl}, to);
}

void solo_device_close(solo_device *d)
{
    if (!d)
        return;
    gpu_close(d->g);
    free(d);
}

const char *solo_device_name(const solo_device *d)
{
    return d ? gpu_get_info(d->g)->device : NULL;
}

/* ---- memory --------------------------------------------------------------------------------- */

solo_buffer *solo_buffer_new(solo_device *d, uint64_t bytes, solo_error *to)
{
    err e = {0};
    if (!api_is_here(d, to))
        return NULL;
    if (!bytes || bytes % 4) {
        api_result(to, &e, err_set_kind(&e, ERR_USAGE, "a buffer of %llu bytes", (unsigned long long)bytes));
        return NULL;
    }
    /* asked before the device is, which a failure would leave unusable */
    uint64_t most = gpu_get_info(d->g)->max_buffer_bytes;
    if (bytes > most) {
        api_result(to, &e,
                   err_set(&e, "a buffer of %llu bytes: the device has up to %llu", (unsigned long long)bytes,
                           (unsigned long long)most));
        return NULL;
    }
    gpu_buffer *b = gpu_ok(d->g, &e) ? gpu_buffer_new(d->g, bytes, GPU_USE_STORAGE) : NULL;
    if (!api_result(to, &e, b && gpu_ok(d->g, &e))) {
        gpu_buffer_free(b);
        return NULL;
    }
    solo_buffer *made = mem_alloc(sizeof *made);
    *made = (solo_buffer){d->g, b};
    return made;
}

void solo_buffer_free(solo_buffer *b)
{
    if (!b)
        return;
    gpu_buffer_free(b->b);
    free(b);
}

uint64_t solo_buffer_bytes(const solo_buffer *b)
{
    return b ? gpu_buffer_bytes(b->b) : 0;
}

static bool is_inside(const solo_buffer *b, uint64_t offset, size_t bytes, err *e)
{
    uint64_t all = gpu_buffer_bytes(b->b);
    return (offset % 4 == 0 && bytes % 4 == 0 && offset <= all && bytes <= all - offset) ||
           err_set_kind(e, ERR_USAGE, "%zu bytes from %llu on, of a buffer of %llu", bytes, (unsigned long long)offset,
                        (unsigned long long)all);
}

bool solo_buffer_write(solo_buffer *b, uint64_t offset, const void *data, size_t bytes, solo_error *to)
{
    err e = {0};
    if (!api_is_here(b, to) || !api_result(to, &e, is_inside(b, offset, bytes, &e)))
        return false;
    gpu_write(b->g, b->b, offset, data, bytes);
    return api_result(to, &e, gpu_ok(b->g, &e));
}

bool solo_buffer_read(solo_buffer *b, uint64_t offset, void *data, size_t bytes, solo_error *to)
{
    err e = {0};
    return api_is_here(b, to) &&
           api_result(to, &e, is_inside(b, offset, bytes, &e) && gpu_read_now(b->g, b->b, offset, data, bytes, &e));
}
