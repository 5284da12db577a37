/* solo bench llm: how fast a model reads and writes, at every level. */
#include "cli/cli.h"
#include "lab/llm.h"

#include <stdio.h>
#include <string.h>

const char bench_llm_help[] =
    "usage: solo bench llm [MODEL] [--fuse LIST] [--submit LIST] [-p N] [-n N] [-d N] [-r N] [--impl I] [--adapter A]\n"
    "                      [--checked] [--json FILE] [--seed N]\n\n"
    "Measures how fast a model reads a prompt (pp) and makes tokens (tg), at every fusion level and submit\n"
    "policy, interleaved in random order over the same weights, and checks that all make the same tokens.\n\n"
    "  MODEL          a GGUF file or a Hugging Face folder (default: the built-in model)\n"
    "  --fuse LIST    none, ops, token, loop, separated by commas (default: none,ops)\n"
    "  --submit LIST  sync, each, pass, batch (default: all; token and loop, one dispatch, only by batch if it is "
    "there)\n"
    "  -p N           tokens of the prompt (default 512; 0: no pp)\n"
    "  -n N           tokens to make (default 128; 0: no tg)\n"
    "  -d N           tokens that stand before those (default 0)\n"
    "  -r N           repetitions (default 5)\n"
    "  --impl I       dawn, wgpu, vulkan or a library's path (default: the first that works)\n"
    "  --adapter A    gpu (software is an error), software or any (default)\n"
    "  --checked      kernels look whether they keep to their memory, as in browsers; on GPUs they do not otherwise\n"
    "  --json FILE    write the record; - writes it to standard output and nothing else\n"
    "  --seed N       of the prompt's tokens and the order of the runs\n";

typedef struct options {
    llm_options lab;
    const char *model, *json;
    bool help;
} options;

/* A list of names, each found in a table of them, as flags. */
static bool take_list(const char *list, const char *option, const char *const *names, int count, bool *flags, err *e)
{
    memset(flags, 0, (size_t)count * sizeof *flags);
    for (const char *at = list; list;) {
        size_t length = strcspn(at, ",");
        int i = 0;
        while (i < count && (strlen(names[i]) != length || memcmp(names[i], at, length) != 0))
            i++;
        if (i == count)
            return err_set_kind(e, ERR_USAGE, "%s: there is no '%.*s'", option, (int)length, at);
        flags[i] = true;
        if (!at[length])
            return true;
        at += length + 1;
    }
    return false;
}

static bool take_number(cli_args *a, const char *word, uint32_t *to, long lowest)
{
    long number;
    if (!cli_number(a, word, lowest, 1000000, &number))
        return false;
    *to = (uint32_t)number;
    return true;
}

static bool parse_word(options *o, cli_args *a, const char *word)
{
    llm_options *l = &o->lab;
    if (strcmp(word, "--fuse") == 0)
        return take_list(cli_value(a, word), word, fusion_names, LEVEL_COUNT, l->levels, a->e);
    if (strcmp(word, "--submit") == 0)
        return take_list(cli_value(a, word), word, submit_names, SUBMIT_BATCH + 1, l->submits, a->e);
    if (strcmp(word, "-p") == 0)
        return take_number(a, word, &l->prompt_tok, 0);
    if (strcmp(word, "-n") == 0)
        return take_number(a, word, &l->made_tok, 0);
    if (strcmp(word, "-d") == 0)
        return take_number(a, word, &l->depth_tok, 0);
    if (strcmp(word, "-r") == 0)
        return take_number(a, word, &l->repetitions, 1);
    if (strcmp(word, "--impl") == 0)
        return (l->choice.impl = cli_value(a, word)) != NULL;
    if (strcmp(word, "--adapter") == 0)
        return cli_adapter(cli_value(a, word), &l->choice.adapter, a->e);
    if (strcmp(word, "--checked") == 0) {
        l->choice.own_kernels = false;
        return true;
    }
    if (strcmp(word, "--json") == 0)
        return (o->json = cli_value(a, word)) != NULL;
    if (strcmp(word, "--seed") == 0) {
        long number;
        if (!cli_number(a, word, 1, 2147483647, &number))
            return false;
        l->seed = (uint64_t)number;
        return true;
    }
    if (word[0] == '-' || o->model)
        return cli_unknown(a, word);
    o->model = word;
    return true;
}

static bool parse(options *o, cli_args *a)
{
    const char *word;
    o->lab.choice.own_kernels = true;
    for (int i = LEVEL_NONE; i <= LEVEL_OPS; i++)
        o->lab.levels[i] = true;
    for (int i = SUBMIT_SYNC; i <= SUBMIT_BATCH; i++)
        o->lab.submits[i] = true;
    while ((word = cli_next(a))) {
        if (strcmp(word, "--help") == 0)
            o->help = true;
        else if (!parse_word(o, a, word))
            return false;
    }
    if (!o->help && !o->lab.prompt_tok && !o->lab.made_tok)
        return err_set_kind(a->e, ERR_USAGE, "-p 0 -n 0 leaves nothing to measure");
    return true;
}

/* The file's name without the folders it lies in. */
static const char *short_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

int bench_llm(int argc, char **argv)
{
    err e = {0};
    options o = {.lab = {.prompt_tok = 512, .made_tok = 128, .repetitions = 5, .seed = 1}};
    if (!parse(&o, &(cli_args){argc, 1, argv, &e}))
        return cli_fail(&e);
    if (o.help) {
        fputs(bench_llm_help, stdout);
        return 0;
    }
    llm_lab lab = {0};
    bool to_stdout = o.json && strcmp(o.json, "-") == 0;
    o.lab.model_name = o.model ? short_name(o.model) : "built-in";
    model *m = cli_record_writable(o.json, &e) ? model_open(o.model, &e) : NULL;
    bool ok = m && llm_measure(&lab, m, &o.lab, &e);
    if (ok && !to_stdout)
        llm_print(&lab, stdout);
    if (ok && o.json) {
        str record = {0};
        llm_record(&lab, &record);
        ok = cli_record_write(&record, o.json, &e);
    }
    llm_free(&lab);
    model_close(m);
    return ok ? 0 : cli_fail(&e);
}
