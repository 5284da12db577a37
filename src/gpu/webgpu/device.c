/* Opening a WebGPU device, hearing its errors, waiting for it. */
#include "gpu/webgpu/compilers.h"

#include "base/abort_line.h"
#include "base/clock.h"
#include "base/mute_stderr.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t REQUEST_NS = 20ull * 1000000000ull;

/* Dawn's own extension of a descriptor, by the numbers it has had throughout. */
enum { STYPE_DAWN_TOGGLES = 0x0005000A };
typedef struct dawn_toggles {
    WGPUChainedStruct chain;
    size_t enabled_count;
    const char *const *enabled;
    size_t disabled_count;
    const char *const *disabled;
} dawn_toggles;

static void copy_text(char *out, size_t room, WGPUStringView text)
{
    size_t n = !text.data ? 0 : text.length == WGPU_STRLEN ? strlen(text.data) : text.length;
    if (n >= room)
        n = room - 1;
    if (n)
        memcpy(out, text.data, n);
    out[n] = 0;
}

/* ---- errors -------------------------------------------------------------- */

static const char *error_kind(WGPUErrorType type)
{
    switch (type) {
    case WGPUErrorType_Validation: return "validation";
    case WGPUErrorType_OutOfMemory: return "out of memory";
    case WGPUErrorType_Internal: return "internal";
    default: return "unknown";
    }
}

static void on_error(WGPUDevice const *device, WGPUErrorType type, WGPUStringView message, void *user, void *unused)
{
    (void)device, (void)unused;
    webgpu *w = user;
    char text[4096];
    copy_text(text, sizeof text, message);
    if (w->compiling)
        webgpu_shader_error(&w->base, w->compiling, text);
    else
        gpu_fail(&w->base, "%s error: %s", error_kind(type), text);
    if (strstr(text, "device is lost")) /* all that wgpu-native says about it */
        gpu_mark_lost(&w->base, text);
}

static void on_lost(WGPUDevice const *device, WGPUDeviceLostReason reason, WGPUStringView message, void *user,
                    void *unused)
{
    (void)device, (void)reason, (void)unused;
    webgpu *w = user;
    char text[512];
    copy_text(text, sizeof text, message);
    if (!w->closing)
        gpu_mark_lost(&w->base, text[0] ? text : "no reason given");
}

/* ---- waiting ------------------------------------------------------------- */

void webgpu_poll(gpu *g)
{
    webgpu *w = (webgpu *)g;
    if (w->lib->DevicePoll)
        w->lib->DevicePoll(w->device, false, NULL);
    else
        w->lib->InstanceProcessEvents(w->instance);
}

typedef struct pending {
    gpu_done done;
    void *user;
} pending;

static void on_work_done(WGPUQueueWorkDoneStatus status, WGPUStringView message, void *user, void *unused)
{
    (void)message, (void)unused;
    pending *p = user;
    p->done(p->user, status == WGPUQueueWorkDoneStatus_Success);
    free(p);
}

void webgpu_when_done(gpu *g, gpu_done done, void *user)
{
    webgpu *w = (webgpu *)g;
    pending *p = mem_alloc(sizeof *p);
    *p = (pending){done, user};
    webgpu_send_writes(w);
    w->lib->QueueOnSubmittedWorkDone(
        w->queue, (WGPUQueueWorkDoneCallbackInfo){
                      .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_work_done, .userdata1 = p});
}

/* A wait under way; not on the stack, since after a loss its callback may still
 * come when no one waits any more. */
typedef struct waiting {
    int done; /* 1 it went well, -1 it did not */
    bool abandoned;
} waiting;

static void on_wait_done(WGPUQueueWorkDoneStatus status, WGPUStringView message, void *user, void *unused)
{
    (void)message, (void)unused;
    waiting *w = user;
    w->done = status == WGPUQueueWorkDoneStatus_Success ? 1 : -1;
    if (w->abandoned)
        free(w);
}

/* Until the callback has come: what a library's call returns does not decide.
 * wgpu-native's DevicePoll, asked without waiting, calls a queue empty whose
 * work is still running. */
