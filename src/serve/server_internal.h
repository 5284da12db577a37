/* server_internal: what the files of the server share. */
#ifndef SOLO_SERVER_INTERNAL_H
#define SOLO_SERVER_INTERNAL_H

#include "llm/embedder.h"
#include "model/chat.h"
#include "serve/grammar_filter.h"
#include "serve/http_json.h"
#include "serve/openai_request.h"
#include "serve/scheduler.h"
#include "serve/server.h"
#include "serve/server_log.h"

#include <stdatomic.h>

struct server {
    server_options o;
    http_server *http;
    /* Of a model that continues texts; else NULL. Its thread has the device. */
    scheduler *work;
    gpu *g;
    /* Of a model that makes embeddings; else NULL. Who has the mutex uses it, one text at a time. */
    embedder *embedder;
    pthread_mutex_t embed_mutex, place_mutex;
    uint32_t embed_tok; /* the longest text */
    uint32_t embedding; /* requests that wait for it or use it; behind place_mutex */
    tokenizer *t;
    chat_template *template; /* NULL: texts are continued only */
    err template_error;      /* why the model's own cannot be used */
    bool calls_have_tags;    /* it writes calls of tools between tags */
    token_index *index;      /* made when a grammar is first asked for; behind place_mutex */
    char **keys;             /* (key_count) */
    size_t key_count;
    int64_t began_s;
    server_log log;
    atomic_uint next_id;
    atomic_bool has_failed; /* the device was lost for good */
};

/* A refusal in OpenAI's form, which is also logged. */
void server_refuse(server *s, http_request *r, const openai_fault *f, log_entry *entry);
/* POST /v1/chat/completions and /v1/completions. */
void server_complete(server *s, http_request *r, bool is_chat, log_entry *entry);
/* POST /v1/embeddings, and the model for it. */
void server_embed(server *s, http_request *r, log_entry *entry);
bool server_open_embedder(server *s, err *e);
void server_close_embedder(server *s);

const token_index *server_token_index(server *s);
/* NULL, or the name of this server's model. */
bool server_check_model(const server *s, const char *name, openai_fault *f);
void server_reply_json(server *s, http_request *r, unsigned status, const str *out, log_entry *entry);
/* "chatcmpl-..." with random letters. */
void server_make_id(server *s, const char *prefix, char out[40]);

#endif
