/* solo sim: a simulation written in WGSL, for a whole population. */
#include "base/clock.h"
#include "base/file.h"
#include "base/progress.h"
#include "cli/cli.h"
#include "cli/sim_evolve.h"
#include "cli/sim_options.h"
#include "lab/sim_result.h"
#include "sim/builtin.h"
#include "sim/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct options {
    cli_sim sim;
    cli_evolve evolve;
    const char *out, *trace;
    long trace_count, every;
    bool list, show, show_kernel, show_data;
} options;

static const option NAME_TABLE[] = {{.value = "NAME|FILE.wgsl",
                                     .names = sim_builtin_name,
                                     .files = OPTION_FILES,
                                     .required = true,
                                     INTO(options, sim.path),
                                     .help = "a built-in simulation (solo sim --list) or a file"},
                                    {0}};

static const option TABLE[] = {
    {.name = "output",
     .letter = 'o',
     .value = "FILE",
     .files = OPTION_FILES,
     .in_usage = true,
     INTO(options, out),
     .help = "write scores and last states: .json (a record) or .csv; - writes CSV to standard output"},
    {.name = "trace",
     .value = "FILE.csv",
     .files = OPTION_FILES,
     INTO(options, trace),
     .help = "write states on the way, as CSV"},
    {.name = "trace-count",
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = 1000000,
     INTO(options, trace_count),
     .help = "of so many individuals"},
    {.name = "every",
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = 1000000000,
     INTO(options, every),
     .help = "after every N steps"},
    {.name = "list", .kind = OPTION_FLAG, .alone = true, INTO(options, list), .help = "the built-in simulations"},
    {.name = "show", .kind = OPTION_FLAG, INTO(options, show), .help = "the file of a built-in one, to begin with"},
    {.name = "show-kernel",
     .kind = OPTION_FLAG,
     INTO(options, show_kernel),
     .help = "what is compiled: the file, and what Solo adds"},
    {.name = "show-data",
     .kind = OPTION_FLAG,
     INTO(options, show_data),
     .help = "the table that a built-in one reads, as CSV"},
    {0}};

static bool is_csv(const char *path)
{
    size_t n = strlen(path);
    return strcmp(path, "-") == 0 || (n > 4 && strcmp(path + n - 4, ".csv") == 0);
}

static bool check(void *chosen, err *e)
{
    const options *o = chosen;
    if (!o->evolve.generations && o->sim.level == LEVEL_TOKEN)
        return err_set_kind(e, ERR_USAGE, "--fuse token is for --evolve: a generation at a time");
    if (o->evolve.generations && o->trace)
        return err_set_kind(e, ERR_USAGE, "--trace is for one generation: write the best (--best FILE) and trace that");
    if (o->evolve.resume && o->sim.genomes_path)
        return err_set_kind(e, ERR_USAGE, "--resume goes on with the genes of its file: what is --genomes for?");
    if (!o->trace && (o->trace_count != 1 || o->every != 1))
        return err_set_kind(e, ERR_USAGE, "--trace-count and --every are for --trace");
    if (!cli_evolve_check(&o->evolve, e))
        return false;
    size_t n = o->out ? strlen(o->out) : 0;
    if (o->out && !is_csv(o->out) && (n < 6 || strcmp(o->out + n - 5, ".json") != 0))
        return err_set_kind(e, ERR_USAGE, "-o takes a name that ends in .json or .csv, or -, not '%s'", o->out);
    const cli_output files[] = {
        {"-o", o->out}, {"--trace", o->trace}, {"--save", o->evolve.save}, {"--best", o->evolve.best}};
    const char *inputs[] = {o->sim.path && !sim_builtin(o->sim.path) ? o->sim.path : NULL, o->sim.data_path,
                            o->sim.genomes_path};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (size_t j = 0; j < sizeof inputs / sizeof *inputs; j++)
            if (!cli_keeps_input(files[i].option, files[i].path, inputs[j], e))
                return false;
    if (o->trace && strcmp(o->trace, "-") == 0)
        return err_set_kind(e, ERR_USAGE, "--trace takes a file: standard output has the result");
    return cli_outputs_differ(files, sizeof files / sizeof *files, e) &&
           (!o->out || strcmp(o->out, "-") == 0 || file_writable(o->out, e)) &&
           (!o->trace || file_writable(o->trace, e));
}

static void list_builtins(void)
{
    for (uint32_t i = 0; sim_builtin_name(i); i++) {
        char *summary = sim_builtin_summary(sim_builtin_name(i));
        printf("%-12s %s\n", sim_builtin_name(i), summary);
        free(summary);
    }
}

static bool show(const options *o, err *e)
{
    if (o->show)
        fputs(o->sim.source.file.text, stdout);
    if (o->show_kernel) {
        char *text = sim_text(&o->sim.source,
                              &(sim_text_choice){.form = o->sim.source.is_coupled ? SIM_TEXT_COUPLED : SIM_TEXT_FUSED,
                                                 .threads = 64,
                                                 .own_genes = true, /* as on a GPU */
                                                 .data_rows = o->sim.data.rows,
                                                 .data_columns = o->sim.data.columns});
        fputs(text, stdout);
        free(text);
    }
    if (!o->show_data)
        return true;
    const table *t = &o->sim.data;
    if (!t->rows)
        return err_set(e, "%s reads no data", o->sim.source.path);
    for (uint32_t r = 0; r < t->rows; r++)
        for (uint32_t c = 0; c < t->columns; c++)
            printf("%.9g%c", (double)t->values[(size_t)r * t->columns + c], c + 1 < t->columns ? ',' : '\n');
    return true;
}

