/* Memory, launches and graphs, waiting, timers. */
#include "gpu/cuda/internal.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGING_BYTES = 4 << 20, STAGING_ALIGN = 64 };

static cuda_gpu *gpu_of(const gpu_recording *r)
{
    return (cuda_gpu *)r->owner;
}

bool cuda_open_work(cuda_gpu *g)
{
    void *pinned = NULL;
    if (!cuda_check(g, g->cu.StreamCreate(&g->stream, CU_STREAM_NON_BLOCKING), "making a stream") ||
        !cuda_check(g, g->cu.EventCreate(&g->wake_up, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING),
                    "making an event") ||
        !cuda_check(g, g->cu.MemHostAlloc(&pinned, STAGING_BYTES, 0), "allocating memory for writes"))
        return false;
    g->staging = pinned;
    return true;
}

void cuda_close_work(cuda_gpu *g)
{
    while (g->free_works) {
        cuda_work *w = g->free_works;
        g->free_works = w->next;
        free(w);
    }
    if (g->staging)
        g->cu.MemFreeHost(g->staging);
    if (g->wake_up)
        g->cu.EventDestroy(g->wake_up);
    if (g->stream)
        g->cu.StreamDestroy(g->stream);
}

/* ---- waiting ------------------------------------------------------------- */

/* CUDA's own way is to spin; an event made for it sleeps. */
static CUresult wait_for_stream(cuda_gpu *g)
{
    if (g->base.wait_mode == GPU_WAIT_POLLING)
        return g->cu.StreamSynchronize(g->stream);
    CUresult result = g->cu.EventRecordWithFlags(g->wake_up, g->stream, CU_EVENT_RECORD_DEFAULT);
    return result == CUDA_SUCCESS ? g->cu.EventSynchronize(g->wake_up) : result;
}

static bool finish_all(cuda_gpu *g)
{
    if (g->base.lost || !cuda_check(g, wait_for_stream(g), "waiting for the GPU"))
        return false;
    g->staging_used = 0;
    return true;
}

void cuda_wait(gpu *base)
{
    finish_all((cuda_gpu *)base);
}

void cuda_when_done(gpu *base, gpu_done done, void *user)
{
    done(user, finish_all((cuda_gpu *)base));
}

/* Every callback comes before its call returns: there is nothing to poll for. */
void cuda_poll(gpu *base)
{
    (void)base;
}

/* ---- memory -------------------------------------------------------------- */

gpu_buffer *cuda_buffer_new(gpu *base, uint64_t bytes, gpu_use use)
{
    (void)use; /* memory is memory */
    cuda_gpu *g = (cuda_gpu *)base;
    cuda_buffer *b = mem_alloc(sizeof *b);
    if (base->lost)
        return &b->base;
    char doing[64];
    snprintf(doing, sizeof doing, "a buffer of %llu bytes", (unsigned long long)bytes);
    if (!cuda_check(g, g->cu.MemAlloc(&b->at, bytes), doing))
        b->at = 0;
    else if (cuda_check(g, g->cu.MemsetD8Async(b->at, 0, bytes, g->stream), doing))
        b->bytes = bytes;
    return &b->base;
}

/* cuMemFree waits for whatever may still use the memory. */
void cuda_buffer_free(gpu_buffer *buffer)
{
    cuda_gpu *g = (cuda_gpu *)buffer->owner;
    cuda_buffer *b = (cuda_buffer *)buffer;
    if (b->at)
        g->cu.MemFree(b->at);
    free(b);
}

bool cuda_has_range(cuda_gpu *g, const cuda_buffer *b, uint64_t offset, uint64_t bytes)
{
    if (offset <= b->bytes && bytes <= b->bytes - offset)
        return true;
    gpu_fail(&g->base, "a buffer was used outside its memory, or could not be made");
    return false;
}

/* Pinned memory for one transfer, or NULL if it is too large for that. */
static unsigned char *take_staging(cuda_gpu *g, size_t bytes)
{
    if (bytes > STAGING_BYTES)
        return NULL;
    size_t at = (g->staging_used + STAGING_ALIGN - 1) / STAGING_ALIGN * STAGING_ALIGN;
    if (at + bytes > STAGING_BYTES) {
        if (!finish_all(g))
            return NULL;
        at = 0;
    }
    g->staging_used = at + bytes;
    return g->staging + at;
}

