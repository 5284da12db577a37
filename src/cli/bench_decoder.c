/* solo bench decoder: a small decoder as 1,024 dispatches or as one. */
#include "cli/cli.h"
#include "lab/decoder.h"

#include <stdio.h>
#include <string.h>

typedef struct options {
    decoder_lab_options lab;
    const char *json;
} options;

static const option TABLE[] = {{.letter = 'r',
                                .value = "N",
                                .kind = OPTION_WHOLE,
                                .low = 2,
                                .high = 100000,
                                .in_usage = true,
                                INTO(options, lab.repetitions),
                                .help = "repetitions"},
                               {.name = "seed",
                                .value = "N",
                                .kind = OPTION_WHOLE,
                                .low = 1,
                                .high = 2147483647,
                                INTO(options, lab.seed),
                                .help = "order of the runs"},
                               {.name = "impl",
                                .value = "I",
                                .names = cli_impl_name,
                                .only = "dawn,wgpu,vulkan,stub",
                                .files = OPTION_FILES,
                                .in_usage = true,
                                INTO(options, lab.choice.impl),
                                .help = "the implementation: {names}, or a library's path",
                                .otherwise = "the first that works"},
                               {0}};

static int run(void *chosen)
{
    err e = {0};
    const options *o = chosen;
    decoder_lab lab = {0};
    bool to_stdout = o->json && strcmp(o->json, "-") == 0;
    bool ok = cli_record_writable(o->json, &e) && decoder_measure(&lab, &o->lab, &e);
    if (ok && !to_stdout)
        decoder_print(&lab, stdout);
    if (ok && o->json) {
        str record = {0};
        decoder_record(&lab, &record);
        ok = cli_record_write(&record, o->json, &e);
    }
    decoder_free(&lab);
    return ok ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {.lab = {.repetitions = 20, .seed = 1}};

const cli_command command_bench_decoder = {
    .name = "bench decoder",
    .summary = "measure a small decoder as 1,024 dispatches or as one",
    .about = "Measures how long 64 tokens through a decoder of 4 layers take as 1,024 dispatches, by every launch "
             "strategy, and as one dispatch, interleaved in random order; and compares what each run computed with the "
             "CPU.",
    .groups = {{NULL, TABLE, 0},
               {NULL, ADAPTER_TABLE, offsetof(options, lab.choice.adapter)},
               {NULL, RECORD_TABLE, offsetof(options, json)}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .run = run};
