/* What goes into a command buffer: dispatches, copies, barriers, timestamps. */
#include "gpu/vulkan/vulkan.h"

#include "base/str.h"

#include <stdlib.h>

static vulkan_gpu *gpu_of(const gpu_recording *r)
{
    return (vulkan_gpu *)r->owner;
}

/* ---- barriers ------------------------------------------------------------ */

static void barrier(vulkan_gpu *g, vulkan_work *w, VkPipelineStageFlags from, VkAccessFlags written,
                    VkPipelineStageFlags to, VkAccessFlags used)
{
    VkMemoryBarrier memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = written, .dstAccessMask = used};
    g->vk.CmdPipelineBarrier(w->buffer, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}

enum {
    KERNEL_READS_BACK = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
    KERNEL_USES = KERNEL_READS_BACK | VK_ACCESS_UNIFORM_READ_BIT,
    ANY_STAGE = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
    ANY_WRITE = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
};

/* A barrier's source is everything before it on the queue, earlier submissions
 * too, so one before each command is enough. Between dispatches it names only
 * the compute stage, and no uniforms, which kernels cannot write: a wider one may
 * cost more. */
static void order_dispatch(vulkan_gpu *g, vulkan_work *w)
{
    if (w->transfers_unseen)
        barrier(g, w, ANY_STAGE, ANY_WRITE, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, KERNEL_USES);
    else
        barrier(g, w, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, KERNEL_READS_BACK);
    w->transfers_unseen = false;
}

/* The workgroup counts are read by a stage of their own, to which nothing has
 * been shown yet. */
static void order_indirect(vulkan_gpu *g, vulkan_work *w)
{
    barrier(g, w, ANY_STAGE, ANY_WRITE, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT,
            KERNEL_USES | VK_ACCESS_INDIRECT_COMMAND_READ_BIT);
    w->transfers_unseen = false;
}

