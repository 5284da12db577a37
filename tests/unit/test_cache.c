/* src/base/cache: what was put is found again, and nothing else ever is. */
#include "base/cache_test.h"
#include "base/file.h"
#include "base/str.h"
#include "temporary.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[TEMPORARY_BYTES];

static int set_up(void **unused)
{
    (void)unused;
    if (!temporary_folder(folder, "cache"))
        return -1;
    return setenv("SOLO_CACHE", folder, 1);
}

static int tear_down(void **unused)
{
    (void)unused;
    char command[2 * TEMPORARY_BYTES + 64];
    snprintf(command, sizeof command, "chmod -R u+rwx '%s' && rm -rf '%s'", folder, folder);
    return system(command);
}

static void expect(const char *key, const char *value)
{
    char *found = cache_get(key);
    if (value) {
        assert_non_null(found);
        assert_string_equal(found, value);
    } else
        assert_null(found);
    free(found);
}

static void what_is_put_is_found(void **unused)
{
    (void)unused;
    expect("a key", NULL);
    cache_put("a key", "a value\nof two lines");
    cache_put("another", "");
    cache_put("", "of the empty key");
    cache_put("lines\nin a key\n", "1");
    expect("a key", "a value\nof two lines");
    expect("another", "");
    expect("", "of the empty key");
    expect("lines\nin a key\n", "1");
    expect("lines\nin a key", NULL);
    expect("a ke", NULL);
    cache_put("a key", "new");
    expect("a key", "new");
}

static void folders_are_chosen_by_the_environment(void **unused)
{
    (void)unused;
    char expected[TEMPORARY_FILE_BYTES];
    unsetenv("SOLO_CACHE");
    setenv("XDG_CACHE_HOME", folder, 1);
    char *path = cache_path("k");
    snprintf(expected, sizeof expected, "%s/solo/", folder);
    assert_memory_equal(path, expected, strlen(expected));
    free(path);
    cache_put("k", "made its folder");
    expect("k", "made its folder");

    setenv("XDG_CACHE_HOME", "not/absolute", 1);
    setenv("HOME", folder, 1);
    path = cache_path("k");
    snprintf(expected, sizeof expected, "%s/.cache/solo/", folder);
    assert_memory_equal(path, expected, strlen(expected));
    free(path);
    cache_put("k", "made two");
    expect("k", "made two");

    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_null(cache_path("k"));
    cache_put("k", "nowhere");
    expect("k", NULL);

    setenv("SOLO_CACHE", "off", 1);
    setenv("HOME", folder, 1);
    assert_null(cache_path("k"));
    cache_put("k", "off");
    expect("k", NULL);
}

static void write_file(const char *path, const char *bytes, size_t length)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

/* Every byte changed, every length cut, something behind it: nothing is found, and it can be put again. */
static void damage_is_as_if_nothing_were_there(void **unused)
{
    (void)unused;
    cache_put("key", "passed 200");
    char *path = cache_path("key");
    err e = {0};
    size_t length;
    char *good = file_read(path, 1000, &length, &e);
    assert_non_null(good);
    char *bad = mem_alloc(length + 2);
    for (size_t i = 0; i < length; i++)
        for (int change = 1; change < 256; change += 37) {
            memcpy(bad, good, length);
            bad[i] = (char)(bad[i] ^ change);
            write_file(path, bad, length);
            expect("key", NULL);
        }
    for (size_t cut = 0; cut < length; cut++) {
        write_file(path, good, cut);
        expect("key", NULL);
    }
    memcpy(bad, good, length);
    bad[length] = '\n';
    write_file(path, bad, length + 1);
    expect("key", NULL);
    write_file(path, good, length);
    expect("key", "passed 200");
    write_file(path, bad, length + 1);
    cache_put("key", "again");
    expect("key", "again");

    /* a file far too large is not even looked into */
    assert_int_equal(truncate(path, 1ll << 30), 0);
    expect("key", NULL);
    free(good);
    free(bad);
    free(path);
}

