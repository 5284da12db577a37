/* server_embed: POST /v1/embeddings, by an embedder that requests take turns with. */
#include "base/jsonw.h"
#include "serve/openai_fields.h"
#include "serve/server_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 2048 };

typedef struct embedding_request {
    const char *model, *user, *format;
    const json_t *input;
    uint32_t dimensions; /* 0: not said */
} embedding_request;

#define READER(name) static bool name(void *to, const json_t *value, const field_place *at, openai_fault *f)
#define REQUEST      ((embedding_request *)to)

READER(read_model)
{
    return field_text(value, &REQUEST->model, at, f);
}

READER(read_user)
{
    return field_text(value, &REQUEST->user, at, f);
}

READER(read_format)
{
    return field_text(value, &REQUEST->format, at, f) &&
           (strcmp(REQUEST->format, "float") == 0 || strcmp(REQUEST->format, "base64") == 0 ||
            openai_refuse(f, 400, at->name, "invalid_value", "%s is neither \"float\" nor \"base64\"", at->name));
}

READER(read_dimensions)
{
    return field_whole(value, 1, UINT32_MAX, &REQUEST->dimensions, at, f);
}

READER(read_input)
{
    (void)at, (void)f;
    REQUEST->input = value;
    return true;
}

static const field_reader FIELDS[] = {
    {"model", read_model, NULL},           {"user", read_user, NULL},   {"encoding_format", read_format, NULL},
    {"dimensions", read_dimensions, NULL}, {"input", read_input, NULL}, {0}};

/* ---- inputs -------------------------------------------------------------------------------------- */

static bool take_input(const server *s, const json_t *value, const field_place *at, token_list *out, openai_fault *f)
{
    err e = {0};
    if (field_is_tokens(value))
        return field_tokens(value, model_get_config(s->o.m)->vocab_tok, out, at, f);
    if (!json_is_string(value))
        return openai_refuse(f, 400, at->name, "invalid_type", "%s is neither a text nor a list of tokens", at->name);
    return embedder_tokens(s->o.m, s->t, json_string_value(value), json_string_length(value), out, &e) ||
           openai_refuse(f, 400, at->name, "invalid_value", "%s: %s", at->name, e.text);
}

typedef struct inputs {
    token_list *items; /* (count) */
    size_t count, token_count;
} inputs;

static void inputs_free(inputs *all)
{
    for (size_t i = 0; i < all->count; i++)
        token_list_free(&all->items[i]);
    free(all->items);
}

static bool read_inputs(const server *s, const json_t *value, inputs *all, openai_fault *f)
{
    field_place at = {"input"};
    bool is_list = json_is_array(value) && !field_is_tokens(value);
    size_t count = is_list ? json_array_size(value) : 1;
    if (!value || count == 0)
        return openai_refuse(f, 400, "input", "missing_required_parameter", "there is no input");
    if (count > MOST_INPUTS)
        return openai_refuse(f, 400, "input", "invalid_value", "input has more than %d texts", MOST_INPUTS);
    all->items = mem_alloc(count * sizeof *all->items);
    for (size_t i = 0; i < count; i++) {
        field_place here = is_list ? field_item(&at, i) : at;
        token_list *item = &all->items[all->count++];
        if (!take_input(s, is_list ? json_array_get(value, i) : value, &here, item, f))
            return false;
        if (item->count > s->embed_tok)
            return openai_refuse(f, 400, here.name, "context_length_exceeded", "%s has %zu tokens: up to %u are taken",
                                 here.name, item->count, s->embed_tok);
        all->token_count += item->count;
    }
    return true;
}

/* ---- vectors --------------------------------------------------------------------------------------- */

static void add_base64(str *out, const unsigned char *bytes, size_t count)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        uint32_t three =
            (uint32_t)bytes[i] << 16 | (uint32_t)(left > 1 ? bytes[i + 1] : 0) << 8 | (left > 2 ? bytes[i + 2] : 0);
        char four[4] = {letters[three >> 18], letters[three >> 12 & 63], left > 1 ? letters[three >> 6 & 63] : '=',
                        left > 2 ? letters[three & 63] : '='};
        str_add_bytes(out, four, 4);
    }
}

static void write_vector(jsonw *j, const float *vector, uint32_t width, bool as_base64)
{
    if (as_base64) {
        str text = {0};
        add_base64(&text, (const unsigned char *)vector, width * sizeof *vector);
        jsonw_text(j, "embedding", text.data);
        str_free(&text);
        return;
    }
    jsonw_array(j, "embedding");
    for (uint32_t i = 0; i < width; i++)
        jsonw_number(j, NULL, vector[i]);
    jsonw_end(j);
}

