/* fetch: downloads into FILE.part, resumes what an earlier try left, compares the checksum, renames. */
#include "hub/fetch.h"
#include "base/cache_folder.h"
#include "base/file_new.h"
#include "base/progress.h"
#include "hub/name.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* so many times in a row without anything new */
enum { MOST_TRIES = 4, PIECE_BYTES = 1 << 20, DIGEST_SHOWN = 16 };

/* The file while it comes. */
typedef struct part {
    const hub_fetch *f;
    int fd;
    uint64_t done;
    checksum sum; /* of what is done */
    progress shown;
} part;

/* ---- names --------------------------------------------------------------------------------- */

static void add_target(const hub_fetch *f, str *path)
{
    str_addf(path, "%s/%s", f->folder, f->file->path);
}

/* FOLDER/.NAME.CHECKSUM.part */
static void add_part(const hub_fetch *f, str *path)
{
    const char *name = hub_base_name(f->file->path);
    str_addf(path, "%s/%.*s.%s.%.*s.part", f->folder, (int)(name - f->file->path), f->file->path, name, DIGEST_SHOWN,
             f->file->digest);
}

/* ---- checksums of files -------------------------------------------------------------------- */

static bool read_into(int fd, checksum *sum, uint64_t bytes, const volatile sig_atomic_t *stop)
{
    char *piece = mem_alloc(PIECE_BYTES);
    uint64_t at = 0;
    progress shown = progress_start("comparing checksums", bytes);
    while (at < bytes && !*stop) {
        ssize_t got = pread(fd, piece, bytes - at < PIECE_BYTES ? (size_t)(bytes - at) : PIECE_BYTES, (off_t)at);
        if (got <= 0)
            break;
        checksum_add(sum, piece, (size_t)got);
        at += (uint64_t)got;
        progress_at(&shown, at);
    }
    progress_end(&shown);
    free(piece);
    return at == bytes;
}

static bool is_right(checksum sum, const hub_file *file)
{
    char hex[CHECKSUM_HEX_BYTES];
    checksum_end(&sum, hex);
    return strcmp(hex, file->digest) == 0;
}

bool hub_fetch_is_here(const hub_fetch *f)
{
    str path = {0};
    struct stat info;
    add_target(f, &path);
    int fd = open(path.data, O_RDONLY | O_CLOEXEC);
    checksum sum = checksum_begin(f->file->kind, f->file->bytes);
    bool here = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size == f->file->bytes &&
                read_into(fd, &sum, f->file->bytes, f->stop) && is_right(sum, f->file);
    if (fd >= 0)
        close(fd);
    str_free(&path);
    return here;
}

