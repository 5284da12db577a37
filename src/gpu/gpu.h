/* gpu: one narrow interface to a GPU, whatever stands behind it.
 *
 * Back ends: `webgpu` (any library that implements webgpu.h: Dawn, wgpu-native),
 * `vulkan` and `cuda` (the bare APIs, controls for measurement), `web` (in a page,
 * or another host of JavaScript), `stub` (does nothing: what the harness itself costs).
 *
 *     gpu *g = gpu_open_now(&(gpu_choice){.impl = "dawn"}, &e);
 *     gpu_kernel *k = gpu_kernel_new(g, &desc);
 *     gpu_bindings *b = gpu_bindings_new(g, k, parts, 3);
 *     gpu_recording *r = gpu_record(g, false);
 *     gpu_pass_begin(r, NULL, 0);
 *     gpu_set_kernel(r, k); gpu_set_bindings(r, b); gpu_dispatch(r, 16, 1, 1);
 *     gpu_pass_end(r);
 *     gpu_submit(g, gpu_finish(r));
 *     if (!gpu_wait(g, &e)) ...            // or gpu_when_done(g, callback, user)
 *
 * Errors. Making an object never returns NULL. What goes wrong (a shader that
 * does not compile, a binding too large, memory, a lost device) is kept on the
 * device as its first error, and from then on every wait and read fails with
 * that text until gpu_take_error() takes it. So work that failed cannot be
 * taken for work that was done, let alone timed. Natively an error is known
 * when the call that caused it returns; in a browser, when gpu_ok or the next wait does.
 *
 * Waiting. gpu_when_done and gpu_read call back, as a browser must; gpu_wait
 * and gpu_read_now are the same, blocking, for native callers. A callback may
 * come before the call returns, or from gpu_poll.
 *
 * Order. Submitted work runs in order; in a pass, a dispatch sees what the
 * dispatches before it wrote.
 *
 * Ownership. gpu_finish consumes the recording, gpu_submit the commands unless
 * they are replayable. Everything else is freed by its _free function, before
 * the device is closed.                                                     */
#ifndef SOLO_GPU_H
#define SOLO_GPU_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gpu gpu;
typedef struct gpu_buffer gpu_buffer;
typedef struct gpu_stage gpu_stage; /* memory of the host that the GPU copies from */
typedef struct gpu_kernel gpu_kernel;
typedef struct gpu_bindings gpu_bindings;   /* the buffers a kernel works on: a bind group */
typedef struct gpu_recording gpu_recording; /* commands being written: an encoder */
typedef struct gpu_commands gpu_commands;   /* commands ready to submit */
typedef struct gpu_timer gpu_timer;         /* device time between two edges */

typedef void (*gpu_done)(void *user, bool ok);

/* ---- the device ---------------------------------------------------------- */

typedef enum { GPU_ADAPTER_ANY, GPU_ADAPTER_GPU, GPU_ADAPTER_SOFTWARE } gpu_adapter_want;

typedef struct gpu_choice {
    const char *impl;         /* dawn, wgpu, vulkan, cuda, stub, or a library's path; NULL: the best there is */
    gpu_adapter_want adapter; /* GPU_ADAPTER_GPU: software is an error */
    bool no_validation;       /* Dawn: toggle skip_validation */
    bool no_robustness;       /* Dawn: toggle disable_robustness */
    bool own_kernels; /* all that runs is this program's: on GPUs Dawn need not check that it keeps to its memory */
} gpu_choice;

typedef enum { GPU_TYPE_UNKNOWN, GPU_TYPE_DISCRETE, GPU_TYPE_INTEGRATED, GPU_TYPE_SOFTWARE, GPU_TYPE_NONE } gpu_type;

