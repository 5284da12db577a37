/* http_request: what a request says, where it may come from, and replies to it. */
#include "serve/http_internal.h"
#include "base/os.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* What a stream hands to the library at a time. */
enum { STREAM_BLOCK_BYTES = 16384, FILE_BLOCK_BYTES = 65536 };

/* ---- what it says ------------------------------------------------------------------------- */

const char *http_method(const http_request *r)
{
    return r->method;
}

const char *http_path(const http_request *r)
{
    return r->path;
}

const char *http_header(const http_request *r, const char *name)
{
    return r->s->lib.look_up(r->c, MHD_HEADER_KIND, name);
}

typedef struct last_value {
    const char *name, *value;
} last_value;

static enum MHD_Result keep_last(void *user, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    last_value *l = user;
    if (strcasecmp(name, l->name) == 0)
        l->value = value;
    return MHD_YES;
}

const char *http_last_header(const http_request *r, const char *name)
{
    last_value l = {.name = name};
    r->s->lib.list(r->c, MHD_HEADER_KIND, keep_last, &l);
    return l.value;
}

const char *http_query(const http_request *r, const char *name)
{
    return r->s->lib.look_up(r->c, MHD_GET_ARGUMENT_KIND, name);
}

typedef struct unknown_name {
    const char *const *known;
    const char *name;
} unknown_name;

static enum MHD_Result find_unknown(void *user, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind, (void)value;
    unknown_name *u = user;
    const char *const *known = u->known;
    while (*known && strcmp(*known, name) != 0)
        known++;
    u->name = *known ? NULL : name;
    return *known ? MHD_YES : MHD_NO;
}

const char *http_unknown_query(const http_request *r, const char *const known[])
{
    unknown_name u = {.known = known};
    r->s->lib.list(r->c, MHD_GET_ARGUMENT_KIND, find_unknown, &u);
    return u.name;
}

typedef struct repeated_name {
    const char *name;
    uint32_t times;
} repeated_name;

static enum MHD_Result count_name(void *user, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind, (void)value;
    repeated_name *n = user;
    n->times += strcmp(name, n->name) == 0;
    return MHD_YES;
}

const char *http_repeated_query(const http_request *r, const char *const known[])
{
    for (; *known; known++) {
        repeated_name n = {.name = *known};
        r->s->lib.list(r->c, MHD_GET_ARGUMENT_KIND, count_name, &n);
        if (n.times > 1)
            return *known;
    }
    return NULL;
}

const char *http_body(const http_request *r, size_t *bytes)
{
    *bytes = r->body.length;
    return r->body.data;
}

unsigned http_status(const http_request *r)
{
    return r->status;
}

