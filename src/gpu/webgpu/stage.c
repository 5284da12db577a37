/* Staging on a WebGPU device: a buffer that is mapped while the host fills it. */
#include "base/clock.h"
#include "base/str.h"
#include "gpu/webgpu/device.h"

#include <stdlib.h>
#include <time.h>

enum { POLLS_AWAKE = 16, SLEEP_NS = 50000 };

/* A mapping under way; like every such thing not on the stack, since after a loss its callback may come later, or never. */
typedef struct mapping {
    int done; /* 1 it is mapped, -1 it could not be */
    bool abandoned;
} mapping;

typedef struct webgpu_stage {
    gpu_stage base;
    WGPUBuffer handle; /* NULL: it could not be made */
} webgpu_stage;

gpu_stage *webgpu_stage_new(gpu *g, uint64_t bytes)
{
    webgpu *w = (webgpu *)g;
    webgpu_stage *s = mem_alloc(sizeof *s);
    if (g->error.kind != ERR_NONE)
        return &s->base;
    /* Not mapped at creation: the library would clear it on this thread. */
    WGPUBufferDescriptor desc = {.size = bytes, .usage = WGPUBufferUsage_MapWrite | WGPUBufferUsage_CopySrc};
    s->handle = w->lib->DeviceCreateBuffer(w->device, &desc);
    if (!s->handle)
        gpu_fail(g, "out of memory: a stage of %llu bytes", (unsigned long long)bytes);
    return &s->base;
}

static void on_mapped(WGPUMapAsyncStatus status, WGPUStringView message, void *user, void *unused)
{
    (void)message, (void)unused;
    mapping *m = user;
    m->done = status == WGPUMapAsyncStatus_Success ? 1 : -1;
    if (m->abandoned)
        free(m);
}

/* Asleep between two looks: the threads that fill other stages need the processor. */
static void await_mapping(webgpu *w, const mapping *m)
{
    uint64_t start = clock_ns();
    for (uint64_t polls = 1; !m->done && !w->base.lost; polls++) {
        webgpu_poll(&w->base);
        if (m->done || polls < POLLS_AWAKE)
            continue;
        nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
        if (clock_ns() - start > gpu_hang_ns(&w->base))
            gpu_mark_hung(&w->base);
    }
}

void *webgpu_stage_open(gpu_stage *base)
{
    webgpu_stage *s = (webgpu_stage *)base;
    webgpu *w = (webgpu *)base->owner;
    if (base->memory || !s->handle)
        return base->memory;
    mapping *m = mem_alloc(sizeof *m);
    w->lib->BufferMapAsync(s->handle, WGPUMapMode_Write, 0, (size_t)base->bytes,
                           (WGPUBufferMapCallbackInfo){
                               .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_mapped, .userdata1 = m});
    await_mapping(w, m);
    bool mapped = m->done > 0;
    if (m->done)
        free(m);
    else
        m->abandoned = true;
    base->memory = mapped ? w->lib->BufferGetMappedRange(s->handle, 0, (size_t)base->bytes) : NULL;
    if (!base->memory)
        gpu_fail(&w->base, "memory for writes could not be mapped (%llu bytes)", (unsigned long long)base->bytes);
    return base->memory;
}

void webgpu_stage_send(gpu_stage *base, const gpu_stage_copy *copies, uint32_t count)
{
    webgpu_stage *s = (webgpu_stage *)base;
    webgpu *w = (webgpu *)base->owner;
    if (!s->handle || !base->memory)
        return;
    w->lib->BufferUnmap(s->handle);
    base->memory = NULL;
    WGPUCommandEncoder encoder = w->lib->DeviceCreateCommandEncoder(w->device, NULL);
    for (uint32_t i = 0; i < count; i++)
        w->lib->CommandEncoderCopyBufferToBuffer(encoder, s->handle, copies[i].from,
                                                 ((webgpu_buffer *)copies[i].to)->handle, copies[i].offset,
                                                 copies[i].bytes);
    WGPUCommandBuffer commands = w->lib->CommandEncoderFinish(encoder, NULL);
    w->unsent = false;
    w->lib->QueueSubmit(w->queue, 1, &commands);
    w->lib->CommandBufferRelease(commands);
    w->lib->CommandEncoderRelease(encoder);
}

/* Destroying it unmaps it, and waits for no one: the library keeps the memory until the copies are done. */
void webgpu_stage_free(gpu_stage *base)
{
    webgpu_stage *s = (webgpu_stage *)base;
    const webgpu_library *lib = ((webgpu *)base->owner)->lib;
    if (s->handle) {
        lib->BufferDestroy(s->handle);
        lib->BufferRelease(s->handle);
    }
    free(s);
}
