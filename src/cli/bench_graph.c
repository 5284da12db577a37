/* solo bench graph: a program of PyTorch at every fusion level. */
#include "cli/cli.h"
#include "lab/program.h"
#include "model/pt2.h"

#include <stdio.h>
#include <string.h>

typedef struct options {
    const char *path, *impl, *json;
    bool levels[LEVEL_COUNT];
    uint32_t repetitions, runs;
} options;

static const option TABLE[] = {{.value = "FILE.pt2",
                                .files = OPTION_FILES,
                                .required = true,
                                INTO(options, path),
                                .help = "a program that torch.export.save wrote"},
                               {.name = "fuse",
                                .value = "LIST",
                                .kind = OPTION_NAMES,
                                .names = cli_level_name,
                                .only = "none,ops,token,loop",
                                .in_usage = true,
                                INTO(options, levels),
                                .help = "fusion levels: {names}"},
                               {.letter = 'r',
                                .value = "N",
                                .kind = OPTION_WHOLE,
                                .low = 2,
                                .high = 10000,
                                INTO(options, repetitions),
                                .help = "repetitions"},
                               {.letter = 'n',
                                .value = "N",
                                .kind = OPTION_WHOLE,
                                .low = 1,
                                .high = 64,
                                INTO(options, runs),
                                .help = "runs in each, one after the other"},
                               {.name = "impl",
                                .value = "NAME",
                                .names = cli_impl_name,
                                INTO(options, impl),
                                .help = "{names}, or a library that implements webgpu.h",
                                .otherwise = "the first that works"},
                               {0}};

static bool measure(const options *o, program_lab *lab, err *e)
{
    pt2 *file =
        cli_keeps_input("--json", o->json, o->path, e) && cli_record_writable(o->json, e) ? pt2_open(o->path, e) : NULL;
    const char *slash = strrchr(o->path, '/');
    if (!file)
        return false;
    program_lab_options how = {.path = slash ? slash + 1 : o->path,
                               .program = pt2_program(file),
                               .choice = {.impl = o->impl},
                               .repetitions = o->repetitions,
                               .runs = o->runs,
                               .seed = 1};
    memcpy(how.levels, o->levels, sizeof how.levels);
    bool ok = program_lab_measure(lab, &how, e);
    if (ok && !(o->json && strcmp(o->json, "-") == 0))
        program_lab_print(lab, stdout);
    if (ok && o->json) {
        str record = {0};
        program_lab_record(lab, &record);
        ok = cli_record_write(&record, o->json, e);
    }
    program_lab_free(lab);
    pt2_free(file);
    return ok;
}

static int run(void *chosen)
{
    err e = {0};
    program_lab lab = {0};
    return measure(chosen, &lab, &e) ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {
    .levels = {[LEVEL_NONE] = true, [LEVEL_OPS] = true, [LEVEL_TOKEN] = true}, .repetitions = 10, .runs = 8};

const cli_command command_bench_graph = {
    .name = "bench graph",
    .summary = "measure a program of PyTorch at every fusion level",
    .about = "Measures how long a run of a program takes that torch.export.save wrote, at each fusion level, "
             "interleaved in random order on the same random inputs, and checks that all levels give the same outputs.",
    .groups = {{NULL, TABLE, 0}, {NULL, RECORD_TABLE, offsetof(options, json)}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .run = run};
