/* Opening Vulkan: the loader, a device, what it can do. */
#include "gpu/vulkan/heaps.h"
#include "gpu/vulkan/vulkan.h"

#include "base/mute_stderr.h"
#include "base/os.h"
#include "base/str.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char LOADER[] = "libvulkan.so.1";

/* ---- the loader and the instance ----------------------------------------- */

static PFN_vkGetInstanceProcAddr load_library(vulkan_gpu *g, err *e)
{
    g->library = os_load_library(LOADER);
    if (!g->library) {
        err_set_kind(e, ERR_NO_GPU, "vulkan: no Vulkan here (%s not found)", LOADER);
        return NULL;
    }
    PFN_vkGetInstanceProcAddr get = (PFN_vkGetInstanceProcAddr)dlsym(g->library, "vkGetInstanceProcAddr");
    Dl_info where;
    if (get && dladdr((void *)get, &where) && where.dli_fname)
        snprintf(g->base.info.library, sizeof g->base.info.library, "%s", where.dli_fname);
    if (!get)
        err_set_kind(e, ERR_NO_GPU, "vulkan: %s has no vkGetInstanceProcAddr", LOADER);
    return get;
}

static bool create_instance(vulkan_gpu *g, PFN_vkGetInstanceProcAddr get, err *e)
{
    PFN_vkEnumerateInstanceVersion version_of = (PFN_vkEnumerateInstanceVersion)get(NULL, "vkEnumerateInstanceVersion");
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
    uint32_t version = 0;
    if (!create || !version_of || version_of(&version) != VK_SUCCESS || version < VK_API_VERSION_1_2)
        return err_set_kind(e, ERR_NO_GPU, "vulkan: the loader is older than Vulkan 1.2");
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                             .pApplicationName = "solo",
                             .apiVersion = version < VK_API_VERSION_1_3 ? VK_API_VERSION_1_2 : VK_API_VERSION_1_3};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
    VkResult result = create(&info, NULL, &g->instance);
    if (result != VK_SUCCESS)
        return err_set_kind(e, ERR_NO_GPU, "vulkan: no instance could be made (VkResult %d): is a driver installed?",
                            (int)result);
    bool complete = true;
#define LOAD(name) complete &= (g->vk.name = (PFN_vk##name)get(g->instance, "vk" #name)) != NULL;
    VULKAN_INSTANCE_CALLS(LOAD)
#undef LOAD
    return complete || err_set_kind(e, ERR_NO_GPU, "vulkan: the loader lacks functions of Vulkan 1.2");
}

/* ---- the choice of a device ---------------------------------------------- */

static bool find_compute_queue(const vulkan_gpu *g, VkPhysicalDevice device, uint32_t *family, uint32_t *tick_bits)
{
    VkQueueFamilyProperties families[32];
    uint32_t count = 32;
    g->vk.GetPhysicalDeviceQueueFamilyProperties(device, &count, families);
    for (uint32_t i = 0; i < count; i++)
        if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) {
            *family = i;
            *tick_bits = families[i].timestampValidBits;
            return true;
        }
    return false;
}

static int rank(VkPhysicalDeviceType type, gpu_adapter_want want)
{
    bool software = type == VK_PHYSICAL_DEVICE_TYPE_CPU;
    if ((want == GPU_ADAPTER_SOFTWARE && !software) || (want == GPU_ADAPTER_GPU && software))
        return -1;
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return 1;
    default: return 0;
    }
}

static int rank_device(const vulkan_gpu *g, VkPhysicalDevice device, gpu_adapter_want want)
{
    VkPhysicalDeviceVulkan12Features features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceFeatures2 query = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &features};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    uint32_t family, tick_bits;
    g->vk.GetPhysicalDeviceProperties2(device, &properties);
    if (properties.properties.apiVersion < VK_API_VERSION_1_2 || !find_compute_queue(g, device, &family, &tick_bits))
        return -1;
    g->vk.GetPhysicalDeviceFeatures2(device, &query);
    return features.timelineSemaphore ? rank(properties.properties.deviceType, want) : -1;
}

