/* Kernels (compute pipelines) and bindings (descriptor sets). */
#include "gpu/vulkan/pipeline_cache.h"
#include "gpu/vulkan/vulkan.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

enum { SETS_PER_POOL = 256 };

static VkDescriptorType descriptor_type(gpu_bind_kind kind)
{
    return kind == GPU_BIND_UNIFORM ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

/* ---- kernels ------------------------------------------------------------- */

static bool make_layouts(vulkan_gpu *g, vulkan_kernel *k, const gpu_kernel_desc *desc, const char *doing)
{
    VkDescriptorSetLayoutBinding bindings[GPU_MAX_BINDINGS] = {0};
    for (uint32_t i = 0; i < desc->binding_count; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){.binding = i,
                                                     .descriptorType = descriptor_type(desc->bindings[i]),
                                                     .descriptorCount = 1,
                                                     .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    VkDescriptorSetLayoutCreateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .bindingCount = desc->binding_count,
                                           .pBindings = bindings};
    if (!vulkan_check(g, g->vk.CreateDescriptorSetLayout(g->device, &set, NULL, &k->set_layout), doing))
        return false;
    VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &k->set_layout};
    return vulkan_check(g, g->vk.CreatePipelineLayout(g->device, &layout, NULL, &k->layout), doing);
}

static bool make_pipeline(vulkan_gpu *g, vulkan_kernel *k, const gpu_kernel_desc *desc, const char *doing)
{
    VkShaderModule module;
    VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                     .codeSize = desc->source->spirv_bytes,
                                     .pCode = desc->source->spirv};
    if (!vulkan_check(g, g->vk.CreateShaderModule(g->device, &code, NULL, &module), doing))
        return false;
    VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                  .module = module,
                                                  .pName = desc->entry},
                                        .layout = k->layout};
    vulkan_pipeline_cache cache;
    vulkan_pipeline_cache_open(g, desc, &cache);
    VkResult result = g->vk.CreateComputePipelines(g->device, cache.cache, 1, &info, NULL, &k->pipeline);
    vulkan_pipeline_cache_close(g, &cache, result == VK_SUCCESS);
    g->vk.DestroyShaderModule(g->device, module, NULL);
    if (result != VK_SUCCESS)
        k->pipeline = VK_NULL_HANDLE;
    return vulkan_check(g, result, doing);
}

gpu_kernel *vulkan_kernel_new(gpu *base, const gpu_kernel_desc *desc)
{
    vulkan_gpu *g = (vulkan_gpu *)base;
    vulkan_kernel *k = mem_alloc(sizeof *k);
    if (base->lost)
        return &k->base;
    if (!desc->source->spirv || desc->binding_count > GPU_MAX_BINDINGS) {
        gpu_fail(base, "kernel %s/%s: %s", desc->source->name, desc->entry,
                 desc->source->spirv ? "too many bindings" : "there is no SPIR-V of it");
        return &k->base;
    }
    for (uint32_t i = 0; i < desc->binding_count; i++)
        k->bindings[i] = desc->bindings[i];
    char doing[128];
    snprintf(doing, sizeof doing, "kernel %s/%s", desc->source->name, desc->entry);
    if (make_layouts(g, k, desc, doing))
        make_pipeline(g, k, desc, doing);
    return &k->base;
}

static void destroy_kernel(vulkan_gpu *g, void *object)
{
    vulkan_kernel *k = object;
    g->vk.DestroyPipeline(g->device, k->pipeline, NULL);
    g->vk.DestroyPipelineLayout(g->device, k->layout, NULL);
    g->vk.DestroyDescriptorSetLayout(g->device, k->set_layout, NULL);
    free(k);
}

void vulkan_kernel_free(gpu_kernel *k)
{
    vulkan_retire((vulkan_gpu *)k->owner, destroy_kernel, k);
}

/* ---- bindings ------------------------------------------------------------ */

static vulkan_set_pool *add_set_pool(vulkan_gpu *g)
{
    VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, SETS_PER_POOL * GPU_MAX_BINDINGS},
                                    {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, SETS_PER_POOL * GPU_MAX_BINDINGS}};
    VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT,
                                       .maxSets = SETS_PER_POOL,
                                       .poolSizeCount = 2,
                                       .pPoolSizes = sizes};
    VkDescriptorPool pool;
    if (!vulkan_check(g, g->vk.CreateDescriptorPool(g->device, &info, NULL, &pool), "making a descriptor pool"))
        return NULL;
    vulkan_set_pool *p = mem_alloc(sizeof *p);
    p->pool = pool;
    p->next = g->set_pools;
    g->set_pools = p;
    return p;
}