uint64_t hub_fetch_begun_bytes(const hub_fetch *f)
{
    str path = {0};
    struct stat info;
    add_part(f, &path);
    bool there = lstat(path.data, &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size <= f->file->bytes;
    str_free(&path);
    return there ? (uint64_t)info.st_size : 0;
}

/* ---- what comes ---------------------------------------------------------------------------- */

static bool restart(part *p, err *e)
{
    p->done = 0;
    p->sum = checksum_begin(p->f->file->kind, p->f->file->bytes);
    return (ftruncate(p->fd, 0) == 0 && lseek(p->fd, 0, SEEK_SET) == 0) ||
           err_set(e, "%s: %s", p->f->file->path, strerror(errno));
}

static bool wrong_size(const part *p, uint64_t bytes, bool is_page, err *e)
{
    if (is_page)
        return err_set(e, "%s: the server sends a web page instead of the file", p->f->file->path);
    return err_set(e, "%s: the hub lists %" PRIu64 " bytes, and the server has %s%" PRIu64, p->f->file->path,
                   p->f->file->bytes, bytes > p->f->file->bytes ? "at least " : "", bytes);
}

static bool begin(void *user, const http_reply *r, err *e)
{
    part *p = user;
    if (r->status == 206 && (!r->has_range || r->range_first != p->done))
        return err_set(e, "%s: the server sends another part of the file than the one asked for", p->f->file->path);
    if (r->status == 206 && r->range_file != p->f->file->bytes)
        return wrong_size(p, r->range_file, r->is_page, e);
    if (r->status == 200 && p->done && !restart(p, e)) /* it knows no ranges */
        return false;
    if (r->has_length && r->length != p->f->file->bytes - p->done)
        return wrong_size(p, p->done + r->length, r->is_page, e);
    return true;
}

static bool take(void *user, const char *bytes, size_t count, err *e)
{
    part *p = user;
    if (count > p->f->file->bytes - p->done)
        return wrong_size(p, p->done + count, false, e);
    while (count) {
        ssize_t written = write(p->fd, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return err_set(e, "%s: cannot write: %s; the part that arrived is kept: run the same command to resume",
                           p->f->file->path, written < 0 ? strerror(errno) : "no room");
        checksum_add(&p->sum, bytes, (size_t)written);
        p->done += (uint64_t)written;
        bytes += written;
        count -= (size_t)written;
    }
    progress_at(&p->shown, p->done);
    return true;
}

void hub_refusal(err *e, const char *what, long status, const hub_site *site)
{
    bool has_token = site->token != NULL;
    err_clear(e);
    if (status == 401)
        err_set(e, "%s: %s", what,
                has_token ? "the hub does not accept the token in HF_TOKEN, or has no such repository"
                          : "the hub has no such repository, or wants a token (HF_TOKEN=...)");
    else if (status == 403)
        err_set(e, "%s: the hub does not give it to %s; its owner may want terms to be accepted there first", what,
                has_token ? "this token" : "everybody: HF_TOKEN=... says who asks");
    else if (status == 404)
        err_set(e, "%s: the hub has no such thing (%s)", what, site->url.data);
    else if (status == 429)
        err_set(e, "%s: the hub says that it was asked too often; try again later", what);
    else
        err_set(e, "%s: the hub answers with status %ld (%s)", what, status, site->url.data);
}

/* ---- tries --------------------------------------------------------------------------------- */

static void wait_before_try(int number)
{
    struct timespec pause = {.tv_nsec = 500000000};
    if (number > 1)
        pause = (struct timespec){.tv_sec = 1 << (number - 2)};
    nanosleep(&pause, NULL); /* a signal ends it */
}

static bool may_try_again(http_result result, long status)
{
    return result == HTTP_BROKEN || (result == HTTP_REFUSED && (status >= 500 || status == 416));
}

/* The rest of the file, with several tries. */
static bool download(part *p, err *e)
{
    const hub_fetch *f = p->f;
    for (int tries = 1; p->done < f->file->bytes; tries++) {
        uint64_t before = p->done;
        http_reply r = {0};
        err why = {0};
        http_result result = http_get(f->h,
                                      &(http_request){.url = f->url,
                                                      .token = f->site->token,
                                                      .first = p->done,
                                                      .timeout_s = f->site->timeout_s,
                                                      .begin = begin,
                                                      .write = take,
                                                      .user = p,
                                                      .stop = f->stop},
                                      &r, &why);
        str_free(&r.next);
        if (result == HTTP_DONE && p->done < f->file->bytes)
            result = HTTP_BROKEN; /* it closed the connection early, and that was all it had promised */
        if (result == HTTP_BROKEN && why.kind == ERR_NONE)
            wrong_size(p, p->done, false, &why);
        if (r.status == 416 && !restart(p, e))
            return false;
        if (p->done > before)
            tries = 0;
        if (result == HTTP_DONE)
            continue;
        if (*f->stop)
            return err_set(e, "%s: stopped; run the same command to resume", f->file->path);
        if (!may_try_again(result, r.status) || tries == MOST_TRIES) {
            if (result == HTTP_REFUSED)
                hub_refusal(&why, f->file->path, r.status, f->site);
            return err_set_kind(e, why.kind, "%s", why.text);
        }
        wait_before_try(tries);
    }
    return true;
}

static bool open_part(part *p, const char *path, err *e)
{
    struct stat info;
    cache_folder_make(path);
    p->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (p->fd < 0 || fstat(p->fd, &info) != 0)
        return err_set(e, "%s: cannot write: %s", path, strerror(errno));
    p->done = (uint64_t)info.st_size;
    bool fits = p->done <= p->f->file->bytes && read_into(p->fd, &p->sum, p->done, p->f->stop) &&
                lseek(p->fd, 0, SEEK_END) >= 0;
    return *p->f->stop ? err_set(e, "%s: stopped", p->f->file->path) : fits || restart(p, e);
}

bool hub_fetch_file(const hub_fetch *f, err *e)
{
    part p = {.f = f, .fd = -1, .sum = checksum_begin(f->file->kind, f->file->bytes)};
    str from = {0}, to = {0};
    add_part(f, &from);
    add_target(f, &to);
    bool ok = open_part(&p, from.data, e);
    if (ok) {
        p.shown = progress_start_at(f->label, f->file->bytes, p.done);
        ok = download(&p, e);
        progress_end(&p.shown);
    }
    if (ok && !is_right(p.sum, f->file)) {
        unlink(from.data);
        ok = err_set(e, "%s: is not what the hub lists (its checksum is another) and was removed", f->file->path);
    }
    ok = ok && ((fsync(p.fd) == 0 && rename(from.data, to.data) == 0 && file_sync_folder(to.data)) ||
                err_set(e, "%s: %s", to.data, strerror(errno)));
    if (p.fd >= 0)
        close(p.fd);
    str_free(&from);
    str_free(&to);
    return ok;
}
