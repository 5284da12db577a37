/* run: compiles the kernels of a simulation, runs all steps in several dispatches, and waits for them. */
#include "base/clock.h"
#include "base/str.h"
#include "launch/chunk.h"
#include "sim/sim_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMEOUT_S = 60 };

_Static_assert(sizeof(sim_params) == 24 * sizeof(uint32_t), "words, as in run.wgsl");

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
                                    {.buffer = s->grid},          {.buffer = s->shared}};
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
    gpu_write(s->g, s->params_buffer, 0, &s->params, sizeof s->params);
}

submit_dispatch sim_dispatch_all(const sim *s, const sim_kernel *k, uint32_t times)
{
    return (submit_dispatch){k->kernel, k->bindings, (s->options.population + k->threads - 1) / k->threads, times - 1};
}

void sim_launch_all(const sim *s, const sim_kernel *k)
{
    submit_dispatch d = sim_dispatch_all(s, k, 1);
    gpu_recording *r = gpu_record(s->g, false);
    gpu_pass_begin(r, NULL, 0);
    submit_record(r, &d);
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

/* Waits with a watchdog, since a user's step may never end. The longer it takes, the less often it polls. */
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
                           "longer than --timeout",
                           s->source->path, s->params.steps, timeout_s);
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

static void report_progress(const sim *s, uint32_t step)
{
    if (s->progress)
        s->progress(s->progress_user, step);
}

/* Runs some steps at the level, and waits for them. */
typedef bool (*stepper)(sim *s, uint32_t from, uint32_t count, submit_policy submit, err *e);

static bool run_fused(sim *s, uint32_t from, uint32_t count, submit_policy submit, err *e)
{
    (void)submit;
    s->params.step = from;
    s->params.steps = count;
    sim_write_params(s);
    if (s->source->is_coupled)
        return sim_run_persistent(s, &s->coupled, e);
    sim_launch_all(s, &s->fused);
    return sim_wait(s, e);
}

static bool wait_for_sim(void *user, err *e)
{
    return sim_wait(user, e);
}

static bool run_separate(sim *s, uint32_t from, uint32_t count, submit_policy submit, err *e)
{
    submit_dispatch dispatches[3];
    uint32_t kinds = 0;
    s->params.step = from;
    s->params.steps = submit == SUBMIT_SYNC ? 1 : count;
    sim_write_params(s);
    if (s->params.begins)
        dispatches[kinds++] = sim_dispatch_all(s, &s->first, 1);
    if (count)
        dispatches[kinds++] = sim_dispatch_all(s, &s->each, count);
    if (s->params.scores)
        dispatches[kinds++] = sim_dispatch_all(s, &s->last, 1);
    submit_work work = {.g = s->g, .dispatches = dispatches, .count = kinds, .wait = wait_for_sim, .user = s};
    return submit_all(&work, submit, e) && (submit == SUBMIT_SYNC || sim_wait(s, e));
}

/* Runs all steps, in as few dispatches as chunk_ms allows. */
static bool run_in_pieces(sim *s, stepper run, double *step_ns, submit_policy submit, err *e)
{
    uint32_t total = s->options.steps, at = 0;
    bool must_time = s->options.chunk_ms && *step_ns == 0;
    s->is_stopped = false;
    s->params.begins = 1;
    s->params.scores = 0;
    /* on some devices the first launch compiles: it makes no step, and the second makes one to time it */
    if (must_time && total > 1) {
        if (!run(s, 0, 0, submit, e))
            return false;
        s->params.begins = 0;
    }
    while (at < total || s->params.begins) {
        uint32_t count =
            must_time && at == 0 ? total > 0 : chunk_steps(s->options.chunk_ms, *step_ns, total - at, s->groups.count);
        s->params.scores = at + count == total;
        double began = clock_us();
        if (!run(s, at, count, submit, e))
            return false;
        if (count)
            *step_ns = (clock_us() - began) * 1e3 / count;
        s->params.begins = 0;
        at += count;
        report_progress(s, at);
        if (s->is_stopped && at < total)
            return err_set(e, "%s: the run was stopped after step %u", s->source->path, at);
    }
    s->at = total;
    return true;
}

static bool make_separate(sim *s, err *e)
{
    sim_text_choice c = {.form = SIM_TEXT_EACH, .threads = SIM_THREADS};
    return sim_kernel_make(s, &s->first, &c, "solo_first", e) && sim_kernel_make(s, &s->each, &c, "solo_each", e) &&
           sim_kernel_make(s, &s->last, &c, "solo_last", e);
}

/* Smaller workgroups spread few individuals over more of a GPU. */
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
    return sim_make_persistent(s, &s->coupled, SIM_TEXT_COUPLED, e);
}

bool sim_run_generation(sim *s, fusion_level level, submit_policy submit, err *e)
{
    if (sim_is_cuda(s) && level == LEVEL_NONE)
        return err_set_kind(e, ERR_USAGE, "the CUDA control makes all steps in one dispatch (--fuse loop)");
    bool separate = level == LEVEL_NONE || (s->source->is_coupled && s->timed_out);
    if (!separate) {
        err why = {0};
        if (make_fused(s, &why) && run_in_pieces(s, run_fused, &s->step_ns[0], submit, &why))
            return true;
        if (!s->source->is_coupled || !s->timed_out)
            return err_set_kind(e, why.kind, "%s", why.text);
        snprintf(s->notice, sizeof s->notice, "%s: a dispatch for each step, since %.180s", s->source->path, why.text);
    }
    return make_separate(s, e) && run_in_pieces(s, run_separate, &s->step_ns[1], submit, e);
}

bool sim_run(sim *s, fusion_level level, submit_policy submit, err *e)
{
    gpu_write(s->g, s->grid, 0, (uint32_t[SIM_GRID_WORDS]){0}, SIM_GRID_WORDS * 4);
    s->params.seed = s->options.seed;
    return sim_run_generation(s, level, submit, e);
}

/* ---- step by step ---------------------------------------------------------------------------- */

bool sim_begin(sim *s, uint32_t seed, err *e)
{
    if (sim_is_cuda(s) || s->options.trace_count || s->options.evolves)
        return err_set_kind(e, ERR_USAGE, "%s: steps are not made one by one in CUDA, with traces or in evolution",
                            s->source->path);
    gpu_write(s->g, s->grid, 0, (uint32_t[SIM_GRID_WORDS]){0}, SIM_GRID_WORDS * 4);
    s->params.seed = seed;
    s->params.begins = s->params.scores = 1;
    s->at = 0;
    return make_fused(s, e) && run_fused(s, 0, 0, SUBMIT_BATCH, e);
}

bool sim_advance(sim *s, uint32_t count, err *e)
{
    if (count > UINT32_MAX - s->at)
        return err_set_kind(e, ERR_USAGE, "%s: more than %u steps", s->source->path, UINT32_MAX);
    s->params.begins = 0;
    s->params.scores = 1;
    if (!run_fused(s, s->at, count, SUBMIT_BATCH, e))
        return false;
    s->at += count;
    return true;
}

void sim_skip_watchdog(sim *s)
{
    s->skips_watchdog = true;
}
