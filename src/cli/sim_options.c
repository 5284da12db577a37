#include "cli/sim_options.h"
#include "base/file.h"
#include "sim/builtin.h"

#include <stdlib.h>
#include <string.h>

const char CLI_SIM_HELP[] =
    "  NAME|FILE.wgsl   a built-in simulation (solo sim --list) or a file\n"
    "  --pop N          individuals (default: the file's POPULATION, else 1024)\n"
    "  --steps N        steps (default: the file's STEPS)\n"
    "  --seed S         of all that is random (default 1): the same numbers on every device\n"
    "  --param K=V      the value of an `override` of the file; may be given several times\n"
    "  --data FILE      a table for data(row, column): numbers, a line for each row\n"
    "  --genomes FILE   genes, a line for each individual, or one line for all (default: drawn)\n"
    "  --fuse LEVEL     loop: all steps in one dispatch (default); none: a dispatch for each step\n"
    "                   with --evolve: loop: many generations in one dispatch (default on GPUs); token: one for each\n"
    "  --submit POLICY  with none: sync, each, pass or batch (default)\n"
    "  --chunk MS       how long a dispatch takes at most, about; the run is cut into pieces (default 500; 0: no cut)\n"
    "  --patience S     a dispatch that takes longer is given up (default 60)\n"
    "  --impl I         dawn, wgpu or a library's path (default: the first that works)\n"
    "  --adapter A      gpu (software is an error), software or any (default)\n";

static bool take_level(cli_args *a, const char *word, fusion_level *level)
{
    const char *name = cli_value(a, word);
    if (!name)
        return false;
    if (strcmp(name, "auto") != 0 && strcmp(name, "loop") != 0 && strcmp(name, "token") != 0 &&
        strcmp(name, "none") != 0)
        return err_set_kind(a->e, ERR_USAGE, "--fuse takes auto, loop, token or none for a simulation, not '%s'", name);
    return cli_level(name, level, a->e);
}

static bool take_submit(cli_args *a, const char *word, submit_policy *submit)
{
    const char *name = cli_value(a, word);
    for (int i = SUBMIT_AUTO; name && i <= SUBMIT_BATCH; i++)
        if (strcmp(name, submit_names[i]) == 0) {
            *submit = i == SUBMIT_AUTO ? SUBMIT_BATCH : (submit_policy)i;
            return true;
        }
    return name && err_set_kind(a->e, ERR_USAGE, "--submit takes auto, sync, each, pass or batch, not '%s'", name);
}

static bool take_parameter(cli_args *a, const char *word, cli_sim *s)
{
    const char *value = cli_value(a, word);
    if (!value)
        return false;
    if (s->parameter_count == CLI_SIM_MAX_PARAMETERS)
        return err_set_kind(a->e, ERR_USAGE, "more than %d parameters", CLI_SIM_MAX_PARAMETERS);
    s->parameters[s->parameter_count++] = value;
    return true;
}

bool cli_sim_word(cli_args *a, const char *word, cli_sim *s)
{
    if (strcmp(word, "--pop") == 0)
        return cli_number(a, word, 1, 4294967295, &s->population);
    if (strcmp(word, "--steps") == 0)
        return cli_number(a, word, 1, 4294967294, &s->steps);
    if (strcmp(word, "--seed") == 0)
        return cli_number(a, word, 0, 4294967295, &s->seed);
    if (strcmp(word, "--chunk") == 0)
        return cli_number(a, word, 0, 600000, &s->chunk_ms);
    if (strcmp(word, "--patience") == 0)
        return cli_number(a, word, 1, 86400, &s->timeout_s);
    if (strcmp(word, "--param") == 0)
        return take_parameter(a, word, s);
    if (strcmp(word, "--data") == 0)
        return (s->data_path = cli_value(a, word)) != NULL;
    if (strcmp(word, "--genomes") == 0)
        return (s->genomes_path = cli_value(a, word)) != NULL;
    if (strcmp(word, "--fuse") == 0)
        return take_level(a, word, &s->level);
    if (strcmp(word, "--submit") == 0)
        return take_submit(a, word, &s->submit);
    if (strcmp(word, "--impl") == 0)
        return (s->impl = cli_value(a, word)) != NULL;
    if (strcmp(word, "--adapter") == 0)
        return cli_adapter(cli_value(a, word), &s->adapter, a->e);
    if (word[0] == '-' || s->path)
        return cli_unknown(a, word);
    s->path = word;
    return true;
}

static bool read_source(cli_sim *s, err *e)
{
    enum { LIMIT_BYTES = 1 << 20 };
    const char *builtin = sim_builtin(s->path);
    if (builtin)
        return sim_source_read(&s->source, s->path, builtin, e);
    size_t n = strlen(s->path), length;
    if (n < 5 || strcmp(s->path + n - 5, ".wgsl") != 0)
        return err_set(e, "there is no built-in simulation '%s' (solo sim --list), and no .wgsl file is named so",
                       s->path);
    char *text = file_read(s->path, LIMIT_BYTES, &length, e);
    if (!text)
        return false;
    bool ok = strlen(text) == length ? sim_source_read(&s->source, s->path, text, e)
                                     : err_set(e, "%s is not text: it has a zero byte", s->path);
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
    for (int i = 0; i < s->parameter_count; i++)
        if (!sim_source_set(&s->source, s->parameters[i], e))
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
