/* Kernels on a WebGPU device: compiled by the call, ahead by threads of Solo's (compilers.c), or by the library's own. */
#include "gpu/webgpu/compilers.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A pipeline that a thread of the library compiles. It is not part of the kernel, which may be freed before. */
struct webgpu_compile {
    webgpu *w;
    webgpu_compile *next;
    WGPUFuture future;
    bool done, abandoned;
    WGPUComputePipeline pipeline; /* NULL: it did not compile, */
    char *why;                    /* as the library says */
};

static void free_compile(webgpu_compile *c)
{
    webgpu_compile **at = &c->w->compiles;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    if (c->pipeline)
        c->w->lib->ComputePipelineRelease(c->pipeline);
    free(c->why);
    free(c);
}

void webgpu_free_compiles(webgpu *w)
{
    while (w->compiles)
        free_compile(w->compiles);
}

static void on_compiled(WGPUCreatePipelineAsyncStatus status, WGPUComputePipeline pipeline, WGPUStringView message,
                        void *user, void *unused)
{
    (void)unused;
    webgpu_compile *c = user;
    c->done = true;
    c->pipeline = status == WGPUCreatePipelineAsyncStatus_Success ? pipeline : NULL;
    if (!c->pipeline) {
        str why = {0};
        if (message.data && message.length == WGPU_STRLEN)
            str_add(&why, message.data);
        else if (message.data)
            str_add_bytes(&why, message.data, message.length);
        str_add(&why, why.length ? "" : "it does not compile");
        c->why = why.data;
    }
    if (c->abandoned)
        free_compile(c);
}

static WGPUBindGroupLayout make_layout(webgpu *w, const gpu_kernel_desc *desc)
{
    static const WGPUBufferBindingType types[] = {
        [GPU_BIND_READ] = WGPUBufferBindingType_ReadOnlyStorage,
        [GPU_BIND_WRITE] = WGPUBufferBindingType_Storage,
        [GPU_BIND_UNIFORM] = WGPUBufferBindingType_Uniform,
    };
    WGPUBindGroupLayoutEntry entries[GPU_MAX_BINDINGS] = {0};
    for (uint32_t i = 0; i < desc->binding_count; i++) {
        entries[i].binding = i;
        entries[i].visibility = WGPUShaderStage_Compute;
        entries[i].buffer.type = types[desc->bindings[i]];
    }
    WGPUBindGroupLayoutDescriptor layout = {.entryCount = desc->binding_count, .entries = entries};
    return w->lib->DeviceCreateBindGroupLayout(w->device, &layout);
}

/* wgpu-native has subgroups but refuses the directive that asks for them; blanks
 * in its place keep the line numbers. */
static void blank_subgroup_directive(char *wgsl)
{
    static const char directive[] = "enable subgroups;";
    char *at = strstr(wgsl, directive);
    if (at)
        memset(at, ' ', strlen(directive));
}

static WGPUShaderModule make_module(webgpu *w, const gpu_kernel_desc *desc)
{
    char *text = mem_dup(desc->source->wgsl);
    if (w->lib->abi == WEBGPU_WGPU)
        blank_subgroup_directive(text);
    WGPUShaderSourceWGSL wgsl = {.chain = {.sType = WGPUSType_ShaderSourceWGSL}, .code = webgpu_text(text)};
    WGPUShaderModuleDescriptor module = {.nextInChain = &wgsl.chain};
    WGPUShaderModule made = w->lib->DeviceCreateShaderModule(w->device, &module);
    free(text);
    return made;
}

typedef struct pipeline_parts {
    WGPUPipelineLayout layout;
    WGPUComputePipelineDescriptor desc;
} pipeline_parts;

static pipeline_parts parts_of(webgpu *w, const gpu_kernel_desc *desc, const webgpu_kernel *k)
{
    WGPUPipelineLayoutDescriptor layout = {.bindGroupLayoutCount = 1, .bindGroupLayouts = &k->layout};
    pipeline_parts p = {.layout = w->lib->DeviceCreatePipelineLayout(w->device, &layout)};
    p.desc = (WGPUComputePipelineDescriptor){.layout = p.layout,
                                             .compute = {.module = k->module, .entryPoint = webgpu_text(desc->entry)}};
    return p;
}

static WGPUComputePipeline make_pipeline(webgpu *w, const gpu_kernel_desc *desc, const webgpu_kernel *k)
{
    pipeline_parts p = parts_of(w, desc, k);
    WGPUComputePipeline made = w->lib->DeviceCreateComputePipeline(w->device, &p.desc);
    w->lib->PipelineLayoutRelease(p.layout);
    return made;
}

