/* Kernels, compiled from CUDA C for this very device, and launch arguments. */
#include "gpu/cuda/internal.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- compiling ----------------------------------------------------------- */

/* Machine code if NVRTC knows the device, else PTX for the newest it knows. */
bool cuda_choose_architecture(cuda_gpu *g, int capability, err *e)
{
    int count = 0, best = 0;
    if (g->nvrtc.GetNumSupportedArchs(&count) != NVRTC_SUCCESS || count <= 0)
        return err_set_kind(e, ERR_NO_GPU, "cuda: NVRTC does not say what it compiles for");
    int *known = mem_alloc((size_t)count * sizeof *known);
    if (g->nvrtc.GetSupportedArchs(known) != NVRTC_SUCCESS)
        count = 0;
    for (int i = 0; i < count; i++)
        if (known[i] <= capability && known[i] > best)
            best = known[i];
    free(known);
    if (best == 0)
        return err_set_kind(e, ERR_NO_GPU, "cuda: this NVRTC does not compile for compute capability %d.%d",
                            capability / 10, capability % 10);
    g->to_ptx = best != capability;
    snprintf(g->architecture, sizeof g->architecture, "--gpu-architecture=%s_%d", g->to_ptx ? "compute" : "sm", best);
    return true;
}

/* The first line of the log that says what is wrong. */
static void fail_with_log(cuda_gpu *g, nvrtcProgram program, const char *name, nvrtcResult result)
{
    size_t bytes = 0;
    char *log = NULL;
    if (g->nvrtc.GetProgramLogSize(program, &bytes) == NVRTC_SUCCESS && bytes > 1) {
        log = mem_alloc(bytes + 1);
        if (g->nvrtc.GetProgramLog(program, log) != NVRTC_SUCCESS)
            log[0] = 0;
    }
    const char *line = log ? strstr(log, "error") : NULL;
    while (line && line > log && line[-1] != '\n')
        line--;
    if (line)
        gpu_fail(&g->base, "kernel %s: %.*s", name, (int)strcspn(line, "\n"), line);
    else
        gpu_fail(&g->base, "kernel %s: %s", name, g->nvrtc.GetErrorString(result));
    free(log);
}

/* The compiled code, or NULL. */
static char *take_code(cuda_gpu *g, nvrtcProgram program)
{
    size_t bytes = 0;
    nvrtcResult result = g->to_ptx ? g->nvrtc.GetPTXSize(program, &bytes) : g->nvrtc.GetCUBINSize(program, &bytes);
    if (result != NVRTC_SUCCESS || bytes == 0)
        return NULL;
    char *code = mem_alloc(bytes);
    result = g->to_ptx ? g->nvrtc.GetPTX(program, code) : g->nvrtc.GetCUBIN(program, code);
    if (result == NVRTC_SUCCESS)
        return code;
    free(code);
    return NULL;
}

static char *compile(cuda_gpu *g, const gpu_source *source)
{
    nvrtcProgram program;
    nvrtcResult result = g->nvrtc.CreateProgram(&program, source->cuda, source->name, 0, NULL, NULL);
    if (result != NVRTC_SUCCESS) {
        gpu_fail(&g->base, "kernel %s: %s", source->name, g->nvrtc.GetErrorString(result));
        return NULL;
    }
    const char *options[] = {g->architecture};
    result = g->nvrtc.CompileProgram(program, 1, options);
    char *code = result == NVRTC_SUCCESS ? take_code(g, program) : NULL;
    if (!code)
        fail_with_log(g, program, source->name, result);
    g->nvrtc.DestroyProgram(&program);
    return code;
}

/* Compared by text: a generated source may come and go at the same address. */
static CUmodule module_of(cuda_gpu *g, const gpu_source *source)
{
    for (cuda_module *m = g->modules; m; m = m->next)
        if (strcmp(m->source, source->cuda) == 0)
            return m->module;
    char *code = compile(g, source);
    if (!code)
        return NULL;
    CUmodule loaded;
    bool ok = cuda_check(g, g->cu.ModuleLoadData(&loaded, code), source->name);
    free(code);
    if (!ok)
        return NULL;
    cuda_module *m = mem_alloc(sizeof *m);
    m->source = mem_dup(source->cuda);
    m->module = loaded;
    m->next = g->modules;
    g->modules = m;
    return loaded;
}

void cuda_close_modules(cuda_gpu *g)
{
    while (g->modules) {
        cuda_module *m = g->modules;
        g->modules = m->next;
        g->cu.ModuleUnload(m->module);
        free(m->source);
        free(m);
    }
}

/* ---- kernels ------------------------------------------------------------- */

gpu_kernel *cuda_kernel_new(gpu *base, const gpu_kernel_desc *desc)
{
    cuda_gpu *g = (cuda_gpu *)base;
    cuda_kernel *k = mem_alloc(sizeof *k);
    k->threads = desc->workgroup_size;
    if (base->lost)
        return &k->base;
    if (!desc->source->cuda || desc->binding_count > GPU_MAX_BINDINGS) {
        gpu_fail(base, "kernel %s/%s: %s", desc->source->name, desc->entry,
                 desc->source->cuda ? "too many bindings" : "there is no CUDA C of it");
        return &k->base;
    }
    CUmodule module = module_of(g, desc->source);
    char doing[128];
    snprintf(doing, sizeof doing, "kernel %s/%s", desc->source->name, desc->entry);
    if (module && !cuda_check(g, g->cu.ModuleGetFunction(&k->function, module, desc->entry), doing))
        k->function = NULL;
    return &k->base;
}

/* Its code belongs to the module, which stays until the device is closed. */
void cuda_kernel_free(gpu_kernel *k)
{
    free(k);
}

gpu_bindings *cuda_bindings_new(gpu *base, gpu_kernel *k, const gpu_part *parts, uint32_t count)
{
    cuda_gpu *g = (cuda_gpu *)base;
    cuda_bindings *b = mem_alloc(sizeof *b);
    for (uint32_t i = 0; i < GPU_MAX_BINDINGS; i++)
        b->arguments[i] = &b->values[i];
    b->usable = !base->lost && count == k->binding_count;
    for (uint32_t i = 0; b->usable && i < count; i++) {
        const cuda_buffer *part = (const cuda_buffer *)parts[i].buffer;
        b->usable = cuda_has_range(g, part, parts[i].offset, parts[i].bytes) && parts[i].bytes > 0;
        b->values[i] = part->at + parts[i].offset;
        if (parts[i].bytes == 0)
            gpu_fail(base, "binding %u is empty", i);
    }
    return &b->base;
}

/* A launch copies its arguments, so they may go while it is still to run. */
void cuda_bindings_free(gpu_bindings *b)
{
    free(b);
}
