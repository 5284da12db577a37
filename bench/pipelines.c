/* pipelines: a Vulkan layer that says what a driver made of each compute pipeline: registers, bytes of code, what was
 * spilled, and the compiler's other numbers, for any program and library that uses Vulkan.
 *
 *     cc -shared -fPIC -O2 bench/pipelines.c -o libpipelines.so
 *     (a manifest beside it, as tests/faults/gpu.py writes one for fail_gpu)
 *     VK_LAYER_PATH=FOLDER VK_INSTANCE_LAYERS=VK_LAYER_SOLO_pipelines PIPELINES_FILE=FILE build/solo run ...
 *
 * A line for each pipeline: bytes of its SPIR-V and their hash, then the driver's numbers with their names. Needs
 * VK_KHR_pipeline_executable_properties, which it switches on. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

enum { MOST_DEVICES = 64, MOST_MODULES = 4096, MOST_NUMBERS = 32 };

static PFN_vkGetInstanceProcAddr instance_call;
static VkInstance instance;
static struct {
    VkDevice device;
    PFN_vkGetDeviceProcAddr call;
} devices[MOST_DEVICES];
static struct {
    VkShaderModule module;
    size_t bytes;
    uint64_t hash;
} modules[MOST_MODULES];
static int device_count, module_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The newest of that name: a driver takes the memory of one that has gone again. */
static PFN_vkVoidFunction call_of(VkDevice device, const char *name)
{
    PFN_vkGetDeviceProcAddr call = NULL;
    pthread_mutex_lock(&lock);
    for (int i = device_count; i > 0 && !call; i--)
        if (devices[i - 1].device == device)
            call = devices[i - 1].call;
    pthread_mutex_unlock(&lock);
    return call ? call(device, name) : NULL;
}

#define CALL(device, name) ((PFN_##name)call_of(device, #name))

/* ---- what a pipeline became ------------------------------------------------------------------- */

static void print_number(FILE *out, const VkPipelineExecutableStatisticKHR *s)
{
    switch (s->format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR: fprintf(out, "; %s %u", s->name, s->value.b32); break;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR: fprintf(out, "; %s %g", s->name, s->value.f64); break;
    default: fprintf(out, "; %s %llu", s->name, (unsigned long long)s->value.u64);
    }
}

static void print_pipeline(VkDevice d, VkPipeline p, VkShaderModule module)
{
    const char *path = getenv("PIPELINES_FILE");
    FILE *out = path ? fopen(path, "a") : NULL;
    PFN_vkGetPipelineExecutableStatisticsKHR ask = CALL(d, vkGetPipelineExecutableStatisticsKHR);
    VkPipelineExecutableStatisticKHR numbers[MOST_NUMBERS];
    uint32_t count = MOST_NUMBERS;
    VkPipelineExecutableInfoKHR first = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, .pipeline = p};
    for (int i = 0; i < MOST_NUMBERS; i++)
        numbers[i] = (VkPipelineExecutableStatisticKHR){.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR};
    if (!out)
        return;
    pthread_mutex_lock(&lock);
    for (int i = module_count; i > 0; i--)
        if (modules[i - 1].module == module) {
            fprintf(out, "%zu bytes %016llx", modules[i - 1].bytes, (unsigned long long)modules[i - 1].hash);
            break;
        }
    if (ask && ask(d, &first, &count, numbers) == VK_SUCCESS)
        for (uint32_t i = 0; i < count; i++)
            print_number(out, &numbers[i]);
    fputc('\n', out);
    fclose(out);
    pthread_mutex_unlock(&lock);
}

/* ---- the calls -------------------------------------------------------------------------------- */

