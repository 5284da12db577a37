/* sim: the buffers of a simulation on a device, and its results. */
#include "base/str.h"
#include "sim/builtin.h"
#include "sim/sim_internal.h"
#include "sim/threefry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* With room for each individual's step number (each.wgsl). */
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
    /* one copy of the genes; two where evolution chooses parents */
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

bool sim_cuda_suits(const sim_source *source, const sim_options *o, err *e)
{
    enum { COLUMNS = 16, HISTORY = 20 }; /* as in kernels/sim/finance.cu, which does not check them */
    if (!sim_builtin_cuda(source->path) || o->trace_count || o->evolves)
        return err_set_kind(e, ERR_USAGE,
                            "in CUDA there are only acrobot, finance and rastrigin, written by hand, as controls: all "
                            "steps in one dispatch, without traces and evolution");
    uint64_t rows = (uint64_t)o->steps + HISTORY + 1;
    if (source->uses_data && o->data && (o->data->columns != COLUMNS || o->data->rows < rows))
        return err_set_kind(e, ERR_USAGE,
                            "%s in CUDA takes a table of %d columns and, for %u steps, at least %llu rows, not one of "
                            "%u rows and %u columns",
                            source->path, COLUMNS, o->steps, (unsigned long long)rows, o->data->rows, o->data->columns);
    uint64_t words = source->genes > source->state->words ? source->genes : source->state->words;
    return words * o->population <= UINT32_MAX ||
           err_set_kind(e, ERR_USAGE, "%s in CUDA counts words in 32 bits: a population of %u with %llu each has more",
                        source->path, o->population, (unsigned long long)words);
}

static bool check_options(const sim *s, err *e)
{
    const gpu_info *info = gpu_get_info(s->g);
    const sim_source *source = s->source;
    if (!sim_is_cuda(s) && !info->has_wgsl)
        return err_set_kind(e, ERR_USAGE, "simulations are compiled from WGSL, which %s does not do (dawn and wgpu do)",
                            info->impl);
    if (sim_is_cuda(s) && !sim_cuda_suits(source, &s->options, e))
        return false;
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
    s->params_buffer = gpu_buffer_new(s->g, sizeof s->params, GPU_USE_UNIFORM);
    s->states = storage(s->g, states_bytes(s->source, o->population));
    s->scores = storage(s->g, (uint64_t)o->population * 2 * 4);
    s->data = storage(s->g, data ? (uint64_t)data->rows * data->columns * 4 : 0);
    s->genomes = storage(s->g, genes);
    s->shared = storage(s->g, o->evolves ? 2 * genes : 0);
    s->traced = storage(s->g, o->evolves ? SIM_HISTORY * 4 : o->trace_count ? trace_bytes(s) : 0);
    s->grid = storage(s->g, SIM_GRID_WORDS * 4);
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
    if (sim_is_cuda(s))
        s->options.chunk_ms = 0; /* the controls cannot resume a run */
    if (s->options.trace_count > o->population)
        s->options.trace_count = o->population;
    s->params = (sim_params){.population = o->population,
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
    gpu_buffer *buffers[] = {s->params_buffer, s->states, s->scores, s->data,
                             s->genomes,       s->traced, s->grid,   s->shared};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        sim_kernel_free(kernels[i]);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        gpu_buffer_free(buffers[i]);
    free(s);
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

void sim_stop(sim *s)
{
    s->is_stopped = true;
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

/* ---- results ------------------------------------------------------------------------------------ */

bool sim_read_scores(sim *s, float *scores, err *e)
{
    uint64_t half = (uint64_t)(s->params.generation & 1) * s->options.population * 4;
    return gpu_read_now(s->g, s->scores, half, scores, (size_t)s->options.population * 4, e);
}

bool sim_read_states(sim *s, uint32_t *words, err *e)
{
    size_t bytes = (size_t)s->source->state->words * s->options.population * 4;
    return gpu_read_now(s->g, s->states, s->source->is_coupled && s->at % 2 ? bytes : 0, words, bytes, e);
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

/* An index out of range that a step used (solo_note_strays). */
static bool check_places(sim *s, err *e)
{
    enum { FIRST = SIM_NO_ROW, COUNT = SIM_NO_OTHER + 1 - FIRST };
    uint32_t asked[COUNT];
    if (!s->source->uses_data && !s->source->genes && !s->source->is_coupled)
        return true;
    if (!gpu_read_now(s->g, s->grid, FIRST * 4, asked, sizeof asked, e))
        return false;
    uint32_t row = asked[0], gene = asked[SIM_NO_GENE - FIRST], other = asked[SIM_NO_OTHER - FIRST];
    if (row && s->source->uses_data)
        return err_set(e,
                       "%s: data() was asked for what is not there, row %u or its columns; the table has "
                       "rows 0 to %u and columns 0 to %u",
                       s->source->path, row, s->options.data->rows - 1, s->options.data->columns - 1);
    if (gene)
        return err_set(e, "%s: gene(%u) is not there; there are 0 to %u", s->source->path, gene, s->source->genes - 1);
    return !other || err_set(e, "%s: other(%u) is not there; there are individuals 0 to %u", s->source->path, other,
                             s->options.population - 1);
}

bool sim_check(sim *s, const float *scores, err *e)
{
    uint32_t n = s->options.population, bad = 0, first = 0;
    for (uint32_t i = n; i-- > 0;)
        if (!isfinite(scores[i])) {
            bad++;
            first = i;
        }
    if (!check_places(s, e))
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

void sim_set_genome_table(sim *s, const table *genomes)
{
    uint32_t n = s->options.population, genes = s->source->genes;
    float *all = mem_alloc((size_t)n * genes * sizeof *all);
    for (uint32_t i = 0; i < n; i++)
        memcpy(all + (size_t)i * genes, genomes->values + (size_t)(genomes->rows > 1 ? i : 0) * genes,
               genes * sizeof *all);
    sim_set_genomes(s, all);
    free(all);
}
