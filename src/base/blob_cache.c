/* blob_cache: a file for each blob, checked as a whole before it is believed; the oldest go when there are too many. */
#include "base/blob_cache.h"
#include "base/blob_cache_test.h"
#include "base/cache_folder.h"
#include "base/file_new.h"
#include "base/os.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file is this, then the key, then the blob. A file of another byte order has another magic number. */
typedef struct header {
    uint64_t magic, version;
    uint64_t key_bytes, blob_bytes;
    uint64_t sum; /* of the fields above, the key and the blob */
} header;

static const uint64_t MAGIC = 0x31626f6c426f6c53u, VERSION = 1;

/* Of the limit, what may be written before the folder is looked through again. */
enum { PARTS_UNSEEN = 16, PARTS_LARGEST = 4 };

enum { NAME_DIGITS = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all below */
static uint64_t limit_bytes = BLOB_CACHE_BYTES;
static uint64_t unseen_bytes = UINT64_MAX; /* written since the folder was looked through; at first it never was */
static blob_cache_counts counts;

/* ---- keys, names and sums ------------------------------------------------ */

static uint64_t add_word(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 32;
}

/* 64 bits, eight bytes at a time. Each step can be undone, so a change within eight bytes always shows; of other changes
 * one in 2^64 does not. */
static uint64_t add_to_sum(uint64_t sum, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    uint64_t word;
    sum = add_word(sum, count);
    for (; count >= sizeof word; at += sizeof word, count -= sizeof word) {
        memcpy(&word, at, sizeof word);
        sum = add_word(sum, word);
    }
    word = 0;
    memcpy(&word, at, count);
    return add_word(sum, word);
}

static uint64_t sum_of(const header *h, const void *key, const void *blob)
{
    uint64_t sum = add_to_sum(STR_HASH_BEGIN, h, offsetof(header, sum));
    return add_to_sum(add_to_sum(sum, key, h->key_bytes), blob, h->blob_bytes);
}

static bool add_folder(str *path)
{
    bool there = cache_folder_add(path);
    if (there)
        str_add(path, "/blobs/");
    return there;
}

char *blob_cache_path(const void *key, size_t key_bytes)
{
    str path = {0};
    if (!add_folder(&path))
        return NULL;
    str_addf(&path, "%0*" PRIx64, NAME_DIGITS, add_to_sum(STR_HASH_BEGIN, key, key_bytes));
    return path.data;
}

bool blob_cache_is_on(void)
{
    str path = {0};
    bool there = add_folder(&path);
    str_free(&path);
    return there;
}

static uint64_t largest_file(void)
{
    pthread_mutex_lock(&lock);
    uint64_t bytes = limit_bytes / PARTS_LARGEST;
    pthread_mutex_unlock(&lock);
    return bytes;
}

/* ---- getting ------------------------------------------------------------- */

static bool read_all(int fd, void *to, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = read(fd, (char *)to + done, bytes - done);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* Read, not mapped: what was checked must not change afterwards. */
static void *read_blob(int fd, uint64_t file_bytes, const void *key, size_t key_bytes, size_t *bytes)
{
    header h;
    if (!read_all(fd, &h, sizeof h) || h.magic != MAGIC || h.version != VERSION || h.key_bytes != key_bytes ||
        file_bytes - sizeof h <= key_bytes || h.blob_bytes != file_bytes - sizeof h - key_bytes)
        return NULL;
    void *its_key = malloc(key_bytes + 1), *blob = malloc(h.blob_bytes);
    bool right = its_key && blob && read_all(fd, its_key, key_bytes) && memcmp(its_key, key, key_bytes) == 0 &&
                 read_all(fd, blob, h.blob_bytes) && h.sum == sum_of(&h, key, blob);
    free(its_key);
    if (right) {
        *bytes = h.blob_bytes;
        return blob;
    }
    free(blob);
    return NULL;
}

static void *read_file(const char *path, const void *key, size_t key_bytes, size_t *bytes)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct stat info;
    void *blob = NULL;
    /* what another user wrote is not handed to this user's driver */
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
        (uint64_t)info.st_size > sizeof(header) && (uint64_t)info.st_size <= largest_file())
        blob = read_blob(fd, (uint64_t)info.st_size, key, key_bytes, bytes);
    if (blob)
        futimens(fd, NULL); /* used now: others go first */
    close(fd);
    return blob;
}

void *blob_cache_get(const void *key, size_t key_bytes, size_t *bytes)
{
    char *path = blob_cache_path(key, key_bytes);
    void *blob = path ? read_file(path, key, key_bytes, bytes) : NULL;
    free(path);
    pthread_mutex_lock(&lock);
    *(blob ? &counts.hits : &counts.misses) += 1;
    pthread_mutex_unlock(&lock);
    return blob;
}

