/* file: reading whole files up to a limit, writing them by a temporary file and a rename. */
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

/* Where a link leads is what is replaced, not the link. */
char *file_real_target(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : mem_dup(path);
}

/* A new file beside the target, for it to be renamed from. Its name is in `path`. */
int file_create_beside(const char *target, str *path)
{
    str_addf(path, "%s.XXXXXX", target);
    int fd = mkstemp(path->data);
    if (fd >= 0)
        fchmod(fd, 0644);
    return fd;
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

static bool write_beside_and_rename(const char *path, const char *bytes, size_t length)
{
    char *target = file_real_target(path);
    str temporary = {0};
    int fd = file_create_beside(target, &temporary);
    FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;
    bool ok = f && write_all(f, bytes, length) && fsync(fd) == 0;
    int why = errno;
    if (f && fclose(f) != 0 && ok) {
        ok = false;
        why = errno;
    }
    if (ok && rename(temporary.data, target) != 0) {
        ok = false;
        why = errno;
    }
    if (!ok && fd >= 0)
        unlink(temporary.data);
    str_free(&temporary);
    free(target);
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
    bool ok =
        is_plain_target(path) ? write_beside_and_rename(path, bytes, length) : write_in_place(path, bytes, length);
    return ok || err_set(e, "%s: cannot write: %s", path, strerror(errno));
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
        char *target = file_real_target(path);
        str temporary = {0};
        int fd = *path ? file_create_beside(target, &temporary) : -1;
        ok = fd >= 0;
        int why = *path ? errno : ENOENT;
        if (ok) {
            close(fd);
            unlink(temporary.data);
        }
        str_free(&temporary);
        free(target);
        errno = why;
    }
    return ok || err_set(e, "%s: cannot write: %s", path, strerror(errno));
}
