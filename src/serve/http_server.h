/* http_server: HTTP/1.1 for a few hundred clients, each connection on a thread of its own, by libmicrohttpd.
 *
 *     http_block_signals();        before threads are made: they inherit it
 *     http_server *s = http_server_start(&(http_options){.host = "127.0.0.1", .port = 8080, .handle = handle}, &e);
 *     http_wait_for_signal();
 *     http_server_close_door(s);   no new connections
 *     http_server_finish(s, 5);    what is being answered gets so many seconds
 *     http_server_stop(s);
 *
 * `handle` is called on the connection's thread with a request that is complete: its body has arrived, is small enough,
 * and comes from where requests may come from. It may wait as long as it likes, and replies exactly once.
 *
 * A request has to arrive in full within receive_s of the connection's beginning, or of the end of the last answer, and
 * a client that takes nothing of its answer for send_s is cut off: slow clients cannot hold connections.
 *
 * On a loopback address only the names of this machine are taken as Host, so that a page of someone else's cannot reach
 * the server by a name of its own; a request with an Origin comes from a page, which must be the server's own or one of
 * `origins`.                                                                                                       */
#ifndef SOLO_HTTP_SERVER_H
#define SOLO_HTTP_SERVER_H

#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

typedef struct http_server http_server;
typedef struct http_request http_request;

enum {
    HTTP_DEFAULT_CONNECTIONS = 256,
    HTTP_DEFAULT_RECEIVE_S = 60,
    HTTP_DEFAULT_SEND_S = 30,
};

typedef struct http_options {
    const char *host; /* a numeric address, or "localhost"; NULL: 127.0.0.1 */
    uint16_t port;    /* 0: one that is free */
    size_t body_bytes;
    uint32_t connections, receive_s, send_s; /* 0: the defaults above */
    const char *const *hosts; /* (host_count) names that are taken as Host beside those of this machine */
    size_t host_count;
    const char *const *origins; /* (origin_count) pages elsewhere that may ask, "https://example.org"; "*": all */
    size_t origin_count;
    void (*handle)(void *user, http_request *r);
    /* Replies to what is refused before it gets to `handle`; NULL: by a line of text. */
    void (*refuse)(void *user, http_request *r, unsigned status, const char *why);
    void *user;
} http_options;

/* SIGINT and SIGTERM, which end a server in order, and at once if they come twice or there is no server yet; a client that
 * has gone must not end it. */
void http_block_signals(void);
int http_wait_for_signal(void);
/* As if SIGTERM had come. */
void http_end_by_itself(void);

/* The texts of the options must outlive the server. */
http_server *http_server_start(const http_options *o, err *e);
uint16_t http_server_port(const http_server *s);
/* From here on there are no new connections, and those that there are close after their answers. */
void http_server_close_door(http_server *s);
/* Waits until every request is answered, this long at most. False: some are not. */
bool http_server_finish(http_server *s, double seconds);
/* No thread may be left waiting in `handle`. */
void http_server_stop(http_server *s);

/* ---- a request ---------------------------------------------------------------------------- */

const char *http_method(const http_request *r);
const char *http_path(const http_request *r);                     /* decoded, begins with a slash */
const char *http_header(const http_request *r, const char *name); /* NULL: there is none */
/* The last of several lines with this name, which the nearest proxy wrote. */
const char *http_last_header(const http_request *r, const char *name);
const char *http_query(const http_request *r, const char *name); /* of the address, decoded; NULL */
/* The first name in it that is none of these, up to NULL; NULL: there is none. */
const char *http_unknown_query(const http_request *r, const char *const known[]);
/* One of these that is there more than once: which of its values counts would be a guess. */
const char *http_repeated_query(const http_request *r, const char *const known[]);
const char *http_body(const http_request *r, size_t *bytes); /* terminated by a zero byte */
const char *http_address(http_request *r);                   /* who asks, as numbers; "-": unknown */
unsigned http_status(const http_request *r);                 /* of the reply; 0: none yet */
/* Has the client closed the connection? To be asked now and then while it waits. */
bool http_is_gone(const http_request *r);

/* ---- replies ------------------------------------------------------------------------------ */

/* A header of the reply that follows; up to 12 of them. The texts are copied. */
void http_add_header(http_request *r, const char *name, const char *value);

void http_reply(http_request *r, unsigned status, const char *type, const char *bytes, size_t count);
/* One line of text. */
void http_reply_line(http_request *r, unsigned status, const char *text);
/* Bytes of a file that is open, which the reply closes. */
void http_reply_file(http_request *r, unsigned status, const char *type, int fd, uint64_t from, uint64_t bytes);

/* A reply that is made while it is sent: `more` waits for something to send and appends it, at most some kilobytes; false:
 * that was the last. `done` is called once, when everything is sent or the client is gone. */
typedef struct http_stream {
    bool (*more)(void *user, str *out);
    void (*done)(void *user);
    void *user;
} http_stream;
void http_reply_stream(http_request *r, unsigned status, const char *type, const http_stream *s);

#endif
