#include "base/clock.h"
#include "base/str.h"
#include "sim/builtin.h"
#include "sim/inside.h"
#include "sim/threefry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    THREADS = 64,         /* of a workgroup whose threads have nothing to do with each other */
    COUPLED_THREADS = 64, /* of one of several that wait for each other */
    SINGLE_THREADS = 256, /* of one that is alone: what every device has */
    GROUPS_IN_ROW = 32768,
    MOST_IN_BATCH = 4096, /* dispatches of one submit */
    PATIENCE_S = 60,
};

_Static_assert(sizeof(sim_told) == 20 * sizeof(uint32_t), "words, as in run.wgsl");

/* ---- kernels ----------------------------------------------------------------------------- */

static bool is_cuda(const sim *s)
{
    return strcmp(gpu_get_info(s->g)->family, "cuda") == 0;
}

/* In the language of the device. */
static char *kernel_text(const sim *s, const sim_text_choice *c)
{
    sim_text_choice choice = *c;
    const char *how = getenv("SOLO_SIM_CUDA");
    if (is_cuda(s))
        return sim_text_cuda(s->source, how && strcmp(how, "fast") == 0);
    choice.traces = s->options.trace_count > 0;
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
    if (is_cuda(s))
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
    gpu_part parts[SIM_BINDINGS] = {{.buffer = s->told_buffer}, {.buffer = s->states},  {.buffer = s->scores},
                                    {.buffer = s->data},        {.buffer = s->genomes}, {.buffer = s->traced},
                                    {.buffer = s->gate},        {.buffer = s->shared}};
    if (gpu_ok(s->g, e))
        k->bindings = gpu_bindings_new(s->g, k->kernel, parts, SIM_BINDINGS);
    free(text);
    if (gpu_ok(s->g, e))
        return true;
    gpu_take_error(s->g, NULL);
    sim_text_error(s->source, e);
    return false;
}

void sim_kernel_free(sim_kernel *k)
{
    gpu_bindings_free(k->bindings);
    gpu_kernel_free(k->kernel);
    *k = (sim_kernel){0};
}

