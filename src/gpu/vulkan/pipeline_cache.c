/* pipeline_cache: what the driver compiled, kept between runs, a blob for each pipeline.
 *
 * The key has the device's identity, the driver's UUID for such data, and all that a pipeline is made of. One blob for all
 * pipelines would grow with every kernel there ever was. */
#include "gpu/vulkan/pipeline_cache.h"

#include "base/blob_cache.h"
#include "gpu/identity.h"

#include <stdlib.h>
#include <string.h>

static VkPhysicalDeviceProperties properties_of(const vulkan_gpu *g)
{
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    g->vk.GetPhysicalDeviceProperties2(g->physical, &all);
    return all.properties;
}

static void add_key(str *key, const vulkan_gpu *g, const VkPhysicalDeviceProperties *p, const gpu_kernel_desc *desc)
{
    str_add(key, "Vulkan's pipeline\n");
    gpu_add_identity(&g->base.info, key);
    str_add(key, "uuid:");
    for (uint32_t i = 0; i < VK_UUID_SIZE; i++)
        str_addf(key, " %02x", p->pipelineCacheUUID[i]);
    str_addf(key, "\nentry: %s\nbindings:", desc->entry);
    for (uint32_t i = 0; i < desc->binding_count; i++)
        str_addf(key, " %d", desc->bindings[i]);
    str_add(key, "\n");
    str_add_bytes(key, (const char *)desc->source->spirv, desc->source->spirv_bytes);
}

/* Drivers check it, too; but not all of them did so well. */
static bool is_of_device(const void *data, size_t bytes, const VkPhysicalDeviceProperties *p)
{
    VkPipelineCacheHeaderVersionOne h;
    if (bytes < sizeof h)
        return false;
    memcpy(&h, data, sizeof h);
    return h.headerSize >= sizeof h && h.headerSize <= bytes &&
           h.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && h.vendorID == p->vendorID &&
           h.deviceID == p->deviceID && memcmp(h.pipelineCacheUUID, p->pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

void vulkan_pipeline_cache_open(vulkan_gpu *g, const gpu_kernel_desc *desc, vulkan_pipeline_cache *c)
{
    *c = (vulkan_pipeline_cache){.cache = VK_NULL_HANDLE};
    if (!blob_cache_is_on())
        return;
    VkPhysicalDeviceProperties p = properties_of(g);
    add_key(&c->key, g, &p, desc);
    size_t bytes = 0;
    void *data = blob_cache_get(c->key.data, c->key.length, &bytes);
    c->was_kept = data && is_of_device(data, bytes, &p);
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                      .initialDataSize = c->was_kept ? bytes : 0,
                                      .pInitialData = c->was_kept ? data : NULL};
    if (g->vk.CreatePipelineCache(g->device, &info, NULL, &c->cache) != VK_SUCCESS)
        c->cache = VK_NULL_HANDLE; /* then the pipeline is compiled without one */
    free(data);
}

static void keep(vulkan_gpu *g, const vulkan_pipeline_cache *c)
{
    VkPhysicalDeviceProperties p = properties_of(g);
    size_t bytes = 0;
    if (g->vk.GetPipelineCacheData(g->device, c->cache, &bytes, NULL) != VK_SUCCESS || bytes == 0)
        return;
    void *data = mem_alloc(bytes);
    if (g->vk.GetPipelineCacheData(g->device, c->cache, &bytes, data) == VK_SUCCESS && is_of_device(data, bytes, &p))
        blob_cache_put(c->key.data, c->key.length, data, bytes);
    free(data);
}

void vulkan_pipeline_cache_close(vulkan_gpu *g, vulkan_pipeline_cache *c, bool compiled)
{
    if (c->cache) {
        if (compiled && !c->was_kept)
            keep(g, c);
        g->vk.DestroyPipelineCache(g->device, c->cache, NULL);
    }
    str_free(&c->key);
}
