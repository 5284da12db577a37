/* solo bench batch: how fast a model continues several texts at a time. */
#include "cli/cli.h"
#include "cli/model_name.h"
#include "lab/batch.h"

#include <stdio.h>
#include <string.h>

enum { MOST_TOK = 1000000 };

typedef struct options {
    batch_lab_options lab;
    const char *model, *json;
    bool checked;
} options;

static const option TABLE[] = {
    {.value = "MODEL",
     .files = OPTION_FILES,
     INTO(options, model),
     .is_model = true,
     .help = "a GGUF file, a Hugging Face folder, or OWNER/REPO[:FILE] on a hub (solo pull --help)",
     .otherwise = "the built-in model"},
    {.name = "texts",
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = BATCH_MOST_SLOTS,
     .in_usage = true,
     INTO(options, lab.texts),
     .help = "texts at a time"},
    {.name = "fuse",
     .value = "LIST",
     .kind = OPTION_NAMES,
     .names = cli_level_name,
     .only = "none,ops,token,loop",
     .in_usage = true,
     INTO(options, lab.levels),
     .help = "fusion levels, separated by commas: {names}"},
    {.letter = 'p',
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = MOST_TOK,
     .in_usage = true,
     INTO(options, lab.prompt_tok),
     .help = "tokens of each prompt"},
    {.letter = 'n',
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = MOST_TOK,
     .in_usage = true,
     INTO(options, lab.made_tok),
     .help = "tokens to make for each"},
    {.letter = 'r',
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = MOST_TOK,
     .in_usage = true,
     INTO(options, lab.repetitions),
     .help = "repetitions"},
    {.name = "seed",
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = 2147483647,
     INTO(options, lab.seed),
     .help = "of the prompts' tokens"},
    {.name = "cache-type",
     .value = "TYPE",
     .names = generation_cache_name,
     INTO(options, lab.cache),
     .help = "of the keys and values that are kept: {names}",
     .otherwise = "f16"},
    {.name = "time",
     .kind = OPTION_FLAG,
     INTO(options, lab.times),
     .help = "and where a step's time goes on the device: each kernel, or each kernel of the one dispatch's phases"},
    {.name = "impl",
     .value = "I",
     .names = cli_impl_name,
     .only = "dawn,wgpu",
     .files = OPTION_FILES,
     INTO(options, lab.choice.impl),
     .help = "the implementation: {names}, or a library's path",
     .otherwise = "the first that works"},
    {.name = "checked",
     .kind = OPTION_FLAG,
     INTO(options, checked),
     .help = "kernels look whether they keep to their memory, as in browsers; on GPUs they do not otherwise"},
    {0}};

static bool check(void *chosen, err *e)
{
    options *o = chosen;
    o->lab.choice.own_kernels = !o->checked;
    o->lab.for_record = o->json != NULL;
    return cli_keeps_input("--json", o->json, o->model, e);
}

static int run(void *chosen)
{
    err e = {0};
    options *o = chosen;
    batch_lab lab = {0};
    o->lab.model_name = cli_short_name(o->model);
    bool to_stdout = o->json && strcmp(o->json, "-") == 0;
    model *m = cli_record_writable(o->json, &e) ? model_open(o->model, &e) : NULL;
    bool ok = m && batch_measure(&lab, m, &o->lab, &e);
    if (ok && !to_stdout)
        batch_print(&lab, stdout);
    if (ok && o->json) {
        str record = {0};
        batch_record(&lab, &record);
        ok = cli_record_write(&record, o->json, &e);
    }
    batch_lab_free(&lab);
    model_close(m);
    return ok ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {
    .lab = {
        .levels = {[LEVEL_OPS] = true}, .texts = 8, .prompt_tok = 512, .made_tok = 128, .repetitions = 3, .seed = 1}};

const cli_command command_bench_batch = {
    .name = "bench batch",
    .summary = "measure how fast a model continues several texts at a time",
    .about = "Measures how many tokens a second a model makes for several texts at a time, each behind a prompt of its "
             "own, and when their first tokens are there, at every fusion level that is asked for; and checks that all "
             "levels make the same tokens.",
    .groups = {{NULL, TABLE, 0},
               {NULL, ADAPTER_TABLE, offsetof(options, lab.choice.adapter)},
               {NULL, RECORD_TABLE, offsetof(options, json)}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .check = check,
    .run = run};