static void await_callback(webgpu *w, const waiting *wait, WGPUFuture future, bool sleep)
{
    uint64_t start = clock_ns();
    for (uint64_t polls = 1; !wait->done && !w->base.lost; polls++) {
        WGPUFutureWaitInfo info = {.future = future};
        if (!sleep)
            webgpu_poll(&w->base);
        else if (w->lib->DevicePoll)
            w->lib->DevicePoll(w->device, true, NULL);
        else if (w->lib->InstanceWaitAny(w->instance, 1, &info, gpu_hang_ns(&w->base)) == WGPUWaitStatus_Error)
            gpu_mark_lost(&w->base, "waiting failed");
        if ((sleep || polls % 65536 == 0) && clock_ns() - start > gpu_hang_ns(&w->base))
            gpu_mark_hung(&w->base);
    }
}

void webgpu_wait(gpu *g)
{
    webgpu *w = (webgpu *)g;
    bool sleep = g->wait_mode == GPU_WAIT_BLOCKING && g->info.can_block;
    bool by_future = sleep && !w->lib->DevicePoll;
    waiting *wait = mem_alloc(sizeof *wait);
    webgpu_send_writes(w);
    WGPUFuture future = w->lib->QueueOnSubmittedWorkDone(
        w->queue, (WGPUQueueWorkDoneCallbackInfo){.mode = by_future ? WGPUCallbackMode_WaitAnyOnly
                                                                    : WGPUCallbackMode_AllowProcessEvents,
                                                  .callback = on_wait_done,
                                                  .userdata1 = wait});
    await_callback(w, wait, future, sleep);
    if (!wait->done) {
        wait->abandoned = true;
        return;
    }
    if (wait->done < 0)
        gpu_fail(g, "the work did not finish");
    free(wait);
}

/* SOLO_MATRIX=off: as if there were no matrix units. */
static bool matrix_wanted(void)
{
    const char *set = getenv("SOLO_MATRIX");
    return !set || strcmp(set, "off") != 0;
}

/* ---- opening ------------------------------------------------------------- */

typedef struct request {
    bool done;
    void *object;
    char message[512];
} request;

static void on_adapter(WGPURequestAdapterStatus status, WGPUAdapter adapter, WGPUStringView message, void *user,
                       void *unused)
{
    (void)unused;
    request *r = user;
    r->object = status == WGPURequestAdapterStatus_Success ? adapter : NULL;
    copy_text(r->message, sizeof r->message, message);
    r->done = true;
}

static void on_device(WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message, void *user,
                      void *unused)
{
    (void)unused;
    request *r = user;
    r->object = status == WGPURequestDeviceStatus_Success ? device : NULL;
    copy_text(r->message, sizeof r->message, message);
    r->done = true;
}

/* Who calls back: a thread that processes events; beside another device, the request itself. */
static WGPUCallbackMode request_mode(const webgpu *w)
{
    return w->is_beside ? WGPUCallbackMode_AllowSpontaneous : WGPUCallbackMode_AllowProcessEvents;
}

static void *await(webgpu *w, request *r)
{
    for (uint64_t start = clock_ns(); !r->done && clock_ns() - start < REQUEST_NS;)
        if (!w->is_beside)
            w->lib->InstanceProcessEvents(w->instance);
    if (!r->done)
        snprintf(r->message, sizeof r->message, "no answer");
    return r->object;
}

/* What an adapter of a newer Dawn has to be asked for: matrix units are still an experiment there, f16 is switched off on
 * NVIDIA without a reason that holds for compute, and matrix units want the memory model. */
static dawn_toggles adapter_toggles(void)
{
    static const char *const enabled[] = {"allow_unsafe_apis", "vulkan_enable_f16_on_nvidia",
                                          "use_vulkan_memory_model"};
    return (dawn_toggles){.chain = {.sType = (WGPUSType)STYPE_DAWN_TOGGLES}, .enabled_count = 3, .enabled = enabled};
}

