/* collect_server: the collector over HTTP.
 *
 *     POST /api/records                 a record; 201 with its id when it is on the disk, 200 if it was there already
 *     GET  /api/records                 the newest first, in pages; filters in the address
 *     GET  /api/records/ID              the record
 *     GET  /api/records/ID/standing     what it is better than
 *     GET  /api/summary                 medians by group
 *     GET  /api/export.ndjson           every record, one per line; the SHA-256 of a line is the record's id
 *     GET  /api/export.csv              every point
 *     GET  /                            the leaderboard
 *     GET  /records/ID                  a record as `solo report` shows it
 *     GET  /health                      is the database there?                                                       */
#ifndef SOLO_SERVE_COLLECT_SERVER_H
#define SOLO_SERVE_COLLECT_SERVER_H

#include "serve/collect_rate.h"
#include "serve/collect_store.h"
#include "serve/http_server.h"

typedef struct collect_options {
    const char *host;
    uint16_t port;
    uint32_t per_minute;      /* records from one address; 0: without a limit */
    bool behind_proxy;        /* addresses are what a proxy says in X-Forwarded-For */
    const char *const *names; /* (name_count) of this server, where it listens on this machine alone, behind a proxy */
    size_t name_count;
    const char *const *origins; /* (origin_count) pages elsewhere that may send records */
    size_t origin_count;
} collect_options;

typedef struct collect_server collect_server;

/* The store must outlive it. */
collect_server *collect_server_start(collect_store *store, const collect_options *o, err *e);
uint16_t collect_server_port(const collect_server *s);
/* What is being answered gets some seconds. */
void collect_server_stop(collect_server *s);

#endif
