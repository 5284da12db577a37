/* store: finds, locks and removes what was fetched. */
#include "hub/store.h"
#include "base/cache_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char LOCK_FILE[] = ".lock";
enum { MOST_DEPTH = 8, OPEN_FOLDERS = 16, FOLDERS_ABOVE = 3 }; /* of the repository, its owner, the hub */

bool store_add_root(str *path, err *e)
{
    if (!cache_folder_add(path))
        return err_set(
            e,
            "there is no folder to keep models in: SOLO_CACHE is off, or there is no HOME; SOLO_CACHE=DIR names one");
    str_add(path, "/models");
    return true;
}

bool store_add_folder(str *path, const hub_site *s, const hub_name *n, err *e)
{
    if (!store_add_root(path, e))
        return false;
    str_addf(path, "/%s/%s/%s", s->folder.data, n->owner, n->repo);
    return true;
}

/* ---- what is there ------------------------------------------------------------------------- */

/* `inside`: the path below the repository's folder, "" or with a slash at its end. */
static void list_folder(const char *folder, const char *inside, int depth, hub_listing *l, uint64_t *all_bytes)
{
    str path = {0};
    str_addf(&path, "%s/%s", folder, inside);
    DIR *d = opendir(path.data);
    size_t length = path.length;
    for (struct dirent *entry; d && (entry = readdir(d)) != NULL;) {
        struct stat info;
        str name = {0};
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        path.length = length;
        str_add(&path, entry->d_name);
        if (lstat(path.data, &info) != 0)
            continue;
        str_addf(&name, "%s%s", inside, entry->d_name);
        if (S_ISREG(info.st_mode)) {
            *all_bytes += (uint64_t)info.st_size;
            if (hub_path_is_safe(name.data))
                hub_listing_add(l, name.data, (uint64_t)info.st_size);
        } else if (S_ISDIR(info.st_mode) && depth < MOST_DEPTH) {
            str_add(&name, "/");
            list_folder(folder, name.data, depth + 1, l, all_bytes);
        }
        str_free(&name);
    }
    if (d)
        closedir(d);
    str_free(&path);
}

hub_listing store_list(const char *folder, uint64_t *all_bytes)
{
    hub_listing l = {0};
    *all_bytes = 0;
    list_folder(folder, "", 0, &l, all_bytes);
    hub_listing_sort(&l, NULL); /* a folder has no name twice */
    return l;
}

hub_models store_models(const hub_listing *l)
{
    hub_models models = hub_models_of(l);
    hub_model *m = models.count ? &models.items[models.count - 1] : NULL;
    if (!m || !m->is_folder)
        return models;
    free(m->files);
    *m = (hub_model){.is_folder = true, .files = mem_alloc(l->count * sizeof *m->files)};
    for (size_t i = 0; i < l->count; i++)
        if (!hub_ends_in(l->files[i].path, ".gguf")) {
            m->files[m->count++] = &l->files[i];
            m->bytes += l->files[i].bytes;
        }
    return models;
}

void store_add_path(const char *folder, const hub_model *m, str *path)
{
    str_add(path, folder);
    if (!m->is_folder)
        str_addf(path, "/%s", m->files[0]->path);
}

bool store_find(const hub_site *s, const hub_name *n, str *path)
{
    str folder = {0};
    uint64_t bytes;
    if (!store_add_folder(&folder, s, n, NULL))
        return false;
    hub_listing l = store_list(folder.data, &bytes);
    hub_models models = store_models(&l);
    const hub_model *m = models.count ? hub_choose(&models, n->file, NULL) : NULL;
    if (m)
        store_add_path(folder.data, m, path);
    hub_models_free(&models);
    hub_listing_free(&l);
    str_free(&folder);
    return m != NULL;
}

void store_touch(const char *path)
{
    struct stat info;
    str file = {0};
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    str_add(&file, path);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        str_add(&file, "/" HUB_CONFIG_FILE);
    utimensat(AT_FDCWD, file.data, times, 0); /* what cannot be noted is not worth a word */
    str_free(&file);
}

/* ---- the lock ------------------------------------------------------------------------------ */

/* Whoever had it may have removed the folder, and the file with it. */
static bool is_still_there(int lock, const char *path)
{
    struct stat mine, there;
    return fstat(lock, &mine) == 0 && stat(path, &there) == 0 && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
}

/* False with errno: it could not be had. */
static bool take_lock(int lock, const char *folder, void (*say)(const char *line))
{
    if (flock(lock, LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno != EWOULDBLOCK || !say)
        return false;
    str line = {0};
    str_addf(&line, "%s: is being fetched by another process; waiting for it", folder);
    say(line.data);
    str_free(&line);
    return flock(lock, LOCK_EX) == 0;
}

int store_lock(const char *folder, void (*say)(const char *line), err *e)
{
    str path = {0};
    int lock = -1;
    str_addf(&path, "%s/%s", folder, LOCK_FILE);
    for (;;) {
        cache_folder_make(path.data);
        lock = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        bool is_mine = lock >= 0 && take_lock(lock, folder, say);
        int why = errno;
        if (is_mine && is_still_there(lock, path.data))
            break;
        if (lock >= 0)
            close(lock);
        lock = -1;
        if (is_mine)
            continue;
        err_set(e, "%s: %s", folder,
                why == EWOULDBLOCK ? "is being fetched by another process"
                : why == EINTR     ? "stopped"
                                   : strerror(why));
        break;
    }
    str_free(&path);
    return lock;
}

void store_unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}

/* ---- removing ------------------------------------------------------------------------------ */

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)where;
    return (kind == FTW_DP ? rmdir(path) : unlink(path)) == 0 || errno == ENOENT ? 0 : -1;
}

/* The folders that a path of a file goes through, the innermost first, as long as they are empty. */
static void remove_empty_above(const char *path, int most)
{
    char *folder = mem_dup(path), *slash;
    while (most-- > 0 && (slash = strrchr(folder, '/')) != NULL && slash > folder) {
        *slash = 0;
        if (rmdir(folder) != 0 && errno != ENOENT)
            break;
    }
    free(folder);
}

static bool remove_files(const char *folder, const hub_model *m, err *e)
{
    bool ok = true;
    for (size_t i = 0; ok && i < m->count; i++) {
        str path = {0};
        str_addf(&path, "%s/%s", folder, m->files[i]->path);
        ok = unlink(path.data) == 0 || errno == ENOENT || err_set(e, "%s: %s", path.data, strerror(errno));
        int depth = 0;
        for (const char *at = m->files[i]->path; *at; at++)
            depth += *at == '/';
        remove_empty_above(path.data, depth);
        str_free(&path);
    }
    return ok;
}

bool store_remove(const char *folder, const hub_model *m, err *e)
{
    uint64_t bytes;
    bool ok = m ? remove_files(folder, m, e)
                : nftw(folder, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS) == 0 ||
                      err_set(e, "%s: %s", folder, strerror(errno));
    if (!ok)
        return false;
    hub_listing l = store_list(folder, &bytes);
    str lock = {0};
    str_addf(&lock, "%s/%s", folder, LOCK_FILE);
    if (bytes == 0) {
        unlink(lock.data);
        remove_empty_above(lock.data, FOLDERS_ABOVE);
    }
    str_free(&lock);
    hub_listing_free(&l);
    return true;
}