/* The language is checked here, by the call; the rest, which takes longer, by the library's thread. */
static void begin_pipeline(webgpu *w, const gpu_kernel_desc *desc, webgpu_kernel *k)
{
    webgpu_compile *c = k->compile = mem_alloc(sizeof *c);
    *c = (webgpu_compile){.w = w, .next = w->compiles};
    w->compiles = c;
    if (w->base.error.kind != ERR_NONE) {
        c->done = true;
        c->why = mem_dup(w->base.error.text);
        return;
    }
    pipeline_parts p = parts_of(w, desc, k);
    c->future = w->lib->DeviceCreateComputePipelineAsync(
        w->device, &p.desc,
        (WGPUCreateComputePipelineAsyncCallbackInfo){
            .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_compiled, .userdata1 = c});
    w->lib->PipelineLayoutRelease(p.layout);
}

/* Here and now. */
static void make_now(webgpu *w, const gpu_kernel_desc *desc, webgpu_kernel *k)
{
    w->compiling = desc;
    k->module = make_module(w, desc);
    k->layout = make_layout(w, desc);
    /* A module that failed causes a second, less useful error: stop here. */
    if (w->base.error.kind == ERR_NONE)
        k->pipeline = make_pipeline(w, desc, k);
    w->compiling = NULL;
}

/* By the library's threads. What goes wrong here is nobody's error yet. */
static void make_by_library(webgpu *w, const gpu_kernel_desc *desc, webgpu_kernel *k)
{
    gpu *g = &w->base;
    err before = g->error;
    err_clear(&g->error);
    w->compiling = desc;
    k->module = make_module(w, desc);
    k->layout = make_layout(w, desc);
    begin_pipeline(w, desc, k);
    w->compiling = NULL;
    if (!g->lost)
        g->error = before;
}

/* Its threads begin at once, where those of Solo have to open a device first; and what was compiled before takes it no time. */
static bool is_for_library(const webgpu *w, const webgpu_kernel *k)
{
    uint32_t busy = 0;
    for (const webgpu_compile *c = w->compiles; c; c = c->next)
        busy += !c->done;
    return !w->compilers || k->is_known || busy < DAWN_COMPILER_THREADS;
}

gpu_kernel *webgpu_kernel_new(gpu *g, const gpu_kernel_desc *desc)
{
    webgpu *w = (webgpu *)g;
    webgpu_kernel *k = mem_alloc(sizeof *k);
    k->base.owner = g;
    if (g->lost)
        return &k->base;
    k->is_known = desc->ahead && w->compilers && webgpu_compilers_know(w->compilers, desc);
    if (!desc->ahead)
        make_now(w, desc, k);
    else if (is_for_library(w, k))
        make_by_library(w, desc, k);
    else
        k->job = webgpu_compilers_give(w->compilers, desc);
    return &k->base;
}

bool webgpu_kernel_is_ready(gpu_kernel *base)
{
    const webgpu_kernel *k = (const webgpu_kernel *)base;
    if (k->job)
        return webgpu_job_is_done(((webgpu *)base->owner)->compilers, k->job);
    if (k->compile && !k->compile->done)
        webgpu_poll(base->owner);
    return !k->compile || k->compile->done;
}

static void wait_for_compiler(webgpu *w, const webgpu_compile *c)
{
    const uint64_t PATIENCE_NS = 1000000000; /* of one wait, so that a lost device ends them */
    while (!c->done && !w->base.lost) {
        WGPUFutureWaitInfo info = {.future = c->future};
        if (!w->timed_waits || w->lib->InstanceWaitAny(w->instance, 1, &info, PATIENCE_NS) == WGPUWaitStatus_Error) {
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
            webgpu_poll(&w->base);
        }
    }
}

void webgpu_kernel_finish(gpu_kernel *base, const gpu_kernel_desc *desc)
{
    webgpu_kernel *k = (webgpu_kernel *)base;
    webgpu *w = (webgpu *)base->owner;
    webgpu_compile *c = k->compile;
    if (k->job) {
        bool was_compiled = webgpu_job_finish(w->compilers, k->job);
        k->job = NULL;
        if (!w->base.lost)
            make_now(w, desc, k);
        if (k->pipeline && !was_compiled && w->base.error.kind == ERR_NONE)
            webgpu_compilers_note(w->compilers, desc);
    }
    if (!c)
        return;
    wait_for_compiler(w, c);
    k->compile = NULL;
    if (!c->done) {
        c->abandoned = true;
        return;
    }
    if (c->why)
        webgpu_shader_error(base->owner, desc, c->why);
    else if (w->compilers && !k->is_known)
        webgpu_compilers_note(w->compilers, desc);
    k->pipeline = c->pipeline;
    c->pipeline = NULL;
    free_compile(c);
}

void webgpu_kernel_free(gpu_kernel *base)
{
    webgpu_kernel *k = (webgpu_kernel *)base;
    webgpu *w = (webgpu *)base->owner;
    const webgpu_library *lib = w->lib;
    if (k->job)
        webgpu_job_abandon(w->compilers, k->job);
    if (k->compile && k->compile->done)
        free_compile(k->compile);
    else if (k->compile)
        k->compile->abandoned = true;
    if (k->pipeline)
        lib->ComputePipelineRelease(k->pipeline);
    if (k->layout)
        lib->BindGroupLayoutRelease(k->layout);
    if (k->module)
        lib->ShaderModuleRelease(k->module);
    free(k);
}