static VkResult take_set(vulkan_gpu *g, vulkan_set_pool *from, const vulkan_kernel *k, vulkan_bindings *b)
{
    VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = from->pool,
                                        .descriptorSetCount = 1,
                                        .pSetLayouts = &k->set_layout};
    VkResult result = g->vk.AllocateDescriptorSets(g->device, &info, &b->set);
    if (result == VK_SUCCESS) {
        b->from = from;
        from->used++;
    } else {
        b->set = VK_NULL_HANDLE;
    }
    return result;
}

/* A pool with sets left may still be too fragmented for this one; then the
 * next is tried, and at last a new one. */
static bool find_set(vulkan_gpu *g, const vulkan_kernel *k, vulkan_bindings *b)
{
    for (vulkan_set_pool *p = g->set_pools; p; p = p->next)
        if (p->used < SETS_PER_POOL && take_set(g, p, k, b) == VK_SUCCESS)
            return true;
    vulkan_set_pool *added = add_set_pool(g);
    return added && vulkan_check(g, take_set(g, added, k, b), "making bindings");
}

static bool parts_fit(vulkan_gpu *g, const vulkan_kernel *k, const gpu_part *parts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t align = k->bindings[i] == GPU_BIND_UNIFORM ? g->base.info.uniform_align_bytes : g->storage_align_bytes;
        if (!vulkan_has_range(g, (vulkan_buffer *)parts[i].buffer, parts[i].offset, parts[i].bytes))
            return false;
        if (parts[i].bytes == 0) {
            gpu_fail(&g->base, "binding %u is empty", i);
            return false;
        }
        if (parts[i].offset % align != 0) {
            gpu_fail(&g->base, "binding %u at offset %llu: it must be a multiple of %llu", i,
                     (unsigned long long)parts[i].offset, (unsigned long long)align);
            return false;
        }
    }
    return true;
}

static void write_set(vulkan_gpu *g, const vulkan_kernel *k, VkDescriptorSet set, const gpu_part *parts, uint32_t count)
{
    VkDescriptorBufferInfo buffers[GPU_MAX_BINDINGS];
    VkWriteDescriptorSet writes[GPU_MAX_BINDINGS];
    for (uint32_t i = 0; i < count; i++) {
        const vulkan_buffer *b = (const vulkan_buffer *)parts[i].buffer;
        buffers[i] = (VkDescriptorBufferInfo){b->on_device.buffer, parts[i].offset, parts[i].bytes};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = descriptor_type(k->bindings[i]),
                                           .pBufferInfo = &buffers[i]};
    }
    g->vk.UpdateDescriptorSets(g->device, count, writes, 0, NULL);
}

gpu_bindings *vulkan_bindings_new(gpu *base, gpu_kernel *kernel, const gpu_part *parts, uint32_t count)
{
    vulkan_gpu *g = (vulkan_gpu *)base;
    const vulkan_kernel *k = (const vulkan_kernel *)kernel;
    vulkan_bindings *b = mem_alloc(sizeof *b);
    if (base->lost || !k->pipeline || count != k->base.binding_count || !parts_fit(g, k, parts, count))
        return &b->base;
    if (find_set(g, k, b))
        write_set(g, k, b->set, parts, count);
    return &b->base;
}

static void destroy_bindings(vulkan_gpu *g, void *object)
{
    vulkan_bindings *b = object;
    if (b->set) {
        vulkan_check(g, g->vk.FreeDescriptorSets(g->device, b->from->pool, 1, &b->set), "freeing bindings");
        b->from->used--;
    }
    free(b);
}

void vulkan_bindings_free(gpu_bindings *b)
{
    vulkan_retire((vulkan_gpu *)b->owner, destroy_bindings, b);
}

void vulkan_close_kernels(vulkan_gpu *g)
{
    while (g->set_pools) {
        vulkan_set_pool *p = g->set_pools;
        g->set_pools = p->next;
        g->vk.DestroyDescriptorPool(g->device, p->pool, NULL);
        free(p);
    }
}
