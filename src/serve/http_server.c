/* http_server: connections, and requests until they are complete. */
#include "serve/http_internal.h"
#include "base/clock.h"
#include "base/os.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A body that is too large is read to its end, so that the client gets to see why it was refused, but not forever. */
enum { MOST_DROPPED = 64 << 20 };

/* ---- connections -------------------------------------------------------------------------- */

static int socket_of(const http_server *s, struct MHD_Connection *c)
{
    return s->lib.connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static void set_receiving(http_server *s, http_connection *c, bool receives)
{
    pthread_mutex_lock(&s->mutex);
    c->receives = receives;
    c->since_us = clock_us();
    pthread_mutex_unlock(&s->mutex);
}

static void on_connection(void *user, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    http_server *s = user;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        http_connection *made = mem_alloc(sizeof *made);
        *made = (http_connection){.socket = socket_of(s, c), .receives = true, .since_us = clock_us()};
        pthread_mutex_lock(&s->mutex);
        made->next = s->connections;
        if (made->next)
            made->next->before = made;
        s->connections = made;
        pthread_mutex_unlock(&s->mutex);
        *context = made;
    } else {
        http_connection *gone = *context;
        pthread_mutex_lock(&s->mutex);
        if (gone->next)
            gone->next->before = gone->before;
        *(gone->before ? &gone->before->next : &s->connections) = gone->next;
        pthread_mutex_unlock(&s->mutex);
        free(gone);
    }
}

/* Cuts off those whose request takes too long to arrive: their thread then sees the end of the connection. */
static void *watch(void *user)
{
    http_server *s = user;
    pthread_mutex_lock(&s->mutex);
    while (!s->stops) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&s->changed, &s->mutex, &until);
        double now = clock_us();
        for (http_connection *c = s->connections; c; c = c->next)
            if (c->receives && now - c->since_us > s->o.receive_s * 1e6)
                shutdown(c->socket, SHUT_RDWR);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

/* ---- requests ----------------------------------------------------------------------------- */

static void refuse(http_request *r, unsigned status, const char *why)
{
    if (r->s->o.refuse)
        r->s->o.refuse(r->s->o.user, r, status, why);
    else
        http_reply_line(r, status, why);
}

static const char TOO_LARGE[] = "the request's body is too large";

/* With the request's headers; its body has not come yet. */
static enum MHD_Result begin_request(http_server *s, struct MHD_Connection *c, const char *path, const char *method,
                                     void **state)
{
    http_request *r = mem_alloc(sizeof *r);
    *r = (http_request){.s = s, .c = c, .queued = MHD_YES};
    r->method = mem_dup(method);
    r->path = mem_dup(path);
    r->connection = s->lib.connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    *state = r;
    pthread_mutex_lock(&s->mutex);
    s->requests++;
    pthread_mutex_unlock(&s->mutex);
    const char *length = http_header(r, "Content-Length"), *framing = http_framing_fault(r),
               *fault = framing ? NULL : http_origin_fault(r);
    if (framing) {
        http_add_header(r, "Connection", "close"); /* where the next request begins is not sure */
        refuse(r, 400, framing);
    } else if (fault)
        refuse(r, 403, fault);
    else if (length && strtoull(length, NULL, 10) > s->o.body_bytes)
        refuse(r, 413, TOO_LARGE);
    r->is_refused = r->status != 0;
    return r->queued;
}

static enum MHD_Result take_body(http_request *r, const char *data, size_t *bytes)
{
    if (r->body.length + *bytes <= r->s->o.body_bytes && !r->dropped_bytes)
        str_add_bytes(&r->body, data, *bytes);
    else
        r->dropped_bytes += *bytes;
    *bytes = 0;
    return r->dropped_bytes < MOST_DROPPED ? MHD_YES : MHD_NO;
}

