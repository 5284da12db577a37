/* The public API's simulations. */
#include "sim/sim.h"
#include "api/internal.h"
#include "base/str.h"
#include "sim/builtin.h"
#include "sim/evolve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_MS = 500 }; /* as in `solo sim` */

struct solo_sim {
    sim_source source;
    table data;
    sim_options options;
    sim *s;
    evolution *v;
    bool has_scores, has_states; /* a run was made, or loaded */
    bool begun;                  /* step by step, and no run since */
};

/* ---- making one ------------------------------------------------------------------------------- */

static bool read_source(solo_sim *s, const char *name, const char *wgsl, const solo_sim_options *o, err *e)
{
    if (!name)
        return err_set_kind(e, ERR_USAGE, "a simulation needs a name");
    const char *text = wgsl ? wgsl : sim_builtin(name);
    if (!text)
        return err_set_kind(e, ERR_USAGE, "there is no built-in simulation '%s'", name);
    if (!sim_source_read(&s->source, name, text, e))
        return false;
    for (const char *const *p = o->parameters; p && *p; p++)
        if (!sim_source_set(&s->source, *p, e))
            return false;
    return true;
}

/* The caller's data or, for the built-in finance simulation, synthetic prices. */
static bool take_data(solo_sim *s, const char *wgsl, const solo_sim_options *o, err *e)
{
    uint64_t bytes = (uint64_t)o->data_rows * o->data_columns;
    if (o->data_rows && !o->data)
        return err_set_kind(e, ERR_USAGE, "a table of %u rows has no data", o->data_rows);
    if (o->data && bytes > UINT32_MAX / sizeof(float))
        return err_set_kind(e, ERR_USAGE, "a table of %u rows and %u columns is too large", o->data_rows,
                            o->data_columns);
    bytes *= sizeof(float);
    if (o->data && bytes) {
        s->data = (table){o->data_rows, o->data_columns, mem_alloc(bytes)};
        memcpy(s->data.values, o->data, bytes);
    } else if (!wgsl && s->source.uses_data)
        sim_make_prices(&s->data, SIM_PRICE_ROWS, SIM_PRICE_SEED);
    if (s->data.rows)
        s->options.data = &s->data;
    return true;
}

static bool make(solo_sim *s, gpu *g, const char *name, const char *wgsl, const solo_sim_options *o, err *e)
{
    if (!read_source(s, name, wgsl, o, e))
        return false;
    s->options = (sim_options){.population = o->population ? o->population : s->source.population,
                               .steps = o->steps ? o->steps : s->source.steps,
                               .seed = o->seed,
                               .trace_count = o->evolves ? 0 : o->trace_count,
                               .trace_every = o->trace_every,
                               .chunk_ms = o->chunk_ms == UINT32_MAX ? 0
                                           : o->chunk_ms             ? o->chunk_ms
                                                                     : CHUNK_MS,
                               .evolves = o->evolves};
    if (!s->options.population || !s->options.steps)
        return err_set_kind(e, ERR_USAGE, "%s: how many individuals, and how many steps?", name);
    if (!take_data(s, wgsl, o, e))
        return false;
    s->s = sim_new(g, &s->source, &s->options, e);
    return s->s != NULL;
}

solo_sim *solo_sim_new(solo_device *d, const char *name, const char *wgsl, const solo_sim_options *o, solo_error *to)
{
    static const solo_sim_options none = {0};
    err e = {0};
    if (!api_is_here(d, to))
        return NULL;
    solo_sim *s = mem_alloc(sizeof *s);
    if (api_result(to, &e, make(s, d->g, name, wgsl, o ? o : &none, &e)))
        return s;
    solo_sim_free(s);
    return NULL;
}

void solo_sim_free(solo_sim *s)
{
    if (!s)
        return;
    evolve_free(s->v);
    sim_free(s->s);
    table_free(&s->data);
    sim_source_free(&s->source);
    free(s);
}

void solo_sim_set_progress(solo_sim *s, void (*at)(void *user, uint32_t step), void *user)
{
    if (s)
        sim_set_progress(s->s, at, user);
}

void solo_sim_stop(solo_sim *s)
{
    if (s)
        sim_stop(s->s);
}

