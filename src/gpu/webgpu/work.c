/* Buffers and commands on a WebGPU device. */
#include "base/clock.h"
#include "base/str.h"
#include "gpu/webgpu/device.h"

#include <stdlib.h>
#include <string.h>

/* ---- buffers ------------------------------------------------------------- */

static WGPUBuffer make_buffer(webgpu *w, uint64_t bytes, WGPUBufferUsage usage)
{
    WGPUBufferDescriptor desc = {.size = bytes, .usage = usage};
    return w->lib->DeviceCreateBuffer(w->device, &desc);
}

static gpu_buffer *buffer_new(gpu *g, uint64_t bytes, gpu_use use)
{
    static const WGPUBufferUsage usages[] = {
        [GPU_USE_STORAGE] = WGPUBufferUsage_Storage,
        [GPU_USE_UNIFORM] = WGPUBufferUsage_Uniform,
        [GPU_USE_INDIRECT] = WGPUBufferUsage_Indirect | WGPUBufferUsage_Storage,
    };
    webgpu_buffer *b = mem_alloc(sizeof *b);
    b->handle = make_buffer((webgpu *)g, bytes, usages[use] | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst);
    if (!b->handle)
        gpu_fail(g, "out of memory: a buffer of %llu bytes", (unsigned long long)bytes);
    return &b->base;
}

static void buffer_free(gpu_buffer *base)
{
    webgpu_buffer *b = (webgpu_buffer *)base;
    const webgpu_library *lib = ((webgpu *)base->owner)->lib;
    if (b->handle) {
        lib->BufferDestroy(b->handle); /* the memory goes now, not when the last bind group does */
        lib->BufferRelease(b->handle);
    }
    free(b);
}

static void write_buffer(gpu *g, gpu_buffer *b, uint64_t offset, const void *data, size_t bytes)
{
    webgpu *w = (webgpu *)g;
    w->unsent = true;
    w->lib->QueueWriteBuffer(w->queue, ((webgpu_buffer *)b)->handle, offset, data, bytes);
}

/* One read under way: a mappable copy of the range asked for. */
typedef struct reading {
    webgpu *w;
    WGPUBuffer copy;
    void *data;
    size_t bytes;
    gpu_done done;
    void *user;
} reading;

static WGPUBuffer take_mappable(webgpu *w, size_t bytes)
{
    for (int i = 0; bytes <= WEBGPU_SPARE_READ_BYTES && i < WEBGPU_SPARE_READS; i++)
        if (w->spare_reads[i]) {
            WGPUBuffer spare = w->spare_reads[i];
            w->spare_reads[i] = NULL;
            return spare;
        }
    if (bytes < WEBGPU_SPARE_READ_BYTES)
        bytes = WEBGPU_SPARE_READ_BYTES;
    return make_buffer(w, bytes, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst);
}

/* Unmapped, and as small as all of those that are kept. */
static void give_mappable(webgpu *w, WGPUBuffer buffer, size_t bytes)
{
    for (int i = 0; bytes <= WEBGPU_SPARE_READ_BYTES && i < WEBGPU_SPARE_READS; i++)
        if (!w->spare_reads[i]) {
            w->spare_reads[i] = buffer;
            return;
        }
    w->lib->BufferRelease(buffer);
}

static void on_mapped(WGPUMapAsyncStatus status, WGPUStringView message, void *user, void *unused)
{
    (void)message, (void)unused;
    reading *r = user;
    const webgpu_library *lib = r->w->lib;
    const void *mapped =
        status == WGPUMapAsyncStatus_Success ? lib->BufferGetConstMappedRange(r->copy, 0, r->bytes) : NULL;
    if (mapped) {
        memcpy(r->data, mapped, r->bytes);
        lib->BufferUnmap(r->copy);
        give_mappable(r->w, r->copy, r->bytes);
    } else
        lib->BufferRelease(r->copy);
    r->done(r->user, mapped != NULL);
    free(r);
}

