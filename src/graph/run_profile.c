/* run_profile: the device's time for each dispatch of a run, or for each phase of a megakernel. */
#include "base/clock.h"
#include "base/str.h"
#include "graph/megakernel_link.h"
#include "graph/run_internal.h"

#include <stdlib.h>
#include <string.h>

/* A run sets the inputs of the next one, its position for example: each is timed with what the first one had. */
typedef struct kept_inputs {
    uint32_t which, **words; /* [node] NULL: no input */
} kept_inputs;

static bool keep_inputs(graph_run *r, uint32_t which, kept_inputs *kept, err *e)
{
    const graph *g = r->plans[which]->g;
    *kept = (kept_inputs){.which = which, .words = mem_alloc((graph_count(g) + 1) * sizeof *kept->words)};
    for (node i = 1; i <= graph_count(g); i++) {
        const graph_node *n = graph_at(g, i);
        graph_place p = n->op == OP_INPUT ? graph_run_place(r, n->name) : (graph_place){0};
        if (!p.words)
            continue;
        kept->words[i] = mem_alloc(p.words * sizeof **kept->words);
        if (!graph_run_get(r, p, 0, p.words, kept->words[i], e))
            return false;
    }
    return true;
}

static void restore_inputs(graph_run *r, const kept_inputs *kept)
{
    const graph *g = r->plans[kept->which]->g;
    for (node i = 1; i <= graph_count(g); i++)
        if (kept->words[i]) {
            graph_place p = graph_run_place(r, graph_at(g, i)->name);
            graph_run_put(r, p, kept->words[i], p.words);
        }
}

static void forget_inputs(graph_run *r, kept_inputs *kept)
{
    for (node i = 0; i <= graph_count(r->plans[kept->which]->g); i++)
        free(kept->words[i]);
    free(kept->words);
}

static bool time_dispatches(graph_run *r, const program *p, const kept_inputs *kept, gpu_timer **timers, double *ns,
                            bool first, err *e)
{
    restore_inputs(r, kept);
    gpu_recording *recording = gpu_record(r->g, false);
    for (uint32_t i = 0; i < p->dispatch_count; i++) {
        gpu_pass_begin(recording, timers[i], GPU_TIME_BEGIN | GPU_TIME_END);
        submit_record(recording, &p->dispatches[i]);
        gpu_pass_end(recording);
    }
    gpu_submit(r->g, gpu_finish(recording));
    bool ok = gpu_wait(r->g, e);
    for (uint32_t i = 0; ok && i < p->dispatch_count; i++) {
        double now;
        ok = gpu_timer_read_now(timers[i], &now, e);
        ns[i] = first || now < ns[i] ? now : ns[i];
    }
    return ok;
}

/* The shortest times of a megakernel, ns: as it is; with barriers between all phases; and so without each kernel. */
typedef struct kernel_times {
    double as_it_is, all, without[MEGAKERNEL_MAX_KERNELS];
} kernel_times;

static double *time_without(kernel_times *t, int kernel)
{
    switch (kernel) {
    case MEGAKERNEL_ALL_KERNELS: return &t->as_it_is;
    case MEGAKERNEL_NO_KERNEL: return &t->all;
    default: return &t->without[kernel];
    }
}

static bool time_kernels(graph_run *r, const program *p, const kept_inputs *kept, uint32_t times, gpu_timer **timers,
                         kernel_times *t, err *e)
{
    bool ok = true;
    for (uint32_t k = 0; ok && k < times; k++)
        for (int kernel = MEGAKERNEL_ALL_KERNELS; ok && kernel < megakernel_kernel_count(p->megakernel); kernel++) {
            double *ns = time_without(t, kernel);
            megakernel_leave_out(p->megakernel, kernel);
            /* Data of runs without some kernels may carry valid epoch bits: one run that is not timed replaces it. */
            ok = (kernel != MEGAKERNEL_ALL_KERNELS || time_dispatches(r, p, kept, timers, &(double){0}, true, e)) &&
                 time_dispatches(r, p, kept, timers, ns, k == 0, e);
        }
    megakernel_leave_out(p->megakernel, MEGAKERNEL_ALL_KERNELS);
    return ok;
}

/* The time of a phase is the time saved by leaving out its kernel. */
static bool profile_megakernel(graph_run *r, const program *p, const kept_inputs *kept, uint32_t times,
                               gpu_timer **timers, double *ns, double *total_ns, err *e)
{
    kernel_times t = {0};
    uint32_t phases = megakernel_phase_count(p->megakernel);
    bool ok = time_kernels(r, p, kept, times, timers, &t, e);
    for (uint32_t i = 0; ok && i < phases; i++) {
        uint32_t alike = 0;
        int kernel = megakernel_kernel_of(p->megakernel, i);
        for (uint32_t k = 0; k < phases; k++)
            alike += megakernel_kernel_of(p->megakernel, k) == kernel;
        ns[i] = t.all > t.without[kernel] ? (t.all - t.without[kernel]) / alike : 0;
    }
    *total_ns = t.as_it_is;
    return ok;
}

/* A GPU that was idle has a low clock at first. */
static bool warm_up(graph_run *r, const kept_inputs *kept, err *e)
{
    const double WARM_US = 200e3;
    bool ok = true;
    for (double began = clock_us();
         ok && gpu_get_info(r->g)->type != GPU_TYPE_SOFTWARE && clock_us() - began < WARM_US;) {
        restore_inputs(r, kept);
        graph_run_once(r, kept->which, SUBMIT_BATCH);
        ok = gpu_wait(r->g, e);
    }
    return ok;
}

bool graph_run_profile(graph_run *r, uint32_t which, uint32_t times, double *ns, double *total_ns, err *e)
{
    const program *p = &r->programs[which];
    double unused = 0;
    gpu_timer **timers = mem_alloc((p->dispatch_count + 1) * sizeof *timers);
    for (uint32_t i = 0; i < p->dispatch_count; i++)
        timers[i] = gpu_timer_new(r->g);
    kept_inputs kept;
    bool ok = keep_inputs(r, which, &kept, e) && warm_up(r, &kept, e);
    if (ok && p->megakernel)
        ok = profile_megakernel(r, p, &kept, times, timers, ns, total_ns ? total_ns : &unused, e);
    r->last = RUN_NO_PROGRAM;
    for (uint32_t k = 0; !p->megakernel && ok && k < times; k++)
        ok = time_dispatches(r, p, &kept, timers, ns, k == 0, e);
    if (ok)
        restore_inputs(r, &kept);
    forget_inputs(r, &kept);
    for (uint32_t i = 0; i < p->dispatch_count; i++)
        gpu_timer_free(timers[i]);
    free(timers);
    return ok;
}

uint32_t graph_run_stages(const graph_run *r, uint32_t which)
{
    const program *p = &r->programs[which];
    return p->megakernel ? megakernel_phase_count(p->megakernel) : p->dispatch_count;
}

graph_dispatch graph_run_dispatch(const graph_run *r, uint32_t which, uint32_t i)
{
    const program *p = &r->programs[which];
    graph_dispatch d = {.groups = p->dispatches[p->megakernel ? 0 : i].groups};
    if (p->megakernel) {
        d.step = megakernel_phase_step(p->megakernel, i);
        run_name_kernel(megakernel_phase_kernel(p->megakernel, i), d.kernel);
    } else {
        d.step = p->steps[i];
        memcpy(d.kernel, p->names[i], sizeof d.kernel);
    }
    return d;
}
