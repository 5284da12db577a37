/* sim_evolve: generations with progress, saved on the way and resumed. */
#include "cli/sim_evolve.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/os.h"
#include "base/progress.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const option EVOLVE_TABLE[] = {
    {.name = "evolve",
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = EVOLVE_MOST_GENERATIONS,
     INTO(cli_evolve, generations),
     .help = "after the first generation make N more, each of the one before it",
     .otherwise = ""},
    {.name = "tournament",
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = EVOLVE_MOST_TOURNAMENT,
     INTO(cli_evolve, how.tournament),
     .help = "of N individuals, drawn at random, the best becomes a parent"},
    {.name = "elite",
     .value = "N",
     .kind = OPTION_WHOLE,
     .high = EVOLVE_MOST_ELITE,
     INTO(cli_evolve, how.elite),
     .help = "N of the best stay as they are"},
    {.name = "crossover",
     .value = "P",
     .kind = OPTION_REAL,
     .high = 1,
     INTO(cli_evolve, how.crossover),
     .help = "how likely a child has two parents"},
    {.name = "mutation",
     .value = "P",
     .kind = OPTION_REAL,
     .high = 1,
     INTO(cli_evolve, how.mutation),
     .help = "how likely a gene changes"},
    {.name = "sigma",
     .value = "X",
     .kind = OPTION_REAL,
     .high = 1000,
     INTO(cli_evolve, how.sigma),
     .help = "by how much, of half the range of a gene"},
    {.name = "save",
     .value = "FILE",
     .files = OPTION_FILES,
     INTO(cli_evolve, save),
     .help = "keep what is needed to go on: every few seconds, when interrupted, and at the end"},
    {.name = "resume",
     .value = "FILE",
     .files = OPTION_FILES,
     INTO(cli_evolve, resume),
     .help = "go on from there, with the same options; the result is that of a run without a break"},
    {.name = "best",
     .value = "FILE.csv",
     .files = OPTION_FILES,
     INTO(cli_evolve, best),
     .help = "write the genes of the best at the end, for --genomes"},
    {0}};

static const double SAVE_EVERY_S = 5;

bool cli_evolve_check(const cli_evolve *v, err *e)
{
    if (!v->generations && (v->save || v->resume || v->best))
        return err_set_kind(e, ERR_USAGE, "--save, --resume and --best are for --evolve");
    static const evolve_options usual = EVOLVE_DEFAULTS;
    if (!v->generations && memcmp(&v->how, &usual, sizeof usual) != 0)
        return err_set_kind(e, ERR_USAGE,
                            "--tournament, --elite, --crossover, --mutation and --sigma are for --evolve");
    return (!v->save || file_writable(v->save, e)) && (!v->best || file_writable(v->best, e));
}

/* ---- while it runs ----------------------------------------------------------------------------- */

/* An interruption ends evolution between two pieces. Where the next one takes longer than that, the program ends in the
 * middle of it: whatever was complete is in the file, since long pieces are saved one by one. */
enum { HEARD_MS = 200 };
static volatile sig_atomic_t interrupted, is_saving;
static char lines[2][400]; /* what an end in the middle says: one is made while the other counts */
static const char *volatile line;

static void end_now(int number)
{
    (void)number;
    if (is_saving)
        os_soon(HEARD_MS, end_now);
    else {
        ssize_t written = write(err_descriptor, line, strlen(line));
        (void)written; /* there is nobody left to tell */
        _exit(ERR_FAILED);
    }
}

static void on_interrupt(int number)
{
    (void)number;
    if (!interrupted)
        os_soon(HEARD_MS, end_now);
    interrupted = 1;
}

/* `saved`: the generation that is in the file, or -1; `at`: the last complete one, or -1. */
static void prepare_line(const char *file, int64_t at, int64_t saved)
{
    char *next = lines[line == lines[0]];
    const char *clear = isatty(err_descriptor) ? "\r\033[K" : "";
    if (saved >= 0)
        snprintf(next, sizeof lines[0], "%ssolo: interrupted after generation %lld; go on with --resume %s\n", clear,
                 (long long)saved, file);
    else if (at >= 0)
        snprintf(next, sizeof lines[0], "%ssolo: interrupted after generation %lld, and nothing was saved%s\n", clear,
                 (long long)at, file ? "" : " (--save FILE)");
    else
        snprintf(next, sizeof lines[0], "%ssolo: interrupted before the first generation was complete\n", clear);
    line = next;
}

typedef struct session {
    const cli_evolve *v;
    progress bar;
    char label[64];
    double saved_us, piece_us; /* when the file was written, when the last piece was complete */
    int64_t saved;             /* the generation that the file has; -1: none */
} session;

static bool after_piece(void *user, evolution *v, err *e)
{
    session *s = user;
    uint32_t at = evolve_generation(v);
    snprintf(s->label, sizeof s->label, "generations, best %.6g", evolve_best(v)[at]);
    progress_at(&s->bar, at);
    double now_us = clock_us();
    bool due = now_us - s->saved_us > SAVE_EVERY_S * 1e6 || now_us - s->piece_us > HEARD_MS * 1e3;
    s->piece_us = now_us;
    if (s->v->save && (due || interrupted)) {
        is_saving = 1;
        bool ok = evolve_save(v, s->v->save, e);
        is_saving = 0;
        if (!ok)
            return false;
        s->saved_us = clock_us();
        s->saved = at;
    }
    prepare_line(s->v->save, at, s->saved);
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
    if (v->save && !evolve_can_save(v->save, e))
        return false;
    evolution *made = *out = evolve_new(s, &v->how, e);
    if (!made || (v->resume && !evolve_load(made, v->resume, e)))
        return false;
    if (v->resume && evolve_generation(made) > (uint32_t)v->generations)
        return err_set(e, "%s has %u generations already", v->resume, evolve_generation(made));
    double now_us = clock_us();
    session run = {.v = v, .saved_us = now_us, .piece_us = now_us, .saved = -1, .label = "generations"};
    prepare_line(v->save, v->resume ? (int64_t)evolve_generation(made) : -1, -1);
    run.bar = progress_start(run.label, (size_t)v->generations);
    sigaction(SIGINT, &act, &was[0]);
    sigaction(SIGTERM, &act, &was[1]);
    bool ok = evolve_run(made, (uint32_t)v->generations, level, submit, after_piece, &run, e);
    is_saving = 1; /* too late for an end in the middle */
    sigaction(SIGINT, &was[0], NULL);
    sigaction(SIGTERM, &was[1], NULL);
    progress_end(&run.bar);
    return ok && (!v->save || evolve_save(made, v->save, e)) && (!v->best || write_best(v, made, population, genes, e));
}
