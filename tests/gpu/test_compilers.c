/* Kernels compiled ahead by threads that have devices of their own (src/gpu/webgpu/compilers.c). */
#include "base/blob_cache_test.h"
#include "base/str.h"
#include "gpu/gpu.h"
#include "own_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { KERNELS = 12 }; /* more than threads and the library take at once */

static gpu *open_device(const char *threads)
{
    err e = {0};
    setenv("SOLO_COMPILERS", threads, 1);
    gpu *g = gpu_open_now(&(gpu_choice){.impl = "dawn"}, &e);
    if (!g)
        fail_msg("%s", e.text);
    return g;
}

/* Adds its number to word 0. */
static gpu_kernel *make(gpu *g, unsigned number, bool ahead)
{
    char text[256];
    snprintf(text, sizeof text,
             "@group(0) @binding(0) var<storage, read_write> words: array<u32>;\n"
             "@compute @workgroup_size(1) fn main() { words[0] += %s%uu; }\n",
             number < KERNELS ? "" : "nothing + ", number);
    gpu_source source = {.name = "adds", .wgsl = text};
    return gpu_kernel_new(g, &(gpu_kernel_desc){.source = &source,
                                                .entry = "main",
                                                .workgroup_size = 1,
                                                .binding_count = 1,
                                                .bindings = {GPU_BIND_WRITE},
                                                .ahead = ahead});
}

static void all_add_up(gpu *g)
{
    err e = {0};
    uint32_t sum = 0;
    gpu_buffer *b = gpu_buffer_new(g, 16, GPU_USE_STORAGE);
    for (unsigned i = 0; i < KERNELS; i++) {
        gpu_kernel *k = make(g, i, false);
        gpu_bindings *bound = gpu_bindings_new(g, k, &(gpu_part){.buffer = b}, 1);
        gpu_launch(g, k, bound, 1);
        gpu_bindings_free(bound);
    }
    if (!gpu_read_now(g, b, 0, &sum, 4, &e))
        fail_msg("%s", e.text);
    assert_int_equal(sum, KERNELS * (KERNELS - 1) / 2);
    gpu_buffer_free(b);
}

static void kernels_compile_on_other_devices(void **unused)
{
    (void)unused;
    gpu *g = open_device("3");
    assert_true(gpu_get_info(g)->compiler_threads > 3);
    for (unsigned i = 0; i < KERNELS; i++)
        assert_non_null(make(g, i, true));
    while (gpu_is_compiling(g))
        usleep(1000);
    blob_cache_counts before = blob_cache_count();
    all_add_up(g); /* finds what the others have left, and compiles nothing */
    assert_true(blob_cache_count().hits > before.hits);
    gpu_close(g);

    g = open_device("3"); /* in a later run they are known, and no other device is opened */
    before = blob_cache_count();
    for (unsigned i = 0; i < KERNELS; i++)
        make(g, i, true);
    all_add_up(g);
    assert_int_equal(blob_cache_count().puts, before.puts);
    gpu_close(g);
}

static void nobody_has_to_wait(void **unused)
{
    (void)unused;
    gpu *g = open_device("2"); /* those that have not begun are the caller's */
    for (unsigned i = 0; i < KERNELS; i++)
        make(g, i, true);
    all_add_up(g);
    gpu_close(g);
}

static void a_device_closes_over_what_compiles(void **unused)
{
    (void)unused;
    for (unsigned count = 1; count <= KERNELS; count += 3) {
        gpu *g = open_device("3");
        for (unsigned i = 0; i < count; i++)
            make(g, i, true);
        gpu_close(g);
    }
}

static void a_kernel_that_fails_says_so_when_it_is_needed(void **unused)
{
    (void)unused;
    gpu *g = open_device("3");
    err e = {0};
    for (unsigned i = 0; i <= KERNELS; i++)
        make(g, i, true);
    while (gpu_is_compiling(g))
        usleep(1000);
    all_add_up(g);
    gpu_kernel_free(make(g, KERNELS, false)); /* it is not kept */
    assert_false(gpu_ok(g, &e));
    assert_non_null(strstr(e.text, "nothing"));
    gpu_take_error(g, NULL);
    all_add_up(g);
    gpu_close(g);
}

static void a_lost_device_ends_it(void **unused)
{
    (void)unused;
    gpu *g = open_device("3");
    for (unsigned i = 0; i < KERNELS; i++)
        make(g, i, true);
    gpu_lose(g);
    for (unsigned i = 0; i < KERNELS; i++)
        make(g, i, false);
    assert_false(gpu_ok(g, NULL));
    gpu_close(g);
}

static void without_a_cache_the_library_compiles(void **unused)
{
    (void)unused;
    setenv("SOLO_CACHE", "off", 1);
    gpu *g = open_device("3");
    assert_int_equal(gpu_get_info(g)->compiler_threads, 2);
    for (unsigned i = 0; i < KERNELS; i++)
        assert_non_null(make(g, i, true));
    all_add_up(g);
    gpu_close(g);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, use_own_cache, remove_own_cache)
    const struct CMUnitTest tests[] = {
        TEST(kernels_compile_on_other_devices),
        TEST(nobody_has_to_wait),
        TEST(a_device_closes_over_what_compiles),
        TEST(a_kernel_that_fails_says_so_when_it_is_needed),
        TEST(a_lost_device_ends_it),
        TEST(without_a_cache_the_library_compiles),
    };
    return cmocka_run_group_tests_name("compilers", tests, NULL, NULL);
}