void cuda_write(gpu *base, gpu_buffer *target, uint64_t offset, const void *data, size_t bytes)
{
    cuda_gpu *g = (cuda_gpu *)base;
    const cuda_buffer *b = (const cuda_buffer *)target;
    if (bytes == 0 || !cuda_has_range(g, b, offset, bytes))
        return;
    unsigned char *pinned = take_staging(g, bytes);
    if (pinned)
        memcpy(pinned, data, bytes);
    if (base->lost)
        return;
    cuda_check(g, g->cu.MemcpyHtoDAsync(b->at + offset, pinned ? pinned : data, bytes, g->stream), "a write");
    if (!pinned)
        finish_all(g); /* the caller may change its data from now on */
}

void cuda_read(gpu *base, gpu_buffer *from, uint64_t offset, void *data, size_t bytes, gpu_done done, void *user)
{
    cuda_gpu *g = (cuda_gpu *)base;
    const cuda_buffer *b = (const cuda_buffer *)from;
    bool ok = cuda_has_range(g, b, offset, bytes);
    if (ok && bytes > 0) {
        unsigned char *pinned = take_staging(g, bytes);
        ok = !base->lost &&
             cuda_check(g, g->cu.MemcpyDtoHAsync(pinned ? pinned : data, b->at + offset, bytes, g->stream), "a read") &&
             finish_all(g);
        if (ok && pinned)
            memcpy(data, pinned, bytes);
    }
    done(user, ok);
}

/* ---- recordings ---------------------------------------------------------- */

static cuda_work *take_work(cuda_gpu *g)
{
    cuda_work *w = g->free_works;
    if (!w)
        return mem_alloc(sizeof *w);
    g->free_works = w->next;
    return w;
}

static void put_back(cuda_gpu *g, cuda_work *w)
{
    w->next = g->free_works;
    g->free_works = w;
}

/* On a stream of its own, so that writes made meanwhile are not captured too. */
static void begin_capture(cuda_gpu *g, cuda_work *w)
{
    if (!cuda_check(g, g->cu.StreamCreate(&w->stream, CU_STREAM_NON_BLOCKING), "making a stream")) {
        w->stream = NULL;
        return;
    }
    if (!cuda_check(g, g->cu.StreamBeginCapture(w->stream, CU_STREAM_CAPTURE_MODE_RELAXED), "beginning a graph")) {
        g->cu.StreamDestroy(w->stream);
        w->stream = NULL;
    }
}

/* A recording without a stream swallows what it is given. */
gpu_recording *cuda_record(gpu *base, bool replayable)
{
    cuda_gpu *g = (cuda_gpu *)base;
    cuda_work *w = take_work(g);
    w->kernel = NULL;
    w->bindings = NULL;
    w->end_timer = NULL;
    w->graph = NULL;
    w->broken = false;
    w->stream = replayable || base->lost ? NULL : g->stream;
    if (replayable && !base->lost)
        begin_capture(g, w);
    return &w->as.recording;
}

static void end_capture(cuda_gpu *g, cuda_work *w)
{
    CUgraph graph = NULL;
    if (cuda_check(g, g->cu.StreamEndCapture(w->stream, &graph), "ending a graph") && !w->broken &&
        !cuda_check(g, g->cu.GraphInstantiate(&w->graph, graph, 0), "making a graph"))
        w->graph = NULL;
    if (graph)
        g->cu.GraphDestroy(graph);
    g->cu.StreamDestroy(w->stream);
    w->stream = NULL;
}

gpu_commands *cuda_finish(gpu_recording *r)
{
    cuda_work *w = (cuda_work *)r;
    if (r->replayable && w->stream)
        end_capture(gpu_of(r), w);
    return &w->as.commands;
}

void cuda_submit(gpu *base, gpu_commands *c)
{
    cuda_gpu *g = (cuda_gpu *)base;
    cuda_work *w = (cuda_work *)c;
    if (!c->replayable)
        put_back(g, w);
    else if (!w->graph)
        gpu_fail(base, "commands that could not be recorded were submitted");
    else if (!base->lost)
        cuda_check(g, g->cu.GraphLaunch(w->graph, g->stream), "launching a graph");
}

/* A graph that is still running is freed by CUDA when it is done. */
void cuda_commands_free(gpu_commands *c)
{
    cuda_gpu *g = (cuda_gpu *)c->owner;
    cuda_work *w = (cuda_work *)c;
    if (w->graph)
        g->cu.GraphExecDestroy(w->graph);
    put_back(g, w);
}

/* ---- what a recording does ----------------------------------------------- */

void cuda_set_kernel(gpu_recording *r, gpu_kernel *k)
{
    ((cuda_work *)r)->kernel = (const cuda_kernel *)k;
}

void cuda_set_bindings(gpu_recording *r, gpu_bindings *b)
{
    ((cuda_work *)r)->bindings = (const cuda_bindings *)b;
}