static bool choose_device(vulkan_gpu *g, gpu_adapter_want want, err *e)
{
    VkPhysicalDevice devices[32];
    uint32_t count = 32;
    VkResult result = g->vk.EnumeratePhysicalDevices(g->instance, &count, devices);
    int best = -1;
    if (result != VK_SUCCESS && result != VK_INCOMPLETE)
        count = 0;
    for (uint32_t i = 0; i < count; i++) {
        int rank_here = rank_device(g, devices[i], want);
        if (rank_here > best) {
            best = rank_here;
            g->physical = devices[i];
        }
    }
    const char *what = want == GPU_ADAPTER_GPU ? "GPU" : want == GPU_ADAPTER_SOFTWARE ? "software device" : "device";
    return best >= 0 || err_set_kind(e, ERR_NO_GPU, "vulkan: no %s with Vulkan 1.2 and compute here", what);
}

/* ---- what it can do ------------------------------------------------------ */

/* Answers to the questions below; the 1.3 ones stay zero on a 1.2 device. */
typedef struct features {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDeviceVulkan11Features v11;
    VkPhysicalDeviceVulkan12Features v12;
    VkPhysicalDeviceVulkan13Features v13;
} features;

static void ask_features(const vulkan_gpu *g, bool has_1_3, features *f)
{
    *f = (features){
        .core = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &f->v11},
        .v11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &f->v12},
        .v12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = has_1_3 ? &f->v13 : NULL},
        .v13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES}};
    g->vk.GetPhysicalDeviceFeatures2(g->physical, &f->core);
}

static const char *vendor_name(uint32_t id)
{
    switch (id) {
    case 0x10de: return "NVIDIA";
    case 0x1002: return "AMD";
    case 0x8086: return "Intel";
    case 0x10005: return "Mesa";
    case 0x13b5: return "ARM";
    case 0x106b: return "Apple";
    case 0x5143: return "Qualcomm";
    case 0x1ae0: return "Google";
    default: return NULL;
    }
}

static gpu_type type_of(VkPhysicalDeviceType type)
{
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return GPU_TYPE_DISCRETE;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return GPU_TYPE_INTEGRATED;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return GPU_TYPE_SOFTWARE;
    default: return GPU_TYPE_UNKNOWN;
    }
}

