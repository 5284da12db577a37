/* cuda: the CUDA back end, a control for measurement.
 *
 * It makes the same dispatches as plain kernel launches on one stream, or,
 * replayable, as a CUDA graph.
 *
 * driver.h   the driver's and the compiler's functions, declared by hand
 * open.c     finding both, the device and what it can do, the table
 * kernel.c   CUDA C compiled at run time by NVRTC; the arguments of a launch
 * work.c     memory, launches, graphs, waiting, timers
 * stage.c    pinned memory that the host fills and the GPU copies from
 *
 * CUDA has no command buffers. A recording that is not replayable launches at
 * each gpu_dispatch, and finish and submit do nothing; so what is written
 * between recording and submitting comes after the work, not before it.    */
#ifndef SOLO_GPU_CUDA_INTERNAL_H
#define SOLO_GPU_CUDA_INTERNAL_H

#include "gpu/backend.h"
#include "gpu/cuda/driver.h"

/* One source compiled once, whichever of its kernels are wanted. */
typedef struct cuda_module {
    char *source;
    CUmodule module;
    struct cuda_module *next;
} cuda_module;

typedef struct cuda_buffer {
    gpu_buffer base;
    CUdeviceptr at;
    uint64_t bytes; /* really there: 0 if it could not be made */
} cuda_buffer;

typedef struct cuda_kernel {
    gpu_kernel base;
    CUfunction function; /* NULL if it could not be built */
    unsigned threads;
} cuda_kernel;

typedef struct cuda_bindings {
    gpu_bindings base;
    CUdeviceptr values[GPU_MAX_BINDINGS];
    void *arguments[GPU_MAX_BINDINGS]; /* what a launch takes: where each value is */
    bool usable;
} cuda_bindings;

typedef struct cuda_timer {
    gpu_timer base;
    CUevent edges[2];
} cuda_timer;

/* A recording until gpu_finish, commands from then on. */
typedef struct cuda_work {
    union {
        gpu_recording recording;
        gpu_commands commands;
    } as;            /* first: the interface's pointers are this struct's */
    CUstream stream; /* the device's, or one of its own while it is captured */
    const cuda_kernel *kernel;
    const cuda_bindings *bindings;
    const cuda_timer *end_timer;
    CUgraphExec graph; /* replayable, finished, and nothing went wrong */
    bool broken;       /* something in it failed: it makes no graph */
    struct cuda_work *next;
} cuda_work;

typedef struct cuda_gpu {
    gpu base;
    cuda_driver cu;
    cuda_compiler nvrtc;
    CUdevice device;
    CUcontext context; /* the device's primary one; NULL until it is retained */
    CUstream stream;
    CUevent wake_up;       /* what a blocking wait sleeps on */
    char architecture[48]; /* NVRTC's option for this device */
    bool to_ptx;           /* NVRTC does not know this device: the driver translates */
    cuda_module *modules;
    cuda_work *free_works;
    unsigned char *staging; /* pinned; written from the front, free again after a wait */
    size_t staging_used;
} cuda_gpu;

bool cuda_check(cuda_gpu *g, CUresult result, const char *doing);

/* kernel.c */
bool cuda_choose_architecture(cuda_gpu *g, int capability, err *e);
void cuda_close_modules(cuda_gpu *g);
gpu_kernel *cuda_kernel_new(gpu *base, const gpu_kernel_desc *desc);
void cuda_kernel_free(gpu_kernel *k);
gpu_bindings *cuda_bindings_new(gpu *base, gpu_kernel *k, const gpu_part *parts, uint32_t count);
void cuda_bindings_free(gpu_bindings *b);

/* work.c */
bool cuda_open_work(cuda_gpu *g);
void cuda_close_work(cuda_gpu *g);
/* The whole range is in the buffer as it was really made. */
bool cuda_has_range(cuda_gpu *g, const cuda_buffer *b, uint64_t offset, uint64_t bytes);

gpu_buffer *cuda_buffer_new(gpu *base, uint64_t bytes, gpu_use use);
void cuda_buffer_free(gpu_buffer *b);
void cuda_write(gpu *base, gpu_buffer *b, uint64_t offset, const void *data, size_t bytes);
void cuda_read(gpu *base, gpu_buffer *b, uint64_t offset, void *data, size_t bytes, gpu_done done, void *user);
gpu_recording *cuda_record(gpu *base, bool replayable);
void cuda_pass_begin(gpu_recording *r, gpu_timer *timer, int edges);
void cuda_set_kernel(gpu_recording *r, gpu_kernel *k);
void cuda_set_bindings(gpu_recording *r, gpu_bindings *b);
void cuda_dispatch(gpu_recording *r, uint32_t x, uint32_t y, uint32_t z);
void cuda_dispatch_indirect(gpu_recording *r, gpu_buffer *b, uint64_t offset);
void cuda_pass_end(gpu_recording *r);
void cuda_copy(gpu_recording *r, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to, uint64_t to_offset,
               uint64_t bytes);
gpu_commands *cuda_finish(gpu_recording *r);
void cuda_submit(gpu *base, gpu_commands *c);
void cuda_commands_free(gpu_commands *c);
void cuda_when_done(gpu *base, gpu_done done, void *user);
void cuda_poll(gpu *base);
void cuda_wait(gpu *base);
gpu_timer *cuda_timer_new(gpu *base);
void cuda_timer_free(gpu_timer *t);
bool cuda_timer_read(gpu_timer *t, double *ns, err *e);

/* stage.c */
gpu_stage *cuda_stage_new(gpu *base, uint64_t bytes);
void *cuda_stage_open(gpu_stage *s);
void cuda_stage_send(gpu_stage *s, const gpu_stage_copy *copies, uint32_t count);
void cuda_stage_free(gpu_stage *s);

#endif
