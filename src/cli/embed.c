/* solo embed: vectors for texts. */
#include "base/file.h"
#include "base/jsonw.h"
#include "cli/cli.h"
#include "llm/embedder.h"
#include "model/model_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct options {
    cli_model model;
    text_list prompts;
    const char *file, *json;
    bool zeros; /* texts end with a zero byte, not with the line */
    bool reads_input;
    model_pooling pooling;
    embedder_normalize normalize;
} options;

static const char NO_TEXT[] = "a text (-p), a file (-f) or standard input is needed (solo embed --help)";

static const char *pooling_name(uint32_t i)
{
    static const char *const names[] = {"model", "none", "mean", "cls", "last"}; /* as model_pooling numbers them */
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static const char *normalize_name(uint32_t i)
{
    static const char *const names[] = {"model", "on", "off"};
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static const option TABLE[] = {
    {.name = "prompt",
     .letter = 'p',
     .value = "TEXT",
     .kind = OPTION_TEXTS,
     .in_usage = true,
     INTO(options, prompts),
     .help = "a text; may be given several times"},
    {.name = "file",
     .letter = 'f',
     .value = "FILE",
     .files = OPTION_FILES,
     .in_usage = true,
     INTO(options, file),
     .help = "the texts are the lines of this file; - is standard input",
     .otherwise = "standard input, if that is no terminal and there is no -p"},
    {.letter = '0',
     .kind = OPTION_FLAG,
     INTO(options, zeros),
     .help = "texts end with a zero byte, not with the line: they may have several lines"},
    {.name = "pooling",
     .value = "HOW",
     .kind = OPTION_NAME,
     .names = pooling_name,
     .in_usage = true,
     INTO(options, pooling),
     .help = "how the vectors of a text's tokens become one: {names}. model: as its files say; cls: the first token's; "
             "last: the last token's; none: they do not, and there is a vector for each token"},
    {.name = "normalize",
     .value = "WHETHER",
     .kind = OPTION_NAME,
     .names = normalize_name,
     .in_usage = true,
     INTO(options, normalize),
     .help = "vectors of length 1, whose product is the cosine of their angle: {names}. model: as its files say, and "
             "on where they do not, but for --pooling none"},
    {.name = "json",
     .value = "FILE",
     .files = OPTION_FILES,
     .in_usage = true,
     INTO(options, json),
     .help = "the vectors as JSON in this file; - is standard output",
     .otherwise = "a line for each vector on standard output"},
    {0}};

static bool check(void *chosen, err *e)
{
    options *o = chosen;
    if (o->prompts.count && o->file)
        return err_set_kind(e, ERR_USAGE, "-p and -f are both texts: only one of them is taken (solo embed --help)");
    if (!o->prompts.count && !o->file) {
        if (isatty(STDIN_FILENO))
            return err_set_kind(e, ERR_USAGE, "%s", NO_TEXT);
        o->reads_input = true;
        o->file = "-";
    }
    return cli_keeps_input("--json", o->json, o->file, e) && cli_keeps_input("--json", o->json, o->model.path, e);
}

/* ---- texts and their tokens ----------------------------------------------------------------- */

typedef struct texts {
    token_list *items; /* (count) */
    size_t count;
    uint32_t longest;
} texts;

static void texts_free(texts *all)
{
    for (size_t i = 0; i < all->count; i++)
        token_list_free(&all->items[i]);
    free(all->items);
}

static bool add_text(texts *all, const model *m, const tokenizer *t, const char *text, size_t bytes, err *e)
{
    all->items = mem_grow(all->items, (all->count + 1) * sizeof *all->items);
    token_list *list = &all->items[all->count++];
    *list = (token_list){0};
    if (!embedder_tokens(m, t, text, bytes, list, e))
        return err_context(e, "text %zu", all->count);
    if (list->count > all->longest)
        all->longest = (uint32_t)list->count;
    return true;
}

/* The last text may lack its end. */
static bool add_file(const options *o, texts *all, const model *m, const tokenizer *t, err *e)
{
    str text = {0};
    char end = o->zeros ? '\0' : '\n';
    bool ok = cli_read_text(o->file, &text, e);
    if (ok && text.length == 0)
        ok = err_set_kind(e, ERR_USAGE, "%s", o->reads_input ? NO_TEXT : "the file has no text");
    for (size_t at = 0, bytes; ok && at < text.length; at += bytes + 1) {
        const char *found = memchr(text.data + at, end, text.length - at);
        bytes = found ? (size_t)(found - text.data) - at : text.length - at;
        /* a line of Windows ends in CR LF */
        size_t cr = end == '\n' && bytes && text.data[at + bytes - 1] == '\r';
        ok = add_text(all, m, t, text.data + at, bytes - cr, e);
    }
    str_free(&text);
    return ok;
}

static bool read_texts(const options *o, texts *all, const model *m, const tokenizer *t, err *e)
{
    for (size_t i = 0; i < o->prompts.count; i++)
        if (!add_text(all, m, t, o->prompts.items[i], strlen(o->prompts.items[i]), e))
            return false;
    return o->prompts.count || add_file(o, all, m, t, e);
}

/* ---- vectors ------------------------------------------------------------------------------------ */

static void write_vector(const float *vector, uint32_t width, str *out)
{
    for (uint32_t i = 0; i < width; i++)
        str_addf(out, i ? " %.9g" : "%.9g", (double)vector[i]);
    str_add(out, "\n");
}

static void json_vector(jsonw *j, const float *vector, uint32_t width)
{
    jsonw_array(j, NULL);
    jsonw_flat(j);
    for (uint32_t i = 0; i < width; i++)
        jsonw_number(j, NULL, (double)vector[i]);
    jsonw_end(j);
}

/* One text: its tokens, and its vector or vectors. */
static void write_text(const options *o, jsonw *j, str *lines, const float *vectors, uint32_t tokens, uint32_t count,
                       uint32_t width)
{
    for (uint32_t i = 0; !o->json && i < count; i++)
        write_vector(vectors + (size_t)i * width, width, lines);
    if (!o->json)
        return;
    jsonw_object(j, NULL);
    jsonw_count(j, "tokens", tokens);
    if (count == 1)
        jsonw_array(j, "embedding");
    else
        jsonw_array(j, "embeddings");
    jsonw_flat(j);
    for (uint32_t i = 0; count == 1 && i < width; i++)
        jsonw_number(j, NULL, (double)vectors[i]);
    for (uint32_t i = 0; count > 1 && i < count; i++)
        json_vector(j, vectors + (size_t)i * width, width);
    jsonw_end(j);
    jsonw_end(j);
}

static bool embed(embedder *n, const options *o, model_pooling pooling, const model *m, const texts *all, err *e)
{
    str out = {0};
    jsonw j = jsonw_to(&out);
    uint32_t width = embedder_width(n);
    bool ok = true;
    if (o->json) {
        jsonw_object(&j, NULL);
        jsonw_text(&j, "model", model_get_path(m));
        jsonw_text(&j, "pooling", pooling_name(pooling));
        jsonw_count(&j, "n_embd", width);
        jsonw_array(&j, "texts");
    }
    for (size_t i = 0; ok && i < all->count; i++) {
        uint32_t tokens = (uint32_t)all->items[i].count, count = embedder_count(n, tokens);
        float *vectors = mem_alloc((size_t)count * width * sizeof *vectors);
        ok = embedder_run(n, (const uint32_t *)all->items[i].ids, tokens, vectors, e);
        if (ok)
            write_text(o, &j, &out, vectors, tokens, count, width);
        free(vectors);
    }
    if (o->json) {
        jsonw_end(&j);
        jsonw_end(&j);
    }
    ok = ok && file_write(o->json ? o->json : "-", out.data, out.length, e);
    str_free(&out);
    return ok;
}

/* `opened`: the device, to be closed last of all. */
static bool run(const options *o, gpu **opened, err *e)
{
    texts all = {0};
    model_pooling pooling;
    embedder_options how = {.level = o->model.level, .pooling = o->pooling, .normalize = o->normalize};
    model *m = cli_open_model(&o->model, e);
    tokenizer *t = m && embedder_pooling(m, &how, &pooling, e) ? tokenizer_of_model(m, e) : NULL;
    bool ok = t && read_texts(o, &all, m, t, e) && (!o->json || strcmp(o->json, "-") == 0 || file_writable(o->json, e));
    gpu *g = *opened = ok ? cli_open_model_gpu(&o->model, e) : NULL;
    how.most_tok = all.longest;
    embedder *n = g ? embedder_new(g, m, t, &how, e) : NULL;
    ok = n && embed(n, o, pooling, m, &all, e);
    embedder_free(n);
    texts_free(&all);
    tokenizer_free(t);
    model_close(m);
    return ok;
}

static int run_command(void *chosen)
{
    err e = {0};
    gpu *g = NULL;
    int status = run(chosen, &g, &e) ? 0 : cli_fail(&e);
    cli_close_gpu(g, status);
    return status;
}

static const options DEFAULTS = {.model.level = LEVEL_OPS};

const cli_command command_embed = {
    .name = "embed",
    .summary = "vectors for texts: embeddings",
    .about =
        "Prints a vector for each text, one per line, its numbers separated by spaces. Texts with similar meanings "
        "have vectors that point in similar directions. The model is an encoder (bert, nomic-bert, "
        "embeddinggemma), or a decoder whose files or --pooling say how the vectors of tokens become one "
        "(qwen3-embedding). What some models want before a text (\"search_query: \") is yours to write.",
    .groups = {{NULL, MODEL_TABLE, offsetof(options, model)},
               {NULL, LORA_TABLE, offsetof(options, model)},
               {NULL, TABLE, 0},
               {NULL, LEVEL_TABLE, offsetof(options, model)},
               {NULL, DEVICE_TABLE, offsetof(options, model)}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .check = check,
    .run = run_command};