void vulkan_order_transfer(vulkan_gpu *g, vulkan_work *w)
{
    barrier(g, w, ANY_STAGE, ANY_WRITE, VK_PIPELINE_STAGE_TRANSFER_BIT,
            VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    w->transfers_unseen = true;
}

/* ---- commands ------------------------------------------------------------ */

static void stamp(vulkan_gpu *g, vulkan_work *w, const vulkan_timer *t, uint32_t edge)
{
    g->vk.CmdResetQueryPool(w->buffer, t->queries, edge, 1);
    g->vk.CmdWriteTimestamp(w->buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, t->queries, edge);
}

void vulkan_pass_begin(gpu_recording *r, gpu_timer *timer, int edges)
{
    vulkan_gpu *g = gpu_of(r);
    vulkan_work *w = (vulkan_work *)r;
    vulkan_timer *t = (vulkan_timer *)timer;
    if (!t || !t->queries || w->broken)
        return;
    if (edges & GPU_TIME_BEGIN)
        stamp(g, w, t, 0);
    w->end_timer = edges & GPU_TIME_END ? t : NULL;
}

void vulkan_pass_end(gpu_recording *r)
{
    vulkan_work *w = (vulkan_work *)r;
    if (w->end_timer && !w->broken)
        stamp(gpu_of(r), w, w->end_timer, 1);
    w->end_timer = NULL;
}

void vulkan_set_kernel(gpu_recording *r, gpu_kernel *k)
{
    vulkan_gpu *g = gpu_of(r);
    vulkan_work *w = (vulkan_work *)r;
    const vulkan_kernel *kernel = (const vulkan_kernel *)k;
    if (!kernel->pipeline) {
        gpu_fail(&g->base, "a kernel that could not be built was used");
        w->broken = true;
    }
    if (w->broken)
        return;
    w->layout = kernel->layout;
    g->vk.CmdBindPipeline(w->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, kernel->pipeline);
}

void vulkan_set_bindings(gpu_recording *r, gpu_bindings *b)
{
    vulkan_gpu *g = gpu_of(r);
    vulkan_work *w = (vulkan_work *)r;
    const vulkan_bindings *bindings = (const vulkan_bindings *)b;
    if (!bindings->set || !w->layout) {
        gpu_fail(&g->base,
                 bindings->set ? "bindings were set before a kernel" : "bindings that could not be made were used");
        w->broken = true;
    }
    if (w->broken)
        return;
    g->vk.CmdBindDescriptorSets(w->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, w->layout, 0, 1, &bindings->set, 0, NULL);
}

void vulkan_dispatch(gpu_recording *r, uint32_t x, uint32_t y, uint32_t z)
{
    vulkan_gpu *g = gpu_of(r);
    vulkan_work *w = (vulkan_work *)r;
    if (w->broken)
        return;
    order_dispatch(g, w);
    g->vk.CmdDispatch(w->buffer, x, y, z);
}

void vulkan_dispatch_indirect(gpu_recording *r, gpu_buffer *b, uint64_t offset)
{
    vulkan_gpu *g = gpu_of(r);
    vulkan_work *w = (vulkan_work *)r;
    const vulkan_buffer *counts = (const vulkan_buffer *)b;
    if (!vulkan_has_range(g, counts, offset, sizeof(VkDispatchIndirectCommand)))
        w->broken = true;
    if (w->broken)
        return;
    order_indirect(g, w);
    g->vk.CmdDispatchIndirect(w->buffer, counts->on_device.buffer, offset);
}

void vulkan_copy(gpu_recording *r, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to, uint64_t to_offset,
                 uint64_t bytes)
{
    vulkan_gpu *g = gpu_of(r);
    vulkan_work *w = (vulkan_work *)r;
    const vulkan_buffer *source = (const vulkan_buffer *)from, *target = (const vulkan_buffer *)to;
    if (!vulkan_has_range(g, source, from_offset, bytes) || !vulkan_has_range(g, target, to_offset, bytes))
        w->broken = true;
    if (w->broken || bytes == 0)
        return;
    vulkan_order_transfer(g, w);
    VkBufferCopy range = {from_offset, to_offset, bytes};
    g->vk.CmdCopyBuffer(w->buffer, source->on_device.buffer, target->on_device.buffer, 1, &range);
}

/* ---- timers -------------------------------------------------------------- */

gpu_timer *vulkan_timer_new(gpu *base)
{
    vulkan_gpu *g = (vulkan_gpu *)base;
    vulkan_timer *t = mem_alloc(sizeof *t);
    VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 2};
    if (base->lost || !base->info.has_timestamps)
        return &t->base;
    if (!vulkan_check(g, g->vk.CreateQueryPool(g->device, &info, NULL, &t->queries), "making a timer"))
        return &t->base;
    /* So that reading it before it was used is an error and not undefined. */
    vulkan_work *w = vulkan_pending(g);
    if (w)
        g->vk.CmdResetQueryPool(w->buffer, t->queries, 0, 2);
    return &t->base;
}

static void destroy_timer(vulkan_gpu *g, void *object)
{
    vulkan_timer *t = object;
    g->vk.DestroyQueryPool(g->device, t->queries, NULL);
    free(t);
}

void vulkan_timer_free(gpu_timer *t)
{
    vulkan_retire((vulkan_gpu *)t->owner, destroy_timer, t);
}

bool vulkan_timer_read(gpu_timer *timer, double *ns, err *e)
{
    vulkan_gpu *g = (vulkan_gpu *)timer->owner;
    const vulkan_timer *t = (const vulkan_timer *)timer;
    uint64_t ticks[2] = {0};
    if (!t->queries)
        return err_set(e, "%s: a timer that could not be made was read", g->base.info.impl);
    if (!vulkan_finish_all(g))
        return gpu_ok(&g->base, e);
    VkResult result = g->vk.GetQueryPoolResults(g->device, t->queries, 0, 2, sizeof ticks, ticks, sizeof ticks[0],
                                                VK_QUERY_RESULT_64_BIT);
    if (result == VK_NOT_READY)
        return err_set(e, "%s: a timer was read of which not both edges were passed", g->base.info.impl);
    if (!vulkan_check(g, result, "reading a timer"))
        return gpu_ok(&g->base, e);
    *ns = (double)((ticks[1] - ticks[0]) & g->tick_mask) * g->ns_per_tick;
    return true;
}
