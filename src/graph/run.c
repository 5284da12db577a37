/* Building the runs of graphs: plans, memory, kernels and dispatches; inputs and outputs; running. */
#include "base/str.h"
#include "graph/run_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)GRAPH_LEAST_ROUNDS == (int)AUTOTUNE_LEAST_ROUNDS &&
                   (int)GRAPH_MOST_ROUNDS == (int)AUTOTUNE_MOST_ROUNDS,
               "the same");

/* ---- the megakernel --------------------------------------------------------------- */

static megakernel_source source_of(const graph_run *r, uint32_t which)
{
    return (megakernel_source){.g = r->g, .profile = &r->profile, .m = r->m, .which_plan = which, .p = r->plans[which]};
}

/* Sets the inputs on which the time of a run depends, while forms are compared. */
static void put_tuning_hints(graph_run *r, uint32_t which, bool hints)
{
    const graph *g = r->plans[which]->g;
    for (node i = 1; i <= graph_count(g); i++) {
        const graph_node *n = graph_at(g, i);
        if (n->op == OP_INPUT && n->as.tuning_hint)
            graph_run_put(r, graph_run_place(r, n->name), hints ? &n->as.tuning_hint : &(uint32_t){0}, 1);
    }
}

/* The megakernel is there, or it is not possible (too many buffers, say, or a kernel too large), which is no failure. */
static void take_megakernel(graph_run *r, program *p, megakernel *made)
{
    autotune_free(p->tuning);
    p->tuning = NULL;
    p->megakernel = made;
    r->tuned = true;
    r->last = RUN_NO_PROGRAM;
    if (!made) {
        gpu_take_error(r->g, NULL);
        return;
    }
    p->dispatches = mem_alloc(sizeof *p->dispatches);
    p->dispatches[0] =
        (submit_dispatch){megakernel_kernel(made), megakernel_bindings(made), megakernel_form(made)->groups, 0};
    p->dispatch_count = 1;
}

/* Waits for the compiler. Timing leaves zeros in states and inputs. */
static bool finish_tuning(graph_run *r, uint32_t which, err *e)
{
    program *p = &r->programs[which];
    autotune_wait(p->tuning);
    while (autotune_go_on(p->tuning, 0) == AUTOTUNE_COMPILING)
        ;
    put_tuning_hints(r, which, true);
    while (autotune_go_on(p->tuning, AUTOTUNE_MOST_ROUNDS) != AUTOTUNE_OVER)
        ;
    put_tuning_hints(r, which, false);
    if (autotune_has_timed(p->tuning))
        memory_clear_states(r->m);
    take_megakernel(r, p, autotune_take(p->tuning, &r->form, &p->why_not));
    return gpu_ok(r->g, e);
}

static void begin_tuning(graph_run *r, uint32_t which, bool in_background)
{
    megakernel_source from = source_of(r, which);
    r->programs[which].tuning = autotune_new(&from, &r->form, in_background);
    r->programs[which].in_background = in_background;
}

static bool make_megakernel(graph_run *r, uint32_t which, err *e)
{
    program *p = &r->programs[which];
    megakernel_source from = source_of(r, which);
    if (!gpu_ok(r->g, e))
        return false;
    if (p->tuning || !r->tuned) {
        if (!p->tuning)
            begin_tuning(r, which, false);
        return finish_tuning(r, which, e);
    }
    take_megakernel(r, p, megakernel_new(&from, &r->form, &p->why_not));
    return gpu_ok(r->g, e);
}

/* One thing at a time, since checking the texts of kernels takes this thread some time: the kernels for later, then the
 * megakernel, which takes longest. */
static void begin_next(graph_run *r, uint32_t which)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (run_compiles_ahead(r) && r->programs[i].is_later && !r->programs[i].is_begun &&
            r->programs[i].level < LEVEL_TOKEN) {
            run_compile_ahead(r, i, false);
            return;
        }
    r->programs[which].waits_to_tune = false;
    begin_tuning(r, which, true);
}

