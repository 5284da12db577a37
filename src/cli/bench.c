/* solo bench: the experiments; this file has the dispatch one. */
#include "base/file.h"
#include "cli/cli.h"
#include "lab/dispatch.h"

#include <stdio.h>
#include <string.h>

static const char HELP[] =
    "usage: solo bench dispatch [--impl LIST] [--quick] [--json FILE] [--adapter A] [--rounds N] [--processes N] "
    "[--seed N]\n\n"
    "Measures what a dispatch costs on every implementation that works here, by five launch strategies,\n"
    "with controls (bare Vulkan, CUDA, a stub that does nothing), all interleaved in random order.\n\n"
    "  --impl LIST   dawn, wgpu, vulkan, cuda, stub or a library's path, separated by commas\n"
    "  --quick       fewer and shorter runs: under a minute in software\n"
    "  --json FILE   write the record; - writes it to standard output and nothing else\n"
    "  --adapter A   gpu (software is an error), software or any (default)\n"
    "  --rounds N    how often everything is measured\n"
    "  --processes N how often every implementation is started anew on the way\n"
    "  --seed N      order of the runs\n";

typedef struct bench_options {
    dispatch_options dispatch;
    const char *json;
    bool help;
} bench_options;

static bool parse(bench_options *o, cli_args *a)
{
    const char *word;
    while ((word = cli_next(a))) {
        long number;
        if (strcmp(word, "--quick") == 0)
            o->dispatch.quick = true;
        else if (strcmp(word, "--help") == 0)
            o->help = true;
        else if (strcmp(word, "--impl") == 0) {
            if (!(o->dispatch.impl_list = cli_value(a, word)))
                return false;
        } else if (strcmp(word, "--json") == 0) {
            if (!(o->json = cli_value(a, word)))
                return false;
        } else if (strcmp(word, "--adapter") == 0) {
            if (!cli_adapter(cli_value(a, word), &o->dispatch.adapter, a->e))
                return false;
        } else if (strcmp(word, "--rounds") == 0) {
            if (!cli_number(a, word, 2, 1000, &number))
                return false;
            o->dispatch.rounds = (uint32_t)number;
        } else if (strcmp(word, "--processes") == 0) {
            if (!cli_number(a, word, 1, 100, &number))
                return false;
            o->dispatch.processes = (uint32_t)number;
        } else if (strcmp(word, "--seed") == 0) {
            if (!cli_number(a, word, 1, 2147483647, &number))
                return false;
            o->dispatch.seed = (uint64_t)number;
        } else
            return cli_unknown(a, word);
    }
    return true;
}

bool cli_record_writable(const char *path, err *e)
{
    return !path || strcmp(path, "-") == 0 || file_writable(path, e);
}

bool cli_record_write(str *record, const char *path, err *e)
{
    bool ok = file_write(path, record->data, record->length, e);
    if (ok && strcmp(path, "-") != 0)
        printf("\nrecord: %s\n", path);
    str_free(record);
    return ok;
}

static int bench_dispatch(int argc, char **argv)
{
    err e = {0};
    bench_options o = {0};
    if (!parse(&o, &(cli_args){argc, 1, argv, &e}))
        return cli_fail(&e);
    if (o.help) {
        fputs(HELP, stdout);
        return 0;
    }
    dispatch_lab lab = {0};
    bool to_stdout = o.json && strcmp(o.json, "-") == 0;
    bool ok = cli_record_writable(o.json, &e) && dispatch_measure(&lab, &o.dispatch, &e);
    if (ok && !to_stdout)
        dispatch_print(&lab, stdout);
    if (ok && o.json) {
        str record = {0};
        dispatch_record(&lab, &record);
        ok = cli_record_write(&record, o.json, &e);
    }
    dispatch_free(&lab);
    return ok ? 0 : cli_fail(&e);
}

int cmd_bench(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "dispatch") == 0)
        return bench_dispatch(argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "llm") == 0)
        return bench_llm(argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "sim") == 0)
        return bench_sim(argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "--help") == 0) {
        printf("%s\n%s\n%s", HELP, bench_llm_help, bench_sim_help);
        return 0;
    }
    err e = {0};
    err_set_kind(&e, ERR_USAGE, "%s (solo bench --help)",
                 argc < 2 ? "bench what? There are: dispatch, llm, sim"
                          : "unknown experiment; there are: dispatch, llm, sim");
    return cli_fail(&e);
}