/* Two keys of the same file name: the file of one, in the place of the other's. */
static void another_keys_file_is_not_believed(void **unused)
{
    (void)unused;
    cache_put("one", "1");
    char *one = cache_path("one"), *two = cache_path("two");
    assert_int_equal(rename(one, two), 0);
    expect("one", NULL);
    expect("two", NULL);
    cache_put("two", "2");
    expect("two", "2");
    free(one);
    free(two);
}

static void what_is_too_large_is_not_kept(void **unused)
{
    (void)unused;
    char *value = mem_alloc(CACHE_MAX_BYTES + 1);
    memset(value, 'x', CACHE_MAX_BYTES);
    cache_put("k", value);
    expect("k", NULL);
    value[CACHE_MAX_BYTES - 1] = 0;
    cache_put("k", value);
    expect("k", value);
    free(value);
}

static void a_folder_that_cannot_be_written_is_no_error(void **unused)
{
    (void)unused;
    char path[TEMPORARY_FILE_BYTES];
    cache_put("k", "kept");
    assert_int_equal(chmod(folder, 0500), 0);
    cache_put("new", "1");
    expect("k", "kept");
    if (geteuid() != 0) /* nothing is read-only for root */
        expect("new", NULL);
    assert_int_equal(chmod(folder, 0700), 0);

    /* below a file, and where not even root makes files */
    snprintf(path, sizeof path, "%s/file", folder);
    write_file(path, "", 0);
    setenv("SOLO_CACHE", path, 1);
    cache_put("k", "1");
    expect("k", NULL);
    setenv("SOLO_CACHE", "/proc/self", 1);
    cache_put("k", "1");
    expect("k", NULL);
}

/* Neither waited for nor written through. */
static void what_is_no_plain_file_is_left_alone(void **unused)
{
    (void)unused;
    char target[TEMPORARY_FILE_BYTES];
    snprintf(target, sizeof target, "%s/target", folder);
    char *path = cache_path("k");
    assert_int_equal(mkfifo(path, 0600), 0);
    cache_put("k", "1");
    expect("k", NULL);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    cache_put("k", "1");
    expect("k", NULL);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink(target, path), 0);
    cache_put("k", "1");
    expect("k", NULL);
    assert_false(file_exists(target));
    free(path);
}

static int entries(void)
{
    int count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *entry; (entry = readdir(d));)
        count += entry->d_name[0] != '.';
    closedir(d);
    return count;
}

/* Readers see a whole value of one writer or another, never a mix, and nothing is left lying about. */
static void writers_at_the_same_time_do_not_mix(void **unused)
{
    (void)unused;
    enum { WRITERS = 4, TIMES = 40, LENGTH = 3000 };
    pid_t writers[WRITERS];
    char value[LENGTH + 1] = {0};
    memset(value, 'a', LENGTH);
    cache_put("k", value);
    for (int w = 0; w < WRITERS; w++) {
        writers[w] = fork();
        assert_true(writers[w] >= 0);
        if (writers[w] == 0) {
            memset(value, 'a' + w, LENGTH);
            for (int i = 0; i < TIMES; i++)
                cache_put("k", value);
            _exit(0);
        }
    }
    int running = WRITERS;
    while (running > 0) {
        char *found = cache_get("k");
        assert_non_null(found);
        assert_int_equal(strlen(found), LENGTH);
        for (int i = 1; i < LENGTH; i++)
            assert_int_equal(found[i], found[0]);
        free(found);
        int status;
        if (waitpid(-1, &status, WNOHANG) > 0) {
            assert_int_equal(status, 0);
            running--;
        }
    }
    assert_int_equal(entries(), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_is_put_is_found),
        TEST(folders_are_chosen_by_the_environment),
        TEST(damage_is_as_if_nothing_were_there),
        TEST(another_keys_file_is_not_believed),
        TEST(what_is_too_large_is_not_kept),
        TEST(a_folder_that_cannot_be_written_is_no_error),
        TEST(what_is_no_plain_file_is_left_alone),
        TEST(writers_at_the_same_time_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
