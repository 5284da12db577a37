#include "base/file.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

char *file_read(const char *path, size_t limit_bytes, size_t *length, err *e)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        err_set(e, "%s: %s", path, strerror(errno));
        return NULL;
    }
    struct stat info;
    if (fstat(fileno(f), &info) == 0 && S_ISDIR(info.st_mode)) {
        err_set(e, "%s: is a folder", path);
        fclose(f);
        return NULL;
    }
    str text = {0};
    char chunk[65536];
    size_t got;
    while ((got = fread(chunk, 1, sizeof chunk, f)) > 0 && text.length <= limit_bytes)
        str_add_bytes(&text, chunk, got);
    if (ferror(f))
        err_set(e, "%s: %s", path, strerror(errno));
    else if (text.length > limit_bytes)
        err_set(e, "%s: larger than %zu bytes", path, limit_bytes);
    fclose(f);
    if (e->kind != ERR_NONE) {
        str_free(&text);
        return NULL;
    }
    str_add(&text, ""); /* an empty file is an empty string, not NULL */
    *length = text.length;
    return text.data;
}

static bool write_all(FILE *f, const char *bytes, size_t length)
{
    return fwrite(bytes, 1, length, f) == length && fflush(f) == 0;
}

/* A device or a pipe is written in place: it cannot be replaced by a rename. */
static bool is_plain_target(const char *path)
{
    struct stat info;
    return stat(path, &info) != 0 || S_ISREG(info.st_mode);
}

bool file_write(const char *path, const char *bytes, size_t length, err *e)
{
    if (strcmp(path, "-") == 0) {
        if (!write_all(stdout, bytes, length))
            return err_set(e, "standard output: %s", strerror(errno));
        return true;
    }
    bool plain = is_plain_target(path);
    str temporary = {0};
    str_addf(&temporary, plain ? "%s.partial" : "%s", path);
    FILE *f = fopen(temporary.data, "wb");
    bool ok = f != NULL;
    if (ok) {
        ok = write_all(f, bytes, length) && (!plain || fsync(fileno(f)) == 0);
        int why = errno;
        ok = fclose(f) == 0 && ok;
        if (!ok && why)
            errno = why;
    }
    if (ok && plain)
        ok = rename(temporary.data, path) == 0;
    if (!ok) {
        err_set(e, "%s: cannot write: %s", path, strerror(errno));
        if (plain)
            unlink(temporary.data);
    }
    str_free(&temporary);
    return ok;
}

bool file_writable(const char *path, err *e)
{
    str folder = {0};
    const char *slash = strrchr(path, '/');
    if (slash)
        str_add_bytes(&folder, path, slash == path ? 1 : (size_t)(slash - path));
    else
        str_add(&folder, ".");
    bool ok = is_plain_target(path) ? access(folder.data, W_OK) == 0 : access(path, W_OK) == 0;
    if (!ok)
        err_set(e, "%s: cannot write: %s", path, strerror(errno));
    str_free(&folder);
    return ok;
}
