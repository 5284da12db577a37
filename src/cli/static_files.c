/* static_files: answers requests for the files of one folder, by libmicrohttpd. */
#include "cli/static_files.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each connection has a thread: nobody may hold many, or for nothing. */
static const unsigned IDLE_S = 30, MOST_CONNECTIONS = 64;

/* What is used of libmicrohttpd. */
typedef struct library {
    struct MHD_Daemon *(*start)(unsigned int, uint16_t, MHD_AcceptPolicyCallback, void *, MHD_AccessHandlerCallback,
                                void *, ...);
    void (*stop)(struct MHD_Daemon *);
    const union MHD_DaemonInfo *(*info)(struct MHD_Daemon *, enum MHD_DaemonInfoType, ...);
    struct MHD_Response *(*from_file)(uint64_t, int);
    struct MHD_Response *(*from_buffer)(size_t, void *, enum MHD_ResponseMemoryMode);
    enum MHD_Result (*add_header)(struct MHD_Response *, const char *, const char *);
    enum MHD_Result (*queue)(struct MHD_Connection *, unsigned int, struct MHD_Response *);
    void (*destroy)(struct MHD_Response *);
    const char *(*look_up)(struct MHD_Connection *, enum MHD_ValueKind, const char *);
} library;

struct static_files {
    library lib;
    struct MHD_Daemon *daemon;
    char folder[PATH_MAX]; /* as realpath has it */
    bool open;
};

static bool load_library(library *l, err *e)
{
    void *h = dlopen("libmicrohttpd.so.12", RTLD_NOW);
    h = h ? h : dlopen("libmicrohttpd.so", RTLD_NOW);
    if (!h)
        return err_set(e, "solo web needs libmicrohttpd (Debian: apt-get install libmicrohttpd12)");
    struct {
        void **to;
        const char *name;
    } wanted[] = {
        {(void **)&l->start, "MHD_start_daemon"},
        {(void **)&l->stop, "MHD_stop_daemon"},
        {(void **)&l->info, "MHD_get_daemon_info"},
        {(void **)&l->from_file, "MHD_create_response_from_fd64"},
        {(void **)&l->from_buffer, "MHD_create_response_from_buffer"},
        {(void **)&l->add_header, "MHD_add_response_header"},
        {(void **)&l->queue, "MHD_queue_response"},
        {(void **)&l->destroy, "MHD_destroy_response"},
        {(void **)&l->look_up, "MHD_lookup_connection_value"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!(*wanted[i].to = dlsym(h, wanted[i].name)))
            return err_set(e, "libmicrohttpd has no %s: a newer one is needed", wanted[i].name);
    return true;
}

static const char *type_of(const char *path)
{
    static const char *const types[][2] = {
        {".html", "text/html; charset=utf-8"}, {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},   {".wasm", "application/wasm"},
        {".json", "application/json"},         {".svg", "image/svg+xml"}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++)
        if (strcmp(dot, types[i][0]) == 0)
            return types[i][1];
    return "application/octet-stream";
}

/* A plain file inside the folder, opened; negative if it is none. Where links lead decides. */
static int open_inside(const static_files *s, const char *url, uint64_t *bytes, char real[PATH_MAX])
{
    char path[PATH_MAX];
    struct stat info;
    size_t length = strlen(s->folder);
    if (snprintf(path, sizeof path, "%s%s%s", s->folder, url, url[strlen(url) - 1] == '/' ? "index.html" : "") >=
            (int)sizeof path ||
        !realpath(path, real) || strncmp(real, s->folder, length) != 0 || real[length] != '/')
        return -1;
    int fd = open(real, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))) {
        close(fd);
        fd = -1;
    }
    *bytes = fd >= 0 ? (uint64_t)info.st_size : 0;
    return fd;
}

static enum MHD_Result reply(const static_files *s, struct MHD_Connection *c, unsigned status, struct MHD_Response *r,
                             const char *type)
{
    static const char *const headers[][2] = {{"Cross-Origin-Opener-Policy", "same-origin"},
                                             {"Cross-Origin-Embedder-Policy", "require-corp"},
                                             {"Cross-Origin-Resource-Policy", "same-origin"},
                                             {"X-Content-Type-Options", "nosniff"},
                                             {"Cache-Control", "no-cache"}};
    s->lib.add_header(r, "Content-Type", type);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        s->lib.add_header(r, headers[i][0], headers[i][1]);
    enum MHD_Result result = s->lib.queue(c, status, r);
    s->lib.destroy(r);
    return result;
}

static enum MHD_Result refuse(const static_files *s, struct MHD_Connection *c, unsigned status, const char *why)
{
    struct MHD_Response *r = s->lib.from_buffer(strlen(why), (void *)(uintptr_t)why, MHD_RESPMEM_PERSISTENT);
    return reply(s, c, status, r, "text/plain; charset=utf-8");
}

/* A page of someone else's must not reach this by a name of its own for this machine. */
static bool right_host(const static_files *s, struct MHD_Connection *c)
{
    static const char *const ours[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *host = s->lib.look_up(c, MHD_HEADER_KIND, "Host");
    if (s->open)
        return true;
    for (size_t i = 0; host && i < sizeof ours / sizeof *ours; i++) {
        size_t length = strlen(ours[i]);
        if (strncmp(host, ours[i], length) == 0 && (host[length] == ':' || host[length] == '\0'))
            return true;
    }
    return false;
}

static enum MHD_Result answer(void *user, struct MHD_Connection *c, const char *url, const char *method,
                              const char *version, const char *data, size_t *data_bytes, void **state)
{
    (void)version, (void)data, (void)data_bytes, (void)state;
    const static_files *s = user;
    char real[PATH_MAX];
    uint64_t bytes;
    if (!right_host(s, c))
        return refuse(s, c, MHD_HTTP_FORBIDDEN, "this is for this machine only\n");
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return refuse(s, c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    int fd = url[0] == '/' ? open_inside(s, url, &bytes, real) : -1;
    if (fd < 0)
        return refuse(s, c, MHD_HTTP_NOT_FOUND, "there is no such file\n");
    return reply(s, c, MHD_HTTP_OK, s->lib.from_file(bytes, fd), type_of(real));
}

static_files *static_files_start(const char *folder, uint16_t port, bool open, err *e)
{
    static_files *s = mem_alloc(sizeof *s);
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(open ? INADDR_ANY : INADDR_LOOPBACK)};
    s->open = open;
    if (!realpath(folder, s->folder))
        err_set(e, "%s: %s", folder, strerror(errno));
    else if (load_library(&s->lib, e)) {
        errno = 0;
        s->daemon = s->lib.start(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, port, NULL, NULL,
                                 answer, s, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&at, MHD_OPTION_CONNECTION_TIMEOUT,
                                 IDLE_S, MHD_OPTION_CONNECTION_LIMIT, MOST_CONNECTIONS, MHD_OPTION_END);
        if (s->daemon)
            return s;
        err_set(e, "port %u: %s", port, errno ? strerror(errno) : "cannot be listened on");
    }
    free(s);
    return NULL;
}

uint16_t static_files_port(const static_files *s)
{
    const union MHD_DaemonInfo *info = s->lib.info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

void static_files_stop(static_files *s)
{
    s->lib.stop(s->daemon);
    free(s);
}
