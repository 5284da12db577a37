/* The queue: command buffers taken, submitted, waited for and taken back. */
#include "gpu/vulkan/vulkan.h"

#include "base/clock.h"
#include "base/str.h"

#include <stdlib.h>

/* More retired objects than this are worth a wait to be rid of. */
enum { MANY_RETIRED = 4096 };

/* ---- results ------------------------------------------------------------- */

static const char *result_name(VkResult result)
{
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "out of host memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "out of device memory";
    case VK_ERROR_TOO_MANY_OBJECTS: return "too many allocations";
    case VK_ERROR_MEMORY_MAP_FAILED: return "memory could not be mapped";
    case VK_ERROR_INITIALIZATION_FAILED: return "initialisation failed";
    case VK_ERROR_OUT_OF_POOL_MEMORY: return "out of pool memory";
    case VK_ERROR_FRAGMENTED_POOL: return "the pool is fragmented";
    case VK_ERROR_DEVICE_LOST: return "device lost";
    case VK_ERROR_INVALID_SHADER_NV: return "invalid shader";
    case VK_NOT_READY: return "not ready";
    case VK_TIMEOUT: return "timed out";
    default: return NULL;
    }
}

bool vulkan_check(vulkan_gpu *g, VkResult result, const char *doing)
{
    if (result == VK_SUCCESS)
        return true;
    const char *name = result_name(result);
    if (result == VK_ERROR_DEVICE_LOST)
        gpu_mark_lost(&g->base, doing);
    else if (name)
        gpu_fail(&g->base, "%s: %s", doing, name);
    else
        gpu_fail(&g->base, "%s: VkResult %d", doing, (int)result);
    return false;
}

/* ---- command buffers, recycled ------------------------------------------- */

static void put_back(vulkan_gpu *g, vulkan_work *w)
{
    w->next = g->free_works;
    g->free_works = w;
}

/* Take back what is done, oldest first. */
static void recycle_completed(vulkan_gpu *g)
{
    while (g->running && g->running->done_at <= g->completed) {
        vulkan_work *w = g->running;
        g->running = w->next;
        g->ring_tail = w->ring_head;
        put_back(g, w);
    }
}

static void add_running(vulkan_gpu *g, vulkan_work *w)
{
    w->done_at = g->submitted;
    w->ring_head = g->ring_head;
    w->next = NULL;
    if (g->running)
        g->running_last->next = w;
    else
        g->running = w;
    g->running_last = w;
}

static vulkan_work *work_new(vulkan_gpu *g)
{
    vulkan_work *w = mem_alloc(sizeof *w);
    w->next_all = g->all_works;
    g->all_works = w;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                    .queueFamilyIndex = g->queue_family};
    if (!vulkan_check(g, g->vk.CreateCommandPool(g->device, &pool, NULL, &w->pool), "making a command pool"))
        return w;
    VkCommandBufferAllocateInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandPool = w->pool,
                                          .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                          .commandBufferCount = 1};
    if (!vulkan_check(g, g->vk.AllocateCommandBuffers(g->device, &buffer, &w->buffer), "making a command buffer"))
        w->buffer = VK_NULL_HANDLE;
    return w;
}

static vulkan_work *take_work(vulkan_gpu *g)
{
    if (!g->free_works && g->running && !g->base.lost) {
        vulkan_check(g, g->vk.GetSemaphoreCounterValue(g->device, g->timeline, &g->completed),
                     "asking how far the queue is");
        recycle_completed(g);
    }
    vulkan_work *w = g->free_works;
    if (!w)
        return work_new(g);
    g->free_works = w->next;
    return w;
}

/* Replayable work may be submitted again before its last run is done. */
static void begin(vulkan_gpu *g, vulkan_work *w, bool replayable)
{
    w->layout = VK_NULL_HANDLE;
    w->end_timer = NULL;
    w->transfers_unseen = true; /* by earlier submissions, for all that is known here */
    w->broken = true;
    if (g->base.lost || !w->buffer ||
        !vulkan_check(g, g->vk.ResetCommandPool(g->device, w->pool, 0), "resetting a command pool"))
        return;
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                     .flags = replayable ? VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT
                                                         : VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    w->broken = !vulkan_check(g, g->vk.BeginCommandBuffer(w->buffer, &info), "beginning a command buffer");
}

static void end(vulkan_gpu *g, vulkan_work *w)
{
    if (!w->broken && !vulkan_check(g, g->vk.EndCommandBuffer(w->buffer), "ending a command buffer"))
        w->broken = true;
}

vulkan_work *vulkan_pending(vulkan_gpu *g)
{
    if (!g->pending) {
        vulkan_work *w = take_work(g);
        begin(g, w, false);
        if (w->broken) {
            put_back(g, w);
            return NULL;
        }
        g->pending = w;
    }
    return g->pending;
}

/* ---- submitting ---------------------------------------------------------- */

/* What is pending goes first, then `w` if there is one. True if `w` went. */
static bool queue_submit(vulkan_gpu *g, vulkan_work *w)
{
    VkCommandBuffer buffers[2];
    uint32_t count = 0;
    vulkan_work *pending = g->pending;
    g->pending = NULL;
    if (pending) {
        end(g, pending);
        if (!pending->broken)
            buffers[count++] = pending->buffer;
    }
    if (w)
        buffers[count++] = w->buffer;

    uint64_t value = g->submitted + 1;
    VkTimelineSemaphoreSubmitInfo counted = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                             .signalSemaphoreValueCount = 1,
                                             .pSignalSemaphoreValues = &value};
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .pNext = &counted,
                           .commandBufferCount = count,
                           .pCommandBuffers = buffers,
                           .signalSemaphoreCount = 1,
                           .pSignalSemaphores = &g->timeline};
    bool went = vulkan_check(g, g->vk.QueueSubmit(g->queue, 1, &submit, VK_NULL_HANDLE), "submitting work");
    if (went)
        g->submitted = value;
    if (pending && went)
        add_running(g, pending);
    else if (pending)
        put_back(g, pending);
    return went;
}

