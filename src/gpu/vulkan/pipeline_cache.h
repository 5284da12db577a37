/* pipeline_cache: a pipeline's part of what is kept between runs. */
#ifndef SOLO_VULKAN_PIPELINE_CACHE_H
#define SOLO_VULKAN_PIPELINE_CACHE_H

#include "base/str.h"
#include "gpu/vulkan/vulkan.h"

typedef struct vulkan_pipeline_cache {
    VkPipelineCache cache; /* to make the pipeline with; VK_NULL_HANDLE: nothing is kept */
    str key;
    bool was_kept; /* it came from an earlier run */
} vulkan_pipeline_cache;

void vulkan_pipeline_cache_open(vulkan_gpu *g, const gpu_kernel_desc *desc, vulkan_pipeline_cache *c);
/* Keeps what is new, if the pipeline compiled. */
void vulkan_pipeline_cache_close(vulkan_gpu *g, vulkan_pipeline_cache *c, bool compiled);

#endif
