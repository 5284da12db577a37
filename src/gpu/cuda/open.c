/* Opening CUDA: the driver, the compiler, the device and what it can do. */
#include "gpu/cuda/internal.h"

#include "base/str.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- results ------------------------------------------------------------- */

/* After one of these every later call in the process' context fails too. */
static bool is_sticky(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED: return true;
    default: return false;
    }
}

static const char *result_text(const cuda_gpu *g, CUresult result)
{
    const char *text = NULL;
    if (g->cu.GetErrorString(result, &text) != CUDA_SUCCESS || !text)
        return "unknown CUDA error";
    return text;
}

bool cuda_check(cuda_gpu *g, CUresult result, const char *doing)
{
    if (result == CUDA_SUCCESS)
        return true;
    char text[256];
    snprintf(text, sizeof text, "%s: %s (CUresult %d)", doing, result_text(g, result), result);
    if (is_sticky(result))
        gpu_mark_lost(&g->base, text);
    else
        gpu_fail(&g->base, "%s", text);
    return false;
}

/* ---- the libraries ------------------------------------------------------- */

static bool load_driver(cuda_gpu *g, err *e)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return err_set_kind(e, ERR_NO_GPU, "cuda: no CUDA driver here (libcuda.so.1 not found)");
    const char *missing = NULL;
#define LOAD(field, symbol, arguments) \
    if (!(*(void **)&g->cu.field = dlsym(library, #symbol))) \
        missing = #symbol;
    CUDA_DRIVER_CALLS(LOAD)
#undef LOAD
    if (missing)
        return err_set_kind(e, ERR_NO_GPU, "cuda: the CUDA driver is too old (it has no %s)", missing);
    Dl_info where;
    if (dladdr(*(void **)&g->cu.Init, &where) && where.dli_fname)
        snprintf(g->base.info.library, sizeof g->base.info.library, "%s", where.dli_fname);
    return true;
}

/* Where the system's search path has it, then where CUDA's installers put it. */
static void *open_compiler(void)
{
    static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};
    const char *home = getenv("CUDA_HOME");
    char home_folder[512] = "";
    if (home && home[0])
        snprintf(home_folder, sizeof home_folder, "%s/lib64/", home);
    const char *folders[] = {"", home_folder, "/usr/local/cuda/lib64/"};
    for (size_t f = 0; f < sizeof folders / sizeof folders[0]; f++)
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
            char path[600];
            snprintf(path, sizeof path, "%s%s", folders[f], names[n]);
            void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (library)
                return library;
        }
    return NULL;
}

