/* server: its parts put together, its routes, and who may use them. */
#include "serve/server_internal.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/jsonw.h"
#include "base/rng.h"
#include "llm/tool_calls.h"
#include "model/model_text.h"
#include "serve/http_files.h"
#include "serve/openai_write.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

void server_make_id(server *s, const char *prefix, char out[40])
{
    rng r = rng_seed(clock_ns() ^ (uint64_t)atomic_fetch_add(&s->next_id, 1) << 48);
    snprintf(out, 40, "%s-%016llx", prefix, (unsigned long long)rng_next(&r));
}

/* ---- replies ------------------------------------------------------------------------------------- */

void server_refuse(server *s, http_request *r, const openai_fault *f, log_entry *entry)
{
    str out = {0};
    openai_write_fault(f, &out);
    if (f->status == 401)
        http_add_header(r, "WWW-Authenticate", "Bearer");
    http_reply_json(r, f->status, &out);
    str_free(&out);
    entry->status = f->status;
    snprintf(entry->error, sizeof entry->error, "%s%s%.100s", f->param, f->param[0] ? ": " : "", f->text);
    log_end(&s->log, entry);
}

void server_reply_json(server *s, http_request *r, unsigned status, const str *out, log_entry *entry)
{
    http_reply_json(r, status, out);
    entry->status = status;
    log_end(&s->log, entry);
}

bool server_check_model(const server *s, const char *name, openai_fault *f)
{
    return !name || strcmp(name, s->o.name) == 0 ||
           openai_refuse(f, 404, "model", "model_not_found", "there is no model '%.100s' here: it is '%s'", name,
                         s->o.name);
}

const token_index *server_token_index(server *s)
{
    pthread_mutex_lock(&s->place_mutex);
    if (!s->index)
        s->index = token_index_new(s->t, scheduler_vocab(s->work));
    pthread_mutex_unlock(&s->place_mutex);
    return s->index;
}

static scheduler_counts counts_of(server *s)
{
    scheduler_counts c = {0};
    if (s->work)
        return scheduler_count(s->work);
    pthread_mutex_lock(&s->place_mutex);
    c.running = s->embedding > 0;
    c.waiting = s->embedding - c.running;
    pthread_mutex_unlock(&s->place_mutex);
    return c;
}

static void reply_models(server *s, http_request *r, log_entry *entry)
{
    const char *name = http_path(r) + strlen("/v1/models");
    bool is_one = name[0] == '/';
    openai_fault f = {0};
    if (is_one && !server_check_model(s, name + 1, &f)) {
        server_refuse(s, r, &f, entry);
        return;
    }
    str out = {0};
    jsonw j = jsonw_to(&out);
    if (!is_one) {
        jsonw_object(&j, NULL);
        jsonw_flat(&j);
        jsonw_text(&j, "object", "list");
        jsonw_array(&j, "data");
    }
    jsonw_object(&j, NULL);
    jsonw_flat(&j);
    jsonw_text(&j, "id", s->o.name);
    jsonw_text(&j, "object", "model");
    jsonw_count(&j, "created", (uint64_t)s->began_s);
    jsonw_text(&j, "owned_by", "solo");
    jsonw_count(&j, "context_length", s->work ? scheduler_context(s->work) : s->embed_tok);
    jsonw_bool(&j, "chat", s->template != NULL);
    jsonw_end(&j);
    if (!is_one) {
        jsonw_end(&j);
        jsonw_end(&j);
    }
    server_reply_json(s, r, 200, &out, entry);
    str_free(&out);
}

static void reply_health(server *s, http_request *r, log_entry *entry)
{
    scheduler_counts c = counts_of(s);
    str out = {0};
    jsonw j = jsonw_to(&out);
    jsonw_object(&j, NULL);
    jsonw_flat(&j);
    jsonw_text(&j, "status", "ok");
    jsonw_count(&j, "running", c.running);
    jsonw_count(&j, "waiting", c.waiting);
    jsonw_end(&j);
    server_reply_json(s, r, 200, &out, entry);
    str_free(&out);
}

static void reply_metrics(server *s, http_request *r, log_entry *entry)
{
    scheduler_counts c = counts_of(s);
    str out = {0};
    log_write_metrics(&s->log, &c, &out);
    http_reply(r, 200, "text/plain; version=0.0.4; charset=utf-8", out.data, out.length);
    str_free(&out);
    entry->status = 200;
    log_end(&s->log, entry);
}

/* Tells the page that there is a server that it can ask. Other hosts have a file in its place. */
static void reply_site(server *s, http_request *r, log_entry *entry)
{
    str out = {0};
    jsonw j = jsonw_to(&out);
    jsonw_object(&j, NULL);
    jsonw_flat(&j);
    jsonw_text(&j, "api", s->work ? "v1/" : NULL);
    jsonw_end(&j);
    server_reply_json(s, r, 200, &out, entry);
    str_free(&out);
}

/* ---- keys ------------------------------------------------------------------------------------------- */

