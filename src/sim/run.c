/* Running a simulation: its kernels, waiting for them, all steps in pieces. */
#include "base/clock.h"
#include "base/str.h"
#include "sim/sim_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    GROUPS_IN_ROW = 32768,
    MOST_IN_BATCH = 4096, /* dispatches of one submit */
    TIMEOUT_S = 60,
};

_Static_assert(sizeof(sim_params) == 20 * sizeof(uint32_t), "words, as in run.wgsl");

/* ---- kernels ----------------------------------------------------------------------------- */

bool sim_is_cuda(const sim *s)
{
    return strcmp(gpu_get_info(s->g)->family, "cuda") == 0;
}

sim_cuda_choice sim_cuda_chosen(void)
{
    const char *how = getenv("SOLO_SIM_CUDA");
    return (sim_cuda_choice){.fast = how && strstr(how, "fast"), .loops = how && strstr(how, "loops")};
}

/* In the language of the device. */
static char *kernel_text(const sim *s, const sim_text_choice *c)
{
    sim_text_choice choice = *c;
    if (sim_is_cuda(s))
        return sim_text_cuda(s->source, sim_cuda_chosen());
    choice.traces = s->options.trace_count > 0;
    choice.own_genes = s->options.steps > 1 && gpu_is_worth_tuning(gpu_get_info(s->g));
    if (s->options.data) {
        choice.data_rows = s->options.data->rows;
        choice.data_columns = s->options.data->columns;
    }
    return sim_text(s->source, &choice);
}

bool sim_kernel_make(sim *s, sim_kernel *k, const sim_text_choice *c, const char *entry, err *e)
{
    if (k->kernel)
        return true;
    char *text = kernel_text(s, c);
    gpu_source source = {.name = s->source->path};
    if (sim_is_cuda(s))
        source.cuda = text;
    else
        source.wgsl = text;
    k->threads = c->threads;
    k->kernel = gpu_kernel_new(
        s->g, &(gpu_kernel_desc){.source = &source,
                                 .entry = entry,
                                 .workgroup_size = c->threads,
                                 .binding_count = SIM_BINDINGS,
                                 .bindings = {GPU_BIND_UNIFORM, GPU_BIND_WRITE, GPU_BIND_WRITE, GPU_BIND_READ,
                                              GPU_BIND_WRITE, GPU_BIND_WRITE, GPU_BIND_WRITE, GPU_BIND_WRITE}});
    gpu_part parts[SIM_BINDINGS] = {{.buffer = s->params_buffer}, {.buffer = s->states},  {.buffer = s->scores},
                                    {.buffer = s->data},          {.buffer = s->genomes}, {.buffer = s->traced},
                                    {.buffer = s->gate},          {.buffer = s->shared}};
    if (gpu_ok(s->g, e))
        k->bindings = gpu_bindings_new(s->g, k->kernel, parts, SIM_BINDINGS);
    free(text);
    if (gpu_ok(s->g, e))
        return true;
    gpu_take_error(s->g, NULL);
    sim_text_error(s->source, e);
    sim_kernel_free(k); /* or it would count as made the next time */
    return false;
}

void sim_kernel_free(sim_kernel *k)
{
    gpu_bindings_free(k->bindings);
    gpu_kernel_free(k->kernel);
    *k = (sim_kernel){0};
}

void sim_write_params(sim *s)
{
    gpu_write(s->g, s->params_buffer, 0, &s->told, sizeof s->told);
}

void sim_dispatch_all(const sim *s, gpu_recording *r, const sim_kernel *k)
{
    uint32_t groups = (s->options.population + k->threads - 1) / k->threads;
    gpu_set_kernel(r, k->kernel);
    gpu_set_bindings(r, k->bindings);
    if (groups <= GROUPS_IN_ROW)
        gpu_dispatch(r, groups, 1, 1);
    else
        gpu_dispatch(r, GROUPS_IN_ROW, (groups + GROUPS_IN_ROW - 1) / GROUPS_IN_ROW, 1);
}

void sim_launch_all(const sim *s, const sim_kernel *k)
{
    gpu_recording *r = gpu_record(s->g, false);
    gpu_pass_begin(r, NULL, 0);
    sim_dispatch_all(s, r, k);
    gpu_pass_end(r);
    gpu_submit(s->g, gpu_finish(r));
}

/* ---- waiting ------------------------------------------------------------------------------ */

