/* server: OpenAI's API over one model, as `solo serve` runs it.
 *
 *     server *s = server_start(&options, &e);
 *     http_wait_for_signal();
 *     server_stop(s);
 *
 * docs/serve.md says what it answers.                                                                              */
#ifndef SOLO_SERVER_H
#define SOLO_SERVER_H

#include "gpu/gpu.h"
#include "llm/generation.h"
#include "model/model.h"

#include <stdio.h>

typedef struct server server;

enum {
    SERVER_DEFAULT_QUEUE = 64,
    SERVER_DEFAULT_LIMIT_S = 600,
    SERVER_DEFAULT_FINISH_S = 30,
    SERVER_DEFAULT_BODY_KIB = 4096,
};

typedef struct server_options {
    const char *host; /* NULL: 127.0.0.1 */
    uint16_t port;
    const char *const *hosts; /* http_options has these */
    size_t host_count;
    const char *const *origins;
    size_t origin_count;
    size_t body_bytes;
    const char *key_file;     /* NULL: nobody needs a key */
    const char *page;         /* the folder of the page; NULL: there is none */
    const char *name;         /* of the model */
    uint32_t parallel;        /* texts at a time; 0: as engine_options has it */
    uint32_t queue;           /* texts that may wait */
    double limit_s, finish_s; /* for a request; for those that run when the server is to end */
    bool log_json, is_quiet;  /* a line for each request */
    const char *template;     /* "chatml", "none" or a template's text; NULL: the model's own */
    generation_options generation;
    const model *m;
    /* Opens the device, on the thread that will use it; closes it there. */
    gpu *(*open_gpu)(void *user, err *e);
    void (*close_gpu)(void *user, gpu *g);
    void *user;
} server_options;

/* All in the options must outlive it. */
server *server_start(const server_options *o, err *e);
uint16_t server_port(const server *s);
/* What is running gets finish_s. True: everything was answered, and no device was lost for good. */
bool server_stop(server *s);

#endif
