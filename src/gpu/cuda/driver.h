/* The part of the CUDA driver API and of NVRTC that is used here, declared by hand.
 *
 * Both are loaded at run time, and their headers need not be installed to build.
 * Names and values are those of cuda.h and nvrtc.h. */
#ifndef SOLO_GPU_CUDA_DRIVER_H
#define SOLO_GPU_CUDA_DRIVER_H

#include <stddef.h>

typedef int CUresult; /* enums in cuda.h: int-sized in the ABI */
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_DEINITIALIZED = 4,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_ECC_UNCORRECTABLE = 214,
    CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
    CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
    CUDA_ERROR_MISALIGNED_ADDRESS = 716,
    CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
    CUDA_ERROR_INVALID_PC = 718,
    CUDA_ERROR_LAUNCH_FAILED = 719,
};

enum {
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
    CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
    CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
};

enum {
    CU_STREAM_NON_BLOCKING = 1,
    CU_STREAM_CAPTURE_MODE_RELAXED = 2,
    CU_EVENT_DEFAULT = 0,
    CU_EVENT_BLOCKING_SYNC = 1,
    CU_EVENT_DISABLE_TIMING = 2,
    CU_EVENT_RECORD_DEFAULT = 0,
    CU_EVENT_RECORD_EXTERNAL = 1,
};

/* X(field, exported symbol, arguments); versions of clang-format disagree about what stands here */
/* clang-format off */
#define CUDA_DRIVER_CALLS(X) \
    X(Init, cuInit, (unsigned flags)) \
    X(DriverGetVersion, cuDriverGetVersion, (int *version)) \
    X(GetErrorString, cuGetErrorString, (CUresult error, const char **text)) \
    X(DeviceGetCount, cuDeviceGetCount, (int *count)) \
    X(DeviceGet, cuDeviceGet, (CUdevice *device, int ordinal)) \
    X(DeviceGetName, cuDeviceGetName, (char *name, int bytes, CUdevice device)) \
    X(DeviceTotalMem, cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device)) \
    X(DeviceGetAttribute, cuDeviceGetAttribute, (int *value, int attribute, CUdevice device)) \
    X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device)) \
    X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice device)) \
    X(CtxSetCurrent, cuCtxSetCurrent, (CUcontext context)) \
    X(StreamCreate, cuStreamCreate, (CUstream *stream, unsigned flags)) \
    X(StreamDestroy, cuStreamDestroy_v2, (CUstream stream)) \
    X(StreamSynchronize, cuStreamSynchronize, (CUstream stream)) \
    X(StreamBeginCapture, cuStreamBeginCapture_v2, (CUstream stream, int mode)) \
    X(StreamEndCapture, cuStreamEndCapture, (CUstream stream, CUgraph *graph)) \
    X(GraphInstantiate, cuGraphInstantiateWithFlags, (CUgraphExec *exec, CUgraph graph, unsigned long long flags)) \
    X(GraphDestroy, cuGraphDestroy, (CUgraph graph)) \
    X(GraphExecDestroy, cuGraphExecDestroy, (CUgraphExec exec)) \
    X(GraphLaunch, cuGraphLaunch, (CUgraphExec exec, CUstream stream)) \
    X(MemAlloc, cuMemAlloc_v2, (CUdeviceptr *at, size_t bytes)) \
    X(MemGetInfo, cuMemGetInfo_v2, (size_t *free, size_t *total)) \
    X(MemFree, cuMemFree_v2, (CUdeviceptr at)) \
    X(MemHostAlloc, cuMemHostAlloc, (void **at, size_t bytes, unsigned flags)) \
    X(MemFreeHost, cuMemFreeHost, (void *at)) \
    X(MemsetD8Async, cuMemsetD8Async, (CUdeviceptr at, unsigned char value, size_t count, CUstream stream)) \
    X(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream)) \
    X(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream)) \
    X(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)) \
    X(ModuleLoadData, cuModuleLoadData, (CUmodule *module, const void *image)) \
    X(ModuleUnload, cuModuleUnload, (CUmodule module)) \
    X(ModuleGetFunction, cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name)) \
    X(LaunchKernel, cuLaunchKernel, \
      (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
       unsigned block_z, unsigned shared_bytes, CUstream stream, void **arguments, void **extra)) \
    X(EventCreate, cuEventCreate, (CUevent *event, unsigned flags)) \
    X(EventDestroy, cuEventDestroy_v2, (CUevent event)) \
    X(EventSynchronize, cuEventSynchronize, (CUevent event)) \
    X(EventRecordWithFlags, cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned flags)) \
    X(EventElapsedTime, cuEventElapsedTime, (float *ms, CUevent begin, CUevent end))
/* clang-format on */

typedef int nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;

enum { NVRTC_SUCCESS = 0 };

/* clang-format off */
#define CUDA_COMPILER_CALLS(X) \
    X(GetErrorString, nvrtcGetErrorString, const char *, (nvrtcResult result)) \
    X(GetNumSupportedArchs, nvrtcGetNumSupportedArchs, nvrtcResult, (int *count)) \
    X(GetSupportedArchs, nvrtcGetSupportedArchs, nvrtcResult, (int *archs)) \
    X(CreateProgram, nvrtcCreateProgram, nvrtcResult, \
      (nvrtcProgram *program, const char *source, const char *name, int header_count, const char *const *headers, \
       const char *const *include_names)) \
    X(DestroyProgram, nvrtcDestroyProgram, nvrtcResult, (nvrtcProgram *program)) \
    X(CompileProgram, nvrtcCompileProgram, nvrtcResult, \
      (nvrtcProgram program, int option_count, const char *const *options)) \
    X(GetProgramLogSize, nvrtcGetProgramLogSize, nvrtcResult, (nvrtcProgram program, size_t *bytes)) \
    X(GetProgramLog, nvrtcGetProgramLog, nvrtcResult, (nvrtcProgram program, char *log)) \
    X(GetCUBINSize, nvrtcGetCUBINSize, nvrtcResult, (nvrtcProgram program, size_t *bytes)) \
    X(GetCUBIN, nvrtcGetCUBIN, nvrtcResult, (nvrtcProgram program, char *code)) \
    X(GetPTXSize, nvrtcGetPTXSize, nvrtcResult, (nvrtcProgram program, size_t *bytes)) \
    X(GetPTX, nvrtcGetPTX, nvrtcResult, (nvrtcProgram program, char *code))
/* clang-format on */

#define CUDA_DECLARE_DRIVER(field, symbol, arguments) CUresult(*field) arguments;
typedef struct cuda_driver {
    CUDA_DRIVER_CALLS(CUDA_DECLARE_DRIVER)
} cuda_driver;
#undef CUDA_DECLARE_DRIVER

#define CUDA_DECLARE_COMPILER(field, symbol, result, arguments) result(*field) arguments;
typedef struct cuda_compiler {
    CUDA_COMPILER_CALLS(CUDA_DECLARE_COMPILER)
} cuda_compiler;
#undef CUDA_DECLARE_COMPILER

#endif