static bool write_trace(const options *o, sim *s, const sim_result *r, err *e)
{
    uint32_t count = sim_trace_count(s), rows = sim_trace_rows(s);
    uint32_t *words = mem_alloc((size_t)rows * r->source->state->words * count * 4);
    str text = {0};
    bool ok = sim_read_trace(s, words, e);
    if (ok) {
        sim_trace_csv(r->source, words, rows, count, (uint32_t)o->every, &text);
        ok = file_write(o->trace, text.data, text.length, e);
    }
    str_free(&text);
    free(words);
    return ok;
}

static bool write_result(const options *o, const sim_result *r, err *e)
{
    str text = {0};
    if (!o->out || strcmp(o->out, "-") != 0)
        sim_result_print(r, stdout);
    if (!o->out)
        return true;
    if (is_csv(o->out))
        sim_result_csv(r, &text);
    else
        sim_result_json(r, &text);
    bool ok = file_write(o->out, text.data, text.length, e);
    str_free(&text);
    return ok;
}

static void show_progress(void *bar, uint32_t step)
{
    progress_at(bar, step);
}

static bool run_steps(sim *s, const sim_result *r, err *e)
{
    progress bar = progress_start("steps", r->steps);
    sim_set_progress(s, show_progress, &bar);
    bool ok = sim_run(s, r->level, r->submit, e);
    progress_end(&bar);
    return ok;
}

static fusion_level level_on(const options *o, const sim *s)
{
    if (o->sim.level != LEVEL_AUTO)
        return o->sim.level;
    return o->evolve.generations ? evolve_level_on(s) : LEVEL_LOOP;
}

static bool simulate(options *o, gpu *g, bool *stuck, err *e)
{
    const sim_source *source = &o->sim.source;
    sim_options how = cli_sim_options(&o->sim);
    how.trace_count = o->trace ? (uint32_t)o->trace_count : 0;
    how.trace_every = (uint32_t)o->every;
    how.evolves = o->evolve.generations > 0;
    evolution *evolved = NULL;
    sim *s = sim_new(g, source, &how, e);
    if (!s)
        return false;
    sim_result r = {.source = source,
                    .g = g,
                    .level = level_on(o, s),
                    .submit = o->sim.submit == SUBMIT_AUTO ? SUBMIT_BATCH : o->sim.submit,
                    .population = how.population,
                    .steps = how.steps,
                    .seed = how.seed,
                    .scored = 1,
                    .scores = mem_alloc((size_t)how.population * 4),
                    .states = mem_alloc((size_t)how.population * source->state->words * 4)};
    char notice[300];
    if (o->sim.genomes.rows)
        sim_set_genome_table(s, &o->sim.genomes);
    gpu_counters before = gpu_get_counters(g);
    double began = clock_us();
    bool ok = how.evolves ? cli_evolve_run(&o->evolve, s, r.level, r.submit, &evolved, e) : run_steps(s, &r, e);
    ok = ok && sim_read_scores(s, r.scores, e);
    r.seconds = (clock_us() - began) * 1e-6;
    r.counted = gpu_counters_since(g, before);
    if (evolved) {
        r.generations = evolve_generation(evolved);
        r.scored = evolve_scored(evolved);
        r.best = evolve_best(evolved);
    }
    if (sim_take_notice(s, notice, sizeof notice))
        fprintf(stderr, "solo: %s\n", notice);
    ok = ok && sim_check(s, r.scores, e) && sim_read_states(s, r.states, e) &&
         (!o->trace || write_trace(o, s, &r, e)) && write_result(o, &r, e);
    *stuck = sim_is_stuck(s);
    free(r.scores);
    free(r.states);
    evolve_free(evolved);
    if (!*stuck)
        sim_free(s);
    return ok;
}

static int run(void *chosen)
{
    err e = {0};
    bool stuck = false;
    options *o = chosen;
    if (o->list) {
        list_builtins();
        return 0;
    }
    bool ok = cli_sim_open(&o->sim, &e);
    if (ok && (o->show || o->show_kernel || o->show_data))
        ok = show(o, &e);
    else if (ok) {
        gpu *g = sim_open_gpu(&(gpu_choice){.impl = o->sim.impl, .adapter = o->sim.adapter}, &e);
        ok = g && simulate(o, g, &stuck, &e);
        if (!stuck)
            gpu_close(g);
    }
    int status = ok ? 0 : cli_fail(&e);
    /* work that never ends runs on in the driver's threads, and nothing can be closed in order */
    if (stuck)
        _exit(status);
    cli_sim_close(&o->sim);
    return status;
}

static const options DEFAULTS = {.sim = CLI_SIM_DEFAULTS, .evolve.how = EVOLVE_DEFAULTS, .trace_count = 1, .every = 1};

const cli_command command_sim = {
    .name = "sim",
    .summary = "a simulation, step by step, in one dispatch",
    .about =
        "Runs a simulation for every individual of a population on the GPU, all its steps in one dispatch. A file has "
        "`struct State`, `fn init() -> State`, `fn step(s: State) -> State` and `fn score(s: State) -> f32`; "
        "docs/sim.md says what else there is, docs/sim-tutorial.md how to begin.",
    .groups = {{NULL, NAME_TABLE, 0},
               {NULL, SIM_TABLE, offsetof(options, sim)},
               {NULL, TABLE, 0},
               {"How it runs", SIM_LEVEL_TABLE, offsetof(options, sim)},
               {NULL, SIM_DEVICE_TABLE, offsetof(options, sim)},
               {"Evolution", EVOLVE_TABLE, offsetof(options, evolve)}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .check = check,
    .run = run};
