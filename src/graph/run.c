#include "graph/run.h"
#include "base/str.h"
#include "gpu/backend.h" /* gpu_fail: running returns nothing, errors are the device's */
#include "graph/megakernel.h"
#include "graph/megakernel_link.h"
#include "graph/lower.h"
#include "graph/autotune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDEST_GRID = 32768, /* workgroups in x; more go to y */
    MAX_KERNELS = 64,
    BINDINGS = 5,
    NO_PROGRAM = 0x7fffffff,
};

typedef struct made_kernel {
    kernel_variant variant;
    gpu_kernel *kernel;
} made_kernel;

/* One dispatch. */
typedef struct run_dispatch {
    gpu_kernel *kernel; /* shared: the run frees kernels */
    gpu_bindings *bindings;
    uint32_t groups, step;
    char name[48];
} run_dispatch;

typedef struct program {
    plan *p;
    fusion_level level;
    run_dispatch *dispatches;
    uint32_t dispatch_count;
    gpu_buffer *arguments;
    uint32_t *phase_steps;     /* [phase] of it */
    char (*phase_kernels)[48]; /* [phase] their names */
    one *
        megakernel; /* the only dispatch, at the levels token and loop; it has the run_dispatch's kernel and bindings */
    bool is_compiling; /* that is being made compile_in_background */
    err why_not;
} program;

struct graph_run {
    gpu *g;
    device_profile tuning;
    bool tuned;
    program *programs;
    plan **plans;
    uint32_t count;
    memory *m;
    made_kernel kernels[MAX_KERNELS];
    uint32_t kernel_count;
    uint32_t last; /* the program that ran last */
};

/* ---- building ------------------------------------------------------------------ */

/* The run frees kernels; NULL if there are too many. */
static gpu_kernel *kernel_of(graph_run *r, const kernel_variant *v, err *e)
{
    for (uint32_t i = 0; i < r->kernel_count; i++)
        if (kernel_same_variant(&r->kernels[i].variant, v))
            return r->kernels[i].kernel;
    if (r->kernel_count == MAX_KERNELS) {
        err_set(e, "more than %d different kernels are wanted", MAX_KERNELS);
        return NULL;
    }
    gpu_source *source = kernel_text(v);
    gpu_kernel_desc desc = {
        .source = source,
        .entry = "main",
        .binding_count = BINDINGS,
        .idle = true, /* no workgroups, says argument 0 */
        .bindings = {GPU_BIND_UNIFORM, GPU_BIND_READ, GPU_BIND_WRITE, GPU_BIND_WRITE, GPU_BIND_READ}};
    made_kernel *k = &r->kernels[r->kernel_count++];
    *k = (made_kernel){*v, gpu_kernel_new(r->g, &desc)};
    kernel_text_free(source);
    return k->kernel;
}

/* All dispatches of a plan, in order. */
typedef struct lowered_plan {
    dispatch_desc *items;
    uint32_t *steps; /* [dispatch] the step it belongs to */
    uint32_t count;
} lowered_plan;

static void lowered_plan_free(lowered_plan *l)
{
    free(l->items);
    free(l->steps);
}

static bool tell_all(const graph_run *r, uint32_t which, const device_profile *tuning, lowered_plan *l, err *e)
{
    const plan *p = r->plans[which];
    uint32_t capacity = p->count + LOWER_MAX_DISPATCHES;
    *l = (lowered_plan){mem_alloc(capacity * sizeof *l->items), mem_alloc(capacity * sizeof *l->steps), 0};
    for (uint32_t i = 0; i < p->count; i++) {
        if (capacity - l->count < LOWER_MAX_DISPATCHES) {
            capacity *= 2;
            l->items = mem_grow(l->items, capacity * sizeof *l->items);
            l->steps = mem_grow(l->steps, capacity * sizeof *l->steps);
        }
        uint32_t count = lower_step(tuning, r->m, which, p, &p->steps[i], &l->items[l->count], e);
        if (!count)
            return false;
        for (uint32_t k = 0; k < count; k++)
            l->steps[l->count++] = i;
    }
    return true;
}

static uint64_t argument_slot(const graph_run *r)
{
    uint64_t align = gpu_get_info(r->g)->uniform_align_bytes, bytes = LOWER_ARG_WORDS * sizeof(uint32_t);
    return align > bytes ? align : (bytes + align - 1) / align * align;
}

static void name_kernel(const kernel_variant *v, char name[48])
{
    snprintf(name, 48, "%s%s%s", v->name, v->type ? "." : "", v->type ? v->type : "");
}

