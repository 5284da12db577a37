/* http_internal: what the files of the HTTP server share. */
#ifndef SOLO_HTTP_INTERNAL_H
#define SOLO_HTTP_INTERNAL_H

#include "serve/http_library.h"
#include "serve/http_server.h"

#include <netinet/in.h>
#include <pthread.h>

/* A connection, for as long as it is open. */
typedef struct http_connection {
    struct http_connection *next, *before;
    int socket;
    bool receives; /* a request, or nothing yet, since: */
    double since_us;
} http_connection;

struct http_server {
    http_options o;
    http_library lib;
    struct MHD_Daemon *daemon;
    uint16_t port;
    bool is_local; /* only this machine can connect */
    pthread_t watch;
    bool watches;
    /* All below is behind the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    http_connection *connections;
    uint32_t requests;  /* that are arriving, or being answered */
    uint32_t answering; /* of those, which are here as a whole */
    bool door_closed, stops;
};

enum { HTTP_MOST_HEADERS = 12 };

struct http_request {
    http_server *s;
    struct MHD_Connection *c;
    http_connection *connection;
    const char *method, *path;
    str body;
    uint64_t dropped_bytes; /* of a body that is too large */
    bool is_answering;      /* it is here as a whole */
    bool is_refused;        /* replied to before its body came */
    unsigned status;
    enum MHD_Result queued;
    char address[INET6_ADDRSTRLEN];
    char *headers[HTTP_MOST_HEADERS][2];
    uint32_t header_count;
    http_stream stream;
    str unsent; /* of a stream, from unsent_at on */
    size_t unsent_at;
    bool stream_ended;
};

/* Why a proxy may see another request in the same bytes, or NULL. */
const char *http_framing_fault(const http_request *r);
/* Why this request may not ask, or NULL. */
const char *http_origin_fault(const http_request *r);
size_t http_unescape(void *user, struct MHD_Connection *c, char *text);
/* The headers that every reply has. */
void http_add_usual_headers(http_request *r, struct MHD_Response *response);

/* The library closes connections on which nothing happens; while an answer is being made, nothing does. */
void http_pause_timeout(http_request *r);
void http_resume_timeout(http_request *r);

#endif