typedef struct gpu_info {
    char family[16];       /* dawn, wgpu, vulkan, cuda, web, stub */
    char impl[64];         /* the same; for a library given by its path, with the file's name behind it */
    char impl_version[64]; /* as the library reports it */
    char library[256];     /* the file it came from, "" if linked in */
    char backend[32];      /* Vulkan, Metal, D3D12, CUDA, none */
    char vendor[64], device[128], driver[128];
    gpu_type type;

    /* Features: each seen working in a shader that uses it. */
    bool has_subgroups, has_f16, has_timestamps, has_packed_dot;
    bool has_matrix; /* matrix units: products of f16 with sums in f32, by a whole subgroup */
    uint32_t matrix_rows, matrix_columns, matrix_depth; /* the best shape that works: rows x depth by depth x columns */
    char matrix_shapes[64];                             /* all that work: "16x16x16 16x8x16" */
    bool has_quads; /* exchanges within four threads; only asked where other exchanges are checked: in a page */
    bool has_wgsl;  /* kernels are made from any text of WGSL */
    bool unchecked; /* what WebGPU adds to them, so that they keep to their memory, was left out */
    uint32_t subgroup_min, subgroup_max;
    bool can_block;            /* GPU_WAIT_BLOCKING really sleeps */
    bool can_replay;           /* commands can be submitted again */
    bool can_indirect;         /* gpu_dispatch_indirect works */
    bool can_compile_ahead;    /* gpu_kernel_desc.ahead returns at once */
    uint32_t compiler_threads; /* that compile ahead; 0: as many as there is work for */
    bool has_passes;           /* passes are a thing here (not in CUDA) */

    uint64_t max_buffer_bytes, max_storage_binding_bytes, max_uniform_binding_bytes;
    uint32_t max_storage_buffers;   /* per kernel */
    uint32_t max_workgroup_bytes;   /* shared memory */
    uint32_t max_workgroup_threads; /* invocations */
    uint32_t max_workgroups;        /* per dimension */
    uint32_t uniform_align_bytes;

    /* Filled in by gpu_ask_memory; 0: not known. */
    uint64_t memory_bytes, memory_free_bytes;
} gpu_info;

typedef struct gpu_counters {
    uint64_t dispatches, passes, submits, bind_groups, bytes_written, bytes_read;
} gpu_counters;

gpu *gpu_open_now(const gpu_choice *choice, err *e);
void gpu_close(gpu *g);

const gpu_info *gpu_get_info(const gpu *g);
/* Are specialized kernels worth the time to compile them? Not on software devices, except with SOLO_TUNE=gpu in the
 * environment, for tests. */
bool gpu_is_worth_tuning(const gpu_info *info);
/* Workgroup memory that a kernel may declare: the device's limit, or SOLO_WORKGROUP_BYTES=BYTES in the environment if that
 * is less, for tests. */
uint32_t gpu_workgroup_bytes(const gpu_info *info);
/* Looks how much memory the device has and how much of it is free now, and puts it into the info.
 * SOLO_GPU_MEMORY=BYTES in the environment is believed instead. */
const gpu_info *gpu_ask_memory(gpu *g);
const char *gpu_type_name(gpu_type type);
gpu_counters gpu_get_counters(const gpu *g);
gpu_counters gpu_counters_since(const gpu *g, gpu_counters before);

/* The names --impl takes, best first, ended by NULL. */
extern const char *const gpu_impl_names[];

