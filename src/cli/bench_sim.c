/* solo bench sim: all steps in one dispatch beside a dispatch for each. */
#include "cli/cli.h"
#include "cli/sim_options.h"
#include "lab/sim.h"
#include "sim/builtin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char bench_sim_help[] =
    "usage: solo bench sim NAME|FILE.wgsl|all [--fuse LIST] [--submit LIST] [--pop N] [--steps N] [-r N] [--json "
    "FILE]\n\n"
    "Measures how often a second a whole population goes through all its steps: in one dispatch (loop) and by a\n"
    "dispatch for each step (none), interleaved in random order, and checks that all give the same bits.\n\n"
    "  NAME|FILE|all    simulations, separated by commas; all: every built-in one\n"
    "  --fuse LIST      loop, none (default: both)\n"
    "  --submit LIST    of none: sync, each, pass, batch (default: all)\n"
    "  -r N             repetitions (default 5)\n"
    "  --json FILE      write the record; - writes it to standard output and nothing else\n"
    "  --pop, --steps, --seed, --param, --data, --genomes, --patience, --impl, --adapter as for `solo sim`; no run is\n"
    "  cut unless --chunk says so\n";

typedef struct options {
    cli_sim common;
    cli_sim sims[SIM_LAB_MAX_SIMS];
    sim_lab_options lab;
    const char *json;
    char impl[16];
    bool help;
} options;

static bool take_submits(cli_args *a, const char *word, bool *flags)
{
    const char *list = cli_value(a, word);
    memset(flags, 0, SUBMIT_COUNT * sizeof *flags);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t length = strcspn(at, ",");
        int i = SUBMIT_SYNC;
        while (i <= SUBMIT_BATCH && (strlen(submit_names[i]) != length || memcmp(submit_names[i], at, length) != 0))
            i++;
        if (i > SUBMIT_BATCH)
            return err_set_kind(a->e, ERR_USAGE, "--submit: there is no '%.*s'", (int)length, at);
        flags[i] = true;
    }
    return list != NULL;
}

static bool take_fusions(cli_args *a, const char *word, sim_lab_options *o)
{
    const char *list = cli_value(a, word);
    if (!list)
        return false;
    o->fused = strcmp(list, "loop") == 0 || strcmp(list, "loop,none") == 0 || strcmp(list, "none,loop") == 0;
    o->separate = strcmp(list, "loop") != 0;
    return o->fused || strcmp(list, "none") == 0 ||
           err_set_kind(a->e, ERR_USAGE, "--fuse takes loop, none or loop,none, not '%s'", list);
}

static bool parse(options *o, cli_args *a)
{
    const char *word;
    long number;
    while ((word = cli_next(a))) {
        if (strcmp(word, "--help") == 0)
            o->help = true;
        else if (strcmp(word, "--json") == 0) {
            if (!(o->json = cli_value(a, word)))
                return false;
        } else if (strcmp(word, "-r") == 0) {
            if (!cli_number(a, word, 2, 10000, &number))
                return false;
            o->lab.repetitions = (uint32_t)number;
        } else if (strcmp(word, "--submit") == 0) {
            if (!take_submits(a, word, o->lab.submits))
                return false;
        } else if (strcmp(word, "--fuse") == 0) {
            if (!take_fusions(a, word, &o->lab))
                return false;
        } else if (!cli_sim_word(a, word, &o->common))
            return false;
    }
    return o->help || o->common.path ||
           err_set_kind(a->e, ERR_USAGE, "which simulation? A .wgsl file, names of `solo sim --list`, or all");
}

static bool open_sim(options *o, const char *name, err *e)
{
    if (o->lab.item_count == SIM_LAB_MAX_SIMS)
        return err_set_kind(e, ERR_USAGE, "more than %d simulations", SIM_LAB_MAX_SIMS);
    cli_sim *s = &o->sims[o->lab.item_count];
    *s = o->common;
    s->path = name;
    if (!cli_sim_open(s, e))
        return false;
    o->lab.items[o->lab.item_count++] = (sim_lab_item){
        .source = &s->source, .options = cli_sim_options(s), .genomes = s->genomes.rows ? &s->genomes : NULL};
    return true;
}

/* `names` is cut at its commas. */
static bool open_sims(options *o, char *names, err *e)
{
    if (strcmp(names, "all") != 0) {
        for (char *name = strtok(names, ","); name; name = strtok(NULL, ","))
            if (!open_sim(o, name, e))
                return false;
        return true;
    }
    for (uint32_t i = 0; sim_builtin_name(i); i++) {
        char name[64];
        snprintf(name, sizeof name, "%s", sim_builtin_name(i));
        if (!open_sim(o, name, e))
            return false;
    }
    return true;
}

static bool find_device(options *o, err *e)
{
    o->lab.choice = (gpu_choice){.impl = o->common.impl, .adapter = o->common.adapter};
    gpu *g = sim_open_gpu(&o->lab.choice, e);
    if (!g)
        return false;
    /* it is the laboratory that opens it */
    snprintf(o->impl, sizeof o->impl, "%s", gpu_get_info(g)->family);
    if (!o->lab.choice.impl)
        o->lab.choice.impl = o->impl;
    gpu_close(g);
    return true;
}

int bench_sim(int argc, char **argv)
{
    err e = {0};
    options *o = mem_alloc(sizeof *o);
    sim_lab *lab = mem_alloc(sizeof *lab);
    *o = (options){.common = CLI_SIM_DEFAULTS, .lab = {.fused = true, .separate = true, .repetitions = 5, .seed = 1}};
    o->common.chunk_ms = 0;
    for (int i = SUBMIT_SYNC; i <= SUBMIT_BATCH; i++)
        o->lab.submits[i] = true;
    bool ok = parse(o, &(cli_args){argc, 1, argv, &e});
    if (ok && o->help)
        fputs(bench_sim_help, stdout);
    else if (ok) {
        char *names = mem_dup(o->common.path);
        bool to_stdout = o->json && strcmp(o->json, "-") == 0;
        ok = cli_record_writable(o->json, &e) && open_sims(o, names, &e) && find_device(o, &e) &&
             sim_lab_measure(lab, &o->lab, &e);
        if (ok && !to_stdout)
            sim_lab_print(lab, stdout);
        if (ok && o->json) {
            str record = {0};
            sim_lab_record(lab, &record);
            ok = cli_record_write(&record, o->json, &e);
        }
        if (ok && lab->differs[0])
            ok = err_set(&e, "%s", lab->differs);
        /* as in `solo sim`: nothing can be closed in order */
        if (!sim_lab_free(lab))
            _exit(ok ? 0 : cli_fail(&e));
        for (uint32_t i = 0; i < o->lab.item_count; i++)
            cli_sim_close(&o->sims[i]);
        free(names);
    }
    free(lab);
    free(o);
    return ok ? 0 : cli_fail(&e);
}
