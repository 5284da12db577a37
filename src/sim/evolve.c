/* evolve: runs generations on the device at each launch level. */
#include "sim/evolve.h"
#include "base/clock.h"
#include "base/str.h"
#include "launch/chunk.h"
#include "sim/evolution.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

evolution *evolve_new(sim *s, const evolve_options *o, err *e)
{
    const sim_source *source = s->source;
    if (!source->genes) {
        err_set(e, "%s has nothing to evolve: 'const GENES = N;' gives individuals genes", source->path);
        return NULL;
    }
    if (source->is_coupled) {
        err_set(e, "%s: individuals that see each other are not evolved", source->path);
        return NULL;
    }
    if (o->tournament < 1 || o->tournament > EVOLVE_MOST_TOURNAMENT || o->elite > EVOLVE_MOST_ELITE ||
        o->elite >= s->options.population) {
        err_set(e, "a tournament of %u and an elite of %u do not suit a population of %u (at most %d and %d)",
                o->tournament, o->elite, s->options.population, EVOLVE_MOST_TOURNAMENT, EVOLVE_MOST_ELITE);
        return NULL;
    }
    evolution *v = mem_alloc(sizeof *v);
    *v = (evolution){.s = s, .options = *o};
    s->params.tournament = o->tournament;
    s->params.elite = o->elite;
    s->params.crossover = o->crossover;
    s->params.mutation = o->mutation;
    s->params.sigma = o->sigma;
    return v;
}

void evolve_free(evolution *v)
{
    if (!v)
        return;
    free(v->best);
    free(v);
}

fusion_level evolve_level_on(const sim *s)
{
    return gpu_get_info(s->g)->type == GPU_TYPE_SOFTWARE ? LEVEL_TOKEN : LEVEL_LOOP;
}

uint32_t evolve_generation(const evolution *v)
{
    return v->s->params.generation;
}

uint32_t evolve_scored(const evolution *v)
{
    return v->scored;
}

const double *evolve_best(const evolution *v)
{
    return v->best;
}

/* ---- the results of a dispatch ------------------------------------------------------------------ */

/* Checks that the current scores are finite, and keeps the best. */
static bool note_scores(evolution *v, err *e)
{
    sim *s = v->s;
    uint32_t n = s->options.population, at = s->params.generation;
    float *scores = mem_alloc(n * sizeof *scores);
    bool ok = sim_read_scores(s, scores, e) && (sim_check(s, scores, e) || err_context(e, "generation %u", at));
    v->best = mem_grow(v->best, (at + 1) * sizeof *v->best);
    v->best[at] = -INFINITY;
    for (uint32_t i = 0; ok && i < n; i++)
        if ((double)scores[i] > v->best[at])
            v->best[at] = (double)scores[i];
    free(scores);
    return ok;
}

/* Reads the best scores of generations that lived within one dispatch. */
static bool note_history(evolution *v, uint32_t first, uint32_t count, err *e)
{
    v->best = mem_grow(v->best, (first + count + 1) * sizeof *v->best);
    for (uint32_t done = 0; done < count;) {
        float values[256];
        uint32_t at = (first + done) % SIM_HISTORY, n = count - done < 256 ? count - done : 256;
        if (n > SIM_HISTORY - at)
            n = SIM_HISTORY - at;
        if (!gpu_read_now(v->s->g, v->s->traced, at * 4, values, n * 4, e))
            return false;
        for (uint32_t i = 0; i < n; i++)
            v->best[first + done + i] = (double)values[i];
        done += n;
    }
    return true;
}

/* ---- generations, each by dispatches of its own --------------------------------------------------- */

static bool make_children(evolution *v, err *e)
{
    sim *s = v->s;
    if (!sim_kernel_make(s, &s->evolve,
                         &(sim_text_choice){.form = SIM_TEXT_GENERATIONS, .threads = SIM_THREADS, .single = true},
                         "solo_evolve", e))
        return false;
    s->params.generation++;
    sim_write_params(s);
    sim_launch_all(s, &s->evolve);
    return sim_wait(s, e);
}