static void map_copy(reading *r)
{
    r->w->lib->BufferMapAsync(r->copy, WGPUMapMode_Read, 0, r->bytes,
                              (WGPUBufferMapCallbackInfo){
                                  .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_mapped, .userdata1 = r});
}

void webgpu_send_writes(webgpu *w)
{
    if (!w->unsent || w->base.lost)
        return;
    w->unsent = false;
    w->lib->QueueSubmit(w->queue, 0, NULL);
}

static void submit_one(webgpu *w, WGPUCommandEncoder encoder)
{
    WGPUCommandBuffer commands = w->lib->CommandEncoderFinish(encoder, NULL);
    w->unsent = false;
    w->lib->QueueSubmit(w->queue, 1, &commands);
    w->lib->CommandBufferRelease(commands);
    w->lib->CommandEncoderRelease(encoder);
}

static void read_handle(webgpu *w, WGPUBuffer from, uint64_t offset, void *data, size_t bytes, gpu_done done,
                        void *user)
{
    reading *r = mem_alloc(sizeof *r);
    *r = (reading){.w = w, .data = data, .bytes = bytes, .done = done, .user = user};
    r->copy = take_mappable(w, bytes);
    WGPUCommandEncoder encoder = w->lib->DeviceCreateCommandEncoder(w->device, NULL);
    w->lib->CommandEncoderCopyBufferToBuffer(encoder, from, offset, r->copy, 0, bytes);
    submit_one(w, encoder);
    map_copy(r);
}

static void read_buffer(gpu *g, gpu_buffer *b, uint64_t offset, void *data, size_t bytes, gpu_done done, void *user)
{
    read_handle((webgpu *)g, ((webgpu_buffer *)b)->handle, offset, data, bytes, done, user);
}

/* ---- bindings ------------------------------------------------------------ */

static gpu_bindings *bindings_new(gpu *g, gpu_kernel *k, const gpu_part *parts, uint32_t count)
{
    webgpu *w = (webgpu *)g;
    webgpu_bindings *b = mem_alloc(sizeof *b);
    /* With an error on the device the handles may be invalid: nothing would run anyway. */
    if (g->error.kind != ERR_NONE)
        return &b->base;
    WGPUBindGroupEntry entries[GPU_MAX_BINDINGS] = {0};
    for (uint32_t i = 0; i < count; i++)
        entries[i] = (WGPUBindGroupEntry){.binding = i,
                                          .buffer = ((webgpu_buffer *)parts[i].buffer)->handle,
                                          .offset = parts[i].offset,
                                          .size = parts[i].bytes};
    WGPUBindGroupDescriptor desc = {.layout = ((webgpu_kernel *)k)->layout, .entryCount = count, .entries = entries};
    b->group = w->lib->DeviceCreateBindGroup(w->device, &desc);
    return &b->base;
}

static void bindings_free(gpu_bindings *base)
{
    webgpu_bindings *b = (webgpu_bindings *)base;
    if (b->group)
        ((webgpu *)base->owner)->lib->BindGroupRelease(b->group);
    free(b);
}

/* ---- recording ----------------------------------------------------------- */

/* On a device with an error nothing is recorded: handles may be invalid, some
 * libraries end the process over that, and no wait will succeed anyway. */
static bool recording(const gpu_recording *r)
{
    return ((const webgpu_recording *)r)->encoder && r->owner->error.kind == ERR_NONE;
}

static gpu_recording *record(gpu *g, bool replayable)
{
    (void)replayable;
    webgpu *w = (webgpu *)g;
    webgpu_recording *r = w->spare_recording ? w->spare_recording : mem_alloc(sizeof *r);
    w->spare_recording = NULL;
    r->encoder = g->error.kind == ERR_NONE ? w->lib->DeviceCreateCommandEncoder(w->device, NULL) : NULL;
    r->pass = NULL;
    return &r->base;
}