typedef struct waiting {
    bool done, ok, abandoned;
} waiting;

static void on_done(void *user, bool ok)
{
    waiting *w = user;
    w->done = true;
    w->ok = ok;
    if (w->abandoned)
        free(w);
}

/* With an eye on the clock: what a file does in a step may never end. The longer it takes, the more seldom it is asked. */
static bool wait_with_timeout(sim *s, err *e)
{
    uint32_t timeout_s = s->options.timeout_s ? s->options.timeout_s : TIMEOUT_S;
    waiting *w = mem_alloc(sizeof *w);
    double began = clock_us();
    gpu_when_done(s->g, on_done, w);
    while (!w->done && gpu_ok(s->g, NULL)) {
        double us = clock_us() - began;
        if (us > timeout_s * 1e6) {
            w->abandoned = s->stuck = true;
            return err_set(e,
                           "%s: a dispatch of %u steps did not end in %u s; a loop that never ends, or steps that take "
                           "longer than --patience",
                           s->source->path, s->told.steps, timeout_s);
        }
        gpu_poll(s->g);
        double pause_us = us < 100 ? 0 : us < 16000 ? us / 16 : 1000;
        if (!w->done && pause_us > 0)
            nanosleep(&(struct timespec){.tv_nsec = (long)(pause_us * 1e3)}, NULL);
    }
    if (!w->done) {
        w->abandoned = true;
        return gpu_ok(s->g, e);
    }
    free(w);
    return gpu_ok(s->g, e);
}

bool sim_wait(sim *s, err *e)
{
    return s->skips_watchdog ? gpu_wait(s->g, e) : wait_with_timeout(s, e);
}

/* ---- running -------------------------------------------------------------------------------- */

uint32_t sim_next_share(const sim *s, double each_ns, uint32_t left)
{
    /* the gate counts every workgroup at every barrier, in 31 bits */
    uint32_t most = (1u << 30) / (s->groups.count ? s->groups.count : 1);
    left = left < most ? left : most;
    if (!s->options.chunk_ms)
        return left;
    double fits = floor(s->options.chunk_ms * 1e6 / each_ns);
    return fits < 1 ? 1 : fits < left ? (uint32_t)fits : left;
}

static void report_progress(const sim *s, uint32_t step)
{
    if (s->progress)
        s->progress(s->progress_user, step);
}

/* Some steps, waited for, at the level's way. */
typedef bool (*stepper)(sim *s, uint32_t from, uint32_t count, submit_policy submit, err *e);

static bool run_fused(sim *s, uint32_t from, uint32_t count, submit_policy submit, err *e)
{
    (void)submit;
    s->told.step = from;
    s->told.steps = count;
    sim_write_params(s);
    if (s->source->is_coupled) {
        sim_launch_together(s, &s->coupled, s->groups.count);
        return sim_passed_gate(s, e);
    }
    sim_launch_all(s, &s->fused);
    return sim_wait(s, e);
}

static bool run_separate(sim *s, uint32_t from, uint32_t count, submit_policy submit, err *e)
{
    bool begins = s->told.begins, ends = s->told.scores;
    uint32_t total = count + begins + ends;
    gpu_recording *r = NULL;
    s->told.step = from;
    s->told.steps = submit == SUBMIT_SYNC ? 1 : count;
    sim_write_params(s);
    for (uint32_t n = 0; n < total; n++) {
        const sim_kernel *k = begins && n == 0 ? &s->first : ends && n == total - 1 ? &s->last : &s->each;
        bool own_submit = submit == SUBMIT_SYNC || submit == SUBMIT_EACH,
             own_pass = own_submit || submit == SUBMIT_PASS;
        bool begins_pass = own_pass || n % MOST_IN_BATCH == 0, last = n == total - 1 || (n + 1) % MOST_IN_BATCH == 0;
        if (!r)
            r = gpu_record(s->g, false);
        if (begins_pass)
            gpu_pass_begin(r, NULL, 0);
        sim_dispatch_all(s, r, k);
        if (own_pass || last)
            gpu_pass_end(r);
        if (own_submit || last) {
            gpu_submit(s->g, gpu_finish(r));
            r = NULL;
        }
        if (submit == SUBMIT_SYNC && !sim_wait(s, e))
            return false;
    }
    return submit == SUBMIT_SYNC || sim_wait(s, e);
}

