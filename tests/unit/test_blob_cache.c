/* src/base/blob_cache: a blob is found as it was put or not at all. */
#include "blob_folder.h"
#include "base/file.h"
#include "base/str.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <signal.h>

/* where the fields of a file are */
enum { VERSION_AT = 8, HEADER_BYTES = 40 };

static void put(const char *key, const char *blob)
{
    blob_cache_put(key, strlen(key), blob, strlen(blob));
}

/* NULL: nothing is found. */
static void expect(const char *key, const char *blob)
{
    size_t bytes = 0;
    char *found = blob_cache_get(key, strlen(key), &bytes);
    if (blob) {
        assert_non_null(found);
        assert_int_equal(bytes, strlen(blob));
        assert_memory_equal(found, blob, bytes);
    } else
        assert_null(found);
    free(found);
}

static void what_is_put_is_found(void **unused)
{
    (void)unused;
    expect("key", NULL);
    put("key", "a blob");
    put("", "of the empty key");
    put("key\n", "of another");
    expect("key", "a blob");
    expect("", "of the empty key");
    expect("key\n", "of another");
    expect("ke", NULL);
    put("key", "a longer blob than before");
    expect("key", "a longer blob than before");
    put("empty", "");
    expect("empty", NULL);

    /* any bytes, of any number */
    enum { BYTES = 100 };
    char key[BYTES], blob[BYTES];
    for (int i = 0; i < BYTES; i++) {
        key[i] = (char)(i * 7);
        blob[i] = (char)(255 - i);
    }
    for (size_t n = 1; n <= BYTES; n++) {
        size_t bytes;
        blob_cache_put(key, n, blob, n);
        char *found = blob_cache_get(key, n, &bytes);
        assert_non_null(found);
        assert_int_equal(bytes, n);
        assert_memory_equal(found, blob, n);
        free(found);
    }
}

/* Every byte changed, every length cut, something behind it: nothing is found, and it can be put again. */
static void damage_is_as_if_nothing_were_there(void **unused)
{
    (void)unused;
    put("key of it", "a blob of some bytes");
    char *path = path_of("key of it");
    err e = {0};
    size_t length;
    char *good = file_read(path, 1000, &length, &e);
    assert_non_null(good);
    char *bad = mem_alloc(length + 2);
    for (size_t i = 0; i < length; i++)
        for (int bit = 0; bit < 8; bit++) {
            memcpy(bad, good, length);
            bad[i] = (char)(bad[i] ^ 1 << bit);
            write_bytes(path, bad, length);
            expect("key of it", NULL);
        }
    for (size_t cut = 0; cut < length; cut++) {
        write_bytes(path, good, cut);
        expect("key of it", NULL);
    }
    memcpy(bad, good, length);
    write_bytes(path, bad, length + 1);
    expect("key of it", NULL);
    put("key of it", "again");
    expect("key of it", "again");
    write_bytes(path, good, length);
    expect("key of it", "a blob of some bytes");
    assert_int_equal(truncate(path, 1ll << 40), 0); /* far too large: not even read */
    expect("key of it", NULL);
    free(good);
    free(bad);
    free(path);
}

static void another_keys_file_is_not_believed(void **unused)
{
    (void)unused;
    put("one", "1");
    char *one = path_of("one"), *two = path_of("two");
    assert_int_equal(rename(one, two), 0);
    expect("one", NULL);
    expect("two", NULL);
    put("two", "2");
    expect("two", "2");
    free(one);
    free(two);
}

static uint64_t add_word(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 32;
}

/* A file of another version whose sum is right, as another version of this program would write it. */
static void another_versions_file_is_not_believed(void **unused)
{
    (void)unused;
    put("12345678", "abcdefgh");
    char *path = path_of("12345678");
    err e = {0};
    size_t length;
    char *file = file_read(path, 1000, &length, &e);
    assert_non_null(file);
    for (uint64_t version = 1; version <= 2; version++) {
        memcpy(file + VERSION_AT, &version, sizeof version);
        /* each part's length, its words, and the rest of it, which is empty here */
        uint64_t sum = STR_HASH_BEGIN, word;
        const size_t parts[][2] = {{0, 32}, {HEADER_BYTES, 8}, {HEADER_BYTES + 8, 8}};
        for (int p = 0; p < 3; p++) {
            sum = add_word(sum, parts[p][1]);
            for (size_t at = 0; at < parts[p][1]; at += sizeof word) {
                memcpy(&word, file + parts[p][0] + at, sizeof word);
                sum = add_word(sum, word);
            }
            sum = add_word(sum, 0);
        }
        memcpy(file + HEADER_BYTES - sizeof sum, &sum, sizeof sum);
        write_bytes(path, file, length);
        expect("12345678", version == 1 ? "abcdefgh" : NULL);
    }
    put("12345678", "new");
    expect("12345678", "new");
    free(file);
    free(path);
}

/* ---- folders that do not work -------------------------------------------- */