static bool add_dispatch(graph_run *r, program *p, uint32_t step, const dispatch_desc *l, err *e)
{
    run_dispatch *s = &p->dispatches[p->dispatch_count];
    uint64_t at = p->dispatch_count * argument_slot(r);
    s->kernel = kernel_of(r, &l->kernel, e);
    if (!s->kernel)
        return false;
    s->groups = l->words[0];
    s->step = step;
    name_kernel(&l->kernel, s->name);
    gpu_write(r->g, p->arguments, at, l->words, sizeof l->words);
    gpu_part parts[BINDINGS] = {{p->arguments, at, sizeof l->words},
                                {.buffer = memory_weights(r->m, l->weight_arena)},
                                {.buffer = memory_activations(r->m)},
                                {.buffer = memory_states(r->m, l->state_arena)},
                                {.buffer = memory_weights(r->m, l->weight_arena)}};
    s->bindings = gpu_bindings_new(r->g, s->kernel, parts, BINDINGS);
    p->dispatch_count++;
    return true;
}

/* ---- one dispatch ---------------------------------------------------------------- */

typedef struct one_plan {
    const graph_run *r;
    uint32_t which;
    lowered_plan l;
} one_plan;

static bool tell_one(void *user, const device_profile *t, megakernel_phases *out, err *e)
{
    one_plan *p = user;
    lowered_plan_free(&p->l);
    if (!tell_all(p->r, p->which, t, &p->l, e))
        return false;
    *out = (megakernel_phases){p->l.items, p->l.count};
    return true;
}

/* Inputs that often are something else than 0. */
static void put_tuning_hints(graph_run *r, uint32_t which, bool as_usual)
{
    const graph *g = r->plans[which]->g;
    for (node i = 1; i <= graph_count(g); i++) {
        const graph_node *n = graph_at(g, i);
        if (n->op == OP_INPUT && n->as.tuning_hint)
            graph_run_put(r, graph_run_place(r, n->name), as_usual ? &n->as.tuning_hint : &(uint32_t){0}, 1);
    }
}

static bool make_megakernel_of(graph_run *r, uint32_t which, err *e)
{
    program *p = &r->programs[which];
    one_plan user = {r, which, {0}};
    put_tuning_hints(r, which, true);
    p->megakernel = r->tuned ? megakernel_new(r->g, r->m, which, &r->tuning, tell_one, &user, e)
                             : megakernel_autotuned(r->g, r->m, which, &r->tuning, tell_one, &user, e);
    put_tuning_hints(r, which, false);
    r->tuned = true;
    p->phase_kernels = mem_alloc((user.l.count + 1) * sizeof *p->phase_kernels);
    for (uint32_t i = 0; i < user.l.count; i++)
        name_kernel(&user.l.items[i].kernel, p->phase_kernels[i]);
    free(user.l.items);
    p->phase_steps = user.l.steps;
    if (!p->megakernel)
        return false;
    p->dispatches = mem_alloc(sizeof *p->dispatches);
    p->dispatches[0] = (run_dispatch){megakernel_kernel(p->megakernel), megakernel_bindings(p->megakernel),
                                      one_groups(p->megakernel), 0, "one"};
    p->dispatch_count = 1;
    return true;
}

static bool compile_ahead(graph_run *r, uint32_t which)
{
    one_plan user = {r, which, {0}};
    bool is_compiling = megakernel_compile_ahead(r->g, r->m, which, &r->tuning, tell_one, &user);
    lowered_plan_free(&user.l);
    return r->programs[which].is_compiling = is_compiling;
}

static void free_dispatches(program *p)
{
    for (uint32_t k = 0; !p->megakernel && k < p->dispatch_count; k++)
        gpu_bindings_free(p->dispatches[k].bindings);
    gpu_buffer_free(p->arguments);
    free(p->dispatches);
    p->arguments = NULL;
    p->dispatches = NULL;
    p->dispatch_count = 0;
}

/* Those of separate dispatches, and what was to run them. */
static void free_kernels(graph_run *r)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (!r->programs[i].megakernel)
            free_dispatches(&r->programs[i]);
    for (uint32_t i = 0; i < r->kernel_count; i++)
        gpu_kernel_free(r->kernels[i].kernel);
    r->kernel_count = 0;
}

