/* solo bench llm: how fast a model reads and writes, at every level. */
#include "cli/cli.h"
#include "cli/model_name.h"
#include "lab/llm.h"

#include <stdio.h>
#include <string.h>

enum { MOST_TOK = 1000000 };

typedef struct options {
    llm_options lab;
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
    {.name = "fuse",
     .value = "LIST",
     .kind = OPTION_NAMES,
     .names = cli_level_name,
     .only = "none,ops,token,loop",
     .in_usage = true,
     INTO(options, lab.levels),
     .help = "fusion levels, separated by commas: {names}"},
    {.name = "submit",
     .value = "LIST",
     .kind = OPTION_NAMES,
     .names = cli_submit_name,
     .only = "sync,each,pass,batch",
     .in_usage = true,
     INTO(options, lab.submits),
     .help = "submit policies: {names}; token and loop, one dispatch, only by batch if it is there"},
    {.letter = 'p',
     .value = "N",
     .kind = OPTION_WHOLE,
     .high = MOST_TOK,
     .in_usage = true,
     INTO(options, lab.prompt_tok),
     .help = "tokens of the prompt; 0: no pp"},
    {.letter = 'n',
     .value = "N",
     .kind = OPTION_WHOLE,
     .high = MOST_TOK,
     .in_usage = true,
     INTO(options, lab.made_tok),
     .help = "tokens to make; 0: no tg"},
    {.letter = 'd',
     .value = "N",
     .kind = OPTION_WHOLE,
     .high = MOST_TOK,
     INTO(options, lab.depth_tok),
     .help = "tokens that stand before those"},
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
     .help = "of the prompt's tokens and the order of the runs"},
    {.name = "cache-type",
     .value = "TYPE",
     .names = generation_cache_name,
     INTO(options, lab.cache),
     .help = "of the keys and values that are kept: {names}",
     .otherwise = "f16"},
    {.name = "impl",
     .value = "I",
     .names = cli_impl_name,
     .only = "dawn,wgpu,vulkan",
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
    if (!o->lab.prompt_tok && !o->lab.made_tok)
        return err_set_kind(e, ERR_USAGE, "-p 0 -n 0 leaves nothing to measure (solo bench llm --help)");
    return cli_keeps_input("--json", o->json, o->model, e);
}

static int run(void *chosen)
{
    err e = {0};
    options *o = chosen;
    llm_lab lab = {0};
    bool to_stdout = o->json && strcmp(o->json, "-") == 0;
    o->lab.model_name = cli_short_name(o->model);
    model *m = cli_record_writable(o->json, &e) ? model_open(o->model, &e) : NULL;
    bool ok = m && llm_measure(&lab, m, &o->lab, &e);
    if (ok && !to_stdout)
        llm_print(&lab, stdout);
    if (ok && o->json) {
        str record = {0};
        llm_record(&lab, &record);
        ok = cli_record_write(&record, o->json, &e);
    }
    llm_free(&lab);
    model_close(m);
    return ok ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {
    .lab = {.levels = {[LEVEL_NONE] = true, [LEVEL_OPS] = true},
            .submits = {[SUBMIT_SYNC] = true, [SUBMIT_EACH] = true, [SUBMIT_PASS] = true, [SUBMIT_BATCH] = true},
            .prompt_tok = 512,
            .made_tok = 128,
            .repetitions = 5,
            .seed = 1}};

const cli_command command_bench_llm = {
    .name = "bench llm",
    .summary = "measure how fast a model reads and writes, at every level",
    .about =
        "Measures how fast a model reads a prompt (pp) and makes tokens (tg), at every fusion level and submit policy, "
        "interleaved in random order over the same weights, and checks that all make the same tokens.",
    .groups = {{NULL, TABLE, 0},
               {NULL, ADAPTER_TABLE, offsetof(options, lab.choice.adapter)},
               {NULL, RECORD_TABLE, offsetof(options, json)}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .check = check,
    .run = run};
