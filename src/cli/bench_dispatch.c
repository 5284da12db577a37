/* solo bench dispatch: what a dispatch costs, by every way to launch. */
#include "cli/cli.h"
#include "lab/dispatch.h"

#include <stdio.h>
#include <string.h>

typedef struct options {
    dispatch_options dispatch;
    const char *json;
} options;

static const option TABLE[] = {{.name = "impl",
                                .value = "LIST",
                                .names = cli_impl_name,
                                .lists = true,
                                .files = OPTION_FILES,
                                .in_usage = true,
                                INTO(options, dispatch.impl_list),
                                .help = "{names} or a library's path, separated by commas",
                                .otherwise = "all that work here"},
                               {.name = "quick",
                                .kind = OPTION_FLAG,
                                .in_usage = true,
                                INTO(options, dispatch.quick),
                                .help = "fewer and shorter runs: no new ones are begun that would end after a minute"},
                               {.name = "rounds",
                                .value = "N",
                                .kind = OPTION_WHOLE,
                                .low = 2,
                                .high = 1000,
                                INTO(options, dispatch.rounds),
                                .help = "how often everything is measured",
                                .otherwise = ""},
                               {.name = "processes",
                                .value = "N",
                                .kind = OPTION_WHOLE,
                                .low = 1,
                                .high = 100,
                                INTO(options, dispatch.processes),
                                .help = "how often every implementation is started anew on the way",
                                .otherwise = ""},
                               {.name = "seed",
                                .value = "N",
                                .kind = OPTION_WHOLE,
                                .low = 1,
                                .high = 2147483647,
                                INTO(options, dispatch.seed),
                                .help = "order of the runs",
                                .otherwise = "another each time"},
                               {0}};

static int run(void *chosen)
{
    err e = {0};
    const options *o = chosen;
    dispatch_lab lab = {0};
    bool to_stdout = o->json && strcmp(o->json, "-") == 0;
    bool ok = cli_record_writable(o->json, &e) && dispatch_measure(&lab, &o->dispatch, &e);
    if (ok && !to_stdout)
        dispatch_print(&lab, stdout);
    if (ok && o->json) {
        str record = {0};
        dispatch_record(&lab, &record);
        ok = cli_record_write(&record, o->json, &e);
    }
    dispatch_free(&lab);
    return ok ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {0};

const cli_command command_bench_dispatch = {
    .name = "bench dispatch",
    .summary = "measure what each dispatch costs",
    .about = "Measures what a dispatch costs on every implementation that works here, by five launch strategies, with "
             "controls (bare Vulkan, CUDA, a stub that does nothing), all interleaved in random order.",
    .groups = {{NULL, TABLE, 0},
               {NULL, ADAPTER_TABLE, offsetof(options, dispatch.adapter)},
               {NULL, RECORD_TABLE, offsetof(options, json)}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .run = run};
