/* http_files: answers requests for the files of one folder. */
#include "serve/http_files.h"
#include "base/os.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
static int open_inside(const char *folder, const char *url, struct stat *info, char real[PATH_MAX])
{
    char path[PATH_MAX];
    size_t length = strlen(folder);
    if (snprintf(path, sizeof path, "%s%s%s", folder, url, url[strlen(url) - 1] == '/' ? "index.html" : "") >=
            (int)sizeof path ||
        !realpath(path, real) || strncmp(real, folder, length) != 0 || real[length] != '/')
        return -1;
    int fd = open(real, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for a writer */
    if (fd >= 0 && (fstat(fd, info) != 0 || !S_ISREG(info->st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* "bytes=FROM-TO", "bytes=FROM-" or "bytes=-LAST"; anything else is all of the file. False: there is nothing there. */
static bool read_range(const char *text, uint64_t size, uint64_t *from, uint64_t *bytes)
{
    char *end;
    *from = 0;
    *bytes = size;
    if (!text || strncmp(text, "bytes=", 6) != 0 || strchr(text, ',') ||
        strspn(text + 6, "0123456789-") != strlen(text + 6))
        return true;
    text += 6;
    if (*text == '-') {
        uint64_t last = strtoull(text + 1, &end, 10);
        if (!text[1] || *end)
            return true;
        *bytes = last < size ? last : size;
        *from = size - *bytes;
        return *bytes > 0;
    }
    uint64_t first = strtoull(text, &end, 10), to = size - 1;
    if (end == text || *end != '-' || (end[1] && ((to = strtoull(end + 1, &end, 10)) < first || *end)))
        return true;
    if (first >= size)
        return false;
    *from = first;
    *bytes = (to < size - 1 ? to : size - 1) - first + 1;
    return true;
}

/* With the tag that says which file this is: 304 for who has it already, 206 for a part of it. */
static void reply_with(http_request *r, const char *type, int fd, const struct stat *info)
{
    char tag[80], range[80];
    uint64_t from, bytes, size = (uint64_t)info->st_size;
    struct timespec changed = os_changed_at(info);
    snprintf(tag, sizeof tag, "\"%llx-%llx-%llx.%lx\"", (unsigned long long)info->st_ino, (unsigned long long)size,
             (unsigned long long)changed.tv_sec, (unsigned long)changed.tv_nsec);
    const char *known = http_header(r, "If-None-Match"), *asked = http_header(r, "Range"),
               *same = http_header(r, "If-Range");
    http_add_header(r, "ETag", tag);
    http_add_header(r, "Accept-Ranges", "bytes");
    /* one of a list, which a proxy that compresses writes with W/ before it; quotes keep it from being a part of another */
    if (known && (strcmp(known, "*") == 0 || strstr(known, tag))) {
        close(fd);
        http_reply(r, 304, NULL, "", 0);
        return;
    }
    bool there = read_range(same && strcmp(same, tag) != 0 ? NULL : asked, size, &from, &bytes);
    if (!there) {
        close(fd);
        snprintf(range, sizeof range, "bytes */%llu", (unsigned long long)size);
        http_add_header(r, "Content-Range", range);
        http_reply_line(r, 416, "the file has no such bytes");
        return;
    }
    if (bytes < size) {
        snprintf(range, sizeof range, "bytes %llu-%llu/%llu", (unsigned long long)from,
                 (unsigned long long)(from + bytes - 1), (unsigned long long)size);
        http_add_header(r, "Content-Range", range);
    }
    http_reply_file(r, bytes < size ? 206 : 200, type, fd, from, bytes);
}

void http_serve_file(http_request *r, const char *folder)
{
    static const char *const headers[][2] = {{"Cross-Origin-Opener-Policy", "same-origin"},
                                             {"Cross-Origin-Embedder-Policy", "require-corp"},
                                             {"Cross-Origin-Resource-Policy", "same-origin"},
                                             {"Cache-Control", "no-cache"},
                                             {"Content-Security-Policy",
                                              "frame-ancestors 'none'; base-uri 'none'; object-src 'none'; "
                                              "form-action 'none'"},
                                             {"X-Frame-Options", "DENY"},
                                             {"Referrer-Policy", "no-referrer"}};
    char real[PATH_MAX];
    struct stat info;
    const char *path = http_path(r), *method = http_method(r);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        http_add_header(r, headers[i][0], headers[i][1]);
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        http_add_header(r, "Allow", "GET, HEAD");
        http_reply_line(r, 405, "only GET and HEAD");
        return;
    }
    int fd = path[0] == '/' ? open_inside(folder, path, &info, real) : -1;
    if (fd < 0)
        http_reply_line(r, 404, "there is no such file");
    else
        reply_with(r, type_of(real), fd, &info);
}