/* ---- making room --------------------------------------------------------- */

typedef struct kept_file {
    char *path;
    uint64_t bytes;
    struct timespec used;
} kept_file;

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const kept_file *)a)->used, *y = &((const kept_file *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* A name that blobs have, or one that a writer which was killed left behind. Of other files nothing is known: the folder
 * may be one that somebody has for something else. */
static bool is_own_name(const char *name)
{
    return strspn(name, "0123456789abcdef") == NAME_DIGITS && (!name[NAME_DIGITS] || name[NAME_DIGITS] == '.');
}

static kept_file *list_files(const char *folder, size_t *count, uint64_t *total_bytes)
{
    kept_file *files = NULL;
    size_t capacity = 0;
    *count = 0;
    *total_bytes = 0;
    DIR *d = opendir(folder);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        struct stat info;
        str path = {0};
        str_addf(&path, "%s%s", folder, entry->d_name);
        if (!is_own_name(entry->d_name) || lstat(path.data, &info) != 0 || !S_ISREG(info.st_mode)) {
            str_free(&path);
            continue;
        }
        if (*count == capacity)
            files = mem_grow(files, (capacity = capacity ? 2 * capacity : 64) * sizeof *files);
        files[(*count)++] = (kept_file){path.data, (uint64_t)info.st_size, os_changed_at(&info)};
        *total_bytes += (uint64_t)info.st_size;
    }
    if (d)
        closedir(d);
    return files;
}

static void shrink(const char *folder, uint64_t to_bytes)
{
    size_t count;
    uint64_t total;
    kept_file *files = list_files(folder, &count, &total);
    if (total > to_bytes)
        qsort(files, count, sizeof *files, by_use);
    for (size_t i = 0; i < count; i++) {
        if (total > to_bytes && unlink(files[i].path) == 0)
            total -= files[i].bytes;
        free(files[i].path);
    }
    free(files);
}

/* Looking through the folder for every file would take as long as the files; so it is done for the first, and again
 * when what was written since could exceed the limit. */
static void make_room(uint64_t file_bytes)
{
    str folder = {0};
    pthread_mutex_lock(&lock);
    uint64_t unseen_limit = limit_bytes / PARTS_UNSEEN;
    if (unseen_bytes > unseen_limit || file_bytes > unseen_limit - unseen_bytes) {
        if (add_folder(&folder))
            shrink(folder.data, limit_bytes - unseen_limit - file_bytes);
        unseen_bytes = 0;
    } else
        unseen_bytes += file_bytes;
    pthread_mutex_unlock(&lock);
    str_free(&folder);
}

/* ---- putting ------------------------------------------------------------- */

static bool write_all(int fd, const void *from, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t put = write(fd, (const char *)from + done, bytes - done);
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

/* Not synced: after a crash of the machine the sum shows what is missing. */
static bool write_file(const char *path, const header *h, const void *key, const void *blob)
{
    file_new f;
    bool written = file_new_open(&f, path) && write_all(f.fd, h, sizeof *h) && write_all(f.fd, key, h->key_bytes) &&
                   write_all(f.fd, blob, h->blob_bytes) && file_new_place(&f, false);
    if (f.fd >= 0 && close(f.fd) != 0)
        written = false;
    file_new_free(&f);
    return written;
}

void blob_cache_put(const void *key, size_t key_bytes, const void *blob, size_t bytes)
{
    uint64_t file_bytes = sizeof(header) + (uint64_t)key_bytes + bytes;
    char *path = bytes > 0 && file_bytes <= largest_file() ? blob_cache_path(key, key_bytes) : NULL;
    if (!path)
        return;
    cache_folder_make(path);
    if (cache_folder_may_write(path)) {
        header h = {.magic = MAGIC, .version = VERSION, .key_bytes = key_bytes, .blob_bytes = bytes};
        h.sum = sum_of(&h, key, blob);
        make_room(file_bytes);
        bool written = write_file(path, &h, key, blob);
        pthread_mutex_lock(&lock);
        counts.puts += written;
        pthread_mutex_unlock(&lock);
    }
    free(path);
}

/* ---- for tests ----------------------------------------------------------- */

blob_cache_counts blob_cache_count(void)
{
    pthread_mutex_lock(&lock);
    blob_cache_counts now = counts;
    pthread_mutex_unlock(&lock);
    return now;
}

void blob_cache_set_limit(uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    limit_bytes = bytes;
    unseen_bytes = UINT64_MAX;
    pthread_mutex_unlock(&lock);
}
