#include "graph/run.h"
#include "base/str.h"
#include "graph/one_text.h"
#include "graph/tell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDEST_GRID = 32768, /* workgroups in x; more go to y */
    MAX_KERNELS = 64,
    BINDINGS = 5,
};

typedef struct made_kernel {
    kernel_variant variant;
    gpu_kernel *kernel;
} made_kernel;

/* One dispatch. */
typedef struct shot {
    gpu_kernel *kernel; /* shared: the run frees kernels */
    gpu_bindings *bindings;
    uint32_t groups, step;
    char name[48];
} shot;

typedef struct program {
    plan *p;
    fusion_level level;
    shot *shots;
    uint32_t shot_count;
    gpu_buffer *arguments;
    gpu_buffer *course; /* of one dispatch: phases, how often */
    uint32_t phases;
} program;

struct graph_run {
    gpu *g;
    tell_tuning tuning;
    program *programs;
    plan **plans;
    uint32_t count;
    memory *m;
    made_kernel kernels[MAX_KERNELS];
    uint32_t kernel_count;
};

/* ---- building ------------------------------------------------------------------ */

static bool same_name(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_variant(const kernel_variant *a, const kernel_variant *b)
{
    bool same = same_name(a->name, b->name) && same_name(a->type, b->type) && a->subgroup == b->subgroup;
    for (int i = 0; same && i < KERNEL_MAX_CONSTANTS; i++)
        same = same_name(a->constants[i].name, b->constants[i].name) && a->constants[i].value == b->constants[i].value;
    return same;
}

/* Makes a kernel that the run frees; NULL if there are too many. */
static gpu_kernel *keep_kernel(graph_run *r, const kernel_variant *v, gpu_source *source, gpu_kernel_desc desc, err *e)
{
    if (r->kernel_count == MAX_KERNELS) {
        kernel_text_free(source);
        err_set(e, "more than %d different kernels are wanted", MAX_KERNELS);
        return NULL;
    }
    desc.source = source;
    desc.entry = "main";
    made_kernel *k = &r->kernels[r->kernel_count++];
    *k = (made_kernel){*v, gpu_kernel_new(r->g, &desc)};
    kernel_text_free(source);
    return k->kernel;
}

static gpu_kernel *kernel_of(graph_run *r, const kernel_variant *v, err *e)
{
    for (uint32_t i = 0; i < r->kernel_count; i++)
        if (same_variant(&r->kernels[i].variant, v))
            return r->kernels[i].kernel;
    gpu_kernel_desc desc = {
        .binding_count = BINDINGS,
        .bindings = {GPU_BIND_UNIFORM, GPU_BIND_READ, GPU_BIND_WRITE, GPU_BIND_WRITE, GPU_BIND_READ}};
    return keep_kernel(r, v, kernel_text(v), desc, e);
}

/* All dispatches of a plan, in order. */
typedef struct telling_list {
    told *items;
    uint32_t *steps; /* [dispatch] the step it belongs to */
    uint32_t count;
} telling_list;

static void free_tellings(telling_list *l)
{
    free(l->items);
    free(l->steps);
}

static bool tell_all(const graph_run *r, uint32_t which, const tell_tuning *tuning, telling_list *l, err *e)
{
    const plan *p = r->plans[which];
    uint32_t capacity = p->count + TELL_MAX;
    *l = (telling_list){mem_alloc(capacity * sizeof *l->items), mem_alloc(capacity * sizeof *l->steps), 0};
    for (uint32_t i = 0; i < p->count; i++) {
        if (capacity - l->count < TELL_MAX) {
            capacity *= 2;
            l->items = mem_grow(l->items, capacity * sizeof *l->items);
            l->steps = mem_grow(l->steps, capacity * sizeof *l->steps);
        }
        uint32_t count = tell_step(tuning, r->m, which, p, &p->steps[i], &l->items[l->count], e);
        if (!count)
            return false;
        for (uint32_t k = 0; k < count; k++)
            l->steps[l->count++] = i;
    }
    return true;
}

static uint64_t argument_slot(const graph_run *r)
{
    uint64_t align = gpu_get_info(r->g)->uniform_align_bytes, bytes = TELL_WORDS * sizeof(uint32_t);
    return align > bytes ? align : (bytes + align - 1) / align * align;
}

static bool add_shot(graph_run *r, program *p, uint32_t step, const told *l, err *e)
{
    shot *s = &p->shots[p->shot_count];
    uint64_t at = p->shot_count * argument_slot(r);
    s->kernel = kernel_of(r, &l->kernel, e);
    if (!s->kernel)
        return false;
    s->groups = l->words[0];
    s->step = step;
    snprintf(s->name, sizeof s->name, "%s%s%s", l->kernel.name, l->kernel.type ? "." : "",
             l->kernel.type ? l->kernel.type : "");
    gpu_write(r->g, p->arguments, at, l->words, sizeof l->words);
    gpu_part parts[BINDINGS] = {{p->arguments, at, sizeof l->words},
                                {.buffer = memory_weights(r->m, l->weight_arena)},
                                {.buffer = memory_activations(r->m)},
                                {.buffer = memory_states(r->m, l->state_arena)},
                                {.buffer = memory_weights(r->m, l->weight_arena)}};
    s->bindings = gpu_bindings_new(r->g, s->kernel, parts, BINDINGS);
    p->shot_count++;
    return true;
}

/* ---- one dispatch ---------------------------------------------------------------- */

enum { ONE_THREADS = 256, ONE_KINDS = 32, KIND_WORD = TELL_WORDS - 1 };

/* The number of a phase's kernel among those of the module; ONE_KINDS if there are too many. */
static uint32_t kind_of(kernel_variant *kinds, uint32_t *count, kernel_variant v)
{
    memset(v.constants, 0, sizeof v.constants);
    v.constants[0] = (kernel_constant){"THREADS", ONE_THREADS};
    uint32_t i = 0;
    while (i < *count && !same_variant(&kinds[i], &v))
        i++;
    if (i == *count && i < ONE_KINDS)
        kinds[(*count)++] = v;
    return i;
}

/* The table of phases: each dispatch's words, and which of the kinds of kernels it is. */
static bool fill_table(const telling_list *l, uint32_t *table, kernel_variant *kinds, uint32_t *kind_count, err *e)
{
    for (uint32_t i = 0; i < l->count; i++, table += TELL_WORDS) {
        if (l->items[i].weight_arena || l->items[i].state_arena)
            return err_set(e, "one dispatch binds one buffer of weights and one of states, and this model has more");
        memcpy(table, l->items[i].words, sizeof l->items[i].words);
        table[KIND_WORD] = kind_of(kinds, kind_count, l->items[i].kernel);
        if (table[KIND_WORD] == ONE_KINDS)
            return err_set(e, "one dispatch of more than %d kernels", ONE_KINDS);
    }
    return true;
}

/* All dispatches of a plan as phases of a single one, by one workgroup. */
static bool make_one(graph_run *r, program *p, const telling_list *l, err *e)
{
    kernel_variant kinds[ONE_KINDS];
    uint32_t kind_count = 0;
    size_t bytes = (size_t)l->count * TELL_WORDS * sizeof(uint32_t);
    uint32_t *table = mem_alloc(bytes);
    gpu_kernel *kernel = NULL;
    if (fill_table(l, table, kinds, &kind_count, e)) {
        gpu_kernel_desc desc = {.workgroup_size = ONE_THREADS,
                                .binding_count = BINDINGS + 1,
                                .bindings = {GPU_BIND_READ, GPU_BIND_READ, GPU_BIND_WRITE, GPU_BIND_WRITE,
                                             GPU_BIND_READ, GPU_BIND_UNIFORM}};
        kernel = keep_kernel(r, &(kernel_variant){.name = "one"}, one_text(kinds, kind_count, TELL_WORDS, KIND_WORD),
                             desc, e);
    }
    if (!kernel) {
        free(table);
        return false;
    }
    p->phases = l->count;
    p->arguments = gpu_buffer_new(r->g, bytes, GPU_USE_STORAGE);
    gpu_write(r->g, p->arguments, 0, table, bytes);
    free(table);
    p->course = gpu_buffer_new(r->g, 16, GPU_USE_UNIFORM);
    gpu_write(r->g, p->course, 0, (uint32_t[]){p->phases, 1, 0, 0}, 16);
    gpu_part parts[BINDINGS + 1] = {
        {.buffer = p->arguments},           {.buffer = memory_weights(r->m, 0)}, {.buffer = memory_activations(r->m)},
        {.buffer = memory_states(r->m, 0)}, {.buffer = memory_weights(r->m, 0)}, {.buffer = p->course}};
    p->shots = mem_alloc(sizeof *p->shots);
    p->shots[0] = (shot){.kernel = kernel, .groups = 1, .name = "one"};
    p->shots[0].bindings = gpu_bindings_new(r->g, kernel, parts, BINDINGS + 1);
    p->shot_count = 1;
    return true;
}

static bool make_many(graph_run *r, program *p, const telling_list *l, err *e)
{
    p->shots = mem_alloc((l->count + 1) * sizeof *p->shots);
    p->arguments = gpu_buffer_new(r->g, argument_slot(r) * (l->count ? l->count : 1), GPU_USE_UNIFORM);
    for (uint32_t i = 0; i < l->count; i++)
        if (!add_shot(r, p, l->steps[i], &l->items[i], e))
            return false;
    return true;
}

static bool make_program(graph_run *r, uint32_t which, err *e)
{
    program *p = &r->programs[which];
    bool one = p->level >= LEVEL_TOKEN;
    tell_tuning tuning = r->tuning;
    if (one)
        tuning.by_shape = false; /* workgroup memory has to be one for all phases */
    telling_list l;
    bool ok = tell_all(r, which, &tuning, &l, e) && (one ? make_one : make_many)(r, p, &l, e);
    free_tellings(&l);
    return ok && gpu_ok(r->g, e);
}

graph_run *graph_run_new(gpu *g, const graph_use *uses, uint32_t count, graph_weight_source source, void *user, err *e)
{
    const gpu_info *info = gpu_get_info(g);
    graph_run *r = mem_alloc(sizeof *r);
    *r = (graph_run){.g = g, .tuning = tell_tuning_for(info), .count = count};
    r->programs = mem_alloc(count * sizeof *r->programs);
    r->plans = mem_alloc(count * sizeof(plan *));
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = graph_ok(uses[i].g, e);
        if (!ok)
            break;
        uint64_t limit = info->max_storage_binding_bytes < UINT32_MAX ? info->max_storage_binding_bytes : UINT32_MAX;
        r->plans[i] = r->programs[i].p = plan_new(uses[i].g, limit);
        r->programs[i].level = uses[i].level;
        plan_fuse(r->plans[i], uses[i].level);
        ok = tell_possible(r->plans[i], e);
    }
    r->m = ok ? memory_new(g, r->plans, count, e) : NULL;
    ok = r->m && memory_upload(r->m, source, user, e);
    for (uint32_t i = 0; ok && i < count; i++)
        ok = make_program(r, i, e);
    if (ok && gpu_wait(g, e))
        return r;
    graph_run_free(r);
    return NULL;
}