bool solo_sim_take_notice(solo_sim *s, char *text, size_t room)
{
    return s && sim_take_notice(s->s, text, room);
}

static bool is_launch(solo_launch how, err *e)
{
    return (unsigned)how <= SOLO_DISPATCH_A_STEP || err_set_kind(e, ERR_USAGE, "there is no such way to launch");
}

bool solo_sim_run(solo_sim *s, solo_launch how, solo_error *to)
{
    err e = {0};
    if (!api_is_here(s, to) || !api_result(to, &e, is_launch(how, &e)))
        return false;
    s->begun = false;
    s->has_scores = s->has_states = sim_run(s->s, how == SOLO_ONE_DISPATCH ? LEVEL_LOOP : LEVEL_NONE, SUBMIT_BATCH, &e);
    return api_result(to, &e, s->has_scores);
}

bool solo_sim_begin(solo_sim *s, uint32_t seed, solo_error *to)
{
    err e = {0};
    if (!api_is_here(s, to))
        return false;
    s->has_scores = s->has_states = s->begun = sim_begin(s->s, seed, &e);
    return api_result(to, &e, s->begun);
}

bool solo_sim_advance(solo_sim *s, uint32_t count, solo_error *to)
{
    err e = {0};
    if (!api_is_here(s, to))
        return false;
    s->has_scores = s->has_states = s->begun =
        s->begun ? sim_advance(s->s, count, &e)
                 : err_set_kind(&e, ERR_USAGE, "%s has not begun (solo_sim_begin)", s->source.path);
    return api_result(to, &e, s->begun);
}

/* ---- what it is, and what came of it --------------------------------------------------------------- */

uint32_t solo_sim_population(const solo_sim *s)
{
    return s ? s->options.population : 0;
}

uint32_t solo_sim_steps(const solo_sim *s)
{
    return s ? s->options.steps : 0;
}

uint32_t solo_sim_genes(const solo_sim *s)
{
    return s ? s->source.genes : 0;
}

uint32_t solo_sim_words(const solo_sim *s)
{
    return s ? s->source.state->words : 0;
}

const char *solo_sim_word_name(const solo_sim *s, uint32_t word)
{
    return word < solo_sim_words(s) ? s->source.words[word].name : NULL;
}

static bool is_there(bool there, err *e)
{
    return there || err_set_kind(e, ERR_USAGE, "nothing ran yet, or what ran failed");
}

bool solo_sim_scores(solo_sim *s, float *scores, solo_error *to)
{
    err e = {0};
    if (!api_is_here(s, to))
        return false;
    return api_result(to, &e,
                      is_there(s->has_scores, &e) && sim_read_scores(s->s, scores, &e) && sim_check(s->s, scores, &e));
}

/* (rows, words, count) of words as numbers. */
static void as_numbers(const solo_sim *s, const uint32_t *words, uint32_t rows, uint32_t count, double *out)
{
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t w = 0; w < s->source.state->words; w++)
            for (uint32_t i = 0; i < count; i++, words++)
                *out++ = sim_word_value(*words, s->source.words[w].type);
}

bool solo_sim_states(solo_sim *s, double *states, solo_error *to)
{
    err e = {0};
    if (!api_is_here(s, to))
        return false;
    uint32_t *words = mem_alloc((size_t)s->source.state->words * s->options.population * sizeof *words);
    bool ok = is_there(s->has_states, &e) && sim_read_states(s->s, words, &e);
    if (ok)
        as_numbers(s, words, 1, s->options.population, states);
    free(words);
    return api_result(to, &e, ok);
}

bool solo_sim_trace(solo_sim *s, double *states, solo_error *to)
{
    err e = {0};
    if (!api_is_here(s, to))
        return false;
    uint32_t rows = sim_trace_rows(s->s), count = sim_trace_count(s->s);
    uint32_t *words = mem_alloc((size_t)rows * s->source.state->words * count * sizeof *words + 4);
    bool ok = count ? is_there(s->has_states, &e) && sim_read_trace(s->s, words, &e)
                    : err_set_kind(&e, ERR_USAGE, "no individual has a trace");
    if (ok)
        as_numbers(s, words, rows, count, states);
    free(words);
    return api_result(to, &e, ok);
}

