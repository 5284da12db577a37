/* commands: all commands in the order of help, and finding one by its name. */
#include "cli/commands.h"
#include "base/version.h"
#include "cli/cli.h"
#include "cli/help.h"
#include "cli/suggest.h"

#include <string.h>

static const cli_command *const COMMANDS[] = {&command_info,
                                              &command_demo,
                                              &command_run,
                                              &command_chat,
                                              &command_pull,
                                              &command_models,
                                              &command_bench_dispatch,
                                              &command_bench_llm,
                                              &command_bench_batch,
                                              &command_bench_decoder,
                                              &command_bench_sim,
                                              &command_bench_graph,
                                              &command_sim,
                                              &command_explain,
                                              &command_report,
                                              &command_compare,
                                              &command_share,
                                              &command_collect,
                                              &command_serve,
                                              &command_web,
                                              &command_tokenize,
                                              &command_embed,
                                              &command_logits,
                                              &command_convert,
                                              &command_synth,
                                              &command_completion,
                                              &command_man,
                                              NULL};

static const command_family FAMILIES[] = {
    {"bench", "experiment", "EXPERIMENT", "measure, keeping every sample and saying what was checked"}};
enum { FAMILY_COUNT = sizeof FAMILIES / sizeof *FAMILIES };

const cli_command *command_at(size_t i)
{
    return COMMANDS[i];
}

const command_family *command_family_at(size_t i)
{
    return i < FAMILY_COUNT ? &FAMILIES[i] : NULL;
}

const command_family *command_family_find(const char *name)
{
    for (size_t i = 0; i < FAMILY_COUNT; i++)
        if (strcmp(FAMILIES[i].name, name) == 0)
            return &FAMILIES[i];
    return NULL;
}

bool command_is_of_family(const cli_command *c, const command_family *f)
{
    size_t length = strlen(f->name);
    return strncmp(c->name, f->name, length) == 0 && c->name[length] == ' ';
}

const cli_command *command_find(int count, char *const *words, int *used)
{
    for (const cli_command *const *c = COMMANDS; *c; c++) {
        const char *second = strchr((*c)->name, ' ');
        size_t length = second ? (size_t)(second - (*c)->name) : strlen((*c)->name);
        if (strlen(words[0]) != length || memcmp(words[0], (*c)->name, length) != 0)
            continue;
        if (second && (count < 2 || strcmp(words[1], second + 1) != 0))
            continue;
        *used = second ? 2 : 1;
        return *c;
    }
    return NULL;
}

/* ---- what is wrong ----------------------------------------------------------------------- */

/* "dispatch, llm or sim" */
static void add_members(const command_family *f, str *out)
{
    const char *last = NULL;
    for (const cli_command *const *c = COMMANDS; *c; c++) {
        if (!command_is_of_family(*c, f))
            continue;
        if (last)
            str_addf(out, "%s%s", out->length ? ", " : "", last);
        last = strchr((*c)->name, ' ') + 1;
    }
    str_addf(out, " or %s", last ? last : "");
}

static bool unknown_member(const command_family *f, const char *name, err *e)
{
    str members = {0};
    add_members(f, &members);
    if (name)
        err_set_kind(e, ERR_USAGE, "unknown %s '%s'; there is %s (solo %s --help)", f->noun, name, members.data,
                     f->name);
    else
        err_set_kind(e, ERR_USAGE, "%s which %s? There is %s (solo %s --help)", f->name, f->noun, members.data,
                     f->name);
    str_free(&members);
    return false;
}

bool command_unknown(int count, char *const *words, err *e)
{
    const command_family *f = command_family_find(words[0]);
    if (f)
        return unknown_member(f, count > 1 ? words[1] : NULL, e);
    suggestion s = suggest_for(words[0], strlen(words[0]));
    for (const cli_command *const *c = COMMANDS; *c; c++)
        if (!(*c)->hidden)
            suggest_consider(&s, (*c)->name);
    for (size_t i = 0; i < FAMILY_COUNT; i++)
        suggest_consider(&s, FAMILIES[i].name);
    return err_set_kind(e, ERR_USAGE, "unknown command '%s'%s%s%s (solo --help)", words[0],
                        s.best[0] ? "; did you mean " : "", s.best, s.best[0] ? "?" : "");
}

/* ---- help ---------------------------------------------------------------------------------- */

static void add_list(const command_family *f, str *out)
{
    for (const cli_command *const *c = COMMANDS; *c; c++)
        if (!(*c)->hidden && (!f || command_is_of_family(*c, f)))
            str_addf(out, "  %-14s  %s\n", (*c)->name, (*c)->summary);
}

void commands_add_help(str *out)
{
    str_addf(out,
             "solo %s: WebGPU in as few dispatches as possible, and what each one costs\n\n"
             "usage: solo COMMAND [OPTION]...\n\n",
             solo_version);
    add_list(NULL, out);
    str_add(out, "\n`solo COMMAND --help` or `solo help COMMAND` says more; `solo --version` says which one this is.\n"
                 "Exit status: 0; 1 it failed; 2 wrong usage; 3 no usable GPU.\n");
}

void command_family_add_help(const command_family *f, str *out)
{
    str_addf(out, "usage: solo %s %s [OPTION]...\n\n", f->name, f->value);
    add_list(f, out);
    str_addf(out, "\n`solo %s %s --help` says more.\n", f->name, f->value);
}
