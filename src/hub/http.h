/* http: GET over HTTP and HTTPS, by libcurl.
 *
 * libcurl is loaded when the first request is made, so that everything else runs on machines that do not have it.
 * Certificates are verified (SSL_CERT_FILE names others than the system's), redirects are counted, from HTTPS none leads to HTTP, and a token goes to the host that it
 * is for and to no other. */
#ifndef SOLO_HUB_HTTP_H
#define SOLO_HUB_HTTP_H

#include "base/err.h"
#include "base/str.h"

#include <signal.h>
#include <stdint.h>

typedef struct http http;

/* What a server said before the first byte. */
typedef struct http_reply {
    long status;
    bool has_length, has_range;
    uint64_t length;                  /* of what it sends now */
    uint64_t range_first, range_file; /* of 206: where that begins, and how long the file is */
    bool is_page;                     /* text/html */
    str next;                         /* the address of a list's next page; free it */
} http_reply;

typedef struct http_request {
    const char *url;
    const char *token;  /* for the host of `url`; or NULL */
    uint64_t first;     /* byte that is asked for */
    const char *body;   /* JSON that is sent, by POST, to this address and no other; NULL: nothing is */
    uint32_t timeout_s; /* with not a byte for so long, it is over */
    /* Called before the first byte of a success (200, 206; 201 of a POST), and for its bytes. False with an error ends the request. */
    bool (*begin)(void *user, const http_reply *r, err *e);
    bool (*write)(void *user, const char *bytes, size_t count, err *e);
    void *user;
    const volatile sig_atomic_t *stop; /* ends it when it becomes true */
} http_request;

typedef enum {
    HTTP_DONE,    /* all of it came */
    HTTP_REFUSED, /* the server answered with another status */
    HTTP_BROKEN,  /* no connection, or one that broke or stalled: may be tried again */
    HTTP_ENDED    /* by the caller or by a rule; trying again is of no use */
} http_result;

http *http_open(err *e);
void http_close(http *h);

/* `*r` is the last reply there was. Only HTTP_DONE comes without an error. */
http_result http_get(http *h, const http_request *q, http_reply *r, err *e);

#endif