static void pass_begin(gpu_recording *base, gpu_timer *timer, int edges)
{
    if (!recording(base))
        return;
    webgpu_recording *r = (webgpu_recording *)base;
    const webgpu_library *lib = ((webgpu *)base->owner)->lib;
    if (!timer || !edges) {
        r->pass = lib->CommandEncoderBeginComputePass(r->encoder, NULL);
        return;
    }
    WGPUPassTimestampWrites writes = {.querySet = ((webgpu_timer *)timer)->queries,
                                      .beginningOfPassWriteIndex =
                                          edges & GPU_TIME_BEGIN ? 0 : WGPU_QUERY_SET_INDEX_UNDEFINED,
                                      .endOfPassWriteIndex = edges & GPU_TIME_END ? 1 : WGPU_QUERY_SET_INDEX_UNDEFINED};
    WGPUComputePassDescriptor desc = {.timestampWrites = &writes};
    r->pass = lib->CommandEncoderBeginComputePass(r->encoder, &desc);
}

static void set_kernel(gpu_recording *base, gpu_kernel *k)
{
    webgpu_recording *r = (webgpu_recording *)base;
    if (r->pass && recording(base))
        ((webgpu *)base->owner)->lib->ComputePassEncoderSetPipeline(r->pass, ((webgpu_kernel *)k)->pipeline);
}

static void set_bindings(gpu_recording *base, gpu_bindings *b)
{
    webgpu_recording *r = (webgpu_recording *)base;
    if (r->pass && recording(base))
        ((webgpu *)base->owner)
            ->lib->ComputePassEncoderSetBindGroup(r->pass, 0, ((webgpu_bindings *)b)->group, 0, NULL);
}

static void dispatch(gpu_recording *base, uint32_t x, uint32_t y, uint32_t z)
{
    webgpu_recording *r = (webgpu_recording *)base;
    if (r->pass && recording(base))
        ((webgpu *)base->owner)->lib->ComputePassEncoderDispatchWorkgroups(r->pass, x, y, z);
}

static void dispatch_indirect(gpu_recording *base, gpu_buffer *b, uint64_t offset)
{
    webgpu_recording *r = (webgpu_recording *)base;
    if (r->pass && recording(base))
        ((webgpu *)base->owner)
            ->lib->ComputePassEncoderDispatchWorkgroupsIndirect(r->pass, ((webgpu_buffer *)b)->handle, offset);
}

static void pass_end(gpu_recording *base)
{
    webgpu_recording *r = (webgpu_recording *)base;
    const webgpu_library *lib = ((webgpu *)base->owner)->lib;
    if (!r->pass)
        return;
    if (recording(base))
        lib->ComputePassEncoderEnd(r->pass);
    lib->ComputePassEncoderRelease(r->pass);
    r->pass = NULL;
}

static void copy(gpu_recording *base, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to, uint64_t to_offset,
                 uint64_t bytes)
{
    if (recording(base))
        ((webgpu *)base->owner)
            ->lib->CommandEncoderCopyBufferToBuffer(((webgpu_recording *)base)->encoder,
                                                    ((webgpu_buffer *)from)->handle, from_offset,
                                                    ((webgpu_buffer *)to)->handle, to_offset, bytes);
}

static gpu_commands *finish(gpu_recording *base)
{
    webgpu *w = (webgpu *)base->owner;
    webgpu_recording *r = (webgpu_recording *)base;
    webgpu_commands *c = w->spare_commands ? w->spare_commands : mem_alloc(sizeof *c);
    w->spare_commands = NULL;
    c->buffer = recording(base) ? w->lib->CommandEncoderFinish(r->encoder, NULL) : NULL;
    if (r->encoder)
        w->lib->CommandEncoderRelease(r->encoder);
    r->encoder = NULL;
    if (w->spare_recording)
        free(r);
    else
        w->spare_recording = r;
    return &c->base;
}

static void commands_free(gpu_commands *base)
{
    webgpu *w = (webgpu *)base->owner;
    webgpu_commands *c = (webgpu_commands *)base;
    if (c->buffer)
        w->lib->CommandBufferRelease(c->buffer);
    c->buffer = NULL;
    if (w->spare_commands)
        free(c);
    else
        w->spare_commands = c;
}