graph_compile graph_run_go_on(graph_run *r, uint32_t which, uint32_t rounds)
{
    static const graph_compile states[] = {
        [AUTOTUNE_COMPILING] = GRAPH_COMPILING, [AUTOTUNE_TIMING] = GRAPH_TIMING, [AUTOTUNE_OVER] = GRAPH_COMPILED};
    program *p = &r->programs[which];
    if (!p->tuning && !p->waits_to_tune)
        return GRAPH_COMPILED;
    if (!gpu_ok(r->g, NULL)) /* whoever waits for the device has to see that error */
        return GRAPH_COMPILING;
    if (p->waits_to_tune) {
        begin_next(r, which);
        return GRAPH_COMPILING;
    }
    autotune_state state = autotune_go_on(p->tuning, rounds);
    if (state == AUTOTUNE_OVER)
        take_megakernel(r, p, autotune_take(p->tuning, &r->form, &p->why_not));
    return states[state];
}

bool graph_run_finish_compile(graph_run *r, uint32_t which, err *e)
{
    while (gpu_ok(r->g, NULL) && r->programs[which].waits_to_tune)
        begin_next(r, which);
    return gpu_ok(r->g, e) && (!r->programs[which].tuning || finish_tuning(r, which, e)) && gpu_wait(r->g, e);
}

/* ---- all of it ---------------------------------------------------------------------- */

fusion_level graph_run_level(const gpu *g, fusion_level wanted)
{
    const gpu_info *info = gpu_get_info(g);
    if (wanted != LEVEL_AUTO)
        return wanted;
    return info->has_wgsl && info->type != GPU_TYPE_SOFTWARE ? LEVEL_LOOP : LEVEL_OPS;
}

static bool make_plans(graph_run *r, const graph_use *uses, err *e)
{
    const gpu_info *info = gpu_get_info(r->g);
    uint64_t limit = info->max_storage_binding_bytes < UINT32_MAX ? info->max_storage_binding_bytes : UINT32_MAX;
    for (uint32_t i = 0; i < r->count; i++) {
        if (!graph_ok(uses[i].g, e))
            return false;
        plan *p = r->plans[i] = r->programs[i].p = plan_new(uses[i].g, limit);
        fusion_level level = r->programs[i].level = graph_run_level(r->g, uses[i].level);
        r->programs[i].is_later = uses[i].later;
        p->unsplit = r->profile.compile_fast;
        p->shares_k = r->profile.shares_k;
        p->no_alias = r->profile.epoch_bit && level >= LEVEL_TOKEN;
        plan_fuse(p, level);
        if (!lower_possible(p, e))
            return false;
    }
    return true;
}

static bool make_all_separate(graph_run *r, const graph_use *uses, err *e)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->count; i++)
        ok = uses[i].later || r->programs[i].level >= LEVEL_TOKEN || run_make_separate(r, i, e);
    return ok;
}

static void compile_all_ahead(graph_run *r, const graph_use *uses, bool later, bool text_waits)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (uses[i].later == later && r->programs[i].level < LEVEL_TOKEN)
            run_compile_ahead(r, i, text_waits);
}

/* Where the device compiles in the background, kernels do so while weights are read: the megakernel, which takes longest,
 * and on GPUs all others at the same time; but where text is to appear first, what makes it. (In software the few that
 * there are compile before, and when they first run.) What is left of the megakernel comes last, since autotuning runs
 * it; or later, in the background. */
static bool make_programs(graph_run *r, const graph_use *uses, graph_weight_source source, void *user, err *e)
{
    bool ahead = gpu_get_info(r->g)->can_compile_ahead, all_ahead = run_compiles_ahead(r);
    uint32_t tuned = 0; /* others have its form */
    while (tuned < r->count && (r->programs[tuned].level < LEVEL_TOKEN || uses[tuned].later))
        tuned++;
    bool tunes = ahead && tuned < r->count, text_first = tunes && uses[tuned].compile_in_background;
    if (tunes && !text_first)
        begin_tuning(r, tuned, false);
    if (text_first) { /* the kernels that begin the text have the threads that the megakernel will have */
        megakernel_source from = source_of(r, tuned);
        autotune_recall_threads(&from, &r->form);
    }
    if (all_ahead)
        compile_all_ahead(r, uses, false, text_first);
    if (all_ahead && !text_first)
        compile_all_ahead(r, uses, true, false);
    bool ok = (all_ahead || make_all_separate(r, uses, e)) && memory_upload(r->m, source, user, e) &&
              (!all_ahead || make_all_separate(r, uses, e));
    if (ok && text_first) { /* libraries compile in the order in which they are asked */
        r->programs[tuned].in_background = r->programs[tuned].waits_to_tune = true;
        while (!uses[tuned].after_first && r->programs[tuned].waits_to_tune)
            begin_next(r, tuned);
    }
    uint32_t threads = r->form.row_threads;
    for (uint32_t i = 0; ok && i < r->count; i++)
        ok = r->programs[i].level < LEVEL_TOKEN || uses[i].later || r->programs[i].in_background ||
             make_megakernel(r, i, e);
    for (uint32_t i = 0; i < r->count; i++)
        if (uses[i].level == LEVEL_AUTO && !r->programs[i].megakernel && !graph_run_is_compiling(r, i))
            r->programs[i].level = LEVEL_OPS;
    return ok && (r->form.row_threads == threads || run_make_separate_again(r, e));
}

