/* solo logits: what a model thinks of the next token, at every position. */
#include "base/file.h"
#include "base/jsonw.h"
#include "cli/cli.h"
#include "graph/run.h"
#include "model/decoder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char HELP[] =
    "usage: solo logits [MODEL] --tokens 5,9,11 [--fuse LEVEL] [--impl I]\n\n"
    "The logits after each of the tokens, as JSON: {\"n_vocab\":V,\"logits\":[[V numbers] per position]}.\n\n"
    "  MODEL         a GGUF file or a Hugging Face folder (default: the built-in model)\n"
    "  --tokens LIST token ids, separated by commas\n"
    "  --fuse LEVEL  none: a dispatch for each operator; ops (default): for each group of them\n"
    "  --impl I      dawn, wgpu, vulkan or a library's path (default: the first that works)\n"
    "  --checked     kernels look whether they keep to their memory, as in browsers; on GPUs they do not otherwise\n";

typedef struct options {
    cli_model model;
    const char *tokens;
    bool help;
} options;

static bool parse(options *o, cli_args *a)
{
    const char *word;
    while ((word = cli_next(a))) {
        if (strcmp(word, "--help") == 0)
            o->help = true;
        else if (strcmp(word, "--tokens") == 0) {
            if (!(o->tokens = cli_value(a, word)))
                return false;
        } else if (!cli_model_word(a, word, &o->model))
            return false;
    }
    if (!o->help && !o->tokens)
        return err_set_kind(a->e, ERR_USAGE, "--tokens are wanted (solo logits --help)");
    return true;
}

/* The ids of the list; NULL with an error if one is no token of this model. */
static uint32_t *read_tokens(const char *list, uint32_t vocab, uint32_t *count, err *e)
{
    uint32_t *tokens = mem_alloc((strlen(list) / 2 + 1) * sizeof *tokens);
    *count = 0;
    for (const char *at = list;; at++) {
        char *end;
        errno = 0;
        unsigned long id = strtoul(at, &end, 10);
        bool number = *at >= '0' && *at <= '9' && !errno && (*end == ',' || *end == 0);
        if (!number || id >= vocab) {
            err_set_kind(e, ERR_USAGE, "--tokens: '%.*s' is no token of this model, which has %u",
                         (int)strcspn(at, ","), at, vocab);
            free(tokens);
            return NULL;
        }
        tokens[(*count)++] = (uint32_t)id;
        at = end;
        if (!*at)
            return tokens;
    }
}

static void write_json(const float *logits, uint32_t rows, uint32_t vocab, str *out)
{
    jsonw j = jsonw_to(out);
    jsonw_object(&j, NULL);
    jsonw_count(&j, "n_vocab", vocab);
    jsonw_array(&j, "logits");
    for (uint32_t r = 0; r < rows; r++) {
        jsonw_array(&j, NULL);
        jsonw_flat(&j);
        for (uint32_t i = 0; i < vocab; i++)
            jsonw_number(&j, NULL, (double)logits[(size_t)r * vocab + i]);
        jsonw_end(&j);
    }
    jsonw_end(&j);
    jsonw_end(&j);
}

static bool run(gpu *g, const model *m, fusion_level level, const uint32_t *tokens, uint32_t count, err *e)
{
    uint32_t vocab = model_get_config(m)->vocab_tok;
    decoder_weights weights = {m, count};
    graph *what = decoder_graph(m, &(decoder_options){.rows = count, .context_tok = count, .cache = DTYPE_F32}, e);
    graph_run *r =
        what ? graph_run_new(g, &(graph_use){.g = what, .level = level}, 1, decoder_find_weight, &weights, e) : NULL;
    float *logits = mem_alloc((size_t)count * vocab * sizeof *logits);
    bool ok = r && graph_run_possible(r, 0, e) && graph_run_write(r, "tokens", tokens, e) &&
              graph_run_write(r, "position", (uint32_t[]){0}, e);
    if (ok)
        graph_run_once(r, 0, SUBMIT_BATCH);
    ok = ok && graph_run_read(r, "logits", logits, e);
    if (ok) {
        str out = {0};
        write_json(logits, count, vocab, &out);
        ok = file_write("-", out.data, out.length, e);
        str_free(&out);
    }
    free(logits);
    graph_run_free(r);
    graph_free(what);
    return ok;
}

int cmd_logits(int argc, char **argv)
{
    err e = {0};
    options o = {0};
    if (!parse(&o, &(cli_args){argc, 1, argv, &e}))
        return cli_fail(&e);
    if (o.help) {
        fputs(HELP, stdout);
        return 0;
    }
    uint32_t count = 0;
    model *m = model_open(o.model.path, &e);
    uint32_t *tokens = m ? read_tokens(o.tokens, model_get_config(m)->vocab_tok, &count, &e) : NULL;
    gpu *g = tokens ? cli_open_model_gpu(&o.model, &e) : NULL;
    fusion_level level = o.model.level == LEVEL_AUTO ? LEVEL_OPS : o.model.level;
    bool ok = g && run(g, m, level, tokens, count, &e);
    gpu_close(g);
    free(tokens);
    model_close(m);
    return ok ? 0 : cli_fail(&e);
}
