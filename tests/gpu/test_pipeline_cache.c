/* Pipelines kept between runs: a second device finds what the first compiled, and nothing that is not that. */
#include "base/blob_cache_test.h"
#include "base/file.h"
#include "base/str.h"
#include "gpu/gpu.h"
#include "launch/chain.h"
#include "own_cache.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <vulkan/vulkan_core.h>

enum { KEY_BYTES_AT = 16, HEADER_BYTES = 40, MOST_FILES = 64, MOST_BYTES = 1 << 20 };

static const char *impl;

static gpu *open_device(void)
{
    err e = {0};
    gpu *g = gpu_open_now(&(gpu_choice){.impl = impl}, &e);
    if (!g)
        fail_msg("%s", e.text);
    return g;
}

/* A device of its own that runs a chain and gets it right. Returns what the cache was used for. */
static blob_cache_counts run_once(void)
{
    enum { STEPS = 4 };
    err e = {0};
    blob_cache_counts before = blob_cache_count();
    gpu *g = open_device();
    chain *c = chain_new(g, &chain_gemv, 1);
    if (!chain_reset(c, STEPS, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < STEPS; i++)
        gpu_launch(g, c->each, c->step[i % 2], c->kind->workgroups);
    if (!gpu_wait(g, &e) || !chain_check(c, STEPS, &e))
        fail_msg("%s", e.text);
    chain_free(c);
    gpu_close(g);
    blob_cache_counts after = blob_cache_count();
    return (blob_cache_counts){after.hits - before.hits, after.misses - before.misses, after.puts - before.puts};
}

typedef struct kept {
    char *path, *bytes;
    size_t length;
} kept;

static size_t kept_count;
static kept files[MOST_FILES];

static void read_files(void)
{
    char blobs[TEMPORARY_FILE_BYTES];
    snprintf(blobs, sizeof blobs, "%s/blobs", folder);
    DIR *d = opendir(blobs);
    assert_non_null(d);
    kept_count = 0;
    for (struct dirent *entry; (entry = readdir(d));) {
        if (entry->d_name[0] == '.')
            continue;
        str path = {0};
        err e = {0};
        str_addf(&path, "%s/%s", blobs, entry->d_name);
        assert_true(kept_count < MOST_FILES);
        kept *f = &files[kept_count++];
        f->path = path.data;
        f->bytes = file_read(f->path, MOST_BYTES, &f->length, &e);
        assert_non_null(f->bytes);
    }
    closedir(d);
    assert_true(kept_count > 0);
}

static void free_files(void)
{
    for (size_t i = 0; i < kept_count; i++) {
        free(files[i].path);
        free(files[i].bytes);
    }
}

static void write_bytes(const char *path, const char *bytes, size_t length)
{
    err e = {0};
    if (!file_write(path, bytes, length, &e))
        fail_msg("%s", e.text);
}

/* What is in the files now was not believed, and is right afterwards. */
static void expect_replaced(uint64_t puts)
{
    blob_cache_counts use = run_once();
    assert_int_equal(use.hits, 0);
    assert_int_equal(use.puts, puts);
    use = run_once();
    assert_true(use.hits > 0);
    assert_int_equal(use.misses, 0);
    assert_int_equal(use.puts, 0);
}

static void a_second_device_finds_what_the_first_compiled(void **unused)
{
    (void)unused;
    blob_cache_counts first = run_once(), second = run_once();
    assert_int_equal(first.hits, 0);
    assert_true(first.puts > 0);
    assert_int_equal(second.hits, first.puts);
    assert_int_equal(second.misses, 0);
    assert_int_equal(second.puts, 0);
}

static void a_cut_file_is_replaced(void **unused)
{
    (void)unused;
    uint64_t puts = run_once().puts;
    read_files();
    for (int k = 0; k < 5; k++) { /* nothing left, in the header, the header, a half, all but a byte */
        for (size_t i = 0; i < kept_count; i++) {
            const size_t lefts[] = {0, HEADER_BYTES - 1, HEADER_BYTES, files[i].length / 2, files[i].length - 1};
            write_bytes(files[i].path, files[i].bytes, lefts[k]);
        }
        expect_replaced(puts);
    }
    free_files();
}

static void a_flipped_bit_is_replaced(void **unused)
{
    (void)unused;
    uint64_t puts = run_once().puts;
    read_files();
    for (int k = 0; k < 4; k++) { /* in the header, the key, the blob, the last byte */
        for (size_t i = 0; i < kept_count; i++) {
            const size_t places[] = {KEY_BYTES_AT, HEADER_BYTES + 20, files[i].length - 20, files[i].length - 1};
            char *at = &files[i].bytes[places[k]];
            *at = (char)(*at ^ 16);
            write_bytes(files[i].path, files[i].bytes, files[i].length);
            *at = (char)(*at ^ 16);
        }
        expect_replaced(puts);
    }
    free_files();
}

/* Each file in the place of the next. */
static void another_pipelines_file_is_replaced(void **unused)
{
    (void)unused;
    uint64_t puts = run_once().puts;
    read_files();
    assert_true(kept_count > 1);
    for (size_t i = 0; i < kept_count; i++)
        write_bytes(files[(i + 1) % kept_count].path, files[i].bytes, files[i].length);
    expect_replaced(puts);
    free_files();
}

/* The same pipelines of another device, or by another driver, in the place of this one's: whole files, but of another key. */
static void another_devices_file_is_replaced(void **unused)
{
    (void)unused;
    uint64_t puts = run_once().puts;
    read_files();
    static const char *const lines[] = {"device: ", "driver: ", "implementation: "};
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < kept_count; i++) {
            uint64_t key_bytes;
            memcpy(&key_bytes, files[i].bytes + KEY_BYTES_AT, sizeof key_bytes);
            char *key = files[i].bytes + HEADER_BYTES, *blob = key + key_bytes;
            char *at = memmem(key, key_bytes, lines[k], strlen(lines[k]));
            assert_non_null(at);
            at += strlen(lines[k]);
            *at = (char)(*at ^ 1);
            blob_cache_put(key, key_bytes, blob, files[i].length - HEADER_BYTES - key_bytes);
            char *path = blob_cache_path(key, key_bytes);
            assert_int_equal(rename(path, files[i].path), 0);
            free(path);
            *at = (char)(*at ^ 1);
        }
        expect_replaced(puts);
    }
    free_files();
}

