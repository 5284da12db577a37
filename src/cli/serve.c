/* solo serve: OpenAI's API over HTTP. */
#include "serve/server.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/page_folder.h"
#include "cli/server_names.h"
#include "serve/http_server.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_model model;
    const char *host, *key_file, *page, *name, *template, *cache;
    uint32_t port, parallel, context_tok, queue, limit_s, finish_s, body_kib;
    text_list hosts, origins;
    bool log_json, is_quiet;
} options;

enum { MOST_CONTEXT_TOK = 1 << 24, MAX_TEMPLATE_BYTES = 1 << 20, MOST_NAMES = 16 };

static const option TABLE[] = {
    {.name = "host",
     .value = "ADDRESS",
     .in_usage = true,
     INTO(options, host),
     .help = "where to listen: a numeric address of this machine; 0.0.0.0 or :: are all of them",
     .otherwise = "127.0.0.1, for this machine only"},
    {.name = "port",
     .value = "N",
     .kind = OPTION_WHOLE,
     .high = 65535,
     .in_usage = true,
     INTO(options, port),
     .help = "the port; 0: one that is free"},
    {.name = "parallel",
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = 16,
     .in_usage = true,
     INTO(options, parallel),
     .help = "texts that are made at a time; others wait",
     .otherwise = "4, or 1 for a model that cannot be batched"},
    {.name = "context",
     .letter = 'c',
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 2,
     .high = MOST_CONTEXT_TOK,
     .in_usage = true,
     INTO(options, context_tok),
     .help = "tokens of a text at most, with its prompt",
     .otherwise = "as many as the model was made for, or as fit the memory"},
    {.name = "cache-type",
     .value = "TYPE",
     .names = generation_cache_name,
     INTO(options, cache),
     .help = "of the keys and values that are kept: {names}",
     .otherwise = "f16"},
    {.name = "name",
     .value = "TEXT",
     .low = 1,
     INTO(options, name),
     .help = "the model's name in the API",
     .otherwise = "that of its file"},
    {.name = "template",
     .value = "TEMPLATE",
     .files = OPTION_FILES,
     INTO(options, template),
     .help = "another chat template: a file with Jinja in it, chatml, or none, which leaves only completions",
     .otherwise = "the model's own"},
    {.name = "page",
     .value = "FOLDER",
     .files = OPTION_FOLDERS,
     INTO(options, page),
     .help = "the page that is served at /",
     .otherwise = "web beside this program, or ../share/solo/web, if it is there"},
    {0}};

static const option GUARD_TABLE[] = {
    {.name = "api-key-file",
     .value = "FILE",
     .files = OPTION_FILES,
     .in_usage = true,
     INTO(options, key_file),
     .help = "requests need one of the keys in this file, one on each line",
     .otherwise = "none is needed"},
    {.name = "allow-host",
     .value = "NAME",
     .kind = OPTION_TEXTS,
     .high = MOST_NAMES,
     INTO(options, hosts),
     .help =
         "a name that requests may use for this machine, as a proxy in front of it does; may be given several times",
     .otherwise = "localhost only, unless --host is for others, too"},
    {.name = "allow-origin",
     .value = "ORIGIN",
     .kind = OPTION_TEXTS,
     .high = MOST_NAMES,
     INTO(options, origins),
     .help = "pages of this origin, https://example.org, may ask (CORS); *: all may; may be given several times",
     .otherwise = "none but the server's own"},
    {.name = "queue",
     .value = "N",
     .kind = OPTION_WHOLE,
     .high = 100000,
     INTO(options, queue),
     .help = "texts that may wait; more are refused (429)"},
    {.name = "time-limit",
     .value = "S",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = 86400,
     INTO(options, limit_s),
     .help = "seconds that a request may take, waiting included; its answer ends there"},
    {.name = "finish",
     .value = "S",
     .kind = OPTION_WHOLE,
     .high = 86400,
     INTO(options, finish_s),
     .help = "seconds that running requests get when the server is to end"},
    {.name = "body-limit",
     .value = "KIB",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = 1 << 20,
     INTO(options, body_kib),
     .help = "kibibytes of a request at most"},
    {.name = "log-json",
     .kind = OPTION_FLAG,
     INTO(options, log_json),
     .help = "the line for each request on standard error is JSON"},
    {.name = "quiet", .kind = OPTION_FLAG, INTO(options, is_quiet), .help = "no line for each request"},
    {0}};

static const options DEFAULTS = {.port = 8080,
                                 .queue = SERVER_DEFAULT_QUEUE,
                                 .limit_s = SERVER_DEFAULT_LIMIT_S,
                                 .finish_s = SERVER_DEFAULT_FINISH_S,
                                 .body_kib = SERVER_DEFAULT_BODY_KIB};