void graph_run_free(graph_run *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; i < r->count; i++) {
        program *p = &r->programs[i];
        for (uint32_t k = 0; k < p->shot_count; k++)
            gpu_bindings_free(p->shots[k].bindings);
        gpu_buffer_free(p->arguments);
        gpu_buffer_free(p->course);
        free(p->shots);
        plan_free(p->p);
    }
    for (uint32_t i = 0; i < r->kernel_count; i++)
        gpu_kernel_free(r->kernels[i].kernel);
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

static void shoot(gpu_recording *recording, const shot *s)
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
    for (uint32_t i = 0; i < p->shot_count; i++) {
        gpu_recording *recording = gpu_record(r->g, false);
        gpu_pass_begin(recording, NULL, 0);
        shoot(recording, &p->shots[i]);
        gpu_pass_end(recording);
        gpu_submit(r->g, gpu_finish(recording));
        if (wait && !gpu_wait(r->g, &unused))
            return;
    }
}

void graph_run_once(graph_run *r, uint32_t which, submit_policy submit)
{
    const program *p = &r->programs[which];
    if (submit == SUBMIT_SYNC || submit == SUBMIT_EACH) {
        run_apart(r, p, submit == SUBMIT_SYNC);
        return;
    }
    gpu_recording *recording = gpu_record(r->g, false);
    for (uint32_t i = 0; i < p->shot_count; i++) {
        if (i == 0 || submit == SUBMIT_PASS)
            gpu_pass_begin(recording, NULL, 0);
        shoot(recording, &p->shots[i]);
        if (i + 1 == p->shot_count || submit == SUBMIT_PASS)
            gpu_pass_end(recording);
    }
    gpu_submit(r->g, gpu_finish(recording));
}