/* One for each line that is not empty. What a header could not say, an end of text or a byte order mark say, would make a
 * key that nobody can give. */
static bool read_keys(server *s, err *e)
{
    size_t length;
    char *text = s->o.key_file ? file_read(s->o.key_file, 1 << 20, &length, e) : NULL;
    if (!s->o.key_file)
        return true;
    bool ok = text != NULL;
    for (size_t i = 0; ok && i < length; i++)
        if (text[i] != '\n' && text[i] != '\r' && (text[i] <= ' ' || text[i] > '~'))
            ok = err_set(e, "%s: byte %zu is no part of a key: keys are lines of visible ASCII characters",
                         s->o.key_file, i);
    for (char *line = ok ? strtok(text, "\r\n") : NULL; line; line = strtok(NULL, "\r\n")) {
        s->keys = mem_grow(s->keys, (s->key_count + 1) * sizeof *s->keys);
        s->keys[s->key_count++] = mem_dup(line);
    }
    free(text);
    return ok && (s->key_count || err_set(e, "%s: there is no key in it", s->o.key_file));
}

/* Takes the same time wherever they differ. */
static bool is_same_key(const char *a, const char *b)
{
    size_t length = strlen(b);
    unsigned different = strlen(a) != length;
    for (size_t i = 0; i < length && !(different && i >= strlen(a)); i++)
        different |= (unsigned)(a[i] ^ b[i]);
    return !different;
}

static bool has_key(const server *s, const http_request *r)
{
    static const char scheme[] = "Bearer ";
    const char *said = http_header(r, "Authorization");
    bool found = s->key_count == 0;
    if (!found && said && strncasecmp(said, scheme, sizeof scheme - 1) == 0)
        for (size_t i = 0; i < s->key_count; i++)
            found |= is_same_key(said + sizeof scheme - 1, s->keys[i]);
    return found;
}

/* ---- routes ------------------------------------------------------------------------------------------- */

static void complete_chat(server *s, http_request *r, log_entry *entry)
{
    server_complete(s, r, true, entry);
}

static void complete_text(server *s, http_request *r, log_entry *entry)
{
    server_complete(s, r, false, entry);
}

typedef struct route {
    const char *path, *method;
    void (*reply)(server *s, http_request *r, log_entry *entry);
    bool is_open; /* without a key */
} route;

static const route ROUTES[] = {{"/health", "GET", reply_health, true},
                               {"/metrics", "GET", reply_metrics, false},
                               {"/site.json", "GET", reply_site, true},
                               {"/v1/models", "GET", reply_models, false},
                               {"/v1/chat/completions", "POST", complete_chat, false},
                               {"/v1/completions", "POST", complete_text, false},
                               {"/v1/embeddings", "POST", server_embed, false},
                               {0}};

/* /v1/models/NAME is /v1/models, too. */
static const route *find_route(const char *path)
{
    for (const route *x = ROUTES; x->path; x++) {
        size_t length = strlen(x->path);
        if (strcmp(path, x->path) == 0 ||
            (x->reply == reply_models && strncmp(path, x->path, length) == 0 && path[length] == '/'))
            return x;
    }
    return NULL;
}

static log_entry begin_entry(http_request *r)
{
    log_entry entry = log_begin(http_method(r), http_path(r));
    snprintf(entry.address, sizeof entry.address, "%s", http_address(r));
    return entry;
}

static void reply_preflight(server *s, http_request *r, log_entry *entry)
{
    http_reply(r, 204, NULL, "", 0);
    entry->status = 204;
    log_end(&s->log, entry);
}

static void reply_file(server *s, http_request *r, log_entry *entry)
{
    http_serve_file(r, s->o.page);
    entry->status = http_status(r);
    log_end(&s->log, entry);
}

static void handle(void *user, http_request *r)
{
    server *s = user;
    const char *path = http_path(r), *method = http_method(r);
    log_entry entry = begin_entry(r);
    openai_fault f = {0};
    const route *x = find_route(path);
    bool is_get = x && strcmp(x->method, "GET") == 0 && strcmp(method, "HEAD") == 0;
    if (x && strcmp(method, "OPTIONS") == 0 && http_header(r, "Origin")) {
        reply_preflight(s, r, &entry);
        return;
    }
    if (!x && s->o.page && strncmp(path, "/v1/", 4) != 0) {
        reply_file(s, r, &entry);
        return;
    }
    if (!x)
        openai_refuse(&f, 404, NULL, "not_found", "there is no %.100s here", path);
    else if (strcmp(method, x->method) != 0 && !is_get) {
        http_add_header(r, "Allow", x->method);
        openai_refuse(&f, 405, NULL, "method_not_allowed", "%s takes %s only", x->path, x->method);
    } else if (!x->is_open && !has_key(s, r))
        openai_refuse(&f, 401, NULL, "invalid_api_key", "the request has no key that this server knows");
    if (f.status)
        server_refuse(s, r, &f, &entry);
    else
        x->reply(s, r, &entry);
}

