/* Staging: pinned memory, and an event behind the copies from it. */
#include "gpu/cuda/internal.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct cuda_stage {
    gpu_stage base;
    void *pinned; /* NULL: it could not be made */
    CUevent copied;
    bool sent;
} cuda_stage;

gpu_stage *cuda_stage_new(gpu *base, uint64_t bytes)
{
    cuda_gpu *g = (cuda_gpu *)base;
    cuda_stage *s = mem_alloc(sizeof *s);
    if (base->lost)
        return &s->base;
    char doing[64];
    snprintf(doing, sizeof doing, "a stage of %llu bytes", (unsigned long long)bytes);
    if (!cuda_check(g, g->cu.MemHostAlloc(&s->pinned, (size_t)bytes, 0), doing))
        s->pinned = NULL;
    else if (!cuda_check(g, g->cu.EventCreate(&s->copied, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING), doing))
        s->copied = NULL;
    return &s->base;
}

void *cuda_stage_open(gpu_stage *base)
{
    cuda_gpu *g = (cuda_gpu *)base->owner;
    cuda_stage *s = (cuda_stage *)base;
    if (g->base.lost || (s->sent && !cuda_check(g, g->cu.EventSynchronize(s->copied), "waiting for a copy")))
        return NULL;
    s->sent = false;
    return s->pinned;
}

void cuda_stage_send(gpu_stage *base, const gpu_stage_copy *copies, uint32_t count)
{
    cuda_gpu *g = (cuda_gpu *)base->owner;
    cuda_stage *s = (cuda_stage *)base;
    if (g->base.lost || !s->pinned || !s->copied)
        return;
    for (uint32_t i = 0; i < count; i++) {
        const cuda_buffer *to = (const cuda_buffer *)copies[i].to;
        if (!cuda_has_range(g, to, copies[i].offset, copies[i].bytes) ||
            !cuda_check(g,
                        g->cu.MemcpyHtoDAsync(to->at + copies[i].offset, (const char *)s->pinned + copies[i].from,
                                              (size_t)copies[i].bytes, g->stream),
                        "a copy from a stage"))
            return;
    }
    s->sent =
        cuda_check(g, g->cu.EventRecordWithFlags(s->copied, g->stream, CU_EVENT_RECORD_DEFAULT), "making an event");
}

void cuda_stage_free(gpu_stage *base)
{
    cuda_gpu *g = (cuda_gpu *)base->owner;
    cuda_stage *s = (cuda_stage *)base;
    if (s->sent && !g->base.lost)
        g->cu.EventSynchronize(s->copied); /* the copies still read it */
    if (s->copied)
        g->cu.EventDestroy(s->copied);
    if (s->pinned)
        g->cu.MemFreeHost(s->pinned);
    free(s);
}