uint32_t solo_sim_trace_rows(const solo_sim *s)
{
    return s ? sim_trace_rows(s->s) : 0;
}

void solo_sim_set_genomes(solo_sim *s, const float *genomes)
{
    if (s && genomes && s->source.genes && !s->v)
        sim_set_genomes(s->s, genomes);
}

/* ---- evolution --------------------------------------------------------------------------------------- */

static bool begin_evolution(solo_sim *s, const solo_evolution *o, err *e)
{
    evolve_options how = EVOLVE_DEFAULTS;
    if (s->v)
        return true;
    if (!s->options.evolves)
        return err_set_kind(e, ERR_USAGE, "%s was not made to evolve (solo_sim_options.evolves)", s->source.path);
    if (o && !(o->crossover >= 0 && o->crossover <= 1 && o->mutation >= 0 && o->mutation <= 1 && o->sigma >= 0 &&
               isfinite(o->sigma)))
        return err_set_kind(e, ERR_USAGE, "crossover and mutation are from 0 to 1, and sigma is not negative");
    if (o) {
        how.tournament = o->tournament ? o->tournament : how.tournament;
        how.elite = o->elite ? o->elite : how.elite;
        how.crossover = o->crossover > 0 ? o->crossover : how.crossover;
        how.mutation = o->mutation > 0 ? o->mutation : how.mutation;
        how.sigma = o->sigma > 0 ? o->sigma : how.sigma;
    }
    s->v = evolve_new(s->s, &how, e);
    return s->v != NULL;
}

typedef struct listener {
    solo_progress progress;
    void *user;
} listener;

static bool report_to_listener(void *user, evolution *v, err *e)
{
    const listener *l = user;
    uint32_t at = evolve_generation(v);
    (void)e;
    return !l->progress || l->progress(l->user, at, evolve_best(v)[at]);
}

bool solo_sim_evolve(solo_sim *s, uint32_t generation, const solo_evolution *o, solo_progress progress, void *user,
                     solo_error *to)
{
    err e = {0};
    listener l = {progress, user};
    if (!api_is_here(s, to))
        return false;
    s->has_scores = s->has_states = begin_evolution(s, o, &e) && evolve_run(s->v, generation, evolve_level_on(s->s),
                                                                            SUBMIT_BATCH, report_to_listener, &l, &e);
    return api_result(to, &e, s->has_scores);
}

const double *solo_sim_best(const solo_sim *s, uint32_t *count)
{
    bool evolved = s && s->v && s->has_scores;
    *count = evolved ? evolve_generation(s->v) + 1 : 0;
    return evolved ? evolve_best(s->v) : NULL;
}

bool solo_sim_evolved(solo_sim *s, float *genomes, float *scores, solo_error *to)
{
    err e = {0};
    if (!api_is_here(s, to))
        return false;
    bool ok = s->v ? evolve_read(s->v, genomes, scores, &e) : err_set_kind(&e, ERR_USAGE, "nothing has evolved yet");
    return api_result(to, &e, ok);
}

bool solo_sim_set_evolved(solo_sim *s, const float *genomes, const float *scores, solo_error *to)
{
    err e = {0};
    if (!api_is_here(s, to))
        return false;
    bool ok = s->v ? evolve_replace(s->v, genomes, scores, &e) : err_set_kind(&e, ERR_USAGE, "nothing has evolved yet");
    s->has_states = s->has_states && !ok; /* those that are there are of others */
    return api_result(to, &e, ok);
}

bool solo_sim_save(solo_sim *s, const char *path, solo_error *to)
{
    err e = {0};
    if (!api_is_here(s, to) || !api_is_here(path, to))
        return false;
    bool ok = s->v ? evolve_save(s->v, path, &e) : err_set_kind(&e, ERR_USAGE, "nothing has evolved yet");
    return api_result(to, &e, ok);
}

bool solo_sim_resume(solo_sim *s, const char *path, const solo_evolution *o, solo_error *to)
{
    err e = {0};
    if (!api_is_here(s, to) || !api_is_here(path, to))
        return false;
    bool ok = begin_evolution(s, o, &e) && evolve_load(s->v, path, &e);
    if (ok) {
        s->has_scores = true;
        s->has_states = false;
    }
    return api_result(to, &e, ok);
}
