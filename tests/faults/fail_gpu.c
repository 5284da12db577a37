/* fail_gpu: a Vulkan layer in which one call fails, under any library that uses Vulkan.
 *
 * FAULT_FILE is a file of the struct below, which the process shares with tests/faults/gpu.py: which call of which kind
 * gives which VkResult, how many there were of each kind, and whether it happened. A device that was lost stays lost:
 * all it is asked afterwards fails, and with FAULT_STALLS it cannot be closed any more. Built as a shared library; a manifest beside it names it to the loader. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

typedef enum { SUBMIT, ALLOCATE, COMPILE, WAIT, KINDS } kind;

typedef struct faults {
    _Atomic uint64_t calls[KINDS];
    uint64_t fails_at; /* the first one is 1; 0: none */
    uint32_t fails_kind;
    int32_t result;
    _Atomic uint32_t happened;
} faults;

static faults *shared;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FAULT_FILE");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *at = mmap(NULL, sizeof(faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at != MAP_FAILED)
        shared = at;
}

/* ---- what lies below, for each instance and device ------------------------------------------- */

enum { MAX_OBJECTS = 256 };
typedef struct below {
    void *key; /* the loader's table, which all handles of one instance or device begin with */
    PFN_vkGetInstanceProcAddr instance_call;
    PFN_vkGetDeviceProcAddr device_call;
    VkDevice device;
    VkInstance instance;
    bool lost;
} below;

static below objects[MAX_OBJECTS];
static int object_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *key_of(const void *handle)
{
    return *(void *const *)handle;
}

/* The newest of that key: the loader takes a table's memory again after a device has gone. */
static below *find(const void *handle)
{
    pthread_mutex_lock(&lock);
    below *found = NULL;
    for (int i = object_count; i > 0 && !found; i--)
        if (objects[i - 1].key == key_of(handle))
            found = &objects[i - 1];
    pthread_mutex_unlock(&lock);
    return found;
}

static void remember(below b)
{
    pthread_mutex_lock(&lock);
    if (object_count == MAX_OBJECTS)
        abort();
    objects[object_count++] = b;
    pthread_mutex_unlock(&lock);
}

/* VK_SUCCESS: it may go on. */
static VkResult outcome(kind k, const void *handle)
{
    below *b = find(handle);
    if (!shared)
        return VK_SUCCESS;
    uint64_t number = atomic_fetch_add(&shared->calls[k], 1) + 1;
    if (k == shared->fails_kind && number == shared->fails_at) {
        atomic_store(&shared->happened, 1);
        b->lost = shared->result == VK_ERROR_DEVICE_LOST;
        return (VkResult)shared->result;
    }
    return b->lost && k != ALLOCATE && k != COMPILE ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
}