graph_run *graph_run_new(gpu *g, const graph_use *uses, uint32_t count, graph_weight_source source, void *user, err *e)
{
    graph_run *r = mem_alloc(sizeof *r);
    *r = (graph_run){.g = g, .profile = device_profile_for(gpu_get_info(g)), .count = count, .last = RUN_NO_PROGRAM};
    r->form.row_threads = r->profile.row_threads;
    r->programs = mem_alloc(count * sizeof *r->programs);
    r->plans = mem_alloc(count * sizeof(plan *));
    bool ok = make_plans(r, uses, e);
    r->m = ok ? memory_new(g, r->plans, count, e) : NULL;
    if (r->m)
        run_fit_workgroup_memory(r);
    ok = r->m && make_programs(r, uses, source, user, e);
    if (ok && gpu_ok(g, e) && (r->profile.compile_fast || gpu_wait(g, e)))
        return r;
    graph_run_free(r);
    return NULL;
}

void graph_run_free(graph_run *r)
{
    if (!r)
        return;
    run_free_kernels(r);
    for (uint32_t i = 0; i < r->count; i++) {
        program *p = &r->programs[i];
        run_free_dispatches(p);
        autotune_free(p->tuning);
        megakernel_free(p->megakernel);
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

bool graph_run_once(graph_run *r, uint32_t which, submit_policy submit)
{
    program *p = &r->programs[which];
    err why = {0};
    if (!p->dispatches && p->is_later && !p->is_begun && run_compiles_ahead(r))
        run_compile_ahead(r, which, true);
    if (!p->dispatches && !run_make_separate(r, which, &why)) {
        if (why.kind == ERR_NONE)
            return false;
        gpu_fail(r->g, "%s", why.text);
    }
    if (p->megakernel && r->last != which)
        megakernel_forget(p->megakernel);
    r->last = which;
    submit_work work = {.g = r->g, .dispatches = p->dispatches, .count = p->dispatch_count};
    if (r->stop.is_asked)
        return submit_in_pieces(&work, submit, &r->stop, &r->piece);
    submit_all(&work, submit, &why); /* a wait that fails leaves its error on the device */
    return true;
}

bool graph_run_wait(graph_run *r, uint32_t which, err *e)
{
    megakernel *mega = r->programs[which].megakernel;
    bool timed_out = false;
    if (!gpu_ok(r->g, e) || !gpu_wait(r->g, e) || (mega && !megakernel_timed_out(mega, &timed_out, e)))
        return false;
    return !timed_out ||
           err_set(e,
                   "the workgroups of one dispatch timed out waiting for each other: the level ops has no such waits");
}

void graph_run_stop_when(graph_run *r, submit_stop stop)
{
    enum { FIRST_PIECE = 8 }; /* dispatches, on a device that is not known yet */
    r->stop = stop;
    r->piece = r->piece ? r->piece : FIRST_PIECE;
}

void graph_run_set_rounds(graph_run *r, uint32_t which, uint32_t rounds)
{
    if (r->programs[which].megakernel)
        megakernel_set_rounds(r->programs[which].megakernel, rounds);
}

bool graph_run_is_compiling(const graph_run *r, uint32_t which)
{
    return r->programs[which].tuning || r->programs[which].waits_to_tune;
}

const char *graph_run_why_not(const graph_run *r, uint32_t which)
{
    return r->programs[which].why_not.text;
}

bool graph_run_possible(const graph_run *r, uint32_t which, err *e)
{
    const program *p = &r->programs[which];
    return p->level < LEVEL_TOKEN || p->megakernel || err_set(e, "one dispatch is not possible: %s", p->why_not.text);
}

megakernel *graph_run_megakernel(const graph_run *r, uint32_t which)
{
    return r->programs[which].megakernel;
}

fusion_level graph_run_level_of(const graph_run *r, uint32_t which)
{
    return r->programs[which].level;
}

const memory *graph_run_memory(const graph_run *r)
{
    return r->m;
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