/* "qwen2.5-0.5b-instruct-q4_0" of a path. */
static void name_of_model(const char *path, char *name, size_t size)
{
    const char *ending = ".gguf";
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path ? path : "builtin");
    size_t length = strlen(copy);
    while (length > 1 && copy[length - 1] == '/')
        copy[--length] = '\0';
    const char *slash = strrchr(copy, '/'), *last = slash && slash[1] ? slash + 1 : copy;
    snprintf(name, size, "%s", last);
    length = strlen(name);
    if (length > strlen(ending) && strcmp(name + length - strlen(ending), ending) == 0)
        name[length - strlen(ending)] = '\0';
}

static gpu *open_gpu(void *user, err *e)
{
    return cli_open_model_gpu(user, e);
}

static void close_gpu(void *user, gpu *g)
{
    (void)user;
    gpu_close(g);
}

/* The template's text, to be freed, or its name. */
static bool read_template(const options *o, char **text, err *e)
{
    if (!o->template || strcmp(o->template, "none") == 0 || strcmp(o->template, "chatml") == 0)
        *text = o->template ? mem_dup(o->template) : NULL;
    else
        *text = cli_read_whole_text(o->template, MAX_TEMPLATE_BYTES, e);
    return *text || !o->template;
}

/* Where the page is, as realpath has it; "": nowhere. */
static bool find_page(const options *o, char real[PATH_MAX], err *e)
{
    str folder = {0};
    if (o->page)
        str_add(&folder, o->page);
    bool is_there = (o->page || page_folder_find(&folder)) && realpath(folder.data, real);
    if (!is_there)
        real[0] = '\0';
    str_free(&folder);
    return is_there || !o->page || err_set(e, "%s: %s", o->page, strerror(errno));
}

static bool serve(options *o, const model *m, err *e)
{
    char name[256], page[PATH_MAX], *template = NULL;
    name_of_model(o->model.path, name, sizeof name);
    if (!find_page(o, page, e) || !read_template(o, &template, e))
        return false;
    http_block_signals();
    server *s = server_start(&(server_options){.host = o->host,
                                               .port = (uint16_t)o->port,
                                               .hosts = o->hosts.items,
                                               .host_count = o->hosts.count,
                                               .origins = o->origins.items,
                                               .origin_count = o->origins.count,
                                               .body_bytes = (size_t)o->body_kib << 10,
                                               .key_file = o->key_file,
                                               .page = page[0] ? page : NULL,
                                               .name = o->name ? o->name : name,
                                               .parallel = o->parallel,
                                               .queue = o->queue,
                                               .limit_s = o->limit_s,
                                               .finish_s = o->finish_s,
                                               .log_json = o->log_json,
                                               .is_quiet = o->is_quiet,
                                               .template = template,
                                               .generation = {.level = o->model.level,
                                                              .context_tok = o->context_tok,
                                                              .cache = o->cache,
                                                              .chunk_ms = (uint32_t)o->model.chunk_ms,
                                                              .compile = o->model.wait ? COMPILE_FIRST : COMPILE_AUTO},
                                               .m = m,
                                               .open_gpu = open_gpu,
                                               .close_gpu = close_gpu,
                                               .user = &o->model},
                             e);
    bool ok = s != NULL;
    if (ok) {
        cli_print_address(o->host, server_port(s));
        http_wait_for_signal();
        ok = server_stop(s) || err_set(e, "not all requests could be answered before the end");
    }
    free(template);
    return ok;
}

static bool check(void *chosen, err *e)
{
    const options *o = chosen;
    return cli_check_server_names(&o->hosts, &o->origins, e);
}

static int run(void *chosen)
{
    err e = {0};
    options *o = chosen;
    model *m = cli_open_model(&o->model, &e);
    bool ok = m && serve(o, m, &e);
    model_close(m);
    return ok ? 0 : cli_fail(&e);
}

const cli_command command_serve = {
    .name = "serve",
    .summary = "answer OpenAI's API over HTTP",
    .about = "Answers requests in the form of OpenAI's API over HTTP until it is interrupted: /v1/chat/completions, "
             "/v1/completions, /v1/embeddings, /v1/models, /health and /metrics, and the page at /. What is not "
             "supported is refused "
             "by an error that names the field. docs/serve.md describes it.",
    .groups = {{NULL, MODEL_TABLE, offsetof(options, model)},
               {NULL, LORA_TABLE, offsetof(options, model)},
               {NULL, TABLE, 0},
               {"Who may ask, and how much", GUARD_TABLE, 0},
               {"How it runs", BEST_LEVEL_TABLE, offsetof(options, model)},
               {NULL, DEVICE_TABLE, offsetof(options, model)}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .check = check,
    .run = run};
