#include "cli/sim_evolve.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/progress.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char CLI_EVOLVE_HELP[] =
    "  --evolve N       after the first generation make N more, each of the one before it\n"
    "  --tournament N   of N individuals, drawn at random, the best becomes a parent (default 4)\n"
    "  --elite N        N of the best stay as they are (default 2)\n"
    "  --crossover P    how likely a child has two parents (default 0.5)\n"
    "  --mutation P     how likely a gene changes (default 0.05)\n"
    "  --sigma X        by how much, of half the range of a gene (default 0.2)\n"
    "  --save FILE      keep what is needed to go on: every few seconds, when interrupted, and at the end\n"
    "  --resume FILE    go on from there, with the same options; the result is that of a run without a break\n"
    "  --best FILE.csv  write the genes of the best at the end, for --genomes\n";

static const double SAVE_EVERY_S = 5;

static bool take_chance(cli_args *a, const char *word, float most, float *to)
{
    const char *text = cli_value(a, word);
    char *end;
    if (!text)
        return false;
    float value = strtof(text, &end);
    if (end == text || *end || !(value >= 0 && value <= most))
        return err_set_kind(a->e, ERR_USAGE, "%s takes a number from 0 to %g, not '%s'", word, (double)most, text);
    *to = value;
    return true;
}

static bool take_count(cli_args *a, const char *word, long lowest, long highest, uint32_t *to)
{
    long number;
    if (!cli_number(a, word, lowest, highest, &number))
        return false;
    *to = (uint32_t)number;
    return true;
}

bool cli_evolve_word(cli_args *a, const char *word, cli_evolve *v, bool *taken)
{
    *taken = true;
    if (strcmp(word, "--evolve") == 0)
        return cli_number(a, word, 1, EVOLVE_MOST_GENERATIONS, &v->generations);
    if (strcmp(word, "--tournament") == 0)
        return take_count(a, word, 1, EVOLVE_MOST_TOURNAMENT, &v->how.tournament);
    if (strcmp(word, "--elite") == 0)
        return take_count(a, word, 0, EVOLVE_MOST_ELITE, &v->how.elite);
    if (strcmp(word, "--crossover") == 0)
        return take_chance(a, word, 1, &v->how.crossover);
    if (strcmp(word, "--mutation") == 0)
        return take_chance(a, word, 1, &v->how.mutation);
    if (strcmp(word, "--sigma") == 0)
        return take_chance(a, word, 1000, &v->how.sigma);
    if (strcmp(word, "--save") == 0)
        return (v->save = cli_value(a, word)) != NULL;
    if (strcmp(word, "--resume") == 0)
        return (v->resume = cli_value(a, word)) != NULL;
    if (strcmp(word, "--best") == 0)
        return (v->best = cli_value(a, word)) != NULL;
    *taken = false;
    return true;
}

bool cli_evolve_check(const cli_evolve *v, err *e)
{
    if (!v->generations && (v->save || v->resume || v->best))
        return err_set_kind(e, ERR_USAGE, "--save, --resume and --best are for --evolve");
    return (!v->save || file_writable(v->save, e)) && (!v->best || file_writable(v->best, e));
}

/* ---- while it runs ----------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

typedef struct session {
    const cli_evolve *v;
    progress bar;
    char label[64];
    double saved_us;
} session;

static bool after_piece(void *user, evolution *v, err *e)
{
    session *s = user;
    uint32_t at = evolve_generation(v);
    snprintf(s->label, sizeof s->label, "generations, best %.6g", evolve_best(v)[at]);
    progress_at(&s->bar, at);
    bool due = clock_us() - s->saved_us > SAVE_EVERY_S * 1e6;
    if (s->v->save && (due || interrupted)) {
        if (!evolve_save(v, s->v->save, e))
            return false;
        s->saved_us = clock_us();
    }
    if (interrupted)
        return err_set(e, "interrupted after generation %u%s%s%s", at, s->v->save ? "; go on with --resume " : "",
                       s->v->save ? s->v->save : "", s->v->save ? "" : ", and nothing was saved (--save FILE)");
    return true;
}

static bool write_best(const cli_evolve *v, evolution *made, uint32_t population, uint32_t genes, err *e)
{
    float *genomes = mem_alloc((size_t)population * genes * sizeof *genomes);
    float *scores = mem_alloc(population * sizeof *scores);
    uint32_t best = 0;
    str line = {0};
    bool ok = evolve_read(made, genomes, scores, e);
    for (uint32_t i = 0; ok && i < population; i++)
        if (scores[i] > scores[best])
            best = i;
    for (uint32_t k = 0; ok && k < genes; k++)
        str_addf(&line, "%.9g%c", (double)genomes[(size_t)best * genes + k], k + 1 < genes ? ',' : '\n');
    ok = ok && file_write(v->best, line.data, line.length, e);
    str_free(&line);
    free(genomes);
    free(scores);
    return ok;
}

bool cli_evolve_run(const cli_evolve *v, sim *s, fusion_level level, submit_policy submit, evolution **out, err *e)
{
    uint32_t population = sim_population(s), genes = sim_get_source(s)->genes;
    struct sigaction act = {.sa_handler = on_interrupt}, was[2];
    evolution *made = *out = evolve_new(s, &v->how, e);
    if (!made || (v->resume && !evolve_load(made, v->resume, e)))
        return false;
    if (v->resume && evolve_generation(made) > (uint32_t)v->generations)
        return err_set(e, "%s has %u generations already", v->resume, evolve_generation(made));
    session run = {.v = v, .saved_us = clock_us(), .label = "generations"};
    run.bar = progress_start(run.label, (size_t)v->generations);
    sigaction(SIGINT, &act, &was[0]);
    sigaction(SIGTERM, &act, &was[1]);
    bool ok = evolve_run(made, (uint32_t)v->generations, level, submit, after_piece, &run, e);
    sigaction(SIGINT, &was[0], NULL);
    sigaction(SIGTERM, &was[1], NULL);
    progress_end(&run.bar);
    return ok && (!v->save || evolve_save(made, v->save, e)) && (!v->best || write_best(v, made, population, genes, e));
}
