/* solo logits: what a model thinks of the next token, at every position. */
#include "base/file.h"
#include "base/jsonw.h"
#include "cli/cli.h"
#include "llm/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_model model;
    const char *tokens, *cache;
} options;

static const option TABLE[] = {{.name = "tokens",
                                .value = "LIST",
                                .required = true,
                                INTO(options, tokens),
                                .help = "token ids, separated by commas"},
                               {.name = "cache-type",
                                .value = "TYPE",
                                .names = generation_cache_name,
                                INTO(options, cache),
                                .help = "of the keys and values that are kept: {names}",
                                .otherwise = "f32"},
                               {0}};

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

static bool run(gpu *g, const model *m, const options *o, const uint32_t *tokens, uint32_t count, err *e)
{
    uint32_t vocab = model_get_config(m)->vocab_tok;
    session *s = session_new(g, m, &(session_options){.generation = {.level = o->model.level, .cache = o->cache}}, e);
    float *logits = mem_alloc((size_t)count * vocab * sizeof *logits);
    bool ok = s && session_logits(s, tokens, count, logits, e);
    if (ok) {
        str out = {0};
        write_json(logits, count, vocab, &out);
        ok = file_write("-", out.data, out.length, e);
        str_free(&out);
    }
    free(logits);
    session_free(s);
    return ok;
}

static int run_command(void *chosen)
{
    err e = {0};
    const options *o = chosen;
    uint32_t count = 0;
    model *m = cli_open_model(&o->model, &e);
    uint32_t *tokens = m ? read_tokens(o->tokens, model_get_config(m)->vocab_tok, &count, &e) : NULL;
    gpu *g = tokens ? cli_open_model_gpu(&o->model, &e) : NULL;
    bool ok = g && run(g, m, o, tokens, count, &e);
    free(tokens);
    model_close(m);
    int status = ok ? 0 : cli_fail(&e);
    cli_close_gpu(g, status);
    return status;
}

static const options DEFAULTS = {.model.level = LEVEL_OPS};

const cli_command command_logits = {
    .name = "logits",
    .summary = "what a model thinks of the next token, at every position",
    .about = "Prints the logits after each of the tokens, as JSON: {\"n_vocab\":V,\"logits\":[[V numbers] per "
             "position]}.",
    .groups = {{NULL, MODEL_TABLE, offsetof(options, model)},
               {NULL, LORA_TABLE, offsetof(options, model)},
               {NULL, TABLE, 0},
               {NULL, LEVEL_TABLE, offsetof(options, model)},
               {NULL, DEVICE_TABLE, offsetof(options, model)}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .run = run_command};