/* From beginning to end, in as few pieces as the time for one allows. */
static bool run_in_pieces(sim *s, stepper run, double *step_ns, submit_policy submit, err *e)
{
    uint32_t total = s->options.steps, at = 0;
    bool must_time = s->options.chunk_ms && *step_ns == 0;
    s->told.begins = 1;
    s->told.scores = 0;
    /* the first launch compiles, on some devices: it makes no step, and the second makes one to time it */
    if (must_time && total > 1) {
        if (!run(s, 0, 0, submit, e))
            return false;
        s->told.begins = 0;
    }
    while (at < total || s->told.begins) {
        uint32_t count = must_time && at == 0 ? total > 0 : sim_next_share(s, *step_ns, total - at);
        s->told.scores = at + count == total;
        double began = clock_us();
        if (!run(s, at, count, submit, e))
            return false;
        if (count)
            *step_ns = (clock_us() - began) * 1e3 / count;
        s->told.begins = 0;
        at += count;
        report_progress(s, at);
    }
    return true;
}

static bool make_separate(sim *s, err *e)
{
    sim_text_choice c = {.form = SIM_TEXT_EACH, .threads = SIM_THREADS};
    return sim_kernel_make(s, &s->first, &c, "solo_first", e) && sim_kernel_make(s, &s->each, &c, "solo_each", e) &&
           sim_kernel_make(s, &s->last, &c, "solo_last", e);
}

bool sim_make_waiting(sim *s, sim_kernel *k, sim_text_form form, err *e)
{
    enum { SINGLE_THREADS = 256 }; /* of one that is alone: what every device has, or nearly */
    bool single = gpu_get_info(s->g)->type == GPU_TYPE_SOFTWARE && !getenv("SOLO_SIM_GROUPS");
    uint32_t most = gpu_get_info(s->g)->max_workgroup_threads;
    sim_text_choice c = {.form = form,
                         .threads = !single                 ? SIM_THREADS
                                    : most < SINGLE_THREADS ? most
                                                            : SINGLE_THREADS,
                         .single = single};
    if (s->groups.count)
        return true;
    if (!sim_kernel_make(s, k, &c, "solo_all", e))
        return false;
    if (!single)
        return sim_find_groups(s, k, &s->groups, e);
    s->groups = (sim_groups){1, c.threads};
    return true;
}

/* Few individuals are spread over more of a GPU by smaller workgroups. */
static uint32_t threads_of_fused(const sim *s)
{
    enum { FEW = 16384, LEAST = 32 };
    const gpu_info *info = gpu_get_info(s->g);
    bool narrow = !info->has_subgroups || info->subgroup_max <= LEAST;
    return info->type != GPU_TYPE_SOFTWARE && narrow && s->options.population <= FEW ? LEAST : SIM_THREADS;
}

static bool make_fused(sim *s, err *e)
{
    sim_text_choice c = {.form = SIM_TEXT_FUSED, .threads = threads_of_fused(s)};
    if (!s->source->is_coupled)
        return sim_kernel_make(s, &s->fused, &c, "solo_all", e);
    return sim_make_waiting(s, &s->coupled, SIM_TEXT_COUPLED, e);
}

bool sim_run_generation(sim *s, fusion_level level, submit_policy submit, err *e)
{
    if (sim_is_cuda(s) && level == LEVEL_NONE)
        return err_set_kind(e, ERR_USAGE, "the CUDA control makes all steps in one dispatch (--fuse loop)");
    bool separate = level == LEVEL_NONE || (s->source->is_coupled && s->gave_up);
    if (!separate) {
        err why = {0};
        if (make_fused(s, &why) && run_in_pieces(s, run_fused, &s->step_ns[0], submit, &why))
            return true;
        if (!s->source->is_coupled || !s->gave_up)
            return err_set_kind(e, why.kind, "%s", why.text);
        snprintf(s->notice, sizeof s->notice, "%s: a dispatch for each step, since %.180s", s->source->path, why.text);
    }
    return make_separate(s, e) && run_in_pieces(s, run_separate, &s->step_ns[1], submit, e);
}

bool sim_run(sim *s, fusion_level level, submit_policy submit, err *e)
{
    gpu_write(s->g, s->gate, 0, (uint32_t[SIM_GATE_WORDS]){0}, SIM_GATE_WORDS * 4);
    return sim_run_generation(s, level, submit, e);
}

void sim_skip_watchdog(sim *s)
{
    s->skips_watchdog = true;
}