static bool make_separate(graph_run *r, uint32_t which, err *e)
{
    program *p = &r->programs[which];
    lowered_plan l;
    bool ok = tell_all(r, which, &r->tuning, &l, e);
    if (ok) {
        p->dispatches = mem_alloc((l.count + 1) * sizeof *p->dispatches);
        p->arguments = gpu_buffer_new(r->g, argument_slot(r) * (l.count ? l.count : 1), GPU_USE_UNIFORM);
    }
    for (uint32_t i = 0; ok && i < l.count; i++)
        ok = add_dispatch(r, p, l.steps[i], &l.items[i], e);
    lowered_plan_free(&l);
    return ok;
}

static bool make_megakernel(graph_run *r, uint32_t which, err *e)
{
    /* That it cannot be had (too many buffers, say, or a kernel too large) is no one's failure. */
    if (gpu_ok(r->g, e) && !make_megakernel_of(r, which, &r->programs[which].why_not)) {
        err unused;
        gpu_take_error(r->g, &unused);
    }
    return gpu_ok(r->g, e);
}

/* All shall have the same number of threads in a row, so that their sums come out alike. */
static bool make_separate_again(graph_run *r, err *e)
{
    bool ok = true, *made = mem_alloc(r->count * sizeof *made);
    for (uint32_t i = 0; i < r->count; i++)
        made[i] = r->programs[i].dispatches && !r->programs[i].megakernel;
    free_kernels(r);
    for (uint32_t i = 0; ok && i < r->count; i++)
        ok = !made[i] || make_separate(r, i, e);
    free(made);
    return ok;
}

bool graph_run_finish_compile(graph_run *r, uint32_t which, err *e)
{
    uint32_t threads = r->tuning.row_threads;
    r->programs[which].is_compiling = false;
    return make_megakernel(r, which, e) && (r->tuning.row_threads == threads || make_separate_again(r, e)) &&
           gpu_wait(r->g, e);
}

fusion_level graph_run_level(const gpu *g, fusion_level wanted)
{
    const gpu_info *info = gpu_get_info(g);
    if (wanted != LEVEL_AUTO)
        return wanted;
    return info->has_wgsl && info->type != GPU_TYPE_SOFTWARE ? LEVEL_LOOP : LEVEL_OPS;
}

graph_run *graph_run_new(gpu *g, const graph_use *uses, uint32_t count, graph_weight_source source, void *user, err *e)
{
    const gpu_info *info = gpu_get_info(g);
    graph_run *r = mem_alloc(sizeof *r);
    *r = (graph_run){.g = g, .tuning = device_profile_for(info), .count = count, .last = NO_PROGRAM};
    r->programs = mem_alloc(count * sizeof *r->programs);
    r->plans = mem_alloc(count * sizeof(plan *));
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = graph_ok(uses[i].g, e);
        if (!ok)
            break;
        uint64_t limit = info->max_storage_binding_bytes < UINT32_MAX ? info->max_storage_binding_bytes : UINT32_MAX;
        r->plans[i] = r->programs[i].p = plan_new(uses[i].g, limit);
        fusion_level level = r->programs[i].level = graph_run_level(g, uses[i].level);
        r->plans[i]->unsplit = r->tuning.compile_fast;
        r->plans[i]->no_alias = r->tuning.epoch_bit && level >= LEVEL_TOKEN;
        plan_fuse(r->plans[i], level);
        ok = lower_possible(r->plans[i], e);
    }
    r->m = ok ? memory_new(g, r->plans, count, e) : NULL;
    ok = r->m != NULL;
    uint32_t threads = r->tuning.row_threads;
    /* Kernels compile while weights are read. One dispatch is tried, which takes weights. */
    for (uint32_t i = 0; ok && i < count; i++)
        ok = uses[i].later || r->programs[i].level >= LEVEL_TOKEN || make_separate(r, i, e);
    ok = ok && memory_upload(r->m, source, user, e);
    for (uint32_t i = 0; ok && i < count; i++)
        ok = r->programs[i].level < LEVEL_TOKEN || uses[i].later ||
             (uses[i].compile_in_background && compile_ahead(r, i)) || make_megakernel(r, i, e);
    for (uint32_t i = 0; i < count; i++)
        if (uses[i].level == LEVEL_AUTO && !r->programs[i].megakernel && !r->programs[i].is_compiling)
            r->programs[i].level = LEVEL_OPS;
    ok = ok && (r->tuning.row_threads == threads || make_separate_again(r, e));
    if (ok && gpu_ok(g, e) && (r->tuning.compile_fast || gpu_wait(g, e)))
        return r;
    graph_run_free(r);
    return NULL;
}