static void submit(gpu *g, gpu_commands *c)
{
    webgpu *w = (webgpu *)g;
    WGPUCommandBuffer buffer = ((webgpu_commands *)c)->buffer;
    if (buffer && g->error.kind == ERR_NONE) {
        w->unsent = false;
        w->lib->QueueSubmit(w->queue, 1, &buffer);
    }
    commands_free(c);
}

/* ---- device time --------------------------------------------------------- */

static gpu_timer *timer_new(gpu *g)
{
    webgpu *w = (webgpu *)g;
    webgpu_timer *t = mem_alloc(sizeof *t);
    if (g->error.kind != ERR_NONE)
        return &t->base;
    WGPUQuerySetDescriptor desc = {.type = WGPUQueryType_Timestamp, .count = 2};
    t->queries = w->lib->DeviceCreateQuerySet(w->device, &desc);
    t->resolved = make_buffer(w, 2 * sizeof(uint64_t), WGPUBufferUsage_QueryResolve | WGPUBufferUsage_CopySrc);
    return &t->base;
}

static void timer_free(gpu_timer *base)
{
    webgpu_timer *t = (webgpu_timer *)base;
    const webgpu_library *lib = ((webgpu *)base->owner)->lib;
    if (t->queries)
        lib->QuerySetRelease(t->queries);
    if (t->resolved)
        lib->BufferRelease(t->resolved);
    free(t);
}

/* Two timestamps being read; like every read, not on the stack. */
typedef struct ticks_read {
    uint64_t ticks[2];
    int done;
    bool abandoned;
} ticks_read;

static void on_ticks(void *user, bool ok)
{
    ticks_read *r = user;
    r->done = ok ? 1 : -1;
    if (r->abandoned)
        free(r);
}

static bool timer_read(gpu_timer *base, double *ns, err *e)
{
    webgpu *w = (webgpu *)base->owner;
    webgpu_timer *t = (webgpu_timer *)base;
    ticks_read *r = mem_alloc(sizeof *r);
    WGPUCommandEncoder encoder = w->lib->DeviceCreateCommandEncoder(w->device, NULL);
    w->lib->CommandEncoderResolveQuerySet(encoder, t->queries, 0, 2, t->resolved, 0);
    submit_one(w, encoder);
    read_handle(w, t->resolved, 0, r->ticks, sizeof r->ticks, on_ticks, r);
    while (!r->done && !w->base.lost)
        webgpu_poll(&w->base);
    r->abandoned = !r->done;
    if (r->abandoned)
        return err_set(e, "%s: the device was lost while timestamps were read", w->base.info.impl);
    /* Dawn resolves to nanoseconds, wgpu-native to the device's own ticks. */
    double period = w->lib->QueueGetTimestampPeriod ? w->lib->QueueGetTimestampPeriod(w->queue) : 1;
    bool ok = r->done > 0 && r->ticks[1] >= r->ticks[0];
    *ns = ok ? (double)(r->ticks[1] - r->ticks[0]) * period : 0;
    free(r);
    return ok || err_set(e, "%s: timestamps could not be read", w->base.info.impl);
}

const gpu_backend gpu_webgpu_backend = {
    .name = "webgpu",
    .open = webgpu_open,
    .close = webgpu_close,
    .lose = webgpu_lose,
    .memory = webgpu_memory,
    .buffer_new = buffer_new,
    .buffer_free = buffer_free,
    .write = write_buffer,
    .read = read_buffer,
    .stage_new = webgpu_stage_new,
    .stage_open = webgpu_stage_open,
    .stage_send = webgpu_stage_send,
    .stage_free = webgpu_stage_free,
    .kernel_new = webgpu_kernel_new,
    .kernel_free = webgpu_kernel_free,
    .kernel_is_ready = webgpu_kernel_is_ready,
    .kernel_finish = webgpu_kernel_finish,
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
    .when_done = webgpu_when_done,
    .poll = webgpu_poll,
    .wait = webgpu_wait,
    .timer_new = timer_new,
    .timer_free = timer_free,
    .timer_read = timer_read,
};