void vulkan_flush(vulkan_gpu *g)
{
    if (g->pending && !g->base.lost)
        queue_submit(g, NULL);
}

gpu_recording *vulkan_record(gpu *base, bool replayable)
{
    vulkan_gpu *g = (vulkan_gpu *)base;
    vulkan_work *w = take_work(g);
    begin(g, w, replayable);
    g->open_recordings++;
    return &w->as.recording;
}

gpu_commands *vulkan_finish(gpu_recording *r)
{
    vulkan_gpu *g = (vulkan_gpu *)r->owner;
    vulkan_work *w = (vulkan_work *)r;
    end(g, w);
    if (r->replayable)
        g->open_recordings--;
    return &w->as.commands;
}

void vulkan_submit(gpu *base, gpu_commands *c)
{
    vulkan_gpu *g = (vulkan_gpu *)base;
    vulkan_work *w = (vulkan_work *)c;
    if (w->broken)
        gpu_fail(base, "commands that could not be recorded were submitted");
    bool went = !base->lost && !w->broken && queue_submit(g, w);
    if (c->replayable)
        return;
    g->open_recordings--;
    if (went)
        add_running(g, w);
    else
        put_back(g, w);
}

static void destroy_commands(vulkan_gpu *g, void *object)
{
    put_back(g, object);
}

void vulkan_commands_free(gpu_commands *c)
{
    vulkan_retire((vulkan_gpu *)c->owner, destroy_commands, c);
}

/* ---- waiting ------------------------------------------------------------- */

static VkResult poll_for(vulkan_gpu *g, uint64_t submission)
{
    uint64_t reached = 0, start = 0;
    for (uint64_t polls = 1;; polls++) {
        VkResult result = g->vk.GetSemaphoreCounterValue(g->device, g->timeline, &reached);
        if (result != VK_SUCCESS || reached >= submission)
            return result;
        if (polls % 65536 == 0) {
            start = start ? start : clock_ns();
            if (clock_ns() - start > gpu_hang_ns(&g->base))
                return VK_TIMEOUT;
        }
    }
}

static VkResult sleep_for(vulkan_gpu *g, uint64_t submission)
{
    VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .semaphoreCount = 1,
                                .pSemaphores = &g->timeline,
                                .pValues = &submission};
    return g->vk.WaitSemaphores(g->device, &info, gpu_hang_ns(&g->base));
}

bool vulkan_wait_for(vulkan_gpu *g, uint64_t submission)
{
    if (g->base.lost)
        return false;
    if (submission > g->completed) {
        bool sleep = g->base.wait_mode == GPU_WAIT_BLOCKING;
        VkResult result = sleep ? sleep_for(g, submission) : poll_for(g, submission);
        if (result == VK_TIMEOUT) {
            g->hung = true;
            gpu_mark_hung(&g->base);
            return false;
        }
        if (!vulkan_check(g, result, "waiting for the GPU"))
            return false;
        g->completed = submission;
    }
    recycle_completed(g);
    return true;
}

static bool nothing_in_use(const vulkan_gpu *g)
{
    return g->completed == g->submitted && !g->pending && g->open_recordings == 0;
}

static void destroy_retired(vulkan_gpu *g)
{
    for (size_t i = 0; i < g->retired_count; i++)
        g->retired[i].destroy(g, g->retired[i].object);
    g->retired_count = 0;
}

bool vulkan_finish_all(vulkan_gpu *g)
{
    vulkan_flush(g);
    bool ok = vulkan_wait_for(g, g->submitted);
    if (ok && nothing_in_use(g))
        destroy_retired(g);
    return ok;
}

void vulkan_retire(vulkan_gpu *g, void (*destroy)(vulkan_gpu *, void *), void *object)
{
    if (nothing_in_use(g)) {
        destroy(g, object);
        return;
    }
    if (g->retired_count == g->retired_capacity) {
        g->retired_capacity = g->retired_capacity ? 2 * g->retired_capacity : 64;
        g->retired = mem_grow(g->retired, g->retired_capacity * sizeof *g->retired);
    }
    g->retired[g->retired_count++] = (vulkan_retired){destroy, object};
    if (g->retired_count % MANY_RETIRED == 0)
        vulkan_finish_all(g);
}

void vulkan_wait(gpu *base)
{
    vulkan_finish_all((vulkan_gpu *)base);
}

void vulkan_when_done(gpu *base, gpu_done done, void *user)
{
    done(user, vulkan_finish_all((vulkan_gpu *)base));
}

/* Every callback comes before its call returns: there is nothing to poll for. */
void vulkan_poll(gpu *base)
{
    (void)base;
}

/* The device is idle, or lost and so as good as idle. */
void vulkan_close_queue(vulkan_gpu *g)
{
    destroy_retired(g);
    free(g->retired);
    while (g->all_works) {
        vulkan_work *w = g->all_works;
        g->all_works = w->next_all;
        g->vk.DestroyCommandPool(g->device, w->pool, NULL);
        free(w);
    }
    g->vk.DestroySemaphore(g->device, g->timeline, NULL);
}
