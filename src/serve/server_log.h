/* server_log: one line for each request, and what /metrics counts. Nothing of what was asked or answered is in either. */
#ifndef SOLO_SERVER_LOG_H
#define SOLO_SERVER_LOG_H

#include "serve/scheduler.h"

#include <pthread.h>

/* A request, filled in while it is answered. */
typedef struct log_entry {
    const char *method, *path;
    char id[40], address[48], user[64];
    unsigned status;
    double began_us;
    uint64_t prompt_tok, reused_tok, made_tok, stepped_tok, vain_tok;
    double queue_s, first_s;
    const char *finish; /* NULL: none */
    char error[160];
    bool is_gone; /* the client went away */
} log_entry;

enum { LOG_BUCKETS = 12, LOG_STATUSES = 24 };

typedef struct log_histogram {
    uint64_t buckets[LOG_BUCKETS + 1];
    double sum;
} log_histogram;

typedef struct server_log {
    bool as_json, is_quiet;
    pthread_mutex_t mutex;
    struct {
        unsigned status;
        uint64_t count;
    } statuses[LOG_STATUSES];
    log_histogram first_s, request_s, queue_s;
    uint64_t gone;
} server_log;

log_entry log_begin(const char *method, const char *path);
/* Writes the line, and counts. */
void log_end(server_log *l, const log_entry *e);
/* As Prometheus reads it. */
void log_write_metrics(server_log *l, const scheduler_counts *c, str *out);

#endif
