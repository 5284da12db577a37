/* heaps: the memory of a Vulkan device. */
#ifndef SOLO_GPU_VULKAN_HEAPS_H
#define SOLO_GPU_VULKAN_HEAPS_H

#include "gpu/memory_size.h"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

/* What is free is known where the driver has VK_EXT_memory_budget. */
memory_size vulkan_memory_size(PFN_vkGetInstanceProcAddr get, VkInstance instance, VkPhysicalDevice device);

#endif