static void a_folder_that_cannot_be_written_is_no_error(void **unused)
{
    (void)unused;
    char path[TEMPORARY_FILE_BYTES];
    put("k", "kept");
    snprintf(path, sizeof path, "%s/blobs", folder);
    assert_int_equal(chmod(path, 0500), 0);
    put("new", "1");
    expect("k", "kept");
    if (geteuid() != 0) /* nothing is read-only for root */
        expect("new", NULL);
    assert_int_equal(chmod(path, 0700), 0);

    /* below a file, and where not even root makes files */
    snprintf(path, sizeof path, "%s/file", folder);
    write_bytes(path, "", 0);
    setenv("SOLO_CACHE", path, 1);
    put("k", "1");
    expect("k", NULL);
    setenv("SOLO_CACHE", "/proc/self", 1);
    put("k", "1");
    expect("k", NULL);
}

/* A file size limit stands in for a disk that is full. */
static void a_full_disk_is_no_error(void **unused)
{
    (void)unused;
    put("k", "kept");
    pid_t writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, 100});
        char blob[1000] = {1};
        blob_cache_put("k", 1, blob, sizeof blob);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_int_equal(status, 0);
    expect("k", "kept");
    uint64_t total;
    assert_int_equal(entries(&total), 1);
}

static void switched_off_nothing_is_kept(void **unused)
{
    (void)unused;
    put("k", "kept");
    assert_true(blob_cache_is_on());
    setenv("SOLO_CACHE", "off", 1);
    assert_false(blob_cache_is_on());
    assert_null(path_of("k"));
    expect("k", NULL);
    put("k", "off");
    setenv("SOLO_CACHE", folder, 1);
    expect("k", "kept");
}

static void what_is_no_plain_file_is_left_alone(void **unused)
{
    (void)unused;
    char target[TEMPORARY_FILE_BYTES];
    put("other", "makes the folder");
    snprintf(target, sizeof target, "%s/target", folder);
    char *path = path_of("k");
    assert_int_equal(mkfifo(path, 0600), 0);
    put("k", "1");
    expect("k", NULL);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    put("k", "1");
    expect("k", NULL);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink(target, path), 0);
    put("k", "1");
    expect("k", NULL);
    assert_false(file_exists(target));
    free(path);
}

static void another_users_file_is_not_believed(void **unused)
{
    (void)unused;
    if (geteuid() != 0) /* only root gives files away */
        skip();
    put("k", "1");
    char *path = path_of("k");
    assert_int_equal(chown(path, 12345, 12345), 0);
    expect("k", NULL);
    put("k", "2");
    expect("k", "2");
    free(path);
}

/* ---- many at once -------------------------------------------------------- */

enum { WRITERS = 4, TIMES = 100, LENGTH = 5000 };

static void *write_often(void *letter)
{
    char blob[LENGTH];
    memset(blob, *(char *)letter, sizeof blob);
    for (int i = 0; i < TIMES; i++)
        blob_cache_put("k", 1, blob, sizeof blob);
    return NULL;
}

static void expect_one_letter(void)
{
    size_t bytes;
    char *found = blob_cache_get("k", 1, &bytes);
    assert_non_null(found);
    assert_int_equal(bytes, LENGTH);
    for (int i = 1; i < LENGTH; i++)
        assert_int_equal(found[i], found[0]);
    free(found);
}

static void processes_at_the_same_time_do_not_mix(void **unused)
{
    (void)unused;
    write_often(&(char){'a'});
    for (int w = 0; w < WRITERS; w++) {
        pid_t writer = fork();
        assert_true(writer >= 0);
        if (writer == 0) {
            write_often(&(char){(char)('a' + w)});
            _exit(0);
        }
    }
    for (int running = WRITERS; running > 0;) {
        expect_one_letter();
        int status;
        if (waitpid(-1, &status, WNOHANG) > 0) {
            assert_int_equal(status, 0);
            running--;
        }
    }
    uint64_t total;
    assert_int_equal(entries(&total), 1);
}

static void threads_at_the_same_time_do_not_mix(void **unused)
{
    (void)unused;
    pthread_t threads[WRITERS];
    char letters[WRITERS];
    write_often(&(char){'a'});
    blob_cache_counts before = blob_cache_count();
    for (int w = 0; w < WRITERS; w++) {
        letters[w] = (char)('a' + w);
        assert_int_equal(pthread_create(&threads[w], NULL, write_often, &letters[w]), 0);
    }
    for (int i = 0; i < TIMES; i++)
        expect_one_letter();
    for (int w = 0; w < WRITERS; w++)
        assert_int_equal(pthread_join(threads[w], NULL), 0);
    blob_cache_counts after = blob_cache_count();
    assert_int_equal(after.puts - before.puts, WRITERS * TIMES);
    assert_int_equal(after.hits - before.hits, TIMES);
    assert_int_equal(after.misses, before.misses);
    uint64_t total;
    assert_int_equal(entries(&total), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_is_put_is_found),
        TEST(damage_is_as_if_nothing_were_there),
        TEST(another_keys_file_is_not_believed),
        TEST(another_versions_file_is_not_believed),
        TEST(a_folder_that_cannot_be_written_is_no_error),
        TEST(a_full_disk_is_no_error),
        TEST(switched_off_nothing_is_kept),
        TEST(what_is_no_plain_file_is_left_alone),
        TEST(another_users_file_is_not_believed),
        TEST(processes_at_the_same_time_do_not_mix),
        TEST(threads_at_the_same_time_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
