/* Buffers, and the memory that the host sees: a ring for writes, and a place for reads. */
#include "gpu/vulkan/vulkan.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RING_BYTES = 32 << 20,
    WRITE_CHUNK_BYTES = 8 << 20, /* a large write fills the ring while earlier parts of it are on their way */
    READBACK_BYTES = 16 << 20,
};

/* ---- allocation ---------------------------------------------------------- */

/* The drivers list the better of two suitable types first. */
static bool find_memory_type(const vulkan_gpu *g, uint32_t allowed, VkMemoryPropertyFlags wanted, uint32_t *type)
{
    for (uint32_t i = 0; i < g->memory_types.memoryTypeCount; i++)
        if ((allowed & 1u << i) && (g->memory_types.memoryTypes[i].propertyFlags & wanted) == wanted) {
            *type = i;
            return true;
        }
    return false;
}

static VkResult allocate(vulkan_gpu *g, vulkan_memory *m, VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags hoped)
{
    VkMemoryRequirements needs;
    g->vk.GetBufferMemoryRequirements(g->device, m->buffer, &needs);
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
    if (!find_memory_type(g, needs.memoryTypeBits, wanted | hoped, &info.memoryTypeIndex) &&
        !find_memory_type(g, needs.memoryTypeBits, wanted, &info.memoryTypeIndex))
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    VkResult result = g->vk.AllocateMemory(g->device, &info, NULL, &m->memory);
    if (result != VK_SUCCESS)
        return result;
    if (wanted & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) {
        void *mapped = NULL;
        result = g->vk.MapMemory(g->device, m->memory, 0, VK_WHOLE_SIZE, 0, &mapped);
        m->mapped = mapped;
    }
    if (result != VK_SUCCESS)
        return result;
    return g->vk.BindBufferMemory(g->device, m->buffer, m->memory, 0);
}

void vulkan_memory_destroy(vulkan_gpu *g, vulkan_memory *m)
{
    g->vk.DestroyBuffer(g->device, m->buffer, NULL);
    g->vk.FreeMemory(g->device, m->memory, NULL);
    *m = (vulkan_memory){0};
}

VkResult vulkan_memory_new(vulkan_gpu *g, vulkan_memory *m, uint64_t bytes, VkBufferUsageFlags usage,
                           VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags hoped)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = bytes,
                               .usage = usage,
                               .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
    VkResult result = g->vk.CreateBuffer(g->device, &info, NULL, &m->buffer);
    if (result == VK_SUCCESS)
        result = allocate(g, m, wanted, hoped);
    if (result != VK_SUCCESS)
        vulkan_memory_destroy(g, m);
    return result;
}

bool vulkan_open_memory(vulkan_gpu *g)
{
    const VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    return vulkan_check(g, vulkan_memory_new(g, &g->ring, RING_BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, host, 0),
                        "allocating memory for writes") &&
           vulkan_check(g,
                        vulkan_memory_new(g, &g->readback, READBACK_BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, host,
                                          VK_MEMORY_PROPERTY_HOST_CACHED_BIT),
                        "allocating memory for reads");
}

void vulkan_close_memory(vulkan_gpu *g)
{
    vulkan_memory_destroy(g, &g->ring);
    vulkan_memory_destroy(g, &g->readback);
}

/* ---- buffers ------------------------------------------------------------- */

static VkResult buffer_memory_new(vulkan_gpu *g, vulkan_memory *m, uint64_t bytes)
{
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                                     VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    return vulkan_memory_new(g, m, bytes, usage, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0);
}

gpu_buffer *vulkan_buffer_new(gpu *base, uint64_t bytes, gpu_use use)
{
    (void)use; /* one memory serves every use */
    vulkan_gpu *g = (vulkan_gpu *)base;
    vulkan_buffer *b = mem_alloc(sizeof *b);
    if (base->lost)
        return &b->base;
    VkResult result = buffer_memory_new(g, &b->on_device, bytes);
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY && g->retired_count && vulkan_finish_all(g))
        result = buffer_memory_new(g, &b->on_device, bytes);
    char doing[64];
    snprintf(doing, sizeof doing, "a buffer of %llu bytes", (unsigned long long)bytes);
    vulkan_work *w = vulkan_check(g, result, doing) ? vulkan_pending(g) : NULL;
    if (!w)
        return &b->base;
    b->bytes = bytes;
    vulkan_order_transfer(g, w);
    g->vk.CmdFillBuffer(w->buffer, b->on_device.buffer, 0, VK_WHOLE_SIZE, 0);
    return &b->base;
}

