/* solo bench sim: all steps in one dispatch beside a dispatch for each. */
#include "cli/cli.h"
#include "cli/sim_options.h"
#include "lab/sim.h"
#include "sim/builtin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FUSE_LOOP, FUSE_NONE, FUSE_COUNT };

typedef struct options {
    cli_sim common;
    bool fuse[FUSE_COUNT], submits[SUBMIT_COUNT];
    uint32_t repetitions;
    const char *json;
} options;

/* What is measured, with what it needs. */
typedef struct bench {
    const options *o;
    cli_sim sims[SIM_LAB_MAX_SIMS];
    sim_lab_options lab;
    char impl[16];
    char *names; /* the simulations', cut at their commas */
} bench;

static const char *fuse_name(uint32_t i)
{
    static const char *const names[] = {[FUSE_LOOP] = "loop", [FUSE_NONE] = "none"};
    return i < FUSE_COUNT ? names[i] : NULL;
}

static const char *sim_name(uint32_t i)
{
    return i == 0 ? "all" : sim_builtin_name(i - 1);
}

static const option NAME_TABLE[] = {
    {.value = "NAME|FILE.wgsl|all",
     .names = sim_name,
     .lists = true,
     .files = OPTION_FILES,
     .required = true,
     INTO(options, common.path),
     .help = "simulations, separated by commas; all: every built-in one"},
    {.name = "fuse",
     .value = "LIST",
     .kind = OPTION_NAMES,
     .names = fuse_name,
     .in_usage = true,
     INTO(options, fuse),
     .help = "fusion levels; loop: all steps in one dispatch; none: a dispatch for each step"},
    {.name = "submit",
     .value = "LIST",
     .kind = OPTION_NAMES,
     .names = cli_submit_name,
     .only = "sync,each,pass,batch",
     INTO(options, submits),
     .help = "of none: {names}"},
    {.letter = 'r',
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 2,
     .high = 10000,
     INTO(options, repetitions),
     .help = "repetitions"},
    {0}};

static bool open_sim(bench *b, const char *name, err *e)
{
    if (b->lab.item_count == SIM_LAB_MAX_SIMS)
        return err_set_kind(e, ERR_USAGE, "more than %d simulations", SIM_LAB_MAX_SIMS);
    cli_sim *s = &b->sims[b->lab.item_count];
    *s = b->o->common;
    s->path = name;
    if (!cli_sim_open(s, e))
        return false;
    b->lab.items[b->lab.item_count++] = (sim_lab_item){
        .source = &s->source, .options = cli_sim_options(s), .genomes = s->genomes.rows ? &s->genomes : NULL};
    return true;
}

static bool open_sims(bench *b, err *e)
{
    if (strcmp(b->names, "all") != 0) {
        for (char *name = strtok(b->names, ","); name; name = strtok(NULL, ","))
            if (!open_sim(b, name, e))
                return false;
        return true;
    }
    for (uint32_t i = 0; sim_builtin_name(i); i++) {
        char name[64];
        snprintf(name, sizeof name, "%s", sim_builtin_name(i));
        if (!open_sim(b, name, e))
            return false;
    }
    return true;
}

static bool find_device(bench *b, err *e)
{
    b->lab.choice = (gpu_choice){.impl = b->o->common.impl, .adapter = b->o->common.adapter};
    gpu *g = sim_open_gpu(&b->lab.choice, e);
    if (!g)
        return false;
    /* it is the laboratory that opens it */
    snprintf(b->impl, sizeof b->impl, "%s", gpu_get_info(g)->family);
    if (!b->lab.choice.impl)
        b->lab.choice.impl = b->impl;
    gpu_close(g);
    return true;
}

static bool measure(bench *b, sim_lab *lab, err *e)
{
    const char *json = b->o->json;
    bool ok = cli_record_writable(json, e) && open_sims(b, e) && find_device(b, e) && sim_lab_measure(lab, &b->lab, e);
    if (ok && !(json && strcmp(json, "-") == 0))
        sim_lab_print(lab, stdout);
    if (ok && json) {
        str record = {0};
        sim_lab_record(lab, &record);
        ok = cli_record_write(&record, json, e);
    }
    if (ok && lab->differs[0])
        ok = err_set(e, "%s", lab->differs);
    return ok;
}

static int run(void *chosen)
{
    err e = {0};
    const options *o = chosen;
    bench *b = mem_alloc(sizeof *b);
    sim_lab *lab = mem_alloc(sizeof *lab);
    b->o = o;
    b->names = mem_dup(o->common.path);
    b->lab = (sim_lab_options){
        .fused = o->fuse[FUSE_LOOP], .separate = o->fuse[FUSE_NONE], .repetitions = o->repetitions, .seed = 1};
    memcpy(b->lab.submits, o->submits, sizeof o->submits);
    bool ok = measure(b, lab, &e);
    /* as in `solo sim`: nothing can be closed in order */
    if (!sim_lab_free(lab))
        _exit(ok ? 0 : cli_fail(&e));
    for (uint32_t i = 0; i < b->lab.item_count; i++)
        cli_sim_close(&b->sims[i]);
    free(b->names);
    free(lab);
    free(b);
    return ok ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {
    .common = {.seed = 1, .timeout_s = 60},
    .fuse = {true, true},
    .submits = {[SUBMIT_SYNC] = true, [SUBMIT_EACH] = true, [SUBMIT_PASS] = true, [SUBMIT_BATCH] = true},
    .repetitions = 5};

const cli_command command_bench_sim = {
    .name = "bench sim",
    .summary = "measure simulations in one dispatch beside a dispatch for each step",
    .about =
        "Measures how often a second a whole population goes through all its steps: in one dispatch (loop) and by a "
        "dispatch for each step (none), interleaved in random order, and checks that all give the same bits.",
    .groups = {{NULL, NAME_TABLE, 0},
               {NULL, SIM_TABLE, offsetof(options, common)},
               {NULL, SIM_DEVICE_TABLE, offsetof(options, common)},
               {NULL, RECORD_TABLE, offsetof(options, json)}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .run = run};
