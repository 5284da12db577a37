/* Staging: a buffer that stays mapped, and the number of the submission that copies from it. */
#include "gpu/vulkan/vulkan.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct vulkan_stage {
    gpu_stage base;
    vulkan_memory on_host; /* no buffer: it could not be made */
    uint64_t sent_at;      /* submission; 0: none yet */
} vulkan_stage;

gpu_stage *vulkan_stage_new(gpu *base, uint64_t bytes)
{
    vulkan_gpu *g = (vulkan_gpu *)base;
    vulkan_stage *s = mem_alloc(sizeof *s);
    if (base->lost)
        return &s->base;
    char doing[64];
    snprintf(doing, sizeof doing, "a stage of %llu bytes", (unsigned long long)bytes);
    vulkan_check(g,
                 vulkan_memory_new(g, &s->on_host, bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                                   VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 0),
                 doing);
    return &s->base;
}

void *vulkan_stage_open(gpu_stage *base)
{
    vulkan_stage *s = (vulkan_stage *)base;
    return vulkan_wait_for((vulkan_gpu *)base->owner, s->sent_at) ? s->on_host.mapped : NULL;
}

void vulkan_stage_send(gpu_stage *base, const gpu_stage_copy *copies, uint32_t count)
{
    vulkan_gpu *g = (vulkan_gpu *)base->owner;
    vulkan_stage *s = (vulkan_stage *)base;
    vulkan_work *w = s->on_host.buffer ? vulkan_pending(g) : NULL;
    if (!w)
        return;
    vulkan_order_transfer(g, w);
    for (uint32_t i = 0; i < count; i++) {
        const vulkan_buffer *to = (const vulkan_buffer *)copies[i].to;
        VkBufferCopy range = {copies[i].from, copies[i].offset, copies[i].bytes};
        if (!vulkan_has_range(g, to, copies[i].offset, copies[i].bytes))
            return;
        if (copies[i].bytes)
            g->vk.CmdCopyBuffer(w->buffer, s->on_host.buffer, to->on_device.buffer, 1, &range);
    }
    vulkan_flush(g);
    s->sent_at = g->submitted;
}

static void destroy_stage(vulkan_gpu *g, void *object)
{
    vulkan_stage *s = object;
    vulkan_memory_destroy(g, &s->on_host);
    free(s);
}

void vulkan_stage_free(gpu_stage *s)
{
    vulkan_retire((vulkan_gpu *)s->owner, destroy_stage, s);
}
