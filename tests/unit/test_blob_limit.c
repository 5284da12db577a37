/* src/base/blob_cache: all blobs together stay below a limit, and the right ones go. */
#include "blob_folder.h"
#include "base/file.h"
#include "base/str.h"

#include <time.h>

enum { HEADER_BYTES = 40 }; /* of a file */

enum { BLOB = 1000 };

static void put_numbered(int number)
{
    char key[16], blob[BLOB];
    snprintf(key, sizeof key, "%d", number);
    memset(blob, number, sizeof blob);
    blob_cache_put(key, strlen(key), blob, sizeof blob);
}

static bool has_numbered(int number)
{
    char key[16];
    size_t bytes;
    snprintf(key, sizeof key, "%d", number);
    char *path = path_of(key), *blob = file_exists(path) ? blob_cache_get(key, strlen(key), &bytes) : NULL;
    bool found = blob != NULL;
    free(blob);
    free(path);
    return found;
}

/* So long ago was it used last. */
static void set_age(int number, int seconds)
{
    char key[16];
    snprintf(key, sizeof key, "%d", number);
    char *path = path_of(key);
    struct timespec now, times[2];
    clock_gettime(CLOCK_REALTIME, &now);
    times[0] = times[1] = (struct timespec){now.tv_sec - seconds, 0};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    free(path);
}

static void all_together_stay_below_the_limit(void **unused)
{
    (void)unused;
    const uint64_t limit = 64 * 1024;
    uint64_t total;
    blob_cache_set_limit(limit);
    for (int i = 0; i < 300; i++) {
        put_numbered(i);
        entries(&total);
        assert_true(total <= limit);
        assert_true(has_numbered(i));
    }
    assert_true(entries(&total) > 40);
    assert_true(total > limit / 2);
}

static void the_least_recently_used_go_first(void **unused)
{
    (void)unused;
    enum { COUNT = 50 };
    blob_cache_set_limit(COUNT * 1100);
    for (int i = 0; i < COUNT; i++) {
        put_numbered(i);
        set_age(i, 1000 - i);
    }
    assert_true(has_numbered(3)); /* now it was just used */
    blob_cache_set_limit(COUNT / 2 * 1100);
    put_numbered(COUNT);
    /* of the others, the older half is gone and the younger is there */
    int left = 0;
    bool is_gone[COUNT];
    for (int i = 0; i < COUNT; i++) {
        is_gone[i] = !has_numbered(i);
        left += !is_gone[i];
    }
    assert_true(left > COUNT / 3 && left < COUNT / 2);
    for (int i = 4; i < COUNT; i++)
        assert_int_equal(is_gone[i], i <= COUNT - left);
    assert_true(has_numbered(3));
    assert_true(has_numbered(COUNT));
    assert_false(has_numbered(4));
}

static void what_is_too_large_is_not_kept(void **unused)
{
    (void)unused;
    blob_cache_set_limit(4096);
    char blob[1024] = {1};
    size_t bytes;
    blob_cache_put("k", 1, blob, 1024 - HEADER_BYTES - 1);
    void *found = blob_cache_get("k", 1, &bytes);
    assert_non_null(found);
    free(found);
    blob_cache_put("l", 1, blob, 1024 - HEADER_BYTES);
    assert_null(blob_cache_get("l", 1, &bytes));
    /* nor read, by one with a smaller limit */
    blob_cache_set_limit(2048);
    assert_null(blob_cache_get("k", 1, &bytes));
}

/* A writer that was killed leaves a file of another name: it goes as the others go. */
static void what_others_left_behind_goes_too(void **unused)
{
    (void)unused;
    char path[TEMPORARY_FILE_BYTES];
    blob_cache_set_limit(16 * 1024);
    put_numbered(1);
    snprintf(path, sizeof path, "%s/blobs/0123456789abcdef.x1Y2z3", folder);
    char *junk = mem_alloc(15 * 1024);
    write_bytes(path, junk, 15 * 1024);
    struct timespec old[2] = {{1000, 0}, {1000, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    blob_cache_set_limit(16 * 1024);
    put_numbered(2);
    assert_false(file_exists(path));
    assert_true(has_numbered(1) && has_numbered(2));
    free(junk);
}

/* The folder may be another program's that is called blobs, too. */
static void what_others_have_there_stays(void **unused)
{
    (void)unused;
    static const char *const names[] = {"sha256-0123456789abcdef", "notes.txt", ".hidden", "0123456789abcdef0", "0123"};
    enum { NAMES = sizeof names / sizeof *names };
    char path[NAMES][TEMPORARY_FILE_BYTES];
    blob_cache_set_limit(16 * 1024);
    put_numbered(1);
    char *theirs = mem_alloc(15 * 1024);
    for (int i = 0; i < NAMES; i++) {
        snprintf(path[i], sizeof path[i], "%s/blobs/%s", folder, names[i]);
        write_bytes(path[i], theirs, 15 * 1024);
        struct timespec old[2] = {{1000, 0}, {1000, 0}};
        assert_int_equal(utimensat(AT_FDCWD, path[i], old, 0), 0);
    }
    blob_cache_set_limit(16 * 1024);
    put_numbered(2);
    for (int i = 0; i < NAMES; i++)
        assert_true(file_exists(path[i]));
    assert_true(has_numbered(1) && has_numbered(2)); /* nor do they take room from blobs */
    free(theirs);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(all_together_stay_below_the_limit), TEST(the_least_recently_used_go_first),
        TEST(what_is_too_large_is_not_kept),     TEST(what_others_left_behind_goes_too),
        TEST(what_others_have_there_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
