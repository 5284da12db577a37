/* library: finding and loading Dawn, wgpu-native or any library with webgpu.h, and taking its functions. */
#include "gpu/webgpu/library.h"
#include "base/file.h"
#include "base/os.h"
#include "base/str.h"
#include "base/version.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct known_library {
    const char *impl, *variable;
    const char *files[3]; /* the first that is there */
    const char *system[3];
} known_library;

static const known_library KNOWN[] = {
    {"dawn",
     "SOLO_DAWN",
     {"libwebgpu_dawn.so", "libwebgpu_dawn_2025.so"},
     {"libwebgpu_dawn.so", "libwebgpu_dawn.so.0"}},
    {"wgpu", "SOLO_WGPU", {"libwgpu_native.so"}, {"libwgpu_native.so", "libwgpu_native.so.0"}},
};

/* Cuts a path to the folder it is in. */
static void keep_folder(char path[PATH_MAX])
{
    char *folder = dirname(path);
    memmove(path, folder, strlen(folder) + 1);
}

/* The folder the running binary is in. */
static bool binary_folder(char out[PATH_MAX])
{
    if (!os_program_path(out, PATH_MAX))
        return false;
    keep_folder(out);
    return true;
}

/* The folder that this code was loaded from: libsolo.so's, or again the binary's. */
static bool own_folder(char out[PATH_MAX])
{
    static const char here = 0;
    Dl_info info;
    if (!dladdr(&here, &info) || !info.dli_fname || !realpath(info.dli_fname, out))
        return false;
    keep_folder(out);
    return true;
}

static void *try_file(const char *base, const char *folder, const char *file, char found[256])
{
    char name[OS_LIBRARY_ROOM];
    os_library_name(file, name);
    snprintf(found, 256, "%.180s%s/%s", base, folder, name);
    return file_exists(found) ? os_load_library(found) : NULL;
}

/* From bin or lib of an installation, or from build and the folders in it. */
static void *find_beside(const char *base, const char *file, char found[256])
{
    static const char *const folders[] = {"", "/solo", "/../lib/solo", "/../deps/lib", "/../../../deps/lib"};
    void *handle = NULL;
    for (size_t i = 0; !handle && i < sizeof folders / sizeof *folders; i++)
        handle = try_file(base, folders[i], file, found);
    return handle;
}

/* Look for a known library; `found` receives the path that loaded. */
static void *find_known(const known_library *known, char found[256], err *e)
{
    const char *given = getenv(known->variable);
    if (given && *given) {
        snprintf(found, 256, "%s", given);
        void *handle = os_load_library(given);
        if (!handle)
            err_set_kind(e, ERR_NO_GPU, "%s=%s does not load: %s", known->variable, given, dlerror());
        return handle;
    }
    char base[PATH_MAX];
    void *handle = NULL;
    for (int i = 0; !handle && known->files[i]; i++) {
        const char *file = known->files[i];
        handle = own_folder(base) ? find_beside(base, file, found) : NULL;
        if (!handle && binary_folder(base))
            handle = find_beside(base, file, found);
        if (!handle)
            handle = try_file(solo_prefix, "/lib/solo", file, found);
    }
    if (handle)
        return handle;
    for (int i = 0; known->system[i]; i++) {
        os_library_name(known->system[i], found);
        handle = os_load_library(found);
        if (handle)
            return handle;
    }
    os_library_name(known->files[0], found);
    err_set_kind(e, ERR_NO_GPU, "%s: %s not found (`make setup` brings it, or set %s to its path)", known->impl, found,
                 known->variable);
    return NULL;
}

static void *find(const char *name, char found[256], err *e)
{
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (strcmp(name, KNOWN[i].impl) == 0)
            return find_known(&KNOWN[i], found, e);
    snprintf(found, 256, "%s", name);
    if (!file_exists(name)) {
        err_set(e, "%s: no such library", name);
        return NULL;
    }
    void *handle = os_load_library(name);
    if (!handle)
        err_set(e, "%s: not a library that loads: %s", name, dlerror());
    return handle;
}

static bool has(const webgpu_library *lib, const char *symbol)
{
    return dlsym(lib->handle, symbol) != NULL;
}

/* dlsym returns a data pointer; a copy of its bytes is the function pointer. */
static void take(const webgpu_library *lib, const char *symbol, void *function)
{
    void *address = dlsym(lib->handle, symbol);
    memcpy(function, &address, sizeof address);
}