/* Runs the current generation from its first step to its scores. */
static bool run_again(evolution *v, fusion_level level, submit_policy submit, err *e)
{
    v->has_states = sim_run_generation(v->s, level == LEVEL_NONE ? LEVEL_NONE : LEVEL_LOOP, submit, e);
    v->scored += v->has_states;
    return v->has_states;
}

static bool run_separate(evolution *v, bool first, fusion_level level, submit_policy submit, err *e)
{
    return (first || make_children(v, e)) && run_again(v, level, submit, e);
}

/* ---- many in one dispatch -------------------------------------------------------------------------- */

/* Generations in the middle of a dispatch are gone when it ends: the kernel has checked their scores
 * (generations.wgsl). */
static bool check_flags(sim *s, err *e)
{
    uint32_t flags
        [2]; /* the generation, counted from the first of the dispatch, and the individual, with their bits inverted */
    if (!gpu_read_now(s->g, s->grid, SIM_NOT_FINITE * 4, flags, sizeof flags, e))
        return false;
    if (!flags[0])
        return true;
    err_set(e, "%s: scores are not finite numbers; the first is that of individual %u", s->source->path, ~flags[1]);
    return err_context(e, "generation %u", s->params.generation + ~flags[0]);
}

static bool run_generations(evolution *v, uint32_t count, err *e)
{
    sim *s = v->s;
    uint32_t from = s->params.generation;
    s->params.generation = from + 1;
    s->params.generations = count;
    s->params.steps = s->options.steps;
    gpu_write(s->g, s->grid, SIM_NOT_FINITE * 4, (uint32_t[2]){0}, 8);
    bool ok = sim_run_persistent(s, &s->generations, e) && check_flags(s, e);
    s->params.generation = ok ? from + count : from;
    v->has_states = ok;
    v->scored += ok ? count : 0;
    return ok && note_history(v, from, count, e);
}

/* After a time-out two generations are mixed, and a score that is not finite is found only after its generation had
 * children: restores the generation before. */
typedef struct kept {
    float *genomes, *scores;
} kept;

static bool keep(evolution *v, kept *k, err *e)
{
    if (!k->genomes) {
        k->genomes = mem_alloc((size_t)v->s->options.population * v->s->source->genes * sizeof *k->genomes);
        k->scores = mem_alloc(v->s->options.population * sizeof *k->scores);
    }
    return evolve_read(v, k->genomes, k->scores, e);
}

/* Is a time-out the only failure? Generations then go on by separate dispatches. */
static bool fall_back(sim *s, const err *why, err *e)
{
    if (!s->timed_out)
        return err_set_kind(e, why->kind, "%s", why->text);
    snprintf(s->notice, sizeof s->notice, "%s: a dispatch for each generation, since %.180s", s->source->path,
             why->text);
    return true;
}

/* As many generations as fit into one dispatch. */
static bool run_many(evolution *v, uint32_t left, kept *k, err *e)
{
    sim *s = v->s;
    err why = {0};
    if (!sim_make_persistent(s, &s->generations, SIM_TEXT_GENERATIONS, &why))
        return fall_back(s, &why, e);
    uint32_t share =
        v->timed_generations ? chunk_steps(s->options.chunk_ms, v->generation_ns, left, s->groups.count) : 1;
    v->timed_generations = true;
    if (!keep(v, k, e))
        return false;
    if (run_generations(v, share < SIM_HISTORY ? share : SIM_HISTORY, &why))
        return true;
    if (!s->stuck)
        evolve_write(v, k->genomes, k->scores);
    return fall_back(s, &why, e);
}

/* ---- all of it ---------------------------------------------------------------------------------------- */

/* After a failure: the generation before it is intact, in the other half of genes and scores, or was restored there. */
static void step_back(evolution *v, uint32_t to, kept *k)
{
    err unused = {0};
    v->s->params.generation = to;
    if (v->has_scores && !v->s->stuck && keep(v, k, &unused))
        evolve_write(v, k->genomes, k->scores);
}