/* One text after the other, so that others get their turn between. */
static bool write_vectors(server *s, http_request *r, const embedding_request *q, const inputs *all, str *out,
                          openai_fault *f)
{
    uint32_t width = embedder_width(s->embedder);
    float *vector = mem_alloc(width * sizeof *vector);
    jsonw j = jsonw_to(out);
    bool ok = true;
    jsonw_object(&j, NULL);
    jsonw_flat(&j);
    jsonw_text(&j, "object", "list");
    jsonw_array(&j, "data");
    for (size_t i = 0; ok && i < all->count; i++) {
        err e = {0};
        pthread_mutex_lock(&s->embed_mutex);
        ok = embedder_run(s->embedder, (const uint32_t *)all->items[i].ids, (uint32_t)all->items[i].count, vector, &e);
        pthread_mutex_unlock(&s->embed_mutex);
        if (!ok)
            openai_refuse(f, 500, NULL, "device_failed", "%s", e.text);
        else if (http_is_gone(r))
            ok = openai_refuse(f, 499, NULL, "gone", "the client went away");
        jsonw_object(&j, NULL);
        jsonw_text(&j, "object", "embedding");
        jsonw_count(&j, "index", i);
        write_vector(&j, vector, width, q->format && strcmp(q->format, "base64") == 0);
        jsonw_end(&j);
    }
    jsonw_end(&j);
    jsonw_text(&j, "model", s->o.name);
    jsonw_object(&j, "usage");
    jsonw_count(&j, "prompt_tokens", all->token_count);
    jsonw_count(&j, "total_tokens", all->token_count);
    jsonw_end(&j);
    jsonw_end(&j);
    free(vector);
    return ok;
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static bool check(const server *s, const embedding_request *q, openai_fault *f)
{
    uint32_t width = embedder_width(s->embedder);
    if (!server_check_model(s, q->model, f))
        return false;
    return !q->dimensions || q->dimensions == width ||
           openai_refuse(f, 400, "dimensions", "unsupported_value", "dimensions can only be %u, as the model has them",
                         width);
}

/* A place in the queue. */
static bool take_place(server *s, http_request *r, openai_fault *f)
{
    pthread_mutex_lock(&s->place_mutex);
    bool ok = s->embedding <= s->o.queue;
    s->embedding += ok;
    pthread_mutex_unlock(&s->place_mutex);
    if (!ok)
        http_add_header(r, "Retry-After", "1");
    return ok || openai_refuse(f, 429, NULL, "queue_full", "the queue is full: try again in about 1 s");
}

static void leave_place(server *s)
{
    pthread_mutex_lock(&s->place_mutex);
    s->embedding--;
    pthread_mutex_unlock(&s->place_mutex);
}

void server_embed(server *s, http_request *r, log_entry *entry)
{
    err e = {0};
    openai_fault f = {0};
    field_place top = {""};
    embedding_request q = {0};
    inputs all = {0};
    str out = {0};
    unsigned status;
    json_t *body = NULL;
    if (!s->embedder)
        openai_refuse(&f, 400, "model", "unsupported_value", "this model makes no embeddings: it continues texts");
    else if (!(body = http_read_json(r, &status, &e)))
        openai_refuse(&f, status, NULL, "invalid_json", "%s", e.text);
    bool ok = body && fields_read(body, FIELDS, &q, &top, &f) && check(s, &q, &f) &&
              read_inputs(s, q.input, &all, &f) && take_place(s, r, &f);
    if (ok) {
        ok = write_vectors(s, r, &q, &all, &out, &f);
        leave_place(s);
    }
    entry->prompt_tok = ok ? all.token_count : 0;
    if (q.user)
        snprintf(entry->user, sizeof entry->user, "%s", q.user);
    if (ok)
        server_reply_json(s, r, 200, &out, entry);
    else
        server_refuse(s, r, &f, entry);
    inputs_free(&all);
    str_free(&out);
    json_decref(body);
}

bool server_open_embedder(server *s, err *e)
{
    s->g = s->o.open_gpu(s->o.user, e);
    s->embedder =
        s->g
            ? embedder_new(s->g, s->o.m, s->t,
                           &(embedder_options){.level = s->o.generation.level, .most_tok = s->o.generation.context_tok},
                           e)
            : NULL;
    s->embed_tok = s->embedder ? embedder_most_tok(s->embedder) : 0;
    return s->embedder != NULL;
}

void server_close_embedder(server *s)
{
    if (s->embedder)
        embedder_free(s->embedder);
    if (s->g) /* a scheduler has closed its own */
        s->o.close_gpu(s->o.user, s->g);
}