static void fill_identity(gpu_info *info, const VkPhysicalDeviceProperties *p,
                          const VkPhysicalDeviceVulkan12Properties *v12)
{
    snprintf(info->impl_version, sizeof info->impl_version, "%u.%u.%u", VK_API_VERSION_MAJOR(p->apiVersion),
             VK_API_VERSION_MINOR(p->apiVersion), VK_API_VERSION_PATCH(p->apiVersion));
    snprintf(info->backend, sizeof info->backend, "Vulkan");
    const char *vendor = vendor_name(p->vendorID);
    if (vendor)
        snprintf(info->vendor, sizeof info->vendor, "%s", vendor);
    else
        snprintf(info->vendor, sizeof info->vendor, "0x%04x", p->vendorID);
    snprintf(info->device, sizeof info->device, "%s", p->deviceName);
    snprintf(info->driver, sizeof info->driver, "%s %s", v12->driverName, v12->driverInfo);
    info->type = type_of(p->deviceType);
    info->can_block = info->can_replay = info->can_indirect = info->has_passes = true;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void fill_limits(gpu_info *info, const VkPhysicalDeviceLimits *l)
{
    info->max_storage_binding_bytes = l->maxStorageBufferRange;
    info->max_uniform_binding_bytes = l->maxUniformBufferRange;
    info->max_storage_buffers = smaller(l->maxPerStageDescriptorStorageBuffers, l->maxDescriptorSetStorageBuffers);
    info->max_workgroup_bytes = l->maxComputeSharedMemorySize;
    info->max_workgroup_threads = smaller(l->maxComputeWorkGroupInvocations, l->maxComputeWorkGroupSize[0]);
    info->max_workgroups = smaller(smaller(l->maxComputeWorkGroupCount[0], l->maxComputeWorkGroupCount[1]),
                                   l->maxComputeWorkGroupCount[2]);
    info->uniform_align_bytes = (uint32_t)l->minUniformBufferOffsetAlignment;
}

static void fill_features(gpu_info *info, const features *f, const VkPhysicalDeviceVulkan11Properties *v11)
{
    const VkSubgroupFeatureFlags needed = VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT |
                                          VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT |
                                          VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
    info->has_subgroups = (v11->subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) &&
                          (v11->subgroupSupportedOperations & needed) == needed;
    info->has_f16 = f->v12.shaderFloat16 && f->v11.storageBuffer16BitAccess;
    info->has_packed_dot = f->v13.shaderIntegerDotProduct;
    info->subgroup_min = info->subgroup_max = v11->subgroupSize;
}

/* A buffer is one allocation here, so it can be no larger than the memory. */
static uint64_t largest_buffer(const vulkan_gpu *g, uint64_t limit)
{
    uint64_t heap = 0;
    for (uint32_t i = 0; i < g->memory_types.memoryHeapCount; i++) {
        const VkMemoryHeap *h = &g->memory_types.memoryHeaps[i];
        if ((h->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) && h->size > heap)
            heap = h->size;
    }
    return heap < limit ? heap : limit;
}

static bool fill_info(vulkan_gpu *g, features *f)
{
    VkPhysicalDeviceVulkan13Properties v13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES};
    VkPhysicalDeviceVulkan12Properties v12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
    VkPhysicalDeviceVulkan11Properties v11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES,
                                              .pNext = &v12};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    g->vk.GetPhysicalDeviceProperties2(g->physical, &all);
    bool has_1_3 = all.properties.apiVersion >= VK_API_VERSION_1_3;
    v12.pNext = has_1_3 ? &v13 : NULL;
    all.pNext = &v11;
    g->vk.GetPhysicalDeviceProperties2(g->physical, &all);
    g->vk.GetPhysicalDeviceMemoryProperties(g->physical, &g->memory_types);
    ask_features(g, has_1_3, f);

    gpu_info *info = &g->base.info;
    uint32_t tick_bits = 0;
    find_compute_queue(g, g->physical, &g->queue_family, &tick_bits);
    fill_identity(info, &all.properties, &v12);
    fill_limits(info, &all.properties.limits);
    fill_features(info, f, &v11);
    if (has_1_3) {
        info->subgroup_min = v13.minSubgroupSize;
        info->subgroup_max = v13.maxSubgroupSize;
    }
    info->max_buffer_bytes = largest_buffer(g, has_1_3 ? v13.maxBufferSize : v11.maxMemoryAllocationSize);
    g->storage_align_bytes = all.properties.limits.minStorageBufferOffsetAlignment;
    g->ns_per_tick = all.properties.limits.timestampPeriod;
    g->tick_mask = tick_bits >= 64 ? UINT64_MAX : (1ull << tick_bits) - 1;
    info->has_timestamps = tick_bits > 0 && g->ns_per_tick > 0;
    return has_1_3;
}

/* ---- the device ---------------------------------------------------------- */

static bool create_device(vulkan_gpu *g, const features *there, bool has_1_3, err *e)
{
    VkPhysicalDeviceVulkan13Features v13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                            .shaderIntegerDotProduct = there->v13.shaderIntegerDotProduct};
    VkPhysicalDeviceVulkan12Features v12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                            .pNext = has_1_3 ? &v13 : NULL,
                                            .timelineSemaphore = VK_TRUE,
                                            .shaderFloat16 = there->v12.shaderFloat16,
                                            .vulkanMemoryModel = there->v12.vulkanMemoryModel,
                                            .vulkanMemoryModelDeviceScope = there->v12.vulkanMemoryModelDeviceScope};
    VkPhysicalDeviceVulkan11Features v11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                            .pNext = &v12,
                                            .storageBuffer16BitAccess = there->v11.storageBuffer16BitAccess};
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = g->queue_family,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &v11,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue};
    VkResult result = g->vk.CreateDevice(g->physical, &info, NULL, &g->device);
    if (result != VK_SUCCESS) {
        g->device = VK_NULL_HANDLE;
        return err_set_kind(e, ERR_NO_GPU, "vulkan: %s could not be opened (VkResult %d)", g->base.info.device,
                            (int)result);
    }
    bool complete = true;
#define LOAD(name) complete &= (g->vk.name = (PFN_vk##name)g->vk.GetDeviceProcAddr(g->device, "vk" #name)) != NULL;
    VULKAN_DEVICE_CALLS(LOAD)
#undef LOAD
    if (!complete) {
        g->device = VK_NULL_HANDLE; /* it cannot even be destroyed for certain */
        return err_set_kind(e, ERR_NO_GPU, "vulkan: %s lacks functions of Vulkan 1.2", g->base.info.device);
    }
    g->vk.GetDeviceQueue(g->device, g->queue_family, 0, &g->queue);
    return true;
}