bool evolve_run(evolution *v, uint32_t until, fusion_level level, submit_policy submit,
                bool (*after)(void *user, evolution *v, err *e), void *user, err *e)
{
    sim *s = v->s;
    kept k = {0};
    bool ok = true, going = true;
    level = level == LEVEL_AUTO ? evolve_level_on(s) : level;
    if (until > EVOLVE_MOST_GENERATIONS)
        return err_set_kind(e, ERR_USAGE, "more than %d generations", EVOLVE_MOST_GENERATIONS);
    gpu_write(s->g, s->grid, 0, (uint32_t[SIM_GRID_WORDS]){0}, SIM_GRID_WORDS * 4);
    while (ok && going && (!v->has_scores || s->params.generation < until)) {
        double began = clock_us();
        uint32_t from = s->params.generation;
        bool fits = !s->options.chunk_ms || v->generation_ns <= s->options.chunk_ms * 1e6;
        if (level == LEVEL_LOOP && v->has_scores && !s->timed_out && fits)
            ok = run_many(v, until - from, &k, e);
        else
            ok = run_separate(v, !v->has_scores, level, submit, e);
        uint32_t made = s->params.generation - from;
        v->generation_ns = (clock_us() - began) * 1e3 / (made ? made : 1);
        ok = ok && note_scores(v, e) && gpu_ok(s->g, e);
        v->has_scores = v->has_scores || ok;
        if (!ok)
            step_back(v, from, &k);
        going = !ok || !after || after(user, v, e);
        ok = ok && e->kind == ERR_NONE;
    }
    /* a generation that was loaded from a file has scores, but no states */
    ok = ok && (v->has_states || run_again(v, level, submit, e));
    free(k.genomes);
    free(k.scores);
    return ok;
}

/* ---- genes and scores, there and back -------------------------------------------------------------------- */

bool evolve_read(evolution *v, float *genomes, float *scores, err *e)
{
    sim *s = v->s;
    uint32_t n = s->options.population, genes = s->source->genes;
    size_t bytes = (size_t)n * genes * 4;
    if (!v->has_scores)
        return err_set_kind(e, ERR_USAGE, "nothing has evolved yet");
    float *columns = mem_alloc(bytes);
    bool ok = gpu_read_now(s->g, s->shared, (s->params.generation & 1) * bytes, columns, bytes, e) &&
              sim_read_scores(s, scores, e);
    for (uint32_t i = 0; ok && i < n; i++)
        for (uint32_t k = 0; k < genes; k++)
            genomes[(size_t)i * genes + k] = columns[(size_t)k * n + i];
    free(columns);
    return ok;
}

bool evolve_replace(evolution *v, const float *genomes, const float *scores, err *e)
{
    size_t n = v->s->options.population, genes = n * v->s->source->genes;
    if (!v->has_scores)
        return err_set_kind(e, ERR_USAGE, "nothing has evolved yet");
    for (size_t i = 0; i < genes; i++)
        if (!isfinite(genomes[i]))
            return err_set_kind(e, ERR_USAGE, "gene %zu of individual %zu is not finite", i % v->s->source->genes,
                                i / v->s->source->genes);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(scores[i]))
            return err_set_kind(e, ERR_USAGE, "the score of individual %zu is not finite", i);
    evolve_write(v, genomes, scores);
    return gpu_ok(v->s->g, e);
}

void evolve_write(evolution *v, const float *genomes, const float *scores)
{
    sim *s = v->s;
    uint32_t n = s->options.population, genes = s->source->genes;
    size_t bytes = (size_t)n * genes * 4;
    float *columns = mem_alloc(bytes);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < genes; k++)
            columns[(size_t)k * n + i] = genomes[(size_t)i * genes + k];
    v->has_states = false;
    gpu_write(s->g, s->shared, (s->params.generation & 1) * bytes, columns, bytes);
    gpu_write(s->g, s->genomes, 0, columns, bytes);
    gpu_write(s->g, s->scores, (uint64_t)(s->params.generation & 1) * n * 4, scores, (size_t)n * 4);
    free(columns);
}
