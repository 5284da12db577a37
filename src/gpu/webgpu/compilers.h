/* compilers: threads that compile kernels ahead, each on a device of its own (compilers.c says how). */
#ifndef SOLO_WEBGPU_COMPILERS_H
#define SOLO_WEBGPU_COMPILERS_H

#include "gpu/webgpu/device.h"

/* NULL: Dawn's own threads compile. The caller's device is open, and stays so for longer than these. */
webgpu_compilers *webgpu_compilers_new(const webgpu *caller);
uint32_t webgpu_compilers_count(const webgpu_compilers *c);
/* Waits for what has begun to compile. All jobs are finished or abandoned. */
void webgpu_compilers_free(webgpu_compilers *c);

/* Was this kernel compiled before, so that the pipeline cache has it? */
bool webgpu_compilers_know(const webgpu_compilers *c, const gpu_kernel_desc *desc);
void webgpu_compilers_note(const webgpu_compilers *c, const gpu_kernel_desc *desc);
webgpu_job *webgpu_compilers_give(webgpu_compilers *c, const gpu_kernel_desc *desc);
bool webgpu_job_is_done(webgpu_compilers *c, const webgpu_job *job);
/* Making the kernel is quick then, since the job was waited for; or false: it had not begun, and is the caller's. Frees it. */
bool webgpu_job_finish(webgpu_compilers *c, webgpu_job *job);
/* Nobody wants it any more. */
void webgpu_job_abandon(webgpu_compilers *c, webgpu_job *job);

#endif