void graph_run_free(graph_run *r)
{
    if (!r)
        return;
    free_kernels(r);
    for (uint32_t i = 0; i < r->count; i++) {
        program *p = &r->programs[i];
        free_dispatches(p);
        megakernel_free(p->megakernel);
        free(p->phase_steps);
        free(p->phase_kernels);
        plan_free(p->p);
    }
    memory_free(r->m);
    free(r->programs);
    free(r->plans);
    free(r);
}

/* ---- inputs and outputs ----------------------------------------------------------- */

graph_place graph_run_place(const graph_run *r, const char *name)
{
    graph_place p = {0};
    if (!memory_find(r->m, name, &p.word, &p.words))
        p.words = 0;
    return p;
}

void graph_run_put(graph_run *r, graph_place to, const void *elements, uint64_t count)
{
    gpu_write(r->g, memory_activations(r->m), (uint64_t)to.word * 4, elements, count * 4);
}

bool graph_run_get(graph_run *r, graph_place from, uint64_t first, uint64_t count, void *elements, err *e)
{
    return gpu_read_now(r->g, memory_activations(r->m), (from.word + first) * 4, elements, count * 4, e);
}

void graph_run_get_later(graph_run *r, graph_place from, uint64_t first, uint64_t count, void *elements, gpu_done done,
                         void *user)
{
    gpu_read(r->g, memory_activations(r->m), (from.word + first) * 4, elements, count * 4, done, user);
}

bool graph_run_write(graph_run *r, const char *input, const void *elements, err *e)
{
    graph_place p = graph_run_place(r, input);
    if (!p.words)
        return err_set(e, "there is no input %s", input);
    graph_run_put(r, p, elements, p.words);
    return gpu_ok(r->g, e);
}

bool graph_run_read(graph_run *r, const char *output, void *elements, err *e)
{
    graph_place p = graph_run_place(r, output);
    if (!p.words)
        return err_set(e, "there is no output %s", output);
    return graph_run_get(r, p, 0, p.words, elements, e);
}

/* ---- running ---------------------------------------------------------------------- */

static void record_dispatch(gpu_recording *recording, const run_dispatch *s)
{
    uint32_t x = s->groups < WIDEST_GRID ? s->groups : WIDEST_GRID;
    gpu_set_kernel(recording, s->kernel);
    gpu_set_bindings(recording, s->bindings);
    gpu_dispatch(recording, x, (s->groups + x - 1) / x, 1);
}

/* A recording for each dispatch. */
static void run_apart(graph_run *r, const program *p, bool wait)
{
    err unused = {0}; /* the device keeps it */
    for (uint32_t i = 0; i < p->dispatch_count; i++) {
        gpu_recording *recording = gpu_record(r->g, false);
        gpu_pass_begin(recording, NULL, 0);
        record_dispatch(recording, &p->dispatches[i]);
        gpu_pass_end(recording);
        gpu_submit(r->g, gpu_finish(recording));
        if (wait && !gpu_wait(r->g, &unused))
            return;
    }
}

void graph_run_once(graph_run *r, uint32_t which, submit_policy submit)
{
    const program *p = &r->programs[which];
    err why = {0};
    if (!p->dispatches && !make_separate(r, which, &why))
        gpu_fail(r->g, "%s", why.text);
    if (p->megakernel && r->last != which)
        megakernel_forget(p->megakernel);
    r->last = which;
    if (submit == SUBMIT_SYNC || submit == SUBMIT_EACH) {
        run_apart(r, p, submit == SUBMIT_SYNC);
        return;
    }
    gpu_recording *recording = gpu_record(r->g, false);
    for (uint32_t i = 0; i < p->dispatch_count; i++) {
        if (i == 0 || submit == SUBMIT_PASS)
            gpu_pass_begin(recording, NULL, 0);
        record_dispatch(recording, &p->dispatches[i]);
        if (i + 1 == p->dispatch_count || submit == SUBMIT_PASS)
            gpu_pass_end(recording);
    }
    gpu_submit(r->g, gpu_finish(recording));
}

