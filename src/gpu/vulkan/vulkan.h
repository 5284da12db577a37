/* vulkan: the bare-Vulkan back end, a control for measurement.
 *
 * It sends the same dispatches as a WebGPU implementation, without the layer in between.
 *
 * open.c    the loader, the choice of a device, what it can do, the table
 * queue.c   command buffers: recycled, submitted, waited for; deferred frees
 * memory.c  buffers, the memory for small writes, write and read
 * stage.c   memory that the host fills and the GPU copies from
 * kernel.c  pipelines and descriptor sets
 * pipeline_cache.c  pipelines kept between runs
 * record.c  what goes into a command buffer, and timers
 *
 * One queue, one timeline semaphore that counts submissions, one thread.
 * Writes and zero fills gather in a command buffer of their own (`pending`)
 * that goes in front of the next submission, as queue.writeBuffer's do.
 * Nothing is freed while the GPU may use it: it is retired, and destroyed
 * when a wait has found the queue empty.                                   */
#ifndef SOLO_GPU_VULKAN_H
#define SOLO_GPU_VULKAN_H

#include "gpu/backend.h"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#define VULKAN_INSTANCE_CALLS(X) \
    X(DestroyInstance) \
    X(EnumeratePhysicalDevices) \
    X(GetPhysicalDeviceProperties2) \
    X(GetPhysicalDeviceFeatures2) \
    X(GetPhysicalDeviceMemoryProperties) \
    X(GetPhysicalDeviceQueueFamilyProperties) \
    X(CreateDevice) \
    X(GetDeviceProcAddr)

#define VULKAN_DEVICE_CALLS(X) \
    X(DestroyDevice) \
    X(DeviceWaitIdle) \
    X(GetDeviceQueue) \
    X(CreateSemaphore) \
    X(DestroySemaphore) \
    X(GetSemaphoreCounterValue) \
    X(WaitSemaphores) \
    X(CreateBuffer) \
    X(DestroyBuffer) \
    X(GetBufferMemoryRequirements) \
    X(BindBufferMemory) \
    X(AllocateMemory) \
    X(FreeMemory) \
    X(MapMemory) \
    X(CreateShaderModule) \
    X(DestroyShaderModule) \
    X(CreateDescriptorSetLayout) \
    X(DestroyDescriptorSetLayout) \
    X(CreatePipelineLayout) \
    X(DestroyPipelineLayout) \
    X(CreatePipelineCache) \
    X(DestroyPipelineCache) \
    X(GetPipelineCacheData) \
    X(CreateComputePipelines) \
    X(DestroyPipeline) \
    X(CreateDescriptorPool) \
    X(DestroyDescriptorPool) \
    X(AllocateDescriptorSets) \
    X(FreeDescriptorSets) \
    X(UpdateDescriptorSets) \
    X(CreateCommandPool) \
    X(DestroyCommandPool) \
    X(ResetCommandPool) \
    X(AllocateCommandBuffers) \
    X(BeginCommandBuffer) \
    X(EndCommandBuffer) \
    X(QueueSubmit) \
    X(CreateQueryPool) \
    X(DestroyQueryPool) \
    X(GetQueryPoolResults) \
    X(CmdBindPipeline) \
    X(CmdBindDescriptorSets) \
    X(CmdDispatch) \
    X(CmdDispatchIndirect) \
    X(CmdPipelineBarrier) \
    X(CmdCopyBuffer) \
    X(CmdFillBuffer) \
    X(CmdResetQueryPool) \
    X(CmdWriteTimestamp)

#define VULKAN_DECLARE(name) PFN_vk##name name;
typedef struct vulkan_calls {
    VULKAN_INSTANCE_CALLS(VULKAN_DECLARE)
    VULKAN_DEVICE_CALLS(VULKAN_DECLARE)
} vulkan_calls;
#undef VULKAN_DECLARE

/* A command buffer in its own pool, so that one reset takes all of it back.
 * It is a recording until gpu_finish, commands from then on. */
typedef struct vulkan_work {
    union {
        gpu_recording recording;
        gpu_commands commands;
    } as; /* first: the interface's pointers are this struct's */
    VkCommandPool pool;
    VkCommandBuffer buffer;
    VkPipelineLayout layout; /* of the kernel set last */
    struct vulkan_timer *end_timer;
    bool broken;                  /* something in it failed: it is not submitted */
    bool transfers_unseen;        /* copies that no barrier has shown to kernels yet */
    uint64_t done_at;             /* the submission it is part of */
    uint64_t ring_head;           /* the write ring is free up to here once it is done */
    struct vulkan_work *next;     /* in the free or the running list */
    struct vulkan_work *next_all; /* every one there is, for closing */
} vulkan_work;

/* Memory with its buffer; `mapped` where the host sees it. */
typedef struct vulkan_memory {
    VkBuffer buffer;
    VkDeviceMemory memory;
    unsigned char *mapped;
} vulkan_memory;

typedef struct vulkan_buffer {
    gpu_buffer base;
    vulkan_memory on_device;
    uint64_t bytes; /* really there: 0 if it could not be made */
} vulkan_buffer;

typedef struct vulkan_kernel {
    gpu_kernel base;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline; /* VK_NULL_HANDLE if it could not be built */
    gpu_bind_kind bindings[GPU_MAX_BINDINGS];
} vulkan_kernel;

typedef struct vulkan_set_pool {
    VkDescriptorPool pool;
    uint32_t used;
    struct vulkan_set_pool *next;
} vulkan_set_pool;

