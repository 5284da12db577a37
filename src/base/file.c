/* file: reading whole files up to a limit, writing them by a temporary file and a rename. */
#include "base/file.h"
#include "base/file_new.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG);
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

char *file_read_plain(const char *path, size_t limit_bytes, size_t *length, err *e)
{
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
        err_set(e, "%s: not a plain file", path);
        return NULL;
    }
    return file_read(path, limit_bytes, length, e);
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

static bool write_in_place(const char *path, const char *bytes, size_t length)
{
    FILE *f = fopen(path, "wb");
    bool ok = f && write_all(f, bytes, length);
    int why = errno;
    if (f && fclose(f) != 0 && ok)
        return false;
    errno = why;
    return ok;
}

static bool write_new(const char *path, const char *bytes, size_t length)
{
    file_new f;
    bool opened = file_new_open(&f, path);
    FILE *stream = opened ? fdopen(f.fd, "wb") : NULL;
    bool ok = stream && write_all(stream, bytes, length) && file_new_place(&f, true);
    int why = errno;
    if (stream ? fclose(stream) != 0 : opened && close(f.fd) != 0) {
        why = ok ? errno : why;
        ok = false;
    }
    file_new_free(&f);
    errno = why;
    return ok;
}

bool file_write(const char *path, const char *bytes, size_t length, err *e)
{
    if (strcmp(path, "-") == 0) {
        if (!write_all(stdout, bytes, length))
            return err_set(e, "standard output: %s", strerror(errno));
        return true;
    }
    bool ok = is_plain_target(path) ? write_new(path, bytes, length) : write_in_place(path, bytes, length);
    return ok || err_set(e, "%s: cannot write: %s", path, strerror(errno));
}

bool file_replaceable(const char *path, const char *begin, size_t length, err *e)
{
    char first[16];
    size_t wanted = length < sizeof first ? length : sizeof first, count = 0;
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0)
        return true;
    FILE *f = fopen(path, "rb");
    if (f) {
        count = fread(first, 1, wanted, f);
        fclose(f);
    }
    return (count == wanted && memcmp(first, begin, wanted) == 0) ||
           err_set(e, "%s is there, and is nothing that would be saved there: it stays as it is", path);
}

bool file_writable(const char *path, err *e)
{
    struct stat info;
    bool ok;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        ok = false;
    } else if (!is_plain_target(path))
        ok = access(path, W_OK) == 0;
    else {
        file_new f;
        ok = file_new_open(&f, path);
        if (ok)
            close(f.fd);
        file_new_free(&f);
    }
    return ok || err_set(e, "%s: cannot write: %s", path, strerror(errno));
}
