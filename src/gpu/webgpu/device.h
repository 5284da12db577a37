/* device: the WebGPU back end's own types, shared by its files. */
#ifndef SOLO_WEBGPU_DEVICE_H
#define SOLO_WEBGPU_DEVICE_H

#include "gpu/backend.h"
#include "gpu/webgpu/library.h"

typedef struct webgpu_recording {
    gpu_recording base;
    WGPUCommandEncoder encoder;
    WGPUComputePassEncoder pass;
} webgpu_recording;

typedef struct webgpu_commands {
    gpu_commands base;
    WGPUCommandBuffer buffer;
} webgpu_commands;

typedef struct webgpu_pipeline_cache webgpu_pipeline_cache;
typedef struct webgpu_compile webgpu_compile;
typedef struct webgpu_compilers webgpu_compilers;
typedef struct webgpu_job webgpu_job;

enum { DAWN_COMPILER_THREADS = 2 }; /* of its own pool, on an H200 with 16 cores: docs/speed.md */
enum { WEBGPU_SPARE_READS = 4, WEBGPU_SPARE_READ_BYTES = 256 };

typedef struct webgpu {
    gpu base;
    const webgpu_library *lib;
    WGPUInstance instance;
    WGPUAdapter adapter;
    WGPUDevice device;
    WGPUQueue queue;
    gpu_choice choice; /* by which it was opened */
    uint32_t vendor_id, device_id;
    bool timed_waits;                  /* InstanceWaitAny may block */
    bool unsent;                       /* writes that no submit has taken along yet */
    bool is_beside;                    /* webgpu_open_beside made it */
    bool closing;                      /* losing the device is now expected */
    const gpu_kernel_desc *compiling;  /* errors that come up now are this kernel's */
    webgpu_compile *compiles;          /* pipelines that compile in the background, */
    webgpu_compilers *compilers;       /* and who compiles instead of the library's threads; NULL: nobody */
    webgpu_recording *spare_recording; /* one of each kept, so that recording allocates nothing */
    webgpu_commands *spare_commands;
    /* Mappable buffers that small reads take in turns: a token comes back every time, a buffer need not be made for it. */
    WGPUBuffer spare_reads[WEBGPU_SPARE_READS];
    webgpu_pipeline_cache *pipeline_cache; /* NULL: nothing is kept between runs */
} webgpu;

typedef struct webgpu_buffer {
    gpu_buffer base;
    WGPUBuffer handle;
} webgpu_buffer;

typedef struct webgpu_kernel {
    gpu_kernel base;
    WGPUShaderModule module;
    WGPUBindGroupLayout layout;
    WGPUComputePipeline pipeline;
    webgpu_compile *compile; /* of one that was made ahead; */
    webgpu_job *job;         /* or this */
    bool is_known;           /* then: an earlier run has compiled it */
} webgpu_kernel;

typedef struct webgpu_bindings {
    gpu_bindings base;
    WGPUBindGroup group;
} webgpu_bindings;

typedef struct webgpu_timer {
    gpu_timer base;
    WGPUQuerySet queries;
    WGPUBuffer resolved;
} webgpu_timer;

static inline WGPUStringView webgpu_text(const char *s)
{
    return (WGPUStringView){s, WGPU_STRLEN};
}

/* Opening and waiting (device.c). */
gpu *webgpu_open(const gpu_choice *choice, err *e);
/* Another device like this one, for another thread, which compiles there and does nothing else; NULL: there is none. */
webgpu *webgpu_open_beside(const webgpu *w, WGPUInstance instance);
void webgpu_close(gpu *g);
void webgpu_lose(gpu *g);
memory_size webgpu_memory(gpu *g);
void webgpu_when_done(gpu *g, gpu_done done, void *user);
void webgpu_poll(gpu *g);
/* Writes go with the next submit; where none follows, this is one. */
void webgpu_send_writes(webgpu *w);
void webgpu_wait(gpu *g);

/* For the device descriptor's chain: Dawn keeps what it compiles between runs (pipeline_cache.c). NULL: it does not. */
WGPUChainedStruct *webgpu_pipeline_cache_chain(webgpu *w);
/* Once the device is gone, with all its threads. */
void webgpu_pipeline_cache_free(webgpu *w);
/* Staging (stage.c). */
gpu_stage *webgpu_stage_new(gpu *g, uint64_t bytes);
void *webgpu_stage_open(gpu_stage *s);
void webgpu_stage_send(gpu_stage *s, const gpu_stage_copy *copies, uint32_t count);
void webgpu_stage_free(gpu_stage *s);
/* Kernels (kernel.c). */
gpu_kernel *webgpu_kernel_new(gpu *g, const gpu_kernel_desc *desc);
void webgpu_kernel_free(gpu_kernel *base);
bool webgpu_kernel_is_ready(gpu_kernel *base);
void webgpu_kernel_finish(gpu_kernel *base, const gpu_kernel_desc *desc);
void webgpu_free_compiles(webgpu *w); /* when the library can call back no more */

/* A message about a shader, as one line with the WGSL line it points at. */
void webgpu_shader_error(gpu *g, const gpu_kernel_desc *desc, const char *message);

#endif
