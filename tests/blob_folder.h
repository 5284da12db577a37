/* A cache folder of a test's own with blobs in it, and what lies there. */
#ifndef SOLO_TEST_BLOB_FOLDER_H
#define SOLO_TEST_BLOB_FOLDER_H

#include "base/blob_cache_test.h"
#include "temporary.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[TEMPORARY_BYTES];

static int set_up(void **unused)
{
    (void)unused;
    if (!temporary_folder(folder, "blobs"))
        return -1;
    blob_cache_set_limit(BLOB_CACHE_BYTES);
    return setenv("SOLO_CACHE", folder, 1);
}

static int tear_down(void **unused)
{
    (void)unused;
    char command[2 * TEMPORARY_BYTES + 64];
    snprintf(command, sizeof command, "chmod -R u+rwx '%s' && rm -rf '%s'", folder, folder);
    return system(command);
}

static char *path_of(const char *key)
{
    return blob_cache_path(key, strlen(key));
}

static int entries(uint64_t *total_bytes)
{
    char path[TEMPORARY_FILE_BYTES];
    int count = 0;
    *total_bytes = 0;
    snprintf(path, sizeof path, "%s/blobs", folder);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *entry; (entry = readdir(d));) {
        struct stat info;
        if (entry->d_name[0] != '.' && fstatat(dirfd(d), entry->d_name, &info, 0) == 0) {
            count++;
            *total_bytes += (uint64_t)info.st_size;
        }
    }
    closedir(d);
    return count;
}

static void write_bytes(const char *path, const char *bytes, size_t length)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

#endif