static WGPUAdapter request_adapter(webgpu *w, bool fallback, request *r)
{
    dawn_toggles toggles = adapter_toggles();
    WGPURequestAdapterOptions options = {.nextInChain =
                                             w->lib->feature_matrix && matrix_wanted() ? &toggles.chain : NULL,
                                         .featureLevel = WGPUFeatureLevel_Core,
                                         .powerPreference = WGPUPowerPreference_HighPerformance,
                                         .forceFallbackAdapter = fallback};
#ifdef __linux__
    options.backendType = WGPUBackendType_Vulkan; /* otherwise OpenGL may be taken */
#endif
    w->lib->InstanceRequestAdapter(
        w->instance, &options,
        (WGPURequestAdapterCallbackInfo){.mode = request_mode(w), .callback = on_adapter, .userdata1 = r});
    return await(w, r);
}

static gpu_type adapter_type(WGPUAdapterType type)
{
    switch (type) {
    case WGPUAdapterType_DiscreteGPU: return GPU_TYPE_DISCRETE;
    case WGPUAdapterType_IntegratedGPU: return GPU_TYPE_INTEGRATED;
    case WGPUAdapterType_CPU: return GPU_TYPE_SOFTWARE;
    default: return GPU_TYPE_UNKNOWN;
    }
}

static const char *backend_name(WGPUBackendType type)
{
    switch (type) {
    case WGPUBackendType_Vulkan: return "Vulkan";
    case WGPUBackendType_Metal: return "Metal";
    case WGPUBackendType_D3D12: return "D3D12";
    case WGPUBackendType_D3D11: return "D3D11";
    case WGPUBackendType_OpenGL:
    case WGPUBackendType_OpenGLES: return "OpenGL";
    default: return "unknown";
    }
}

static void read_adapter_info(webgpu *w)
{
    gpu_info *info = &w->base.info;
    WGPUAdapterInfo a = {0};
    w->lib->AdapterGetInfo(w->adapter, &a);
    copy_text(info->vendor, sizeof info->vendor, a.vendor);
    copy_text(info->device, sizeof info->device, a.device);
    copy_text(info->driver, sizeof info->driver, a.description);
    if (!info->vendor[0])
        snprintf(info->vendor, sizeof info->vendor, "0x%04x", a.vendorID);
    snprintf(info->backend, sizeof info->backend, "%s", backend_name(a.backendType));
    info->type = adapter_type(a.adapterType);
    w->vendor_id = a.vendorID;
    w->device_id = a.deviceID;
    info->subgroup_min = a.subgroupMinSize;
    info->subgroup_max = a.subgroupMaxSize;
    w->lib->AdapterInfoFreeMembers(a);
}

static void read_limits(webgpu *w, const WGPULimits *l)
{
    gpu_info *info = &w->base.info;
    info->max_buffer_bytes = l->maxBufferSize;
    info->max_storage_binding_bytes = l->maxStorageBufferBindingSize;
    info->max_uniform_binding_bytes = l->maxUniformBufferBindingSize;
    info->max_storage_buffers = l->maxStorageBuffersPerShaderStage;
    info->max_workgroup_bytes = l->maxComputeWorkgroupStorageSize;
    info->max_workgroup_threads = l->maxComputeInvocationsPerWorkgroup;
    info->max_workgroups = l->maxComputeWorkgroupsPerDimension;
    info->uniform_align_bytes = l->minUniformBufferOffsetAlignment;
}