#define PASS(k, handle, name, ...) \
    VkResult result = outcome(k, handle); \
    if (result != VK_SUCCESS) \
        return result; \
    below *b = find(handle); \
    return ((PFN_##name)b->device_call(b->device, #name))(__VA_ARGS__)

/* ---- the calls -------------------------------------------------------------------------------- */

static VkResult submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence)
{
    PASS(SUBMIT, queue, vkQueueSubmit, queue, count, infos, fence);
}
static VkResult submit2(VkQueue queue, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence)
{
    PASS(SUBMIT, queue, vkQueueSubmit2, queue, count, infos, fence);
}
static VkResult allocate(VkDevice d, const VkMemoryAllocateInfo *info, const VkAllocationCallbacks *a,
                         VkDeviceMemory *m)
{
    PASS(ALLOCATE, d, vkAllocateMemory, d, info, a, m);
}
static VkResult compile(VkDevice d, VkPipelineCache cache, uint32_t count, const VkComputePipelineCreateInfo *infos,
                        const VkAllocationCallbacks *a, VkPipeline *made)
{
    memset(made, 0, count * sizeof *made); /* what failed is VK_NULL_HANDLE */
    PASS(COMPILE, d, vkCreateComputePipelines, d, cache, count, infos, a, made);
}
static VkResult wait_fences(VkDevice d, uint32_t count, const VkFence *fences, VkBool32 all, uint64_t ns)
{
    PASS(WAIT, d, vkWaitForFences, d, count, fences, all, ns);
}
static VkResult fence_status(VkDevice d, VkFence fence)
{
    if (shared && shared->fails_kind == WAIT && shared->result == VK_TIMEOUT) { /* which this call does not have */
        below *b = find(d);
        return ((PFN_vkGetFenceStatus)b->device_call(b->device, "vkGetFenceStatus"))(d, fence);
    }
    PASS(WAIT, d, vkGetFenceStatus, d, fence);
}
static VkResult wait_semaphores(VkDevice d, const VkSemaphoreWaitInfo *info, uint64_t ns)
{
    PASS(WAIT, d, vkWaitSemaphores, d, info, ns);
}

/* A driver that has lost its device may not come back from closing it: a program that ends need not ask it to. */
static void destroy_device(VkDevice d, const VkAllocationCallbacks *a)
{
    below *b = find(d);
    while (b->lost && getenv("FAULT_STALLS"))
        pause();
    ((PFN_vkDestroyDevice)b->device_call(d, "vkDestroyDevice"))(d, a);
}

typedef struct own {
    const char *name;
    PFN_vkVoidFunction call;
} own;

static PFN_vkVoidFunction find_own(const own *table, const char *name)
{
    for (; table->name; table++)
        if (strcmp(table->name, name) == 0)
            return table->call;
    return NULL;
}

#define OWN(name, call) \
    { \
#name, (PFN_vkVoidFunction)call \
    }
static const own DEVICE_CALLS[] = {OWN(vkQueueSubmit, submit),
                                   OWN(vkQueueSubmit2, submit2),
                                   OWN(vkQueueSubmit2KHR, submit2),
                                   OWN(vkAllocateMemory, allocate),
                                   OWN(vkCreateComputePipelines, compile),
                                   OWN(vkWaitForFences, wait_fences),
                                   OWN(vkGetFenceStatus, fence_status),
                                   OWN(vkWaitSemaphores, wait_semaphores),
                                   OWN(vkWaitSemaphoresKHR, wait_semaphores),
                                   OWN(vkDestroyDevice, destroy_device),
                                   {0}};

static PFN_vkVoidFunction get_device_call(VkDevice device, const char *name)
{
    if (strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (PFN_vkVoidFunction)get_device_call;
    below *b = find(device);
    PFN_vkVoidFunction next = b->device_call(device, name), mine = find_own(DEVICE_CALLS, name);
    return next && mine ? mine : next;
}

/* ---- the chain of layers ---------------------------------------------------------------------- */

static VkResult create_instance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *a, VkInstance *made)
{
    VkLayerInstanceCreateInfo *link = (VkLayerInstanceCreateInfo *)info->pNext;
    while (link->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO || link->function != VK_LAYER_LINK_INFO)
        link = (VkLayerInstanceCreateInfo *)link->pNext;
    PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    VkResult result = ((PFN_vkCreateInstance)next(NULL, "vkCreateInstance"))(info, a, made);
    if (result == VK_SUCCESS)
        remember((below){.key = key_of(*made), .instance_call = next, .instance = *made});
    return result;
}

static VkResult create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info, const VkAllocationCallbacks *a,
                              VkDevice *made)
{
    VkLayerDeviceCreateInfo *link = (VkLayerDeviceCreateInfo *)info->pNext;
    while (link->sType != VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO || link->function != VK_LAYER_LINK_INFO)
        link = (VkLayerDeviceCreateInfo *)link->pNext;
    PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    PFN_vkGetDeviceProcAddr next_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    VkInstance instance = find(physical)->instance;
    VkResult result = ((PFN_vkCreateDevice)next(instance, "vkCreateDevice"))(physical, info, a, made);
    if (result == VK_SUCCESS)
        remember((below){.key = key_of(*made), .device_call = next_device, .device = *made});
    return result;
}

static PFN_vkVoidFunction get_instance_call(VkInstance instance, const char *name)
{
    static const own CALLS[] = {OWN(vkCreateInstance, create_instance),
                                OWN(vkCreateDevice, create_device),
                                OWN(vkGetDeviceProcAddr, get_device_call),
                                OWN(vkGetInstanceProcAddr, get_instance_call),
                                {0}};
    PFN_vkVoidFunction mine = find_own(CALLS, name);
    if (!mine)
        mine = find_own(DEVICE_CALLS, name);
    return mine || !instance ? mine : find(instance)->instance_call(instance, name);
}

__attribute__((visibility("default"))) VkResult vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *n)
{
    n->loaderLayerInterfaceVersion = 2;
    n->pfnGetInstanceProcAddr = get_instance_call;
    n->pfnGetDeviceProcAddr = get_device_call;
    n->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
