/* Outlines of real models, on GPUs that are only described: what the tests of workgroup memory share. */
#ifndef SOLO_TEST_OUTLINES_H
#define SOLO_TEST_OUTLINES_H

#include "gpu/gpu.h"
#include "model/synth_test.h"
#include "temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* As a GPU of this kind says it; the device itself does nothing. */
static gpu *open_device(uint32_t workgroup_kib, uint32_t subgroup)
{
    err e = {0};
    gpu *g = gpu_open_now(&(gpu_choice){.impl = "stub"}, &e);
    if (!g)
        fail_msg("%s", e.text);
    gpu_info *info = (gpu_info *)gpu_get_info(g);
    info->max_storage_binding_bytes = info->max_buffer_bytes = UINT32_MAX;
    info->max_storage_buffers = 10;
    info->max_workgroup_bytes = workgroup_kib << 10;
    info->max_workgroup_threads = 1024;
    info->has_packed_dot = true;
    info->has_subgroups = subgroup > 0;
    info->subgroup_min = info->subgroup_max = subgroup;
    return g;
}

static char path[TEMPORARY_BYTES]; /* of the outline */

static int make_path(void **state)
{
    (void)state;
    int file = temporary_file(path, "outline");
    return file < 0 || close(file) != 0;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static void make_outline(const char *preset, const char *type, uint32_t layers)
{
    err e = {0};
    if (!synth_outline(preset, type, layers, path, &e))
        fail_msg("%s %s: %s", preset, type, e.text);
}

#endif