static bool create_timeline(vulkan_gpu *g)
{
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    return vulkan_check(g, g->vk.CreateSemaphore(g->device, &info, NULL, &g->timeline), "making a semaphore");
}

static void vulkan_close(gpu *base)
{
    vulkan_gpu *g = (vulkan_gpu *)base;
    if (g->timeline && !base->lost)
        vulkan_wait_for(g, g->submitted); /* not without end */
    /* Work that never ends keeps what it uses until the process is gone. */
    if (g->hung) {
        free(g);
        return;
    }
    if (g->device) {
        g->vk.DeviceWaitIdle(g->device); /* if that fails the device is lost, and nothing runs on it */
        vulkan_close_queue(g);
        vulkan_close_kernels(g);
        vulkan_close_memory(g);
        g->vk.DestroyDevice(g->device, NULL);
    }
    if (g->instance && g->vk.DestroyInstance)
        g->vk.DestroyInstance(g->instance, NULL);
    if (g->library)
        dlclose(g->library);
    free(g);
}

/* Vulkan has no way to lose a device on purpose: let its work end, then use it
 * no more. */
static void vulkan_lose(gpu *base)
{
    vulkan_gpu *g = (vulkan_gpu *)base;
    if (base->lost)
        return;
    vulkan_check(g, g->vk.DeviceWaitIdle(g->device), "waiting for the GPU");
    g->completed = g->submitted;
    gpu_mark_lost(base, "lost on purpose");
}

static memory_size ask_memory(gpu *base)
{
    const vulkan_gpu *g = (const vulkan_gpu *)base;
    if (base->info.type == GPU_TYPE_SOFTWARE)
        return memory_size_of_host();
    return vulkan_memory_size(g->get, g->instance, g->physical);
}

static gpu *vulkan_open(const gpu_choice *choice, err *e)
{
    vulkan_gpu *g = mem_alloc(sizeof *g);
    features there;
    g->base.backend = &gpu_vulkan_backend;
    snprintf(g->base.info.impl, sizeof g->base.info.impl, "vulkan");
    PFN_vkGetInstanceProcAddr get = g->get = load_library(g, e);
    muted terminal = mute_stderr(); /* drivers have warnings of their own, where a home cannot be written, for one */
    bool chosen = get && create_instance(g, get, e) && choose_device(g, choice->adapter, e);
    bool has_1_3 = chosen && fill_info(g, &there);
    bool opened = chosen && create_device(g, &there, has_1_3, e) && create_timeline(g) && vulkan_open_memory(g);
    unmute_stderr(terminal);
    if (opened)
        return &g->base;
    gpu_ok(&g->base, e);
    vulkan_close(&g->base);
    return NULL;
}

const gpu_backend gpu_vulkan_backend = {
    .name = "vulkan",
    .open = vulkan_open,
    .close = vulkan_close,
    .lose = vulkan_lose,
    .memory = ask_memory,
    .buffer_new = vulkan_buffer_new,
    .buffer_free = vulkan_buffer_free,
    .write = vulkan_write,
    .read = vulkan_read,
    .stage_new = vulkan_stage_new,
    .stage_open = vulkan_stage_open,
    .stage_send = vulkan_stage_send,
    .stage_free = vulkan_stage_free,
    .kernel_new = vulkan_kernel_new,
    .kernel_free = vulkan_kernel_free,
    .bindings_new = vulkan_bindings_new,
    .bindings_free = vulkan_bindings_free,
    .record = vulkan_record,
    .pass_begin = vulkan_pass_begin,
    .set_kernel = vulkan_set_kernel,
    .set_bindings = vulkan_set_bindings,
    .dispatch = vulkan_dispatch,
    .dispatch_indirect = vulkan_dispatch_indirect,
    .pass_end = vulkan_pass_end,
    .copy = vulkan_copy,
    .finish = vulkan_finish,
    .submit = vulkan_submit,
    .commands_free = vulkan_commands_free,
    .when_done = vulkan_when_done,
    .poll = vulkan_poll,
    .wait = vulkan_wait,
    .timer_new = vulkan_timer_new,
    .timer_free = vulkan_timer_free,
    .timer_read = vulkan_timer_read,
};