const char *http_address(http_request *r)
{
    const union MHD_ConnectionInfo *info = r->s->lib.connection_info(r->c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *a = info ? info->client_addr : NULL;
    const void *bytes = NULL;
    if (a && a->sa_family == AF_INET)
        bytes = &((const struct sockaddr_in *)(const void *)a)->sin_addr;
    else if (a && a->sa_family == AF_INET6)
        bytes = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
    return bytes && inet_ntop(a->sa_family, bytes, r->address, sizeof r->address) ? r->address : "-";
}

bool http_is_gone(const http_request *r)
{
    return os_is_hung_up(r->connection->socket);
}

/* ---- where it ends ------------------------------------------------------------------------ */

typedef struct framing {
    uint32_t lengths, encodings, hosts, codings;
    bool is_odd; /* a name that no header has, or an encoding that is not known */
} framing;

static enum MHD_Result look_at(void *user, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    framing *f = user;
    f->lengths += strcasecmp(name, "Content-Length") == 0;
    f->hosts += strcasecmp(name, "Host") == 0;
    f->codings += strcasecmp(name, "Content-Encoding") == 0 && value && strcasecmp(value, "identity") != 0;
    if (strcasecmp(name, "Transfer-Encoding") == 0) {
        f->encodings++;
        f->is_odd |= !value || strcasecmp(value, "chunked") != 0;
    }
    f->is_odd |= name[strcspn(name, " \t")] != '\0';
    return MHD_YES;
}

const char *http_framing_fault(const http_request *r)
{
    framing f = {0};
    r->s->lib.list(r->c, MHD_HEADER_KIND, look_at, &f);
    if (f.is_odd || f.lengths > 1 || f.encodings > 1 || (f.lengths && f.encodings))
        return "it is not sure where the request's body ends: one Content-Length, or Transfer-Encoding: chunked";
    if (f.hosts > 1)
        return "the request has more than one Host";
    return f.codings ? "the request's body has a Content-Encoding, which is not supported" : NULL;
}

/* As the library does it, but that a path ends in no %00: what stands behind it would not be looked at. */
size_t http_unescape(void *user, struct MHD_Connection *c, char *text)
{
    (void)user, (void)c;
    char *to = text;
    for (const char *from = text; *from; from++) {
        char digits[3] = {from[0] == '%' ? from[1] : '\0', 0, 0}, *end = digits;
        digits[1] = digits[0] ? from[2] : '\0';
        long byte =
            isxdigit((unsigned char)digits[0]) && isxdigit((unsigned char)digits[1]) ? strtol(digits, &end, 16) : 0;
        *to++ = byte ? (char)byte : *from;
        from += byte ? 2 : 0;
    }
    *to = '\0';
    return (size_t)(to - text);
}

/* ---- where it may come from --------------------------------------------------------------- */

/* What may stand behind a host: nothing, or a colon and a port, which may be left out. */
static bool is_port(const char *text)
{
    if (*text != ':')
        return !*text;
    size_t digits = strspn(text + 1, "0123456789");
    return !text[1 + digits] && digits <= 5 && atoi(text + 1) <= UINT16_MAX;
}

static bool is_named(const char *host, const char *name)
{
    size_t length = strlen(name);
    return strncasecmp(host, name, length) == 0 && is_port(host + length);
}

static bool is_host_taken(const http_server *s, const char *host)
{
    static const char *const ours[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (is_named(host, ours[i]))
            return true;
    for (size_t i = 0; i < s->o.host_count; i++)
        if (is_named(host, s->o.hosts[i]))
            return true;
    return false;
}

static const char *allowed_origin(const http_server *s, const char *origin)
{
    for (size_t i = 0; i < s->o.origin_count; i++)
        if (strcmp(s->o.origins[i], "*") == 0 || strcasecmp(s->o.origins[i], origin) == 0)
            return s->o.origins[i];
    return NULL;
}

/* A page of the server itself: its origin is where the request went. */
static bool is_own_origin(const char *origin, const char *host)
{
    const char *behind = strstr(origin, "://");
    return behind && host && strcasecmp(behind + 3, host) == 0;
}

const char *http_origin_fault(const http_request *r)
{
    const char *host = http_header(r, "Host"), *origin = http_header(r, "Origin");
    if (r->s->is_local && !(host && is_host_taken(r->s, host)))
        return "this server is for this machine only: the request's Host is another name";
    if (origin && !is_own_origin(origin, host) && !allowed_origin(r->s, origin))
        return "pages of this origin may not ask this server";
    return NULL;
}

/* ---- replies ------------------------------------------------------------------------------ */

void http_add_header(http_request *r, const char *name, const char *value)
{
    if (r->header_count == HTTP_MOST_HEADERS)
        return;
    r->headers[r->header_count][0] = mem_dup(name);
    r->headers[r->header_count++][1] = mem_dup(value);
}

void http_add_usual_headers(http_request *r, struct MHD_Response *response)
{
    const http_library *l = &r->s->lib;
    const char *origin = http_header(r, "Origin"), *allowed = origin ? allowed_origin(r->s, origin) : NULL;
    l->add_header(response, "X-Content-Type-Options", "nosniff");
    if (allowed) {
        l->add_header(response, "Access-Control-Allow-Origin", allowed);
        l->add_header(response, "Vary", "Origin");
        if (strcmp(r->method, "OPTIONS") == 0) {
            l->add_header(response, "Access-Control-Allow-Methods", "GET, POST, OPTIONS");
            l->add_header(response, "Access-Control-Allow-Headers", "Authorization, Content-Type");
            l->add_header(response, "Access-Control-Max-Age", "600");
        }
    }
    for (uint32_t i = 0; i < r->header_count; i++)
        l->add_header(response, r->headers[i][0], r->headers[i][1]);
    pthread_mutex_lock(&r->s->mutex);
    bool last = r->s->door_closed;
    pthread_mutex_unlock(&r->s->mutex);
    if (last)
        l->add_header(response, "Connection", "close");
}

static void queue_reply(http_request *r, unsigned status, const char *type, struct MHD_Response *response)
{
    if (type)
        r->s->lib.add_header(response, "Content-Type", type);
    http_add_usual_headers(r, response);
    r->status = status;
    r->queued = r->s->lib.queue(r->c, status, response);
    r->s->lib.destroy(response);
}

void http_reply(http_request *r, unsigned status, const char *type, const char *bytes, size_t count)
{
    queue_reply(r, status, type, r->s->lib.from_buffer(count, (void *)(uintptr_t)bytes, MHD_RESPMEM_MUST_COPY));
}

void http_reply_line(http_request *r, unsigned status, const char *text)
{
    str line = {0};
    str_addf(&line, "%s\n", text);
    http_reply(r, status, "text/plain; charset=utf-8", line.data, line.length);
    str_free(&line);
}

typedef struct sent_file {
    int fd;
    uint64_t from;
} sent_file;

/* The library's own way of sending files waits for ever, and works while it does, where one has become shorter. */
static ssize_t on_file(void *user, uint64_t position, char *to, size_t room)
{
    const sent_file *f = user;
    ssize_t got;
    do
        got = pread(f->fd, to, room, (off_t)(f->from + position));
    while (got < 0 && errno == EINTR);
    return got > 0 ? got : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void close_file(void *user)
{
    sent_file *f = user;
    close(f->fd);
    free(f);
}

void http_reply_file(http_request *r, unsigned status, const char *type, int fd, uint64_t from, uint64_t bytes)
{
    sent_file *f = mem_alloc(sizeof *f);
    *f = (sent_file){fd, from};
    queue_reply(r, status, type, r->s->lib.from_callback(bytes, FILE_BLOCK_BYTES, on_file, f, close_file));
}

/* Setting a time-out where there was none also counts as something that happened. */
static void set_timeout(http_request *r, unsigned seconds)
{
    r->s->lib.set_option(r->c, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}

void http_pause_timeout(http_request *r)
{
    set_timeout(r, 0);
}

void http_resume_timeout(http_request *r)
{
    set_timeout(r, r->s->o.send_s);
}

static ssize_t on_more(void *user, uint64_t position, char *to, size_t room)
{
    (void)position;
    http_request *r = user;
    if (r->unsent_at == r->unsent.length) {
        r->unsent.length = r->unsent_at = 0;
        http_pause_timeout(r);
        while (!r->stream_ended && !r->unsent.length)
            r->stream_ended = !r->stream.more(r->stream.user, &r->unsent);
        http_resume_timeout(r);
    }
    size_t left = r->unsent.length - r->unsent_at, part = left < room ? left : room;
    if (!part)
        return MHD_CONTENT_READER_END_OF_STREAM;
    memcpy(to, r->unsent.data + r->unsent_at, part);
    r->unsent_at += part;
    return (ssize_t)part;
}

void http_reply_stream(http_request *r, unsigned status, const char *type, const http_stream *s)
{
    r->stream = *s;
    http_add_header(r, "Cache-Control", "no-cache");
    http_add_header(r, "X-Accel-Buffering", "no"); /* a proxy passes each piece on at once */
    queue_reply(r, status, type, r->s->lib.from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK_BYTES, on_more, r, NULL));
}
