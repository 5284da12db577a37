/* heaps: how much memory a Vulkan device has and how much is free, also for other back ends' devices. */
#include "gpu/vulkan/heaps.h"
#include "base/os.h"
#include "base/str.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool has_budget(PFN_vkEnumerateDeviceExtensionProperties list, VkPhysicalDevice device)
{
    uint32_t count = 0;
    bool found = false;
    if (!list || list(device, NULL, &count, NULL) != VK_SUCCESS)
        return false;
    VkExtensionProperties *all = mem_alloc((count + 1) * sizeof *all);
    if (list(device, NULL, &count, all) == VK_SUCCESS)
        for (uint32_t i = 0; i < count; i++)
            found |= strcmp(all[i].extensionName, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME) == 0;
    free(all);
    return found;
}

memory_size vulkan_memory_size(PFN_vkGetInstanceProcAddr get, VkInstance instance, VkPhysicalDevice device)
{
    PFN_vkGetPhysicalDeviceMemoryProperties2 ask =
        (PFN_vkGetPhysicalDeviceMemoryProperties2)get(instance, "vkGetPhysicalDeviceMemoryProperties2");
    PFN_vkEnumerateDeviceExtensionProperties list =
        (PFN_vkEnumerateDeviceExtensionProperties)get(instance, "vkEnumerateDeviceExtensionProperties");
    memory_size size = {0};
    if (!ask)
        return size;
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 memory = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
    if (has_budget(list, device))
        memory.pNext = &budget;
    ask(device, &memory);
    for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; i++) {
        const VkMemoryHeap *heap = &memory.memoryProperties.memoryHeaps[i];
        if (!(heap->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT))
            continue;
        size.total += heap->size;
        if (memory.pNext && budget.heapBudget[i] > budget.heapUsage[i])
            size.free += budget.heapBudget[i] - budget.heapUsage[i];
    }
    return size;
}

/* ---- on the side ---------------------------------------------------------- */

/* Of several devices of one kind, the one with most room: WebGPU does not say which it has,
 * and a model that may fit is not to be refused. */
static memory_size find_device(PFN_vkGetInstanceProcAddr get, VkInstance instance, uint32_t vendor, uint32_t number)
{
    PFN_vkEnumeratePhysicalDevices enumerate =
        (PFN_vkEnumeratePhysicalDevices)get(instance, "vkEnumeratePhysicalDevices");
    PFN_vkGetPhysicalDeviceProperties describe =
        (PFN_vkGetPhysicalDeviceProperties)get(instance, "vkGetPhysicalDeviceProperties");
    VkPhysicalDevice devices[32];
    uint32_t count = 32;
    memory_size best = {0};
    if (!enumerate || !describe)
        return best;
    VkResult result = enumerate(instance, &count, devices);
    if (result != VK_SUCCESS && result != VK_INCOMPLETE)
        return best;
    for (uint32_t i = 0; i < count; i++) {
        VkPhysicalDeviceProperties p;
        describe(devices[i], &p);
        if (p.vendorID != vendor || p.deviceID != number)
            continue;
        memory_size size = vulkan_memory_size(get, instance, devices[i]);
        if (!best.total || size.free > best.free)
            best = size;
    }
    return best;
}

memory_size memory_size_by_vulkan(uint32_t vendor, uint32_t device)
{
    memory_size size = {0};
    void *library = os_load_library("libvulkan.so.1");
    if (!library)
        return size;
    PFN_vkGetInstanceProcAddr get = (PFN_vkGetInstanceProcAddr)dlsym(library, "vkGetInstanceProcAddr");
    PFN_vkCreateInstance create = get ? (PFN_vkCreateInstance)get(NULL, "vkCreateInstance") : NULL;
    VkApplicationInfo app = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = "solo", .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
    VkInstance instance = VK_NULL_HANDLE;
    if (create && create(&info, NULL, &instance) == VK_SUCCESS) {
        PFN_vkDestroyInstance destroy = (PFN_vkDestroyInstance)get(instance, "vkDestroyInstance");
        size = find_device(get, instance, vendor, device);
        if (destroy)
            destroy(instance, NULL);
    }
    dlclose(library);
    return size;
}