bool graph_run_profile(graph_run *r, uint32_t which, uint32_t times, double *ns, err *e)
{
    const program *p = &r->programs[which];
    gpu_timer **timers = mem_alloc((p->shot_count + 1) * sizeof *timers);
    for (uint32_t i = 0; i < p->shot_count; i++)
        timers[i] = gpu_timer_new(r->g);
    bool ok = true;
    for (uint32_t k = 0; ok && k < times; k++) {
        gpu_recording *recording = gpu_record(r->g, false);
        for (uint32_t i = 0; i < p->shot_count; i++) {
            gpu_pass_begin(recording, timers[i], GPU_TIME_BEGIN | GPU_TIME_END);
            shoot(recording, &p->shots[i]);
            gpu_pass_end(recording);
        }
        gpu_submit(r->g, gpu_finish(recording));
        ok = gpu_wait(r->g, e);
        for (uint32_t i = 0; ok && i < p->shot_count; i++) {
            double now;
            ok = gpu_timer_read_now(timers[i], &now, e);
            ns[i] = k == 0 || now < ns[i] ? now : ns[i];
        }
    }
    for (uint32_t i = 0; i < p->shot_count; i++)
        gpu_timer_free(timers[i]);
    free(timers);
    return ok;
}

graph_dispatch graph_run_dispatch(const graph_run *r, uint32_t which, uint32_t i)
{
    const shot *s = &r->programs[which].shots[i];
    graph_dispatch d = {.step = s->step, .groups = s->groups};
    memcpy(d.kernel, s->name, sizeof d.kernel);
    return d;
}

void graph_run_set_rounds(graph_run *r, uint32_t which, uint32_t rounds)
{
    program *p = &r->programs[which];
    if (p->course)
        gpu_write(r->g, p->course, 0, (uint32_t[]){p->phases, rounds, 0, 0}, 16);
}

uint32_t graph_run_dispatches(const graph_run *r, uint32_t which)
{
    return r->programs[which].shot_count;
}

const plan *graph_run_plan(const graph_run *r, uint32_t which)
{
    return r->programs[which].p;
}

uint64_t graph_run_bytes(const graph_run *r)
{
    return memory_bytes(r->m);
}