/* With a right sum, under the right key; but its own header is of another device. */
static void vulkans_header_is_checked(void **unused)
{
    (void)unused;
    run_once();
    read_files();
    const size_t fields[] = {
        offsetof(VkPipelineCacheHeaderVersionOne, headerSize), offsetof(VkPipelineCacheHeaderVersionOne, headerVersion),
        offsetof(VkPipelineCacheHeaderVersionOne, vendorID), offsetof(VkPipelineCacheHeaderVersionOne, deviceID),
        offsetof(VkPipelineCacheHeaderVersionOne, pipelineCacheUUID)};
    for (size_t k = 0; k < 5; k++) {
        for (size_t i = 0; i < kept_count; i++) {
            uint64_t key_bytes;
            memcpy(&key_bytes, files[i].bytes + KEY_BYTES_AT, sizeof key_bytes);
            char *key = files[i].bytes + HEADER_BYTES, *blob = key + key_bytes;
            blob[fields[k]] = (char)(blob[fields[k]] ^ 1);
            blob_cache_put(key, key_bytes, blob, files[i].length - HEADER_BYTES - key_bytes);
            blob[fields[k]] = (char)(blob[fields[k]] ^ 1);
        }
        assert_int_equal(run_once().puts, kept_count);
        assert_int_equal(run_once().puts, 0);
    }
    free_files();
}

static void switched_off_nothing_is_asked_for(void **unused)
{
    (void)unused;
    setenv("SOLO_CACHE", "off", 1);
    blob_cache_counts use = run_once();
    assert_true(use.hits == 0 && use.misses == 0 && use.puts == 0);
}

static void compile_broken(err *e)
{
    static const gpu_source broken = {.name = "broken",
                                      .wgsl = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;\n"
                                              "@compute @workgroup_size(1) fn main() {\n"
                                              "    out[0] = nowhere;\n"
                                              "}\n"};
    gpu *g = open_device();
    gpu_kernel_free(gpu_kernel_new(g, &(gpu_kernel_desc){.source = &broken,
                                                         .entry = "main",
                                                         .workgroup_size = 1,
                                                         .binding_count = 1,
                                                         .bindings = {GPU_BIND_WRITE}}));
    assert_false(gpu_ok(g, e));
    gpu_close(g);
}

static void errors_stay_as_they_are(void **unused)
{
    (void)unused;
    err first = {0}, second = {0}, off = {0};
    compile_broken(&first); /* newer Dawns keep what they found wrong, too */
    compile_broken(&second);
    setenv("SOLO_CACHE", "off", 1);
    compile_broken(&off);
    assert_non_null(strstr(off.text, "out[0] = nowhere;"));
    assert_string_equal(first.text, off.text);
    assert_string_equal(second.text, off.text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, use_own_cache, remove_own_cache)
#define ON_BOTH \
    TEST(a_second_device_finds_what_the_first_compiled), TEST(a_cut_file_is_replaced), \
        TEST(a_flipped_bit_is_replaced), TEST(another_pipelines_file_is_replaced), \
        TEST(another_devices_file_is_replaced), TEST(switched_off_nothing_is_asked_for)
    const struct CMUnitTest on_dawn[] = {ON_BOTH, TEST(errors_stay_as_they_are)};
    const struct CMUnitTest on_vulkan[] = {ON_BOTH, TEST(vulkans_header_is_checked)};
    impl = "dawn";
    int failed = cmocka_run_group_tests_name("dawn", on_dawn, NULL, NULL);
    impl = "vulkan";
    return failed + cmocka_run_group_tests_name("vulkan", on_vulkan, NULL, NULL);
}