static bool request_device(webgpu *w, const gpu_choice *choice, err *e)
{
    WGPULimits limits = {0};
    w->lib->AdapterGetLimits(w->adapter, &limits);
    limits.nextInChain = NULL;

    enum { FEATURES = 4 };
    WGPUFeatureName wanted[FEATURES], offered[FEATURES] = {w->lib->feature_timestamps, w->lib->feature_f16,
                                                           w->lib->feature_subgroups, w->lib->feature_matrix};
    bool *known[FEATURES] = {&w->base.info.has_timestamps, &w->base.info.has_f16, &w->base.info.has_subgroups,
                             &w->base.info.has_matrix};
    size_t wanted_count = 0;
    for (int i = 0; i < FEATURES; i++) {
        *known[i] = offered[i] && w->lib->AdapterHasFeature(w->adapter, offered[i]);
        if (*known[i])
            wanted[wanted_count++] = offered[i];
    }

    /* Dawn rounds timestamps to 100 us unless told not to. */
    const char *enabled[2], *disabled[] = {"timestamp_quantization"};
    dawn_toggles toggles = {.chain = {.sType = (WGPUSType)STYPE_DAWN_TOGGLES},
                            .enabled = enabled,
                            .disabled = disabled,
                            .disabled_count = 1};
    if (choice->no_validation)
        enabled[toggles.enabled_count++] = "skip_validation";
    bool dawn = w->lib->abi != WEBGPU_WGPU;
    w->base.info.unchecked =
        dawn && (choice->no_robustness || (choice->own_kernels && w->base.info.type != GPU_TYPE_SOFTWARE));
    if (w->base.info.unchecked)
        enabled[toggles.enabled_count++] = "disable_robustness";
    toggles.chain.next = webgpu_pipeline_cache_chain(w);

    WGPUDeviceDescriptor desc = {
        .nextInChain = dawn ? &toggles.chain : NULL,
        .requiredFeatureCount = wanted_count,
        .requiredFeatures = wanted,
        .requiredLimits = &limits,
        .deviceLostCallbackInfo = {.mode = WGPUCallbackMode_AllowSpontaneous, .callback = on_lost, .userdata1 = w},
        .uncapturedErrorCallbackInfo = {.callback = on_error, .userdata1 = w},
    };
    request r = {0};
    w->lib->AdapterRequestDevice(
        w->adapter, &desc,
        (WGPURequestDeviceCallbackInfo){.mode = request_mode(w), .callback = on_device, .userdata1 = &r});
    w->device = await(w, &r);
    if (!w->device)
        return err_set_kind(e, ERR_NO_GPU, "%s: no device on %s: %s", w->lib->family, w->base.info.device, r.message);
    w->queue = w->lib->DeviceGetQueue(w->device);
    WGPULimits granted = {0};
    w->lib->DeviceGetLimits(w->device, &granted);
    read_limits(w, &granted);
    return true;
}

static bool connect(webgpu *w, const gpu_choice *choice, err *e)
{
    w->instance = webgpu_instance_new(w->lib, &w->timed_waits);
    if (!w->instance)
        return err_set_kind(e, ERR_NO_GPU, "%s: no WebGPU instance", w->lib->family);
    request r = {0};
    w->adapter = request_adapter(w, false, &r);
    if (!w->adapter)
        return err_set_kind(e, ERR_NO_GPU, "%s: no adapter: %s", w->lib->family,
                            r.message[0] ? r.message : "no Vulkan driver that it accepts");
    read_adapter_info(w);
    if (choice->adapter == GPU_ADAPTER_SOFTWARE && w->base.info.type != GPU_TYPE_SOFTWARE) {
        request again = {0};
        WGPUAdapter fallback = request_adapter(w, true, &again);
        if (fallback) {
            w->lib->AdapterRelease(w->adapter);
            w->adapter = fallback;
            read_adapter_info(w);
        }
    }
    return request_device(w, choice, e);
}