void sim_tell(sim *s)
{
    gpu_write(s->g, s->told_buffer, 0, &s->told, sizeof s->told);
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
static bool wait_with_patience(sim *s, err *e)
{
    uint32_t patience_s = s->options.patience_s ? s->options.patience_s : PATIENCE_S;
    waiting *w = mem_alloc(sizeof *w);
    double began = clock_us();
    gpu_when_done(s->g, on_done, w);
    while (!w->done && gpu_ok(s->g, NULL)) {
        double us = clock_us() - began;
        if (us > patience_s * 1e6) {
            w->abandoned = s->stuck = true;
            return err_set(e,
                           "%s: a dispatch of %u steps did not end in %u s; a loop that never ends, or steps that take "
                           "longer than --patience",
                           s->source->path, s->told.steps, patience_s);
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
    return s->proven ? gpu_wait(s->g, e) : wait_with_patience(s, e);
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

static void tell_progress(const sim *s, uint32_t step)
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
    sim_tell(s);
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
    sim_tell(s);
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
        tell_progress(s, at);
    }
    return true;
}

static bool make_separate(sim *s, err *e)
{
    sim_text_choice c = {.form = SIM_TEXT_EACH, .threads = THREADS};
    return sim_kernel_make(s, &s->first, &c, "solo_first", e) && sim_kernel_make(s, &s->each, &c, "solo_each", e) &&
           sim_kernel_make(s, &s->last, &c, "solo_last", e);
}

static bool make_fused(sim *s, err *e)
{
    bool single = gpu_get_info(s->g)->type == GPU_TYPE_SOFTWARE && !getenv("SOLO_SIM_GROUPS");
    if (!s->source->is_coupled)
        return sim_kernel_make(s, &s->fused, &(sim_text_choice){.form = SIM_TEXT_FUSED, .threads = THREADS}, "solo_all",
                               e);
    if (s->groups.count)
        return true;
    uint32_t most = gpu_get_info(s->g)->max_workgroup_threads;
    sim_text_choice c = {.form = SIM_TEXT_COUPLED,
                         .threads = !single                 ? COUPLED_THREADS
                                    : most < SINGLE_THREADS ? most
                                                            : SINGLE_THREADS,
                         .single = single};
    if (!sim_kernel_make(s, &s->coupled, &c, "solo_all", e))
        return false;
    if (!single)
        return sim_find_groups(s, &s->coupled, &s->groups, e);
    s->groups = (sim_groups){1, c.threads};
    return true;
}

bool sim_run_generation(sim *s, fusion_level level, submit_policy submit, err *e)
{
    if (is_cuda(s) && level == LEVEL_NONE)
        return err_set_kind(e, ERR_USAGE, "the CUDA control makes all steps in one dispatch (--fuse loop)");
    bool separate = level == LEVEL_NONE || (s->source->is_coupled && s->gave_up);
    if (!separate) {
        err why = {0};
        if (make_fused(s, &why) && run_in_pieces(s, run_fused, &s->step_ns[0], submit, &why))
            return true;
        if (!s->gave_up)
            return err_set_kind(e, why.kind, "%s", why.text);
        snprintf(s->notice, sizeof s->notice, "%s: a dispatch for each step, since %.180s", s->source->path, why.text);
    }
    return make_separate(s, e) && run_in_pieces(s, run_separate, &s->step_ns[1], submit, e);
}

bool sim_run(sim *s, fusion_level level, submit_policy submit, err *e)
{
    gpu_write(s->g, s->gate, 0, (uint32_t[SIM_GATE_WORDS]){0}, SIM_GATE_WORDS * 4);
    bool ok = sim_run_generation(s, level, submit, e);
    s->proven = s->proven || ok;
    return ok;
}

uint32_t sim_population(const sim *s)
{
    return s->options.population;
}

const sim_source *sim_get_source(const sim *s)
{
    return s->source;
}

void sim_set_progress(sim *s, void (*at)(void *user, uint32_t step), void *user)
{
    s->progress = at;
    s->progress_user = user;
}

bool sim_is_stuck(const sim *s)
{
    return s->stuck;
}

bool sim_take_notice(sim *s, char *text, size_t room)
{
    if (!s->notice[0])
        return false;
    snprintf(text, room, "%s", s->notice);
    s->notice[0] = 0;
    return true;
}

/* ---- making it -------------------------------------------------------------------------------- */

uint32_t sim_trace_rows(const sim *s)
{
    return s->options.steps / s->options.trace_every + 1;
}

uint32_t sim_trace_count(const sim *s)
{
    return s->options.trace_count;
}

static uint64_t trace_bytes(const sim *s)
{
    return (uint64_t)sim_trace_rows(s) * s->source->state->words * s->options.trace_count * 4;
}

/* With room for the number of each one's step (each.wgsl). */
static uint64_t states_bytes(const sim_source *source, uint64_t population)
{
    return ((source->is_coupled ? 2 : 1) * (uint64_t)source->state->words + 1) * population * 4;
}

static bool fits(const sim *s, err *e)
{
    const gpu_info *info = gpu_ask_memory(s->g);
    const sim_source *source = s->source;
    uint64_t population = s->options.population, each = states_bytes(source, 1), genes = (uint64_t)source->genes * 4;
    uint64_t binding = info->max_storage_binding_bytes < info->max_buffer_bytes ? info->max_storage_binding_bytes
                                                                                : info->max_buffer_bytes;
    /* genes are there once for their individual, twice for those who choose parents */
    uint64_t times = s->options.evolves ? 2 : 1, all = each + (times > 1 ? 3 : 1) * genes + 8;
    uint64_t largest = each > times * genes ? each : times * genes;
    uint64_t most = binding / largest;
    if (info->memory_free_bytes && info->memory_free_bytes / all < most)
        most = info->memory_free_bytes / all;
    if (population > most)
        return err_set(e,
                       "a population of %llu is too large for %s: an individual takes %llu bytes, and %llu of them is "
                       "what fits",
                       (unsigned long long)population, info->device, (unsigned long long)all, (unsigned long long)most);
    uint64_t trace = s->options.trace_count ? trace_bytes(s) : 0;
    if (trace > binding)
        return err_set(e, "a trace of %llu bytes is too large for %s (%llu): fewer individuals, or not every step",
                       (unsigned long long)trace, info->device, (unsigned long long)binding);
    uint64_t data = s->options.data ? (uint64_t)s->options.data->rows * s->options.data->columns * 4 : 0;
    if (data > binding)
        return err_set(e, "data of %llu bytes are too large for %s (%llu)", (unsigned long long)data, info->device,
                       (unsigned long long)binding);
    return true;
}

static bool check_options(const sim *s, err *e)
{
    const gpu_info *info = gpu_get_info(s->g);
    const sim_source *source = s->source;
    if (!is_cuda(s) && strcmp(info->family, "dawn") != 0 && strcmp(info->family, "wgpu") != 0)
        return err_set_kind(e, ERR_USAGE, "simulations are compiled from WGSL, which %s does not do (dawn and wgpu do)",
                            info->impl);
    if (is_cuda(s) && (!sim_builtin_cuda(source->path) || s->options.trace_count || s->options.evolves))
        return err_set_kind(e, ERR_USAGE,
                            "in CUDA there are only acrobot, finance and rastrigin, written by hand, as controls: all "
                            "steps in one dispatch, without traces and evolution");
    if (source->uses_data && !s->options.data)
        return err_set_kind(e, ERR_USAGE, "%s reads data: give it a table (--data FILE.csv)", source->path);
    if (s->options.population == 0)
        return err_set_kind(e, ERR_USAGE, "a population of 0 simulates nothing");
    return fits(s, e);
}

static gpu_buffer *storage(gpu *g, uint64_t bytes)
{
    return gpu_buffer_new(g, bytes ? bytes : 4, GPU_USE_STORAGE);
}

static void make_buffers(sim *s)
{
    const sim_options *o = &s->options;
    const table *data = o->data;
    uint64_t genes = (uint64_t)s->source->genes * o->population * 4;
    s->told_buffer = gpu_buffer_new(s->g, sizeof s->told, GPU_USE_UNIFORM);
    s->states = storage(s->g, states_bytes(s->source, o->population));
    s->scores = storage(s->g, (uint64_t)o->population * 2 * 4);
    s->data = storage(s->g, data ? (uint64_t)data->rows * data->columns * 4 : 0);
    s->genomes = storage(s->g, genes);
    s->shared = storage(s->g, o->evolves ? 2 * genes : 0);
    s->traced = storage(s->g, o->evolves ? SIM_HISTORY * 4 : o->trace_count ? trace_bytes(s) : 0);
    s->gate = storage(s->g, SIM_GATE_WORDS * 4);
    if (data)
        gpu_write(s->g, s->data, 0, data->values, (size_t)data->rows * data->columns * 4);
}

gpu *sim_open_gpu(const gpu_choice *choice, err *e)
{
    static const char *const names[] = {"dawn", "wgpu"};
    err why[2] = {{0}};
    gpu *g = choice->impl ? gpu_open_now(choice, e) : NULL;
    if (choice->impl)
        return g;
    for (int i = 0; i < 2 && !g; i++) {
        gpu_choice one = *choice;
        one.impl = names[i];
        g = gpu_open_now(&one, &why[i]);
    }
    if (!g)
        err_set_kind(e, ERR_NO_GPU, "no usable GPU: %.450s; %.450s", why[0].text, why[1].text);
    return g;
}

sim *sim_new(gpu *g, const sim_source *source, const sim_options *o, err *e)
{
    sim *s = mem_alloc(sizeof *s);
    *s = (sim){.g = g, .source = source, .options = *o};
    if (!s->options.trace_every)
        s->options.trace_every = 1;
    if (is_cuda(s))
        s->options.chunk_ms = 0; /* the controls do not go on where they stopped */
    if (s->options.trace_count > o->population)
        s->options.trace_count = o->population;
    s->told = (sim_told){.population = o->population,
                         .seed = o->seed,
                         .trace_count = s->options.trace_count,
                         .trace_every = s->options.trace_every,
                         .total = o->steps};
    if (!check_options(s, e)) {
        free(s);
        return NULL;
    }
    make_buffers(s);
    if (source->genes) {
        float *genomes = mem_alloc((size_t)o->population * source->genes * sizeof *genomes);
        sim_draw_genomes(source, o->population, o->seed, genomes);
        sim_set_genomes(s, genomes);
        free(genomes);
    }
    if (!gpu_ok(g, e)) {
        gpu_take_error(g, NULL);
        sim_free(s);
        return NULL;
    }
    return s;
}

void sim_free(sim *s)
{
    if (!s)
        return;
    sim_kernel *kernels[] = {&s->fused, &s->first, &s->each, &s->last, &s->coupled, &s->evolve, &s->generations};
    gpu_buffer *buffers[] = {s->told_buffer, s->states, s->scores, s->data, s->genomes, s->traced, s->gate, s->shared};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        sim_kernel_free(kernels[i]);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        gpu_buffer_free(buffers[i]);
    free(s);
}

/* ---- what came of it --------------------------------------------------------------------------- */

bool sim_read_scores(sim *s, float *scores, err *e)
{
    uint64_t half = (uint64_t)(s->told.generation & 1) * s->options.population * 4;
    return gpu_read_now(s->g, s->scores, half, scores, (size_t)s->options.population * 4, e);
}

bool sim_read_states(sim *s, uint32_t *words, err *e)
{
    size_t bytes = (size_t)s->source->state->words * s->options.population * 4;
    return gpu_read_now(s->g, s->states, s->source->is_coupled && s->options.steps % 2 ? bytes : 0, words, bytes, e);
}

bool sim_read_trace(sim *s, uint32_t *words, err *e)
{
    size_t bytes = (size_t)sim_trace_rows(s) * s->source->state->words * s->options.trace_count * 4;
    return gpu_read_now(s->g, s->traced, 0, words, bytes, e);
}

/* The first of an individual's words that is not finite; NULL: there is none. */
static const char *spoilt_word(const sim *s, const uint32_t *words, uint32_t i)
{
    for (uint32_t w = 0; w < s->source->state->words; w++) {
        float value;
        memcpy(&value, &words[(size_t)w * s->options.population + i], sizeof value);
        if (s->source->words[w].type == SIM_F32 && !isfinite(value))
            return s->source->words[w].name;
    }
    return NULL;
}

static bool check_data(sim *s, err *e)
{
    uint32_t strayed = 0;
    if (!s->source->uses_data)
        return true;
    if (!gpu_read_now(s->g, s->gate, SIM_GATE_STRAYED * 4, &strayed, sizeof strayed, e))
        return false;
    return !strayed || err_set(e,
                               "%s: data() was asked for what is not there, row %u or its columns; the table has "
                               "rows 0 to %u and columns 0 to %u",
                               s->source->path, strayed, s->options.data->rows - 1, s->options.data->columns - 1);
}

bool sim_check(sim *s, const float *scores, err *e)
{
    uint32_t n = s->options.population, bad = 0, first = 0;
    for (uint32_t i = n; i-- > 0;)
        if (!isfinite(scores[i])) {
            bad++;
            first = i;
        }
    if (!check_data(s, e))
        return false;
    if (!bad)
        return true;
    uint32_t *words = mem_alloc((size_t)s->source->state->words * n * 4);
    const char *name = sim_read_states(s, words, e) ? spoilt_word(s, words, first) : NULL;
    err_set(e, "%s: %u of %u scores are not finite numbers; the first is that of individual %u, %f%s%s%s",
            s->source->path, bad, n, first, (double)scores[first], name ? ", whose " : "", name ? name : "",
            name ? " is not, either" : "");
    free(words);
    return false;
}

/* ---- genes ---------------------------------------------------------------------------------------- */

void sim_draw_genomes(const sim_source *source, uint32_t population, uint32_t seed, float *genomes)
{
    float low = (float)source->gene_low, range = (float)(source->gene_high - source->gene_low);
    for (uint32_t i = 0; i < population; i++)
        for (uint32_t k = 0; k < source->genes; k++) {
            uint32_t pair[2];
            /* a stream of its own: no step has this number */
            threefry((uint32_t[]){seed, i}, (uint32_t[]){0xfffffffeu, k}, pair);
            genomes[(size_t)i * source->genes + k] = low + range * threefry_unit(pair[0]);
        }
}

void sim_set_genomes(sim *s, const float *genomes)
{
    uint32_t n = s->options.population, genes = s->source->genes;
    float *columns = mem_alloc((size_t)n * genes * sizeof *columns);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < genes; k++)
            columns[(size_t)k * n + i] = genomes[(size_t)i * genes + k];
    gpu_write(s->g, s->genomes, 0, columns, (size_t)n * genes * 4);
    if (s->options.evolves)
        gpu_write(s->g, s->shared, 0, columns, (size_t)n * genes * 4);
    free(columns);
}