typedef struct vulkan_bindings {
    gpu_bindings base;
    VkDescriptorSet set; /* VK_NULL_HANDLE if they could not be made */
    vulkan_set_pool *from;
} vulkan_bindings;

typedef struct vulkan_timer {
    gpu_timer base;
    VkQueryPool queries; /* begin and end; VK_NULL_HANDLE if it could not be made */
} vulkan_timer;

typedef struct vulkan_gpu vulkan_gpu;

/* An object whose owner let go of it while the GPU might still use it. */
typedef struct vulkan_retired {
    void (*destroy)(vulkan_gpu *g, void *object);
    void *object;
} vulkan_retired;

struct vulkan_gpu {
    gpu base;
    void *library;
    vulkan_calls vk;
    PFN_vkGetInstanceProcAddr get;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t queue_family;
    VkPhysicalDeviceMemoryProperties memory_types;
    VkDeviceSize storage_align_bytes;
    double ns_per_tick;
    uint64_t tick_mask;

    VkSemaphore timeline;
    uint64_t submitted, completed; /* how many submissions; completed as far as is known */
    bool hung;                     /* work that never ends: nothing it may use can be freed */

    vulkan_work *free_works, *all_works;
    vulkan_work *running, *running_last; /* oldest first */
    vulkan_work *pending;                /* writes and fills for the next submission, or NULL */
    uint32_t open_recordings;            /* not submitted yet */

    vulkan_memory ring; /* write staging; positions only grow, the place is position % size */
    uint64_t ring_head, ring_tail;
    vulkan_memory readback;

    vulkan_set_pool *set_pools;
    vulkan_retired *retired;
    size_t retired_count, retired_capacity;
};

/* queue.c */
bool vulkan_check(vulkan_gpu *g, VkResult result, const char *doing);
vulkan_work *vulkan_pending(vulkan_gpu *g); /* NULL: it failed, and the device has the error */
void vulkan_flush(vulkan_gpu *g);
bool vulkan_wait_for(vulkan_gpu *g, uint64_t submission);
bool vulkan_finish_all(vulkan_gpu *g);
/* Destroy it now if nothing can be using it, else when that is so. */
void vulkan_retire(vulkan_gpu *g, void (*destroy)(vulkan_gpu *, void *), void *object);
void vulkan_close_queue(vulkan_gpu *g);

gpu_recording *vulkan_record(gpu *base, bool replayable);
gpu_commands *vulkan_finish(gpu_recording *r);
void vulkan_submit(gpu *base, gpu_commands *c);
void vulkan_commands_free(gpu_commands *c);
void vulkan_when_done(gpu *base, gpu_done done, void *user);
void vulkan_poll(gpu *base);
void vulkan_wait(gpu *base);

/* memory.c */
/* `hoped`: flags that would be good to have. On failure nothing is left allocated. */
VkResult vulkan_memory_new(vulkan_gpu *g, vulkan_memory *m, uint64_t bytes, VkBufferUsageFlags usage,
                           VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags hoped);
void vulkan_memory_destroy(vulkan_gpu *g, vulkan_memory *m);
bool vulkan_open_memory(vulkan_gpu *g);
void vulkan_close_memory(vulkan_gpu *g);
/* The whole range is in the buffer as it was really made. */
bool vulkan_has_range(vulkan_gpu *g, const vulkan_buffer *b, uint64_t offset, uint64_t bytes);

gpu_buffer *vulkan_buffer_new(gpu *base, uint64_t bytes, gpu_use use);
void vulkan_buffer_free(gpu_buffer *b);
void vulkan_write(gpu *base, gpu_buffer *b, uint64_t offset, const void *data, size_t bytes);
void vulkan_read(gpu *base, gpu_buffer *b, uint64_t offset, void *data, size_t bytes, gpu_done done, void *user);

/* stage.c */
gpu_stage *vulkan_stage_new(gpu *base, uint64_t bytes);
void *vulkan_stage_open(gpu_stage *s);
void vulkan_stage_send(gpu_stage *s, const gpu_stage_copy *copies, uint32_t count);
void vulkan_stage_free(gpu_stage *s);

/* kernel.c */
void vulkan_close_kernels(vulkan_gpu *g);
gpu_kernel *vulkan_kernel_new(gpu *base, const gpu_kernel_desc *desc);
void vulkan_kernel_free(gpu_kernel *k);
gpu_bindings *vulkan_bindings_new(gpu *base, gpu_kernel *k, const gpu_part *parts, uint32_t count);
void vulkan_bindings_free(gpu_bindings *b);

/* record.c */
void vulkan_order_transfer(vulkan_gpu *g, vulkan_work *w); /* a barrier before a copy or a fill */

void vulkan_pass_begin(gpu_recording *r, gpu_timer *timer, int edges);
void vulkan_set_kernel(gpu_recording *r, gpu_kernel *k);
void vulkan_set_bindings(gpu_recording *r, gpu_bindings *b);
void vulkan_dispatch(gpu_recording *r, uint32_t x, uint32_t y, uint32_t z);
void vulkan_dispatch_indirect(gpu_recording *r, gpu_buffer *b, uint64_t offset);
void vulkan_pass_end(gpu_recording *r);
void vulkan_copy(gpu_recording *r, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to, uint64_t to_offset,
                 uint64_t bytes);
gpu_timer *vulkan_timer_new(gpu *base);
void vulkan_timer_free(gpu_timer *t);
bool vulkan_timer_read(gpu_timer *t, double *ns, err *e);

#endif