static void count_answering(http_request *r, bool begins)
{
    pthread_mutex_lock(&r->s->mutex);
    r->s->answering = begins ? r->s->answering + 1 : r->s->answering - 1;
    pthread_mutex_unlock(&r->s->mutex);
    r->is_answering = begins;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *c, const char *path, const char *method,
                                  const char *version, const char *data, size_t *bytes, void **state)
{
    (void)version;
    if (!*state)
        return begin_request(user, c, path, method, state);
    http_request *r = *state;
    if (*bytes)
        return take_body(r, data, bytes);
    if (r->is_refused)
        return MHD_YES;
    set_receiving(r->s, r->connection, false);
    count_answering(r, true);
    http_pause_timeout(r);
    str_add(&r->body, "");
    if (r->dropped_bytes)
        refuse(r, 413, TOO_LARGE);
    else
        r->s->o.handle(r->s->o.user, r);
    if (!r->status)
        refuse(r, 500, "there was no answer");
    http_resume_timeout(r);
    return r->queued;
}

static void on_completed(void *user, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode code)
{
    (void)c, (void)code;
    http_server *s = user;
    http_request *r = *state;
    if (!r)
        return;
    if (r->stream.done)
        r->stream.done(r->stream.user);
    set_receiving(s, r->connection, true);
    if (r->is_answering)
        count_answering(r, false);
    for (uint32_t i = 0; i < r->header_count; i++) {
        free(r->headers[i][0]);
        free(r->headers[i][1]);
    }
    str_free(&r->body);
    str_free(&r->unsent);
    free((char *)r->method);
    free((char *)r->path);
    free(r);
    *state = NULL;
    pthread_mutex_lock(&s->mutex);
    s->requests--;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
}

/* ---- starting and stopping ---------------------------------------------------------------- */

/* A terminal that is closed ends a server as well, unless that was to be ignored (nohup). */
static sigset_t ending_signals(void)
{
    sigset_t ends;
    struct sigaction hangup;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    if (sigaction(SIGHUP, NULL, &hangup) != 0 || hangup.sa_handler != SIG_IGN)
        sigaddset(&ends, SIGHUP);
    return ends;
}

/* Which signal came; before there is a server, while a model is being loaded, it ends the program. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t came;
    bool is_waited_for, is_heard; /* there is a server; a thread hears signals */
    int which;
} ending = {.mutex = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER};

/* The first one ends a server in order; who cannot wait for that sends another. */
static void *hear_signal(void *unused)
{
    (void)unused;
    sigset_t ends = ending_signals();
    int which = 0;
    sigwait(&ends, &which);
    pthread_mutex_lock(&ending.mutex);
    ending.which = which;
    bool is_early = !ending.is_waited_for;
    pthread_cond_signal(&ending.came);
    pthread_mutex_unlock(&ending.mutex);
    if (!is_early)
        sigwait(&ends, &which);
    signal(which, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &ends, NULL);
    raise(which);
    return NULL;
}

void http_end_by_itself(void)
{
    pthread_mutex_lock(&ending.mutex);
    if (!ending.is_heard)
        kill(getpid(), SIGTERM);
    else if (!ending.which)
        ending.which = SIGTERM;
    pthread_cond_signal(&ending.came);
    pthread_mutex_unlock(&ending.mutex);
}

void http_block_signals(void)
{
    sigset_t ends = ending_signals();
    pthread_t thread;
    sigprocmask(SIG_BLOCK, &ends, NULL);
    signal(SIGPIPE, SIG_IGN);
    ending.is_heard = pthread_create(&thread, NULL, hear_signal, NULL) == 0;
    if (ending.is_heard)
        pthread_detach(thread);
}

int http_wait_for_signal(void)
{
    sigset_t ends = ending_signals();
    int which = 0;
    if (!ending.is_heard) {
        sigwait(&ends, &which);
        return which;
    }
    pthread_mutex_lock(&ending.mutex);
    while (!ending.which)
        pthread_cond_wait(&ending.came, &ending.mutex);
    which = ending.which;
    pthread_mutex_unlock(&ending.mutex);
    return which;
}

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
    return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static uint16_t port_of(const struct sockaddr_storage *a)
{
    return ntohs(a->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)(const void *)a)->sin6_port
                                          : ((const struct sockaddr_in *)(const void *)a)->sin_port);
}

