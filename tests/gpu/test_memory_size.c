/* How much memory there is, asked beside WebGPU: a software device stands in for any other. */
#include "devices.h"
#include "gpu/memory_size.h"

enum { MESA = 0x10005, LAVAPIPE = 0 };

static void test_host(void **unused)
{
    (void)unused;
    memory_size size = memory_size_of_host();
    assert_true(size.total > 0 && size.free > 0 && size.free <= size.total);
}

static void test_found_by_numbers(void **unused)
{
    (void)unused;
    err e = {0};
    gpu *g = gpu_open_now(&(gpu_choice){.impl = "vulkan", .adapter = GPU_ADAPTER_SOFTWARE}, &e);
    if (!g)
        fail_msg("%s", e.text);
    bool is_lavapipe = strncmp(gpu_get_info(g)->device, "llvmpipe", 8) == 0;
    gpu_close(g);
    if (!is_lavapipe)
        skip();
    memory_size size = memory_size_by_vulkan(MESA, LAVAPIPE);
    assert_true(size.total > 0 && size.free > 0);
    assert_int_equal(memory_size_by_vulkan(MESA, 77).total, 0);
    assert_int_equal(memory_size_by_vulkan(0xfffe, LAVAPIPE).total, 0);
}

/* While a device of WebGPU's is open, and with it the same driver. */
static void test_beside_an_open_device(void **unused)
{
    (void)unused;
    gpu *g = open_or_fail("dawn");
    err e = {0};
    for (int i = 0; i < 3; i++)
        memory_size_by_vulkan(MESA, LAVAPIPE);
    gpu_buffer *b = gpu_buffer_new(g, 16, GPU_USE_STORAGE);
    uint32_t there[4] = {1, 2, 3, 4}, back[4] = {0};
    gpu_write(g, b, 0, there, sizeof there);
    if (!gpu_read_now(g, b, 0, back, sizeof back, &e))
        fail_msg("%s", e.text);
    assert_memory_equal(there, back, sizeof there);
    gpu_buffer_free(b);
    gpu_close(g);
}

static void test_without_a_driver(void **unused)
{
    (void)unused;
    setenv("VK_DRIVER_FILES", "/none", 1);
    setenv("VK_ICD_FILENAMES", "/none", 1);
    memory_size size = memory_size_by_vulkan(MESA, LAVAPIPE);
    assert_true(size.total == 0 && size.free == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_found_by_numbers),
        cmocka_unit_test(test_beside_an_open_device),
        cmocka_unit_test(test_without_a_driver),
    };
    (void)open_dawn, (void)open_wgpu, (void)open_vulkan, (void)close_device;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
