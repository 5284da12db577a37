/* collect_internal: what the files of the collector's server share. */
#ifndef SOLO_SERVE_COLLECT_INTERNAL_H
#define SOLO_SERVE_COLLECT_INTERNAL_H

#include "serve/collect_page.h"
#include "serve/collect_server.h"

#include <pthread.h>

/* A page that was made, for those who ask the same while nothing has changed. */
enum { COLLECT_PAGES = 8 };
typedef struct collect_cached {
    str key, text;
    uint64_t changes;
    double made_s;
} collect_cached;

struct collect_server {
    collect_options o;
    collect_store *store;
    collect_rate *rate;
    http_server *http;
    pthread_mutex_t mutex; /* of the pages */
    collect_cached pages[COLLECT_PAGES];
    uint32_t next_page;
};

/* Of an address: what to choose by. Empty values choose all. */
collect_filter collect_filter_of(const http_request *r);
/* False, and replied: something went wrong here. */
bool collect_fail(http_request *r, const err *e);

/* One for each address that is read (collect_read.c) or makes a page (collect_serve_page.c). */
void collect_answer_list(collect_server *s, http_request *r);
void collect_answer_record(collect_server *s, http_request *r, const char *id);
void collect_answer_standing(collect_server *s, http_request *r, const char *id);
void collect_answer_summary(collect_server *s, http_request *r);
void collect_answer_ndjson(collect_server *s, http_request *r);
void collect_answer_csv(collect_server *s, http_request *r);
void collect_answer_page(collect_server *s, http_request *r);
void collect_answer_report(collect_server *s, http_request *r, const char *id);

#endif