static void refuse(void *user, http_request *r, unsigned status, const char *why)
{
    log_entry entry = begin_entry(r);
    openai_fault f = {0};
    openai_refuse(&f, status, NULL, status == 413 ? "too_large" : "forbidden", "%s", why);
    server_refuse(user, r, &f, &entry);
}

/* ---- starting and stopping -------------------------------------------------------------------------------- */

static engine *open_engine(void *user, err *e)
{
    server *s = user;
    s->g = s->o.open_gpu(s->o.user, e);
    if (!s->g)
        return NULL;
    engine *n = engine_new(
        &(engine_options){.g = s->g, .m = s->o.m, .t = s->t, .rows = s->o.parallel, .generation = s->o.generation}, e);
    if (!n) {
        s->o.close_gpu(s->o.user, s->g);
        s->g = NULL;
    }
    return n;
}

static void close_engine(void *user, engine *n)
{
    server *s = user;
    engine_free(n);
    s->o.close_gpu(s->o.user, s->g);
    s->g = NULL;
}

/* Without a device there is nothing to serve: whoever started this may start it again. */
static void on_failure(void *user)
{
    server *s = user;
    s->has_failed = true;
    http_end_by_itself();
}

static void set_template(server *s, const char *text, err *e)
{
    s->template = chat_template_new(text, strlen(text), e);
    s->calls_have_tags = strstr(text, TOOL_CALL_TAG) != NULL;
}

/* A template that cannot be run matters only to chats. */
static bool read_own_template(server *s, err *e)
{
    str text = {0};
    bool ok = chat_template_of_model(s->o.m, &text, e);
    if (ok && text.length)
        set_template(s, text.data, &s->template_error);
    str_free(&text);
    return ok;
}

static bool read_texts(server *s, err *e)
{
    const char *given = s->o.template;
    s->t = tokenizer_of_model(s->o.m, e);
    if (!s->t || !given)
        return s->t && read_own_template(s, e);
    if (strcmp(given, "none") == 0)
        return true;
    if (strcmp(given, "chatml") == 0)
        s->template = chat_template_named(given);
    else
        set_template(s, given, e);
    return s->template != NULL;
}

/* A model whose files say how its vectors are pooled was made for embeddings. */
static bool start_work(server *s, err *e)
{
    model_pooling pooling;
    err unsaid = {0};
    if (embedder_pooling(s->o.m, &(embedder_options){0}, &pooling, &unsaid)) {
        return (pooling != POOLING_NONE || err_set(e, "%s: its vectors are not pooled", model_get_path(s->o.m))) &&
               server_open_embedder(s, e);
    }
    if (config_is_encoder(model_get_config(s->o.m)))
        return err_set(e, "%s", unsaid.text);
    s->work = scheduler_start(&(scheduler_options){.open = open_engine,
                                                   .close = close_engine,
                                                   .failed = on_failure,
                                                   .user = s,
                                                   .t = s->t,
                                                   .queue = s->o.queue},
                              e);
    return s->work != NULL;
}

server *server_start(const server_options *o, err *e)
{
    server *s = mem_alloc(sizeof *s);
    *s = (server){.o = *o, .began_s = time(NULL)};
    s->log.as_json = o->log_json;
    s->log.is_quiet = o->is_quiet;
    pthread_mutex_init(&s->log.mutex, NULL);
    pthread_mutex_init(&s->embed_mutex, NULL);
    pthread_mutex_init(&s->place_mutex, NULL);
    if (read_keys(s, e) && read_texts(s, e) && start_work(s, e))
        s->http = http_server_start(&(http_options){.host = o->host,
                                                    .port = o->port,
                                                    .body_bytes = o->body_bytes,
                                                    .hosts = o->hosts,
                                                    .host_count = o->host_count,
                                                    .origins = o->origins,
                                                    .origin_count = o->origin_count,
                                                    .handle = handle,
                                                    .refuse = refuse,
                                                    .user = s},
                                    e);
    if (s->http)
        return s;
    server_stop(s);
    return NULL;
}

uint16_t server_port(const server *s)
{
    return http_server_port(s->http);
}

bool server_stop(server *s)
{
    bool finished = !s->has_failed;
    if (s->http)
        http_server_close_door(s->http);
    if (s->work)
        scheduler_finish(s->work, s->o.finish_s);
    if (s->http) {
        finished = http_server_finish(s->http, s->work ? 5 : s->o.finish_s) && finished;
        http_server_stop(s->http);
    }
    scheduler_stop(s->work);
    server_close_embedder(s);
    token_index_free(s->index);
    chat_template_free(s->template);
    tokenizer_free(s->t);
    for (size_t i = 0; i < s->key_count; i++)
        free(s->keys[i]);
    free(s->keys);
    pthread_mutex_destroy(&s->log.mutex);
    pthread_mutex_destroy(&s->embed_mutex);
    pthread_mutex_destroy(&s->place_mutex);
    free(s);
    return finished;
}
