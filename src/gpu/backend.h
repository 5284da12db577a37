/* backend: what a back end of gpu.h provides. Only files in src/gpu see this.
 *
 * A back end's own types begin with the structs below ("derive" from them), so
 * gpu*.c can count and check without knowing who stands behind. Every function
 * must be safe on a device with an error and on a lost one. Errors go to
 * gpu_fail().                                                              */
#ifndef SOLO_GPU_BACKEND_H
#define SOLO_GPU_BACKEND_H

#include "gpu/gpu.h"
#include "gpu/memory_size.h"

typedef struct gpu_backend gpu_backend;

struct gpu {
    const gpu_backend *backend;
    gpu_info info;
    gpu_counters counters;
    err error; /* the first one since it was last taken */
    gpu_wait_mode wait_mode;
    bool lost;
    uint64_t staged_bytes; /* by stages in plain memory, since the last wait */
    gpu_kernel *kernels;   /* all that were made, kept for whoever asks for the same again */
    bool refuses_ahead;    /* for tests: kernels that were made ahead do not compile */
};
struct gpu_buffer {
    gpu *owner;
    uint64_t bytes;
    gpu_use use;
};
struct gpu_stage {
    gpu *owner;
    uint64_t bytes;
    void *memory; /* while it is open */
};
struct gpu_kernel {
    gpu *owner;
    uint32_t binding_count;
    char *key;  /* what it was made from; NULL: not kept */
    bool ahead; /* it compiles in the background, or has; nobody runs it before kernel_finish */
    gpu_kernel *next;
};
struct gpu_bindings {
    gpu *owner;
};
struct gpu_recording {
    gpu *owner;
    bool replayable;
};
struct gpu_commands {
    gpu *owner;
    bool replayable;
};
struct gpu_timer {
    gpu *owner;
};

struct gpu_backend {
    const char *name;

    /* NULL and the reason if this cannot work here. */
    gpu *(*open)(const gpu_choice *choice, err *e);
    void (*close)(gpu *g);
    void (*lose)(gpu *g);
    memory_size (*memory)(gpu *g); /* NULL: not known */

    gpu_buffer *(*buffer_new)(gpu *g, uint64_t bytes, gpu_use use);
    void (*buffer_free)(gpu_buffer *b);
    void (*write)(gpu *g, gpu_buffer *b, uint64_t offset, const void *data, size_t bytes);
    void (*read)(gpu *g, gpu_buffer *b, uint64_t offset, void *data, size_t bytes, gpu_done done, void *user);

    /* All four or none: then a stage is plain memory, and sending it writes from there. */
    gpu_stage *(*stage_new)(gpu *g, uint64_t bytes);
    void *(*stage_open)(gpu_stage *s); /* waits until it is the host's again; NULL: the device has an error */
    void (*stage_send)(gpu_stage *s, const gpu_stage_copy *copies, uint32_t count); /* ranges are checked */
    void (*stage_free)(gpu_stage *s);

    gpu_kernel *(*kernel_new)(gpu *g, const gpu_kernel_desc *desc);
    void (*kernel_free)(gpu_kernel *k);
    /* Of kernels made ahead, where info.can_compile_ahead is set. Their errors are not the device's before
     * kernel_finish, which waits for the compiler and makes an ordinary kernel of it. */
    bool (*kernel_is_ready)(gpu_kernel *k);
    void (*kernel_finish)(gpu_kernel *k, const gpu_kernel_desc *desc);
    gpu_bindings *(*bindings_new)(gpu *g, gpu_kernel *k, const gpu_part *parts, uint32_t count);
    void (*bindings_free)(gpu_bindings *b);

    gpu_recording *(*record)(gpu *g, bool replayable);
    void (*pass_begin)(gpu_recording *r, gpu_timer *timer, int edges);
    void (*set_kernel)(gpu_recording *r, gpu_kernel *k);
    void (*set_bindings)(gpu_recording *r, gpu_bindings *b);
    void (*dispatch)(gpu_recording *r, uint32_t x, uint32_t y, uint32_t z);
    void (*dispatch_indirect)(gpu_recording *r, gpu_buffer *b, uint64_t offset);
    void (*pass_end)(gpu_recording *r);
    void (*copy)(gpu_recording *r, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to, uint64_t to_offset,
                 uint64_t bytes);
    gpu_commands *(*finish)(gpu_recording *r);
    void (*submit)(gpu *g, gpu_commands *c); /* frees it unless replayable */
    void (*commands_free)(gpu_commands *c);

    void (*when_done)(gpu *g, gpu_done done, void *user);
    void (*poll)(gpu *g);
    void (*wait)(gpu *g);         /* until submitted work is done, in the way of wait_mode */
    void (*await_errors)(gpu *g); /* until it is known whether what was made is any good; NULL: that is known at once */

    gpu_timer *(*timer_new)(gpu *g);
    void (*timer_free)(gpu_timer *t);
    bool (*timer_read)(gpu_timer *t, double *ns, err *e);
};

/* A wait longer than this is a hang, not work. Software shares its processors with others and compiles while it waits, so it
 * gets an hour where a GPU gets five minutes. */
static inline uint64_t gpu_hang_ns(const gpu *g)
{
    return (g->info.type == GPU_TYPE_SOFTWARE ? 3600ull : 300ull) * 1000000000ull;
}
/* The device is lost to such a wait. */
void gpu_mark_hung(gpu *g);

extern const gpu_backend gpu_webgpu_backend; /* src/gpu/webgpu/ */
extern const gpu_backend gpu_vulkan_backend; /* src/gpu/vulkan/ */
extern const gpu_backend gpu_cuda_backend;   /* src/gpu/cuda/ */
extern const gpu_backend gpu_web_backend;    /* src/gpu/web/ */
extern const gpu_backend gpu_stub_backend;   /* src/gpu/stub.c */

/* By the name --impl takes; NULL: unknown. backends.c, or in a page web/backends.c. */
const gpu_backend *gpu_backend_named(const char *impl);

/* The device is gone; nothing will work on it again. */
void gpu_mark_lost(gpu *g, const char *why);

/* For gpu*.c: is this a part of the buffer? If not, the device keeps an error that names `what` was attempted. */
bool gpu_in_buffer(gpu *g, const gpu_buffer *b, uint64_t offset, uint64_t bytes, const char *what);
/* For gpu_close: frees the kernels that the device keeps. */
void gpu_free_kernels(gpu *g);

#endif
