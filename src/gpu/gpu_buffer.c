/* gpu_buffer: buffers with every access checked, and reads that wait, built on those that call back. */
#include "base/clock.h"
#include "base/str.h"
#include "gpu/backend.h"

#include <stdlib.h>
#include <string.h>

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

bool gpu_in_buffer(gpu *g, const gpu_buffer *b, uint64_t offset, uint64_t bytes, const char *what)
{
    if (offset % 4 == 0 && bytes % 4 == 0 && offset <= b->bytes && bytes <= b->bytes - offset)
        return true;
    gpu_fail(g, "%s of %llu bytes at %llu does not fit a buffer of %llu, or is not a multiple of 4", what,
             (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)b->bytes);
    return false;
}

void gpu_write(gpu *g, gpu_buffer *b, uint64_t offset, const void *data, size_t bytes)
{
    if (g->error.kind != ERR_NONE || !gpu_in_buffer(g, b, offset, bytes, "a write"))
        return;
    g->counters.bytes_written += bytes;
    g->backend->write(g, b, offset, data, bytes);
}

void gpu_read(gpu *g, gpu_buffer *b, uint64_t offset, void *data, size_t bytes, gpu_done done, void *user)
{
    if (g->error.kind != ERR_NONE || !gpu_in_buffer(g, b, offset, bytes, "a read")) {
        done(user, false);
        return;
    }
    g->counters.bytes_read += bytes;
    g->backend->read(g, b, offset, data, bytes, done, user);
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
            if (now - start > gpu_hang_ns(g))
                gpu_mark_hung(g);
        }
    }
    if (!c->done)
        c->abandoned = true;
    return c->done;
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
