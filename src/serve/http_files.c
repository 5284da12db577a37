/* http_files: answers requests for the files of one folder. */
#include "serve/http_files.h"

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
static int open_inside(const char *folder, const char *url, uint64_t *bytes, char real[PATH_MAX])
{
    char path[PATH_MAX];
    struct stat info;
    size_t length = strlen(folder);
    if (snprintf(path, sizeof path, "%s%s%s", folder, url, url[strlen(url) - 1] == '/' ? "index.html" : "") >=
            (int)sizeof path ||
        !realpath(path, real) || strncmp(real, folder, length) != 0 || real[length] != '/')
        return -1;
    int fd = open(real, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))) {
        close(fd);
        fd = -1;
    }
    *bytes = fd >= 0 ? (uint64_t)info.st_size : 0;
    return fd;
}

void http_serve_file(http_request *r, const char *folder)
{
    static const char *const headers[][2] = {{"Cross-Origin-Opener-Policy", "same-origin"},
                                             {"Cross-Origin-Embedder-Policy", "require-corp"},
                                             {"Cross-Origin-Resource-Policy", "same-origin"},
                                             {"Cache-Control", "no-cache"}};
    char real[PATH_MAX];
    uint64_t bytes;
    const char *path = http_path(r), *method = http_method(r);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        http_add_header(r, headers[i][0], headers[i][1]);
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        http_add_header(r, "Allow", "GET, HEAD");
        http_reply_line(r, 405, "only GET and HEAD");
        return;
    }
    int fd = path[0] == '/' ? open_inside(folder, path, &bytes, real) : -1;
    if (fd < 0)
        http_reply_line(r, 404, "there is no such file");
    else
        http_reply_file(r, 200, type_of(real), fd, bytes);
}