/* A socket that listens, or -1. */
static int listen_on(http_server *s, err *e)
{
    const char *host = s->o.host ? s->o.host : "127.0.0.1";
    char port[8];
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM,
                              .ai_flags =
                                  AI_PASSIVE | AI_NUMERICSERV | (strcmp(host, "localhost") == 0 ? 0 : AI_NUMERICHOST)},
                    *found = NULL;
    snprintf(port, sizeof port, "%u", s->o.port);
    if (strcmp(host, "localhost") == 0)
        wanted.ai_family = AF_INET;
    if (getaddrinfo(host, port, &wanted, &found) != 0) {
        err_set_kind(e, ERR_USAGE, "%s is no address of this machine: a numeric one is needed, such as 127.0.0.1",
                     host);
        return -1;
    }
    int fd = os_stream_socket(found->ai_family), yes = 1;
    struct sockaddr_storage bound = {0};
    socklen_t size = sizeof bound;
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, (struct sockaddr *)&bound, &size) != 0) {
        err_set(e, "port %u: %s", s->o.port, strerror(errno));
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    s->is_local = is_loopback(found->ai_addr);
    s->port = port_of(&bound);
    freeaddrinfo(found);
    return fd;
}

static bool start_daemon(http_server *s, int listener, err *e)
{
    errno = 0;
    s->daemon =
        s->lib.start(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ITC, 0,
                     NULL, NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_TIMEOUT,
                     s->o.send_s, MHD_OPTION_CONNECTION_LIMIT, s->o.connections, MHD_OPTION_NOTIFY_COMPLETED,
                     on_completed, (void *)s, MHD_OPTION_UNESCAPE_CALLBACK, http_unescape, NULL,
                     MHD_OPTION_NOTIFY_CONNECTION, on_connection, (void *)s, MHD_OPTION_END);
    return s->daemon || err_set(e, "port %u: %s", s->port, errno ? strerror(errno) : "cannot be listened on");
}

http_server *http_server_start(const http_options *o, err *e)
{
    http_server *s = mem_alloc(sizeof *s);
    *s = (http_server){.o = *o};
    s->o.connections = o->connections ? o->connections : HTTP_DEFAULT_CONNECTIONS;
    s->o.receive_s = o->receive_s ? o->receive_s : HTTP_DEFAULT_RECEIVE_S;
    s->o.send_s = o->send_s ? o->send_s : HTTP_DEFAULT_SEND_S;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, NULL);
    int listener = http_library_load(&s->lib, e) ? listen_on(s, e) : -1;
    if (listener >= 0 && start_daemon(s, listener, e)) {
        s->watches = pthread_create(&s->watch, NULL, watch, s) == 0;
        if (s->watches) {
            pthread_mutex_lock(&ending.mutex);
            ending.is_waited_for = true; /* from here on it ends in order */
            pthread_mutex_unlock(&ending.mutex);
            return s;
        }
        err_set(e, "a thread cannot be started: %s", strerror(errno));
    } else if (listener >= 0)
        close(listener);
    http_server_stop(s);
    return NULL;
}

uint16_t http_server_port(const http_server *s)
{
    return s->port;
}

void http_server_close_door(http_server *s)
{
    pthread_mutex_lock(&s->mutex);
    bool was_closed = s->door_closed;
    s->door_closed = true;
    pthread_mutex_unlock(&s->mutex);
    if (was_closed)
        return;
    MHD_socket listener = s->lib.quiesce(s->daemon);
    if (listener != MHD_INVALID_SOCKET)
        close(listener);
}

bool http_server_finish(http_server *s, double seconds)
{
    double until_us = clock_us() + seconds * 1e6;
    pthread_mutex_lock(&s->mutex);
    while (s->requests && clock_us() < until_us) {
        struct timespec soon;
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += 50000000;
        soon.tv_sec += soon.tv_nsec / 1000000000;
        soon.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&s->changed, &s->mutex, &soon);
    }
    bool finished = s->answering == 0; /* one that never arrived is nobody's that was not answered */
    pthread_mutex_unlock(&s->mutex);
    return finished;
}

void http_server_stop(http_server *s)
{
    if (!s)
        return;
    if (s->daemon)
        s->lib.stop(s->daemon);
    pthread_mutex_lock(&s->mutex);
    s->stops = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    if (s->watches)
        pthread_join(s->watch, NULL);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
    free(s);
}
