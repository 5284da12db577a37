/* library: a shared library that implements webgpu.h, found and loaded at run time.
 *
 * Several can be loaded side by side: each has its own table of calls.
 *
 * Where `dawn` and `wgpu` are looked for, first hit wins: the environment
 * (SOLO_DAWN, SOLO_WGPU: a path), beside the installed binary (../lib/solo),
 * in the project's deps/lib, in the system.                                */
#ifndef SOLO_WEBGPU_LIBRARY_H
#define SOLO_WEBGPU_LIBRARY_H

#include "base/err.h"

#include <webgpu/webgpu.h>
#include <webgpu/wgpu.h>

/* Every call the back end makes. The first list is needed, the second is only
 * in some libraries and NULL in the others. */
/* clang-format off: it cannot make up its mind about this list */
#define WEBGPU_CALLS(X) \
    X(CreateInstance) \
    X(InstanceRequestAdapter) \
    X(InstanceProcessEvents) \
    X(InstanceRelease) \
    X(AdapterGetInfo) \
    X(AdapterInfoFreeMembers) \
    X(AdapterGetLimits) \
    X(AdapterHasFeature) \
    X(AdapterRequestDevice) \
    X(AdapterRelease) \
    X(DeviceGetQueue) \
    X(DeviceGetLimits) \
    X(DeviceDestroy) \
    X(DeviceRelease) \
    X(DeviceCreateBuffer) \
    X(DeviceCreateShaderModule) \
    X(DeviceCreateBindGroupLayout) \
    X(DeviceCreatePipelineLayout) \
    X(DeviceCreateComputePipeline) \
    X(DeviceCreateBindGroup) \
    X(DeviceCreateCommandEncoder) \
    X(DeviceCreateQuerySet) \
    X(BufferMapAsync) \
    X(BufferGetConstMappedRange) \
    X(BufferGetMappedRange) \
    X(BufferUnmap) \
    X(BufferDestroy) \
    X(BufferRelease) \
    X(ShaderModuleRelease) \
    X(BindGroupLayoutRelease) \
    X(PipelineLayoutRelease) \
    X(ComputePipelineRelease) \
    X(BindGroupRelease) \
    X(QuerySetRelease) \
    X(CommandEncoderBeginComputePass) \
    X(CommandEncoderCopyBufferToBuffer) \
    X(CommandEncoderResolveQuerySet) \
    X(CommandEncoderFinish) \
    X(CommandEncoderRelease) \
    X(CommandBufferRelease) \
    X(ComputePassEncoderSetPipeline) \
    X(ComputePassEncoderSetBindGroup) \
    X(ComputePassEncoderDispatchWorkgroups) \
    X(ComputePassEncoderDispatchWorkgroupsIndirect) \
    X(ComputePassEncoderEnd) \
    X(ComputePassEncoderRelease) \
    X(QueueSubmit) \
    X(QueueWriteBuffer) \
    X(QueueOnSubmittedWorkDone) \
    X(QueueRelease)
/* clang-format on */

/* What the library is decides the few things in which the ABIs differ. */
typedef enum {
    WEBGPU_DAWN_2025, /* Dawn before the header was frozen: other feature numbers, other instance descriptor */
    WEBGPU_DAWN,      /* Dawn since */
    WEBGPU_WGPU       /* wgpu-native */
} webgpu_abi;

typedef struct webgpu_library {
    char family[16]; /* "dawn" or "wgpu" */
    char path[256];
    char version[64];
    webgpu_abi abi;
    void *handle;
#define X(name) WGPUProc##name name;
    WEBGPU_CALLS(X)
#undef X
    /* Dawn (wgpu-native has the second by name only) */
    WGPUProcInstanceWaitAny InstanceWaitAny;
    WGPUProcDeviceCreateComputePipelineAsync DeviceCreateComputePipelineAsync;
    /* wgpu-native */
    WGPUBool (*DevicePoll)(WGPUDevice, WGPUBool, WGPUSubmissionIndex const *);
    float (*QueueGetTimestampPeriod)(WGPUQueue);
    void (*SetLogLevel)(WGPULogLevel);

    WGPUFeatureName feature_timestamps, feature_f16, feature_subgroups;
    WGPUFeatureName feature_matrix; /* 0: it never has matrix units */
} webgpu_library;

/* `name`: dawn, wgpu or a path. NULL with one line that says why. Loaded
 * libraries stay loaded: their threads may outlive any one device. */
webgpu_library *webgpu_library_load(const char *name, err *e);

/* A new instance. `*timed_waits` says whether InstanceWaitAny may block. */
WGPUInstance webgpu_instance_new(const webgpu_library *lib, bool *timed_waits);

#endif