static bool load_compiler(cuda_gpu *g, err *e)
{
    void *library = open_compiler();
    if (!library)
        return err_set_kind(e, ERR_NO_GPU, "cuda: NVRTC, CUDA's run-time compiler, was not found (libnvrtc.so)");
    const char *missing = NULL;
#define LOAD(field, symbol, result, arguments) \
    if (!(*(void **)&g->nvrtc.field = dlsym(library, #symbol))) \
        missing = #symbol;
    CUDA_COMPILER_CALLS(LOAD)
#undef LOAD
    return !missing || err_set_kind(e, ERR_NO_GPU, "cuda: NVRTC is too old (it has no %s)", missing);
}

/* ---- what the device can do ---------------------------------------------- */

static int attribute(cuda_gpu *g, int which)
{
    int value = 0;
    cuda_check(g, g->cu.DeviceGetAttribute(&value, which, g->device), "asking what the device can do");
    return value;
}

/* The kernel module reports the driver's version; CUDA only its own. */
static void fill_driver(gpu_info *info)
{
    FILE *f = fopen("/sys/module/nvidia/version", "r");
    char version[64] = "";
    if (f) {
        if (fscanf(f, "%63s", version) != 1)
            version[0] = 0;
        fclose(f);
    }
    if (version[0])
        snprintf(info->driver, sizeof info->driver, "NVIDIA %s", version);
    else
        snprintf(info->driver, sizeof info->driver, "CUDA %s", info->impl_version);
}

static void fill_identity(cuda_gpu *g)
{
    gpu_info *info = &g->base.info;
    int version = 0;
    cuda_check(g, g->cu.DriverGetVersion(&version), "asking for CUDA's version");
    snprintf(info->impl_version, sizeof info->impl_version, "%d.%d", version / 1000, version % 1000 / 10);
    snprintf(info->backend, sizeof info->backend, "CUDA");
    snprintf(info->vendor, sizeof info->vendor, "NVIDIA");
    cuda_check(g, g->cu.DeviceGetName(info->device, sizeof info->device, g->device), "asking for the device's name");
    fill_driver(info);
    info->type = attribute(g, CU_DEVICE_ATTRIBUTE_INTEGRATED) ? GPU_TYPE_INTEGRATED : GPU_TYPE_DISCRETE;
}

static void fill_limits(cuda_gpu *g)
{
    gpu_info *info = &g->base.info;
    size_t total = 0;
    cuda_check(g, g->cu.DeviceTotalMem(&total, g->device), "asking for the device's memory");
    info->max_buffer_bytes = info->max_storage_binding_bytes = info->max_uniform_binding_bytes = total;
    info->max_storage_buffers = GPU_MAX_BINDINGS;
    info->max_workgroup_bytes = (uint32_t)attribute(g, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    info->max_workgroup_threads = (uint32_t)attribute(g, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    int grid = attribute(g, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
    for (int i = CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y; i <= CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z; i++) {
        int dimension = attribute(g, i);
        grid = dimension < grid ? dimension : grid;
    }
    info->max_workgroups = (uint32_t)grid;
    info->uniform_align_bytes = 16; /* so that a vector of four can be loaded */
}

/* Ten times the compute capability, as architectures are named. */
static int fill_info(cuda_gpu *g)
{
    gpu_info *info = &g->base.info;
    int capability = 10 * attribute(g, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                     attribute(g, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    fill_identity(g);
    fill_limits(g);
    info->has_subgroups = info->has_f16 = info->has_timestamps = info->can_replay = info->can_block = true;
    info->has_packed_dot = capability >= 61;
    info->subgroup_min = info->subgroup_max = (uint32_t)attribute(g, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    return capability;
}

/* ---- the device ---------------------------------------------------------- */

static bool find_device(cuda_gpu *g, err *e)
{
    int count = 0;
    CUresult result = g->cu.Init(0);
    if (result == CUDA_SUCCESS)
        result = g->cu.DeviceGetCount(&count);
    if (result == CUDA_SUCCESS && count == 0)
        result = CUDA_ERROR_NO_DEVICE;
    if (result == CUDA_SUCCESS)
        result = g->cu.DeviceGet(&g->device, 0);
    return result == CUDA_SUCCESS || err_set_kind(e, ERR_NO_GPU, "cuda: no usable device: %s", result_text(g, result));
}

static bool enter_context(cuda_gpu *g)
{
    CUcontext context;
    if (!cuda_check(g, g->cu.DevicePrimaryCtxRetain(&context, g->device), "making a context"))
        return false;
    g->context = context;
    return cuda_check(g, g->cu.CtxSetCurrent(context), "entering the context");
}

static void cuda_close(gpu *base)
{
    cuda_gpu *g = (cuda_gpu *)base;
    if (g->context) {
        if (g->stream)
            g->cu.StreamSynchronize(g->stream); /* if that fails, nothing runs any more */
        cuda_close_work(g);
        cuda_close_modules(g);
        g->cu.DevicePrimaryCtxRelease(g->device);
    }
    /* Both libraries stay loaded: they have threads and exit handlers of their own. */
    free(g);
}

/* CUDA has no way to lose a device on purpose: let its work end, then use it
 * no more. */
static void cuda_lose(gpu *base)
{
    if (base->lost)
        return;
    cuda_wait(base);
    gpu_mark_lost(base, "lost on purpose");
}

static memory_size cuda_memory(gpu *base)
{
    const cuda_gpu *g = (const cuda_gpu *)base;
    size_t unused = 0, total = 0;
    if (g->cu.MemGetInfo(&unused, &total) != CUDA_SUCCESS)
        return (memory_size){0};
    return (memory_size){total, unused};
}

static gpu *cuda_open(const gpu_choice *choice, err *e)
{
    (void)choice; /* there is one kind of device */
    cuda_gpu *g = mem_alloc(sizeof *g);
    g->base.backend = &gpu_cuda_backend;
    snprintf(g->base.info.impl, sizeof g->base.info.impl, "cuda");
    if (load_driver(g, e) && load_compiler(g, e) && find_device(g, e) && cuda_choose_architecture(g, fill_info(g), e) &&
        enter_context(g) && cuda_open_work(g) && g->base.error.kind == ERR_NONE)
        return &g->base;
    gpu_ok(&g->base, e);
    cuda_close(&g->base);
    return NULL;
}

const gpu_backend gpu_cuda_backend = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .lose = cuda_lose,
    .memory = cuda_memory,
    .buffer_new = cuda_buffer_new,
    .buffer_free = cuda_buffer_free,
    .write = cuda_write,
    .read = cuda_read,
    .stage_new = cuda_stage_new,
    .stage_open = cuda_stage_open,
    .stage_send = cuda_stage_send,
    .stage_free = cuda_stage_free,
    .kernel_new = cuda_kernel_new,
    .kernel_free = cuda_kernel_free,
    .bindings_new = cuda_bindings_new,
    .bindings_free = cuda_bindings_free,
    .record = cuda_record,
    .pass_begin = cuda_pass_begin,
    .set_kernel = cuda_set_kernel,
    .set_bindings = cuda_set_bindings,
    .dispatch = cuda_dispatch,
    .dispatch_indirect = cuda_dispatch_indirect,
    .pass_end = cuda_pass_end,
    .copy = cuda_copy,
    .finish = cuda_finish,
    .submit = cuda_submit,
    .commands_free = cuda_commands_free,
    .when_done = cuda_when_done,
    .poll = cuda_poll,
    .wait = cuda_wait,
    .timer_new = cuda_timer_new,
    .timer_free = cuda_timer_free,
    .timer_read = cuda_timer_read,
};