static bool time_dispatches(graph_run *r, const program *p, gpu_timer **timers, double *ns, bool first, err *e)
{
    gpu_recording *recording = gpu_record(r->g, false);
    for (uint32_t i = 0; i < p->dispatch_count; i++) {
        gpu_pass_begin(recording, timers[i], GPU_TIME_BEGIN | GPU_TIME_END);
        record_dispatch(recording, &p->dispatches[i]);
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

/* The megakernel dispatch, without any phases' work, and without that of each kernel: the shortest of each. */
/* Times of one dispatch, ns: as it is; with barriers between all phases; and so without each kernel. */
typedef struct kind_times {
    double as_it_is, all, without[MEGAKERNEL_MAX_KERNELS];
} kind_times;

static double *time_of(kind_times *t, int kind)
{
    switch (kind) {
    case MEGAKERNEL_ALL_KERNELS: return &t->as_it_is;
    case MEGAKERNEL_NO_KERNEL: return &t->all;
    default: return &t->without[kind];
    }
}

static bool time_kinds(graph_run *r, const program *p, uint32_t times, gpu_timer **timers, kind_times *t, err *e)
{
    bool ok = true;
    for (uint32_t k = 0; ok && k < times; k++)
        for (int kind = MEGAKERNEL_ALL_KERNELS; ok && kind < megakernel_kernel_count(p->megakernel); kind++) {
            double *ns = time_of(t, kind);
            megakernel_leave_out(p->megakernel, kind);
            /* What is left of runs without some kernels may look as if it were of this one: once for nothing. */
            ok = (kind != MEGAKERNEL_ALL_KERNELS || time_dispatches(r, p, timers, &(double){0}, true, e)) &&
                 time_dispatches(r, p, timers, ns, k == 0, e);
        }
    megakernel_leave_out(p->megakernel, MEGAKERNEL_ALL_KERNELS);
    return ok;
}

/* A phase takes what is saved by leaving out its kernel. */
static bool profile_one(graph_run *r, const program *p, uint32_t times, gpu_timer **timers, double *ns,
                        double *megakernel, err *e)
{
    kind_times t = {0};
    uint32_t phases = megakernel_phase_count(p->megakernel);
    bool ok = time_kinds(r, p, times, timers, &t, e);
    for (uint32_t i = 0; ok && i < phases; i++) {
        uint32_t alike = 0;
        int kind = megakernel_kernel_of(p->megakernel, i);
        for (uint32_t k = 0; k < phases; k++)
            alike += megakernel_kernel_of(p->megakernel, k) == kind;
        ns[i] = t.all > t.without[kind] ? (t.all - t.without[kind]) / alike : 0;
    }
    *megakernel = t.as_it_is;
    return ok;
}

bool graph_run_profile(graph_run *r, uint32_t which, uint32_t times, double *ns, double *whole_ns, err *e)
{
    const program *p = &r->programs[which];
    double unused = 0;
    gpu_timer **timers = mem_alloc((p->dispatch_count + 1) * sizeof *timers);
    for (uint32_t i = 0; i < p->dispatch_count; i++)
        timers[i] = gpu_timer_new(r->g);
    bool ok = true;
    if (p->megakernel)
        ok = profile_one(r, p, times, timers, ns, whole_ns ? whole_ns : &unused, e);
    r->last = NO_PROGRAM;
    for (uint32_t k = 0; !p->megakernel && ok && k < times; k++)
        ok = time_dispatches(r, p, timers, ns, k == 0, e);
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
    const run_dispatch *s = &p->dispatches[p->megakernel ? 0 : i];
    graph_dispatch d = {.step = p->megakernel ? p->phase_steps[i] : s->step, .groups = s->groups};
    memcpy(d.kernel, p->megakernel ? p->phase_kernels[i] : s->name, sizeof d.kernel);
    return d;
}

void graph_run_set_rounds(graph_run *r, uint32_t which, uint32_t rounds)
{
    if (r->programs[which].megakernel)
        megakernel_set_rounds(r->programs[which].megakernel, rounds);
}

bool graph_run_is_compiling(const graph_run *r, uint32_t which)
{
    return r->programs[which].is_compiling;
}

const char *graph_run_why_not(const graph_run *r, uint32_t which)
{
    return r->programs[which].why_not.text;
}

bool graph_run_possible(const graph_run *r, uint32_t which, err *e)
{
    const program *p = &r->programs[which];
    return p->level < LEVEL_TOKEN || p->megakernel || err_set(e, "one dispatch cannot be had: %s", p->why_not.text);
}

one *graph_run_megakernel(const graph_run *r, uint32_t which)
{
    return r->programs[which].megakernel;
}

uint32_t graph_run_dispatches(const graph_run *r, uint32_t which)
{
    return r->programs[which].dispatch_count;
}

const plan *graph_run_plan(const graph_run *r, uint32_t which)
{
    return r->programs[which].p;
}

uint64_t graph_run_bytes(const graph_run *r)
{
    return memory_bytes(r->m);
}
