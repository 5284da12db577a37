/* server_internal: what the files of the server share. */
#ifndef SOLO_SERVER_INTERNAL_H
#define SOLO_SERVER_INTERNAL_H

#include "model/chat.h"
#include "serve/http_json.h"
#include "serve/openai_request.h"
#include "serve/scheduler.h"
#include "serve/server.h"
#include "serve/server_log.h"

#include <stdatomic.h>

struct server {
    server_options o;
    http_server *http;
    scheduler *work;
    gpu *g; /* the scheduler's thread has it */
    tokenizer *t;
    chat_template *template; /* NULL: texts are continued only */
    err template_error;      /* why the model's own cannot be used */
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
/* "chatcmpl-..." with random letters. */
void server_make_id(server *s, const char *prefix, char out[40]);

#endif