static const char *take_calls(webgpu_library *lib)
{
    const char *missing = NULL;
#define X(name) \
    take(lib, "wgpu" #name, &lib->name); \
    if (!lib->name && !missing) \
        missing = "wgpu" #name;
    WEBGPU_CALLS(X)
#undef X
    take(lib, "wgpuInstanceWaitAny", &lib->InstanceWaitAny);
    take(lib, "wgpuDeviceCreateComputePipelineAsync", &lib->DeviceCreateComputePipelineAsync);
    take(lib, "wgpuDevicePoll", &lib->DevicePoll);
    take(lib, "wgpuQueueGetTimestampPeriod", &lib->QueueGetTimestampPeriod);
    take(lib, "wgpuSetLogLevel", &lib->SetLogLevel);
    return missing;
}

/* Dawn's own feature chromium-experimental-subgroup-matrix. */
enum { FEATURE_DAWN_MATRIX = 0x00050034 };

static void recognise(webgpu_library *lib)
{
    if (has(lib, "wgpuGetVersion") && lib->DevicePoll) {
        uint32_t (*get_version)(void);
        take(lib, "wgpuGetVersion", &get_version);
        uint32_t v = get_version();
        lib->abi = WEBGPU_WGPU;
        snprintf(lib->family, sizeof lib->family, "wgpu");
        snprintf(lib->version, sizeof lib->version, "wgpu-native %u.%u.%u.%u", v >> 24, v >> 16 & 255, v >> 8 & 255,
                 v & 255);
    } else {
        bool old = has(lib, "wgpuGetInstanceCapabilities");
        lib->abi = old ? WEBGPU_DAWN_2025 : WEBGPU_DAWN;
        snprintf(lib->family, sizeof lib->family, "dawn");
        snprintf(lib->version, sizeof lib->version, old ? "Dawn (mid-2025 ABI)" : "Dawn");
    }
    bool old = lib->abi == WEBGPU_DAWN_2025;
    lib->feature_timestamps = old ? 0x3 : WGPUFeatureName_TimestampQuery;
    lib->feature_f16 = old ? 0xA : WGPUFeatureName_ShaderF16;
    lib->feature_subgroups = old                       ? 0x11
                             : lib->abi == WEBGPU_WGPU ? (WGPUFeatureName)WGPUNativeFeature_Subgroup
                                                       : WGPUFeatureName_Subgroups;
    lib->feature_matrix = lib->abi == WEBGPU_DAWN ? (WGPUFeatureName)FEATURE_DAWN_MATRIX : (WGPUFeatureName)0;
}

/* Loaded before? Then the same table serves again. */
static webgpu_library *loaded[8];

static webgpu_library *remembered(void *handle)
{
    for (size_t i = 0; i < sizeof loaded / sizeof *loaded && loaded[i]; i++)
        if (loaded[i]->handle == handle)
            return loaded[i];
    return NULL;
}

static void remember(webgpu_library *lib)
{
    for (size_t i = 0; i < sizeof loaded / sizeof *loaded; i++)
        if (!loaded[i]) {
            loaded[i] = lib;
            return;
        }
}

webgpu_library *webgpu_library_load(const char *name, err *e)
{
    char path[256];
    void *handle = find(name, path, e);
    if (!handle)
        return NULL;
    webgpu_library *lib = remembered(handle);
    if (lib)
        return lib;
    lib = mem_alloc(sizeof *lib);
    lib->handle = handle;
    snprintf(lib->path, sizeof lib->path, "%s", path);
    const char *missing = take_calls(lib);
    if (missing) {
        err_set(e, "%s: not a WebGPU library (it has no %s)", path, missing);
        dlclose(handle);
        free(lib);
        return NULL;
    }
    recognise(lib);
    if (lib->SetLogLevel)
        lib->SetLogLevel(WGPULogLevel_Off);
    remember(lib);
    return lib;
}

/* The instance descriptor as it was before the header was frozen. */
typedef struct old_instance_descriptor {
    WGPUChainedStruct *next;
    struct {
        WGPUChainedStruct *next;
        WGPUBool timed_wait_any;
        size_t timed_wait_any_max;
    } features;
} old_instance_descriptor;

static WGPUInstance wgpu_instance(const webgpu_library *lib)
{
    /* Only Vulkan: looking for other back ends prints to the terminal on
     * machines without a display. */
    WGPUInstanceExtras extras = {.chain = {.sType = (WGPUSType)WGPUSType_InstanceExtras},
                                 .backends = WGPUInstanceBackend_Primary,
                                 .flags = WGPUInstanceFlag_Default};
    WGPUInstanceDescriptor desc = {.nextInChain = &extras.chain};
    return lib->CreateInstance(&desc);
}

static WGPUInstance dawn_instance(const webgpu_library *lib, bool timed_waits)
{
    if (!timed_waits)
        return lib->CreateInstance(NULL);
    if (lib->abi == WEBGPU_DAWN_2025) {
        old_instance_descriptor old = {.features = {.timed_wait_any = 1, .timed_wait_any_max = 1}};
        return lib->CreateInstance((const WGPUInstanceDescriptor *)(const void *)&old);
    }
    WGPUInstanceFeatureName wanted = WGPUInstanceFeatureName_TimedWaitAny;
    WGPUInstanceDescriptor desc = {.requiredFeatureCount = 1, .requiredFeatures = &wanted};
    return lib->CreateInstance(&desc);
}

WGPUInstance webgpu_instance_new(const webgpu_library *lib, bool *timed_waits)
{
    *timed_waits = false;
    if (lib->abi == WEBGPU_WGPU)
        return wgpu_instance(lib);
    if (lib->InstanceWaitAny) {
        WGPUInstance instance = dawn_instance(lib, true);
        if (instance) {
            *timed_waits = true;
            return instance;
        }
    }
    return dawn_instance(lib, false);
}
