/* host: what the page does for the web back end (web/gpu.js), as the imports of a wasm module.
 *
 * Things on the other side are numbers; 0 is none. Byte counts and places are doubles, which
 * hold them exactly and need no 64-bit integers in JavaScript. What is marked as waiting
 * suspends all of C until a promise is kept; the others return at once.                    */
#ifndef SOLO_GPU_WEB_HOST_H
#define SOLO_GPU_WEB_HOST_H

#include <stdint.h>

#define HOST(name) __attribute__((import_module("gpu"), import_name(#name))) extern

typedef int32_t host_id;

/* A device; what kind is asked for is a gpu_adapter_want. 0: host_error(0, ..) says why. Waits. */
HOST(open) host_id host_open(int32_t adapter);
HOST(close) void host_close(host_id device);
HOST(lose) void host_lose(host_id device);

/* As web/gpu.js numbers them. */
typedef enum {
    HOST_TYPE, /* a gpu_type */
    HOST_SUBGROUPS,
    HOST_F16,
    HOST_TIMESTAMPS,
    HOST_MATRIX,
    HOST_SUBGROUP_MIN,
    HOST_SUBGROUP_MAX,
    HOST_BUFFER_BYTES,
    HOST_STORAGE_BINDING_BYTES,
    HOST_UNIFORM_BINDING_BYTES,
    HOST_STORAGE_BUFFERS,
    HOST_WORKGROUP_BYTES,
    HOST_WORKGROUP_THREADS,
    HOST_WORKGROUPS,
    HOST_UNIFORM_ALIGN
} host_number;
typedef enum { HOST_VERSION, HOST_BACKEND, HOST_VENDOR, HOST_DEVICE, HOST_DRIVER } host_text;
HOST(number) double host_get_number(host_id device, int32_t which);
HOST(text) void host_get_text(host_id device, int32_t which, char *out, int32_t room);

/* The next error that was heard of: 0 none, 1 one, 2 the device is lost. */
HOST(error) int32_t host_error(host_id device, char *out, int32_t room);
/* The next read that came to its end: who wanted it, or NULL. */
HOST(came) void *host_came(host_id device, int32_t *ok);

HOST(await_errors)
void host_await_errors(host_id device);    /* until all that was made is known to be good or not; waits */
HOST(wait) void host_wait(host_id device); /* until submitted work is done; waits */
HOST(poll) void host_poll(host_id device); /* until something happened, if something is to be expected; waits */

HOST(buffer) host_id host_buffer(host_id device, double bytes, int32_t use);
HOST(write) void host_write(host_id buffer, double offset, const void *data, uint32_t bytes);
HOST(read) void host_read(host_id buffer, double offset, void *data, uint32_t bytes, void *who);
HOST(kernel)
host_id host_kernel(host_id device, const char *name, const char *wgsl, const char *entry, const uint8_t *kinds,
                    int32_t count, int32_t idle, int32_t ahead);
/* Of one made ahead: it has its pipeline, or a reason why it has none. */
HOST(kernel_is_ready) int32_t host_kernel_is_ready(host_id kernel);
/* Three doubles for each: buffer, offset, bytes. */
HOST(bindings) host_id host_bindings(host_id kernel, const double *parts, int32_t count);
HOST(free) void host_free(host_id object); /* of whatever kind */

HOST(record) host_id host_record(host_id device);
HOST(pass_begin) void host_pass_begin(host_id recording, host_id timer, int32_t edges);
HOST(set_kernel) void host_set_kernel(host_id recording, host_id kernel);
HOST(set_bindings) void host_set_bindings(host_id recording, host_id bindings);
HOST(dispatch) void host_dispatch(host_id recording, uint32_t x, uint32_t y, uint32_t z);
HOST(dispatch_indirect) void host_dispatch_indirect(host_id recording, host_id buffer, double offset);
HOST(pass_end) void host_pass_end(host_id recording);
HOST(copy)
void host_copy(host_id recording, host_id from, double from_offset, host_id to, double to_offset, double bytes);
HOST(finish) void host_finish(host_id recording); /* which then is commands */
HOST(submit) void host_submit(host_id commands);  /* which are gone then */

HOST(timer) host_id host_timer(host_id device);
HOST(timer_read) double host_timer_read(host_id timer); /* nanoseconds, negative if it failed; waits */

#endif
