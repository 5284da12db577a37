/* gpu_stage: staging memory with every copy checked; in plain memory where a back end has none of its own. */
#include "base/str.h"
#include "gpu/backend.h"

#include <stdlib.h>

/* Who copies what is written keeps it until the queue has run: this bounds it. */
enum { PLAIN_IN_FLIGHT_BYTES = 32 << 20 };

static gpu_stage *plain_new(uint64_t bytes)
{
    gpu_stage *s = mem_alloc(sizeof *s);
    s->memory = mem_alloc(bytes);
    return s;
}

static void *plain_open(gpu_stage *s)
{
    gpu *g = s->owner;
    err e = {0};
    if (g->staged_bytes < PLAIN_IN_FLIGHT_BYTES)
        return s->memory;
    g->staged_bytes = 0;
    return gpu_wait(g, &e) ? s->memory : NULL;
}

static void plain_send(gpu_stage *s, const gpu_stage_copy *copies, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const gpu_stage_copy *c = &copies[i];
        s->owner->backend->write(s->owner, c->to, c->offset, (const char *)s->memory + c->from, (size_t)c->bytes);
        s->owner->staged_bytes += c->bytes;
    }
}

static void plain_free(gpu_stage *s)
{
    free(s->memory);
    free(s);
}

gpu_stage *gpu_stage_new(gpu *g, uint64_t bytes)
{
    if (bytes == 0 || bytes % 4 != 0)
        gpu_fail(g, "a stage of %llu bytes: the size must be a multiple of 4 and not 0", (unsigned long long)bytes);
    uint64_t room = g->error.kind == ERR_NONE ? bytes : 4;
    gpu_stage *s = g->backend->stage_new ? g->backend->stage_new(g, room) : plain_new(room);
    s->owner = g;
    s->bytes = room;
    return s;
}

void *gpu_stage_open(gpu_stage *s)
{
    gpu *g = s->owner;
    if (g->error.kind != ERR_NONE)
        return NULL;
    return g->backend->stage_open ? g->backend->stage_open(s) : plain_open(s);
}

void gpu_stage_send(gpu_stage *s, const gpu_stage_copy *copies, uint32_t count)
{
    gpu *g = s->owner;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const gpu_stage_copy *c = &copies[i];
        if (!gpu_in_buffer(g, c->to, c->offset, c->bytes, "a copy from a stage"))
            return;
        if (c->from % 4 != 0 || c->from > s->bytes || c->bytes > s->bytes - c->from) {
            gpu_fail(g, "a copy of %llu bytes at %llu of a stage of %llu", (unsigned long long)c->bytes,
                     (unsigned long long)c->from, (unsigned long long)s->bytes);
            return;
        }
        bytes += c->bytes;
    }
    if (g->error.kind != ERR_NONE || count == 0)
        return;
    g->counters.bytes_written += bytes;
    if (g->backend->stage_send)
        g->backend->stage_send(s, copies, count);
    else
        plain_send(s, copies, count);
}

void gpu_stage_free(gpu_stage *s)
{
    if (!s)
        return;
    if (s->owner->backend->stage_free)
        s->owner->backend->stage_free(s);
    else
        plain_free(s);
}
