/* sim_options: the tables of simulations, and opening what they name. */
#include "cli/sim_options.h"
#include "base/file.h"
#include "sim/builtin.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PARAMETERS = 64 };

const option SIM_TABLE[] = {{.name = "pop",
                             .value = "N",
                             .kind = OPTION_WHOLE,
                             .low = 1,
                             .high = UINT32_MAX,
                             INTO(cli_sim, population),
                             .help = "individuals",
                             .otherwise = "the file's POPULATION, else 1024"},
                            {.name = "steps",
                             .value = "N",
                             .kind = OPTION_WHOLE,
                             .low = 1,
                             .high = UINT32_MAX - 1,
                             INTO(cli_sim, steps),
                             .help = "steps",
                             .otherwise = "the file's STEPS"},
                            {.name = "seed",
                             .value = "S",
                             .kind = OPTION_WHOLE,
                             .high = UINT32_MAX,
                             INTO(cli_sim, seed),
                             .help = "of all that is random: the same numbers on every device"},
                            {.name = "param",
                             .value = "K=V",
                             .kind = OPTION_TEXTS,
                             .high = MAX_PARAMETERS,
                             INTO(cli_sim, parameters),
                             .help = "the value of an `override` of the file; may be given several times"},
                            {.name = "data",
                             .value = "FILE",
                             .files = OPTION_FILES,
                             INTO(cli_sim, data_path),
                             .help = "a table for data(row, column): numbers, a line for each row"},
                            {.name = "genomes",
                             .value = "FILE",
                             .files = OPTION_FILES,
                             INTO(cli_sim, genomes_path),
                             .help = "genes, a line for each individual, or one line for all",
                             .otherwise = "drawn"},
                            {0}};

const option SIM_LEVEL_TABLE[] = {
    {.name = "fuse",
     .value = "LEVEL",
     .kind = OPTION_NAME,
     .names = cli_level_name,
     .only = "auto,none,token,loop",
     INTO(cli_sim, level),
     .help =
         "the fusion level; loop: all steps in one dispatch; none: a dispatch for each step; with --evolve, loop: many "
         "generations in one dispatch, token: one for each",
     .otherwise = "loop; with --evolve only on GPUs, else token"},
    {.name = "submit",
     .value = "POLICY",
     .kind = OPTION_NAME,
     .names = cli_submit_name,
     .only = "auto,sync,each,pass,batch",
     INTO(cli_sim, submit),
     .help = "with none: {names}"},
    {0}};

const option SIM_DEVICE_TABLE[] = {
    {.name = "chunk",
     .value = "MS",
     .kind = OPTION_WHOLE,
     .high = 600000,
     INTO(cli_sim, chunk_ms),
     .help = "how long a dispatch takes at most, about; the run is cut into pieces; 0: no cut"},
    {.name = "timeout",
     .alias = "patience",
     .value = "S",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = 86400,
     INTO(cli_sim, timeout_s),
     .help = "a dispatch that takes longer, in seconds, is an error"},
    {.name = "impl",
     .value = "I",
     .names = cli_impl_name,
     .only = "dawn,wgpu",
     .files = OPTION_FILES,
     INTO(cli_sim, impl),
     .help = "the implementation: {names}, or a library's path",
     .otherwise = "the first that works"},
    {.name = "adapter",
     .value = "A",
     .kind = OPTION_NAME,
     .names = cli_adapter_name,
     INTO(cli_sim, adapter),
     .help = "the kind of adapter: {names}; gpu makes software an error"},
    {0}};

static bool read_source(cli_sim *s, err *e)
{
    enum { LIMIT_BYTES = 1 << 20 };
    const char *builtin = sim_builtin(s->path);
    if (builtin)
        return sim_source_read(&s->source, s->path, builtin, e);
    size_t n = strlen(s->path);
    if (n < 5 || strcmp(s->path + n - 5, ".wgsl") != 0)
        return err_set(e, "there is no built-in simulation '%s' (solo sim --list), and no .wgsl file is named so",
                       s->path);
    char *text = cli_read_whole_text(s->path, LIMIT_BYTES, e);
    bool ok = text && sim_source_read(&s->source, s->path, text, e);
    free(text);
    return ok;
}

static bool read_data(cli_sim *s, err *e)
{
    if (s->data_path && !s->source.uses_data)
        return err_set_kind(e, ERR_USAGE, "%s never calls data(): what is --data for?", s->source.path);
    if (s->data_path)
        return table_read(&s->data, s->data_path, e);
    if (sim_builtin(s->path) && s->source.uses_data)
        sim_make_prices(&s->data, SIM_PRICE_ROWS, SIM_PRICE_SEED);
    return true;
}

static bool read_genomes(cli_sim *s, err *e)
{
    if (!s->genomes_path)
        return true;
    if (!s->source.genes)
        return err_set_kind(e, ERR_USAGE, "%s has no genes: what is --genomes for?", s->source.path);
    if (!table_read(&s->genomes, s->genomes_path, e))
        return false;
    if (s->genomes.columns != s->source.genes)
        return err_set(e, "%s: %u columns; %s has %u genes", s->genomes_path, s->genomes.columns, s->source.path,
                       s->source.genes);
    if (s->population == 0 && s->genomes.rows > 1)
        s->population = s->genomes.rows;
    if (s->genomes.rows != 1 && s->genomes.rows != (uint64_t)s->population)
        return err_set(e, "%s: %u lines for a population of %ld; one for each, or one for all", s->genomes_path,
                       s->genomes.rows, s->population);
    return true;
}

bool cli_sim_open(cli_sim *s, err *e)
{
    enum { POPULATION = 1024 };
    if (!read_source(s, e))
        return false;
    for (size_t i = 0; i < s->parameters.count; i++)
        if (!sim_source_set(&s->source, s->parameters.items[i], e))
            return false;
    if (!read_data(s, e) || !read_genomes(s, e))
        return false;
    if (s->population == 0)
        s->population = s->source.population ? s->source.population : POPULATION;
    if (s->steps == 0)
        s->steps = s->source.steps;
    if (s->steps == 0)
        return err_set_kind(e, ERR_USAGE, "how many steps? Give --steps N, or write 'const STEPS = N;' into %s",
                            s->source.path);
    return true;
}

void cli_sim_close(cli_sim *s)
{
    sim_source_free(&s->source);
    table_free(&s->data);
    table_free(&s->genomes);
}

sim_options cli_sim_options(const cli_sim *c)
{
    return (sim_options){.population = (uint32_t)c->population,
                         .steps = (uint32_t)c->steps,
                         .seed = (uint32_t)c->seed,
                         .data = c->data.rows ? &c->data : NULL,
                         .chunk_ms = (uint32_t)c->chunk_ms,
                         .timeout_s = (uint32_t)c->timeout_s};
}