static VkResult create_module(VkDevice d, const VkShaderModuleCreateInfo *info, const VkAllocationCallbacks *a,
                              VkShaderModule *made)
{
    VkResult result = CALL(d, vkCreateShaderModule)(d, info, a, made);
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < info->codeSize / 4; i++)
        hash = (hash ^ info->pCode[i]) * 0x100000001b3;
    pthread_mutex_lock(&lock);
    if (result == VK_SUCCESS && module_count < MOST_MODULES) {
        modules[module_count].module = *made;
        modules[module_count].bytes = info->codeSize;
        modules[module_count++].hash = hash;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static VkResult create_pipelines(VkDevice d, VkPipelineCache cache, uint32_t count,
                                 const VkComputePipelineCreateInfo *infos, const VkAllocationCallbacks *a,
                                 VkPipeline *made)
{
    VkComputePipelineCreateInfo *own = malloc(count * sizeof *own);
    memcpy(own, infos, count * sizeof *own);
    for (uint32_t i = 0; i < count; i++)
        own[i].flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
    VkResult result = CALL(d, vkCreateComputePipelines)(d, cache, count, own, a, made);
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++)
        print_pipeline(d, made[i], infos[i].stage.module);
    free(own);
    return result;
}

static PFN_vkVoidFunction get_device_call(VkDevice device, const char *name)
{
    if (strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (PFN_vkVoidFunction)get_device_call;
    if (strcmp(name, "vkCreateShaderModule") == 0)
        return (PFN_vkVoidFunction)create_module;
    if (strcmp(name, "vkCreateComputePipelines") == 0)
        return (PFN_vkVoidFunction)create_pipelines;
    return call_of(device, name);
}

/* ---- the chain of layers ---------------------------------------------------------------------- */

static VkResult create_instance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *a, VkInstance *made)
{
    VkLayerInstanceCreateInfo *link = (VkLayerInstanceCreateInfo *)info->pNext;
    while (link->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO || link->function != VK_LAYER_LINK_INFO)
        link = (VkLayerInstanceCreateInfo *)link->pNext;
    instance_call = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    VkResult result = ((PFN_vkCreateInstance)instance_call(NULL, "vkCreateInstance"))(info, a, made);
    instance = result == VK_SUCCESS ? *made : NULL;
    return result;
}

static VkResult create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info, const VkAllocationCallbacks *a,
                              VkDevice *made)
{
    static const char extension[] = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
    VkLayerDeviceCreateInfo *link = (VkLayerDeviceCreateInfo *)info->pNext;
    while (link->sType != VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO || link->function != VK_LAYER_LINK_INFO)
        link = (VkLayerDeviceCreateInfo *)link->pNext;
    PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    PFN_vkGetDeviceProcAddr next_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR feature = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
        .pNext = (void *)info->pNext,
        .pipelineExecutableInfo = VK_TRUE};
    VkDeviceCreateInfo own = *info;
    const char **names = malloc((info->enabledExtensionCount + 1) * sizeof *names);
    memcpy(names, info->ppEnabledExtensionNames, info->enabledExtensionCount * sizeof *names);
    names[own.enabledExtensionCount++] = extension;
    own.ppEnabledExtensionNames = names;
    own.pNext = &feature;
    VkResult result = ((PFN_vkCreateDevice)next(instance, "vkCreateDevice"))(physical, &own, a, made);
    free(names);
    pthread_mutex_lock(&lock);
    if (result == VK_SUCCESS && device_count < MOST_DEVICES) {
        devices[device_count].device = *made;
        devices[device_count++].call = next_device;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static PFN_vkVoidFunction get_instance_call(VkInstance i, const char *name)
{
    if (strcmp(name, "vkCreateInstance") == 0)
        return (PFN_vkVoidFunction)create_instance;
    if (strcmp(name, "vkCreateDevice") == 0)
        return (PFN_vkVoidFunction)create_device;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (PFN_vkVoidFunction)get_device_call;
    return i ? instance_call(i, name) : NULL;
}

__attribute__((visibility("default"))) VkResult vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *n)
{
    n->loaderLayerInterfaceVersion = 2;
    n->pfnGetInstanceProcAddr = get_instance_call;
    n->pfnGetDeviceProcAddr = get_device_call;
    n->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
