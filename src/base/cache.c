/* cache: a file for each key, its name the hash of the key, replaced as a whole. */
#include "base/cache.h"
#include "base/cache_folder.h"
#include "base/cache_test.h"
#include "base/file.h"
#include "base/map.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file is this line, then the key, a line's end, the value, a line's end. */
#define HEADER "solo cache 1 %zu %zu %016" PRIx64 "\n"
enum { HEADER_MAX = 128 };

/* It names files and notices damage; keys are compared as a whole. */
static uint64_t hash_text(const char *text)
{
    return str_hash(STR_HASH_BEGIN, text, strlen(text));
}

char *cache_path(const char *key)
{
    str path = {0};
    if (!cache_folder_add(&path))
        return NULL;
    str_addf(&path, "/%016" PRIx64, hash_text(key));
    return path.data;
}

static void add_file_text(str *text, const char *key, const char *value)
{
    uint64_t sum = str_hash(hash_text(key), value, strlen(value));
    str_addf(text, HEADER, strlen(key), strlen(value), sum);
    str_addf(text, "%s\n%s\n", key, value);
}

/* The value in a file's bytes. It is right if the file is what would be written for it. */
static char *value_in(const char *bytes, size_t length, const char *key)
{
    size_t key_length = strlen(key), header_length = 0;
    while (header_length < length && header_length < HEADER_MAX && bytes[header_length] != '\n')
        header_length++;
    size_t around = header_length + 1 + key_length + 2;
    if (length < around)
        return NULL;
    size_t value_length = length - around;
    const char *value_at = bytes + around - 1;
    if (memchr(value_at, 0, value_length))
        return NULL;
    char *value = mem_alloc(value_length + 1);
    memcpy(value, value_at, value_length);
    str expected = {0};
    add_file_text(&expected, key, value);
    bool same = expected.length == length && memcmp(expected.data, bytes, length) == 0;
    str_free(&expected);
    if (same)
        return value;
    free(value);
    return NULL;
}

char *cache_get(const char *key)
{
    char *path = cache_path(key), *value = NULL;
    map file;
    err ignored = {0};
    if (path && map_open(&file, path, &ignored)) {
        if (file.length <= CACHE_MAX_BYTES + HEADER_MAX)
            value = value_in((const char *)file.bytes, file.length, key);
        map_close(&file);
    }
    free(path);
    return value;
}

void cache_put(const char *key, const char *value)
{
    char *path = strlen(key) + strlen(value) <= CACHE_MAX_BYTES ? cache_path(key) : NULL;
    if (!path)
        return;
    cache_folder_make(path);
    if (cache_folder_may_write(path)) {
        str text = {0};
        err ignored = {0};
        add_file_text(&text, key, value);
        file_write(path, text.data, text.length, &ignored);
        str_free(&text);
    }
    free(path);
}
