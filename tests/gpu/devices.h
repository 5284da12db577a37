/* The implementations the GPU tests run on: all that `make test` sets up. One
 * that is missing is a failure, except CUDA, which needs its own hardware. */
#ifndef SOLO_TEST_DEVICES_H
#define SOLO_TEST_DEVICES_H

#include "gpu/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static gpu *open_or_fail(const char *impl)
{
    err e = {0};
    gpu *g = gpu_open_now(&(gpu_choice){.impl = impl}, &e);
    if (!g)
        fail_msg("%s", e.text);
    return g;
}

/* The device of the group of tests that runs now. */
static gpu *device;

static int open_dawn(void **unused)
{
    (void)unused;
    device = open_or_fail("dawn");
    return 0;
}

static int open_wgpu(void **unused)
{
    (void)unused;
    device = open_or_fail("wgpu");
    return 0;
}

static int open_vulkan(void **unused)
{
    (void)unused;
    device = open_or_fail("vulkan");
    return 0;
}

static int close_device(void **unused)
{
    (void)unused;
    gpu_close(device);
    device = NULL;
    return 0;
}

/* The same tests on each; the result is the number that failed. */
#define RUN_ON_EACH(tests) \
    (cmocka_run_group_tests_name("dawn", tests, open_dawn, close_device) + \
     cmocka_run_group_tests_name("wgpu", tests, open_wgpu, close_device) + \
     cmocka_run_group_tests_name("vulkan", tests, open_vulkan, close_device))

#endif