static bool can_launch(cuda_gpu *g, const cuda_work *w)
{
    if (g->base.lost || !w->stream)
        return false;
    if (w->kernel && w->kernel->function && w->bindings && w->bindings->usable)
        return true;
    gpu_fail(&g->base, "a kernel or bindings were used that were not set or could not be made");
    return false;
}

void cuda_dispatch(gpu_recording *r, uint32_t x, uint32_t y, uint32_t z)
{
    cuda_gpu *g = gpu_of(r);
    cuda_work *w = (cuda_work *)r;
    if (!can_launch(g, w) || !cuda_check(g,
                                         g->cu.LaunchKernel(w->kernel->function, x, y, z, w->kernel->threads, 1, 1, 0,
                                                            w->stream, (void **)w->bindings->arguments, NULL),
                                         "launching a kernel"))
        w->broken = true;
}

void cuda_dispatch_indirect(gpu_recording *r, gpu_buffer *b, uint64_t offset)
{
    (void)b;
    (void)offset;
    ((cuda_work *)r)->broken = true;
    gpu_fail(r->owner, "CUDA has no indirect dispatch");
}

void cuda_copy(gpu_recording *r, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to, uint64_t to_offset,
               uint64_t bytes)
{
    cuda_gpu *g = gpu_of(r);
    cuda_work *w = (cuda_work *)r;
    const cuda_buffer *source = (const cuda_buffer *)from, *target = (const cuda_buffer *)to;
    if (g->base.lost || !w->stream || bytes == 0)
        return;
    if (!cuda_has_range(g, source, from_offset, bytes) || !cuda_has_range(g, target, to_offset, bytes) ||
        !cuda_check(g, g->cu.MemcpyDtoDAsync(target->at + to_offset, source->at + from_offset, bytes, w->stream),
                    "a copy"))
        w->broken = true;
}

/* In a graph, an event is only recorded for others to see if it says so. */
static void stamp(cuda_gpu *g, const cuda_work *w, CUevent event)
{
    unsigned flags = w->stream == g->stream ? 0 : CU_EVENT_RECORD_EXTERNAL;
    if (w->stream && !g->base.lost)
        cuda_check(g, g->cu.EventRecordWithFlags(event, w->stream, flags), "taking the time");
}

void cuda_pass_begin(gpu_recording *r, gpu_timer *timer, int edges)
{
    cuda_work *w = (cuda_work *)r;
    const cuda_timer *t = (const cuda_timer *)timer;
    if (!t || !t->edges[1])
        return;
    if (edges & GPU_TIME_BEGIN)
        stamp(gpu_of(r), w, t->edges[0]);
    w->end_timer = edges & GPU_TIME_END ? t : NULL;
}

void cuda_pass_end(gpu_recording *r)
{
    cuda_work *w = (cuda_work *)r;
    if (w->end_timer)
        stamp(gpu_of(r), w, w->end_timer->edges[1]);
    w->end_timer = NULL;
}

/* ---- timers -------------------------------------------------------------- */

gpu_timer *cuda_timer_new(gpu *base)
{
    cuda_gpu *g = (cuda_gpu *)base;
    cuda_timer *t = mem_alloc(sizeof *t);
    for (int i = 0; i < 2 && !base->lost; i++)
        if (!cuda_check(g, g->cu.EventCreate(&t->edges[i], CU_EVENT_DEFAULT), "making a timer")) {
            t->edges[i] = NULL;
            break;
        }
    return &t->base;
}

void cuda_timer_free(gpu_timer *timer)
{
    cuda_gpu *g = (cuda_gpu *)timer->owner;
    cuda_timer *t = (cuda_timer *)timer;
    for (int i = 0; i < 2; i++)
        if (t->edges[i])
            g->cu.EventDestroy(t->edges[i]);
    free(t);
}

bool cuda_timer_read(gpu_timer *timer, double *ns, err *e)
{
    cuda_gpu *g = (cuda_gpu *)timer->owner;
    const cuda_timer *t = (const cuda_timer *)timer;
    float ms = 0;
    if (!t->edges[1])
        return err_set(e, "%s: a timer that could not be made was read", g->base.info.impl);
    if (!finish_all(g))
        return gpu_ok(&g->base, e);
    CUresult result = g->cu.EventElapsedTime(&ms, t->edges[0], t->edges[1]);
    if (result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_NOT_READY)
        return err_set(e, "%s: a timer was read of which not both edges were passed", g->base.info.impl);
    if (!cuda_check(g, result, "reading a timer"))
        return gpu_ok(&g->base, e);
    *ns = (double)ms * 1e6;
    return true;
}
