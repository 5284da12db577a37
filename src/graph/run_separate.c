/* Separate dispatches: the kernels of a plan, compiled when they are needed or ahead, and the dispatches that use them. */
#include "base/str.h"
#include "graph/run_internal.h"

#include <stdio.h>
#include <stdlib.h>

enum { BINDINGS = 5 };

static gpu_kernel *make_kernel(const graph_run *r, const kernel_variant *v, bool ahead)
{
    gpu_source *source = kernel_text(v);
    gpu_kernel_desc desc = {
        .source = source,
        .entry = "main",
        .binding_count = BINDINGS,
        .idle = true, /* no workgroups, says argument 0 */
        .ahead = ahead,
        .bindings = {GPU_BIND_UNIFORM, GPU_BIND_READ, GPU_BIND_WRITE, GPU_BIND_WRITE, GPU_BIND_READ}};
    gpu_kernel *k = gpu_kernel_new(r->g, &desc);
    kernel_text_free(source);
    return k;
}

/* The run frees kernels; NULL if there are too many. */
static gpu_kernel *kernel_of(graph_run *r, const kernel_variant *v, err *e)
{
    for (uint32_t i = 0; i < r->kernel_count; i++)
        if (kernel_same_variant(&r->kernels[i].variant, v))
            return r->kernels[i].kernel;
    if (r->kernel_count == RUN_MAX_KERNELS) {
        err_set(e, "more than %d different kernels are needed", RUN_MAX_KERNELS);
        return NULL;
    }
    made_kernel *k = &r->kernels[r->kernel_count++];
    *k = (made_kernel){*v, make_kernel(r, v, false)};
    return k->kernel;
}

static uint64_t argument_slot(const graph_run *r)
{
    uint64_t align = gpu_get_info(r->g)->uniform_align_bytes, bytes = LOWER_ARG_WORDS * sizeof(uint32_t);
    return align > bytes ? align : (bytes + align - 1) / align * align;
}

void run_name_kernel(const kernel_variant *v, char name[RUN_NAME_BYTES])
{
    snprintf(name, RUN_NAME_BYTES, "%s%s%s", v->name, v->type ? "." : "", v->type ? v->type : "");
}

static bool add_dispatch(graph_run *r, program *p, uint32_t step, const dispatch_desc *d, err *e)
{
    uint32_t i = p->dispatch_count;
    uint64_t at = i * argument_slot(r);
    gpu_kernel *kernel = kernel_of(r, &d->kernel, e);
    if (!kernel)
        return false;
    gpu_write(r->g, p->arguments, at, d->args, sizeof d->args);
    gpu_part parts[BINDINGS] = {{p->arguments, at, sizeof d->args},
                                {.buffer = memory_weights(r->m, d->weight_arena)},
                                {.buffer = memory_activations(r->m)},
                                {.buffer = memory_states(r->m, d->state_arena)},
                                {.buffer = memory_weights(r->m, d->weight_arena)}};
    p->dispatches[i] =
        (submit_dispatch){kernel, gpu_bindings_new(r->g, kernel, parts, BINDINGS), d->args[ARG_GROUPS], 0};
    p->steps[i] = step;
    run_name_kernel(&d->kernel, p->names[i]);
    p->dispatch_count++;
    return true;
}

bool run_make_separate(graph_run *r, uint32_t which, err *e)
{
    program *p = &r->programs[which];
    lowered_plan l;
    launch_form form = {.row_threads = r->form.row_threads};
    bool ok = lower_plan(&r->profile, &form, r->m, which, r->plans[which], &l, e);
    if (ok) {
        p->dispatches = mem_alloc((l.count + 1) * sizeof *p->dispatches);
        p->steps = mem_alloc((l.count + 1) * sizeof *p->steps);
        p->names = mem_alloc((l.count + 1) * sizeof *p->names);
        p->arguments = gpu_buffer_new(r->g, argument_slot(r) * (l.count ? l.count : 1), GPU_USE_UNIFORM);
    }
    bool stopped = false;
    for (uint32_t i = 0; ok && !stopped && i < l.count; i++) {
        ok = add_dispatch(r, p, l.steps[i], &l.items[i], e);
        stopped = submit_is_stopped(&r->stop);
    }
    lowered_plan_free(&l);
    if (stopped)
        run_free_dispatches(p);
    return ok && !stopped;
}

/* In software compiling is quick enough when a kernel is needed. */
bool run_compiles_ahead(const graph_run *r)
{
    return gpu_get_info(r->g)->can_compile_ahead && !r->profile.compile_fast;
}

/* Starts compiling the kernels of run_make_separate. The last ones of a plan come first: sampling takes longest. Of those that
 * text waits for, a library with few threads gets its share; the others are left to run_make_separate, whose thread would
 * only wait. */
void run_compile_ahead(graph_run *r, uint32_t which, bool text_waits)
{
    r->programs[which].is_begun = true;
    lowered_plan l;
    err unused = {0}; /* run_make_separate says what is wrong */
    launch_form form = {.row_threads = r->form.row_threads};
    const kernel_variant **variants = NULL;
    uint32_t count = 0, threads = gpu_get_info(r->g)->compiler_threads;
    if (lower_plan(&r->profile, &form, r->m, which, r->plans[which], &l, &unused)) {
        variants = mem_alloc((l.count + 1) * sizeof *variants);
        for (uint32_t i = 0; i < l.count; i++) {
            uint32_t k = 0;
            while (k < count && !kernel_same_variant(variants[k], &l.items[i].kernel))
                k++;
            if (k == count)
                variants[count++] = &l.items[i].kernel;
        }
    }
    uint32_t left = text_waits && threads ? count / (threads + 1) : 0;
    for (uint32_t i = count; i > left; i--)
        make_kernel(r, variants[i - 1], true);
    free(variants);
    lowered_plan_free(&l);
}

void run_free_dispatches(program *p)
{
    for (uint32_t k = 0; !p->megakernel && k < p->dispatch_count; k++)
        gpu_bindings_free(p->dispatches[k].bindings);
    gpu_buffer_free(p->arguments);
    free(p->dispatches);
    free(p->steps);
    free(p->names);
    p->arguments = NULL;
    p->dispatches = NULL;
    p->steps = NULL;
    p->names = NULL;
    p->dispatch_count = 0;
}

/* Those of separate dispatches, and the dispatches. */
void run_free_kernels(graph_run *r)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (!r->programs[i].megakernel)
            run_free_dispatches(&r->programs[i]);
    for (uint32_t i = 0; i < r->kernel_count; i++)
        gpu_kernel_free(r->kernels[i].kernel);
    r->kernel_count = 0;
}

/* All kernels have the same number of threads in a row, so that all levels compute the same sums. */
bool run_make_separate_again(graph_run *r, err *e)
{
    bool ok = true, *made = mem_alloc(r->count * sizeof *made);
    for (uint32_t i = 0; i < r->count; i++)
        made[i] = r->programs[i].dispatches && !r->programs[i].megakernel;
    run_free_kernels(r);
    for (uint32_t i = 0; ok && i < r->count; i++)
        ok = !made[i] || run_make_separate(r, i, e);
    free(made);
    return ok;
}