gpu *webgpu_open(const gpu_choice *choice, err *e)
{
    webgpu_library *lib = webgpu_library_load(choice->impl, e);
    if (!lib)
        return NULL;
    webgpu *w = mem_alloc(sizeof *w);
    w->lib = lib;
    w->choice = *choice;
    w->base.backend = &gpu_webgpu_backend;
    gpu_info *info = &w->base.info;
    snprintf(info->family, sizeof info->family, "%s", lib->family);
    const char *slash = strrchr(choice->impl, '/');
    if (strcmp(choice->impl, lib->family) == 0)
        snprintf(info->impl, sizeof info->impl, "%s", lib->family);
    else
        snprintf(info->impl, sizeof info->impl, "%s:%s", lib->family, slash ? slash + 1 : choice->impl);
    snprintf(info->impl_version, sizeof info->impl_version, "%s", lib->version);
    snprintf(info->library, sizeof info->library, "%s", lib->path);
    if (choice->no_validation || choice->no_robustness) {
        if (lib->abi == WEBGPU_WGPU)
            err_set(e, "%s: validation and robustness can be switched off in Dawn only", lib->family);
    }
    if (lib->abi == WEBGPU_WGPU)
        abort_line_begin(lib->family); /* it panics where a submit or a wait fails */
    /* Without a driver Dawn prints warnings of its own. */
    muted terminal = mute_stderr();
    bool connected = e->kind == ERR_NONE && connect(w, choice, e);
    unmute_stderr(terminal);
    if (!connected) {
        webgpu_close(&w->base);
        return NULL;
    }
    info->has_passes = info->can_indirect = info->has_wgsl = true;
    info->can_block = w->timed_waits || lib->DevicePoll;
    info->can_compile_ahead = lib->abi != WEBGPU_WGPU && lib->DeviceCreateComputePipelineAsync;
    if (info->can_compile_ahead) {
        w->compilers = webgpu_compilers_new(w);
        info->compiler_threads = DAWN_COMPILER_THREADS + (w->compilers ? webgpu_compilers_count(w->compilers) : 0);
    }
    info->has_packed_dot = true; /* gpu_check_features finds out */
    return &w->base;
}

/* Of an instance of its own: processing events of an instance touches all of its devices. */
webgpu *webgpu_open_beside(const webgpu *w, WGPUInstance instance)
{
    webgpu *beside = mem_alloc(sizeof *beside);
    request r = {0};
    err unused = {0};
    *beside = (webgpu){.base = {.backend = w->base.backend, .info = w->base.info}, .lib = w->lib, .is_beside = true};
    beside->instance = instance;
    beside->adapter = request_adapter(beside, false, &r);
    bool opened = beside->adapter && request_device(beside, &w->choice, &unused);
    beside->instance = NULL; /* it is the caller's */
    if (opened)
        return beside;
    webgpu_close(&beside->base);
    return NULL;
}

/* WebGPU does not report it. */
memory_size webgpu_memory(gpu *g)
{
    const webgpu *w = (const webgpu *)g;
    if (g->info.type == GPU_TYPE_SOFTWARE)
        return memory_size_of_host();
    muted terminal = mute_stderr(); /* loaders have warnings of their own */
    memory_size size = memory_size_by_vulkan(w->vendor_id, w->device_id);
    unmute_stderr(terminal);
    return size;
}

void webgpu_lose(gpu *g)
{
    webgpu *w = (webgpu *)g;
    w->lib->DeviceDestroy(w->device);
    for (int i = 0; i < 1000 && !g->lost; i++)
        w->lib->InstanceProcessEvents(w->instance);
    /* wgpu-native does not report a loss that was requested. */
    if (!g->lost)
        gpu_mark_lost(g, "destroyed");
}

void webgpu_close(gpu *g)
{
    webgpu *w = (webgpu *)g;
    w->closing = true;
    webgpu_compilers_free(w->compilers);
    for (int i = 0; i < WEBGPU_SPARE_READS; i++)
        if (w->spare_reads[i])
            w->lib->BufferRelease(w->spare_reads[i]);
    /* wgpu-native ends the process where a device that is lost is released: it stays. */
    bool stays = w->lib->abi == WEBGPU_WGPU && g->lost;
    if (w->queue && !stays)
        w->lib->QueueRelease(w->queue);
    if (w->device && !stays)
        w->lib->DeviceRelease(w->device);
    if (w->adapter && !stays)
        w->lib->AdapterRelease(w->adapter);
    if (w->instance && !stays)
        w->lib->InstanceRelease(w->instance);
    webgpu_pipeline_cache_free(w);
    webgpu_free_compiles(w);
    free(w->spare_recording);
    free(w->spare_commands);
    free(w);
}