static void destroy_buffer(vulkan_gpu *g, void *object)
{
    vulkan_buffer *b = object;
    vulkan_memory_destroy(g, &b->on_device);
    free(b);
}

void vulkan_buffer_free(gpu_buffer *b)
{
    vulkan_retire((vulkan_gpu *)b->owner, destroy_buffer, b);
}

bool vulkan_has_range(vulkan_gpu *g, const vulkan_buffer *b, uint64_t offset, uint64_t bytes)
{
    if (offset <= b->bytes && bytes <= b->bytes - offset)
        return true;
    gpu_fail(&g->base, "a buffer was used outside its memory, or could not be made");
    return false;
}

/* ---- write and read ------------------------------------------------------ */

/* A contiguous place in the ring, waiting for the oldest work if it is full. */
static bool take_ring(vulkan_gpu *g, uint64_t bytes, uint64_t *place)
{
    uint64_t at = g->ring_head % RING_BYTES;
    uint64_t skipped = at + bytes > RING_BYTES ? RING_BYTES - at : 0;
    while (g->ring_head + skipped + bytes - g->ring_tail > RING_BYTES) {
        vulkan_flush(g);
        if (!g->running)
            g->ring_tail = g->ring_head + skipped; /* none of it is in use */
        else if (!vulkan_wait_for(g, g->running->done_at))
            return false;
    }
    *place = skipped ? 0 : at;
    g->ring_head += skipped + bytes;
    return true;
}

void vulkan_write(gpu *base, gpu_buffer *target, uint64_t offset, const void *data, size_t bytes)
{
    vulkan_gpu *g = (vulkan_gpu *)base;
    const vulkan_buffer *b = (const vulkan_buffer *)target;
    if (!vulkan_has_range(g, b, offset, bytes))
        return;
    for (size_t done = 0; done < bytes;) {
        uint64_t part = bytes - done < WRITE_CHUNK_BYTES ? bytes - done : WRITE_CHUNK_BYTES;
        uint64_t place;
        vulkan_work *w = take_ring(g, part, &place) ? vulkan_pending(g) : NULL;
        if (!w)
            return;
        memcpy(g->ring.mapped + place, (const unsigned char *)data + done, part);
        vulkan_order_transfer(g, w);
        VkBufferCopy range = {place, offset + done, part};
        g->vk.CmdCopyBuffer(w->buffer, g->ring.buffer, b->on_device.buffer, 1, &range);
        done += part;
        if (part == WRITE_CHUNK_BYTES)
            vulkan_flush(g); /* let the copy run while the next part is put together */
    }
}

static bool read_part(vulkan_gpu *g, const vulkan_buffer *b, uint64_t offset, void *data, uint64_t bytes)
{
    vulkan_work *w = vulkan_pending(g);
    if (!w)
        return false;
    vulkan_order_transfer(g, w);
    VkBufferCopy range = {offset, 0, bytes};
    g->vk.CmdCopyBuffer(w->buffer, b->on_device.buffer, g->readback.buffer, 1, &range);
    VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    g->vk.CmdPipelineBarrier(w->buffer, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0,
                             NULL, 0, NULL);
    if (!vulkan_finish_all(g))
        return false;
    memcpy(data, g->readback.mapped, bytes);
    return true;
}

void vulkan_read(gpu *base, gpu_buffer *from, uint64_t offset, void *data, size_t bytes, gpu_done done, void *user)
{
    vulkan_gpu *g = (vulkan_gpu *)base;
    const vulkan_buffer *b = (const vulkan_buffer *)from;
    bool ok = vulkan_has_range(g, b, offset, bytes);
    for (size_t at = 0; ok && at < bytes; at += READBACK_BYTES) {
        size_t part = bytes - at < READBACK_BYTES ? bytes - at : READBACK_BYTES;
        ok = read_part(g, b, offset + at, (unsigned char *)data + at, part);
    }
    done(user, ok);
}