/* The error the device keeps, if any: false and its text. */
bool gpu_ok(const gpu *g, err *e);
/* Keep this as the device's error, unless it has one already. */
void gpu_fail(gpu *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Take it away so that the device can be used again (a lost one cannot). */
void gpu_take_error(gpu *g, err *e);
/* Lose the device on purpose; for tests. Memory of open stages is gone with it, which a real loss leaves in place. */
void gpu_lose(gpu *g);

/* ---- memory -------------------------------------------------------------- */

typedef enum { GPU_USE_STORAGE, GPU_USE_UNIFORM, GPU_USE_INDIRECT } gpu_use;

/* Contents start as zeros. */
gpu_buffer *gpu_buffer_new(gpu *g, uint64_t bytes, gpu_use use);
void gpu_buffer_free(gpu_buffer *b);
uint64_t gpu_buffer_bytes(const gpu_buffer *b);

/* Offsets and sizes are multiples of 4. The data is copied before it returns. */
void gpu_write(gpu *g, gpu_buffer *b, uint64_t offset, const void *data, size_t bytes);
void gpu_read(gpu *g, gpu_buffer *b, uint64_t offset, void *data, size_t bytes, gpu_done done, void *user);
bool gpu_read_now(gpu *g, gpu_buffer *b, uint64_t offset, void *data, size_t bytes, err *e);

/* ---- staging: large writes without a copy on the host --------------------------------------------
 *
 *     gpu_stage *s = gpu_stage_new(g, 4 << 20);
 *     void *memory = gpu_stage_open(s);    // any thread may now fill it
 *     gpu_stage_send(s, copies, 2);        // and the GPU copies from it, in the order of other work
 *     memory = gpu_stage_open(s);          // waits until it has, so several stages work by turns
 *
 * The memory may be slow to read: write it, front to back if possible. It is the caller's from open to send. */

typedef struct gpu_stage_copy {
    uint64_t from; /* in the stage; all three are multiples of 4 */
    gpu_buffer *to;
    uint64_t offset, bytes;
} gpu_stage_copy;

gpu_stage *gpu_stage_new(gpu *g, uint64_t bytes);
void *gpu_stage_open(gpu_stage *s); /* NULL: the device has an error */
void gpu_stage_send(gpu_stage *s, const gpu_stage_copy *copies, uint32_t count);
void gpu_stage_free(gpu_stage *s); /* also while it is open */

/* ---- kernels ------------------------------------------------------------- */

/* One kernel module in each language a back end may want. */
typedef struct gpu_source {
    const char *name;
    const char *shared; /* WGSL in front of the rest, which several kernels have; NULL: none */
    const char *wgsl;
    const uint32_t *spirv; /* NULL: the vulkan back end cannot run it */
    size_t spirv_bytes;
    const char *cuda; /* NULL: the cuda back end cannot run it */
} gpu_source;

enum { GPU_MAX_BINDINGS = 20 };
typedef enum { GPU_BIND_READ, GPU_BIND_WRITE, GPU_BIND_UNIFORM } gpu_bind_kind;

typedef struct gpu_kernel_desc {
    const gpu_source *source;
    const char *entry;       /* the entry point's name, the same in every language */
    uint32_t workgroup_size; /* threads; WGSL and SPIR-V say it too, CUDA needs it here */
    uint32_t binding_count;  /* group 0, bindings 0 .. count-1; CUDA: the arguments in that order */
    gpu_bind_kind bindings[GPU_MAX_BINDINGS];
    bool idle; /* on zeros it does nothing: who compiles when it first runs may run it beforehand */
    /* Not for running: it compiles in the background, where can_compile_ahead says so, for a later kernel with the same
     * text. That one waits for it, and has its errors. */
    bool ahead;
} gpu_kernel_desc;

gpu_kernel *gpu_kernel_new(gpu *g, const gpu_kernel_desc *desc);
void gpu_kernel_free(gpu_kernel *k);
/* Of a kernel made ahead: it has compiled, or failed to, and the one with the same text need not wait. */
bool gpu_kernel_is_ready(gpu_kernel *k);
/* A kernel that was made ahead still compiles: closing the device waits for it, which may take many seconds. */
bool gpu_is_compiling(gpu *g);

typedef struct gpu_part {
    gpu_buffer *buffer;
    uint64_t offset, bytes; /* bytes 0: to the end */
} gpu_part;

gpu_bindings *gpu_bindings_new(gpu *g, gpu_kernel *k, const gpu_part *parts, uint32_t count);
void gpu_bindings_free(gpu_bindings *b);

/* ---- work ---------------------------------------------------------------- */

enum { GPU_TIME_BEGIN = 1, GPU_TIME_END = 2 };

gpu_recording *gpu_record(gpu *g, bool replayable);
/* `edges` says which timestamps of `timer` this pass writes, at its begin and its end. */
void gpu_pass_begin(gpu_recording *r, gpu_timer *timer, int edges);
void gpu_set_kernel(gpu_recording *r, gpu_kernel *k);
void gpu_set_bindings(gpu_recording *r, gpu_bindings *b);
void gpu_dispatch(gpu_recording *r, uint32_t x, uint32_t y, uint32_t z);
void gpu_dispatch_indirect(gpu_recording *r, gpu_buffer *b, uint64_t offset);
void gpu_pass_end(gpu_recording *r);
/* Between two different buffers. */
void gpu_copy(gpu_recording *r, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to, uint64_t to_offset,
              uint64_t bytes);
gpu_commands *gpu_finish(gpu_recording *r);
void gpu_submit(gpu *g, gpu_commands *c);
void gpu_commands_free(gpu_commands *c); /* replayable ones only */
/* All of that for a single dispatch of so many workgroups. */
void gpu_launch(gpu *g, gpu_kernel *k, gpu_bindings *b, uint32_t groups);

void gpu_when_done(gpu *g, gpu_done done, void *user);
void gpu_poll(gpu *g);
bool gpu_wait(gpu *g, err *e);

/* How gpu_wait waits: by asking again and again, which notices the end soonest
 * and keeps a core busy, or asleep in the driver until it is woken. A GPU is
 * opened polling, software blocking: its workgroups need the core. */
typedef enum { GPU_WAIT_POLLING, GPU_WAIT_BLOCKING } gpu_wait_mode;
extern const char *const gpu_wait_names[];
void gpu_set_wait_mode(gpu *g, gpu_wait_mode mode);
gpu_wait_mode gpu_get_wait_mode(const gpu *g);

/* ---- device time --------------------------------------------------------- */

gpu_timer *gpu_timer_new(gpu *g);
void gpu_timer_free(gpu_timer *t);
/* Nanoseconds between the two edges of work that is done. */
bool gpu_timer_read_now(gpu_timer *t, double *ns, err *e);

#endif
