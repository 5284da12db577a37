/* src/gpu on every implementation: memory, kernels, errors, counters. */
#include "launch/chain.h"
#include "gpu/devices.h"
#include "gpu/probe.h"
#include "base/str.h"

static void info_is_complete(void **unused)
{
    (void)unused;
    const gpu_info *i = gpu_get_info(device);
    assert_true(i->device[0] && i->vendor[0] && i->driver[0] && i->impl_version[0] && i->backend[0]);
    assert_int_not_equal(i->type, GPU_TYPE_UNKNOWN);
    assert_true(i->max_buffer_bytes >= 256 << 20);
    assert_true(i->max_storage_binding_bytes >= 128 << 20);
    assert_true(i->max_storage_buffers >= 8);
    assert_true(i->max_workgroup_threads >= 256 && i->max_workgroup_bytes >= 16384 && i->max_workgroups >= 65535);
    assert_true(i->uniform_align_bytes >= 4 && i->uniform_align_bytes <= 256);
}

static void features_are_checked_by_use(void **unused)
{
    (void)unused;
    err e = {0};
    assert_true(gpu_check_features(device, &e));
    const gpu_info *i = gpu_get_info(device);
    if (i->has_subgroups)
        assert_true(i->subgroup_min >= 2 && i->subgroup_max >= i->subgroup_min);
    /* Software Vulkan has all of these; a wrong feature number would lose one silently. */
    if (i->type == GPU_TYPE_SOFTWARE)
        assert_true(i->has_subgroups && i->has_timestamps && i->has_packed_dot);
}

static void buffers_start_as_zeros_and_keep_what_is_written(void **unused)
{
    (void)unused;
    enum { WORDS = 1 << 22 };
    err e = {0};
    gpu_buffer *b = gpu_buffer_new(device, WORDS * 4, GPU_USE_STORAGE);
    uint32_t *out = mem_alloc(WORDS * 4), *in = mem_alloc(WORDS * 4);
    memset(in, 0xff, WORDS * 4);
    assert_true(gpu_read_now(device, b, 0, in, WORDS * 4, &e));
    for (int i = 0; i < WORDS; i++)
        assert_int_equal(in[i], 0);
    for (uint32_t i = 0; i < WORDS; i++)
        out[i] = i * 2654435761u;
    gpu_write(device, b, 0, out, WORDS * 4);
    gpu_write(device, b, 40, &(uint32_t){7}, 4);
    out[10] = 7;
    assert_true(gpu_read_now(device, b, 0, in, WORDS * 4, &e));
    assert_memory_equal(in, out, WORDS * 4);
    assert_true(gpu_read_now(device, b, 40, in, 4, &e));
    assert_int_equal(in[0], 7);
    free(in);
    free(out);
    gpu_buffer_free(b);
}

static void copies_stay_in_order(void **unused)
{
    (void)unused;
    err e = {0};
    uint32_t words[4] = {1, 2, 3, 4}, back[4] = {0};
    gpu_buffer *a = gpu_buffer_new(device, 16, GPU_USE_STORAGE), *b = gpu_buffer_new(device, 16, GPU_USE_STORAGE);
    gpu_write(device, a, 0, words, 16);
    gpu_recording *r = gpu_record(device, false);
    gpu_copy(r, a, 0, b, 8, 8);
    gpu_copy(r, b, 8, a, 12, 4);
    gpu_copy(r, a, 12, b, 0, 4);
    gpu_submit(device, gpu_finish(r));
    assert_true(gpu_read_now(device, b, 0, back, 16, &e));
    assert_true(back[0] == 1 && back[1] == 0 && back[2] == 1 && back[3] == 2);
    r = gpu_record(device, false);
    gpu_copy(r, a, 0, a, 8, 8);
    gpu_submit(device, gpu_finish(r));
    assert_false(gpu_wait(device, &e));
    gpu_take_error(device, NULL);
    gpu_buffer_free(a);
    gpu_buffer_free(b);
}

static void note(void *user, bool ok)
{
    *(int *)user = ok ? 1 : -1;
}

static void callbacks_report_the_end(void **unused)
{
    (void)unused;
    int done = 0, read = 0;
    uint32_t word = 9;
    gpu_buffer *b = gpu_buffer_new(device, 4, GPU_USE_STORAGE);
    gpu_when_done(device, note, &done);
    gpu_read(device, b, 0, &word, 4, note, &read);
    for (int i = 0; i < 1000000 && (!done || !read); i++)
        gpu_poll(device);
    assert_int_equal(done, 1);
    assert_int_equal(read, 1);
    assert_int_equal(word, 0);
    gpu_buffer_free(b);
}

static void both_ways_of_waiting_work(void **unused)
{
    (void)unused;
    err e = {0};
    gpu_wait_mode usual = gpu_get_wait_mode(device);
    chain *c = chain_new(device, &chain_empty, 1);
    for (int mode = GPU_WAIT_POLLING; mode <= GPU_WAIT_BLOCKING; mode++) {
        gpu_set_wait_mode(device, mode);
        assert_true(chain_reset(c, 1, &e));
        gpu_recording *r = gpu_record(device, false);
        gpu_pass_begin(r, NULL, 0);
        gpu_set_kernel(r, c->each);
        gpu_set_bindings(r, c->step[0]);
        gpu_dispatch(r, 1, 1, 1);
        gpu_pass_end(r);
        gpu_submit(device, gpu_finish(r));
        assert_true(gpu_wait(device, &e));
        assert_true(chain_check(c, 1, &e));
    }
    gpu_set_wait_mode(device, usual);
    chain_free(c);
}

static void counters_count(void **unused)
{
    (void)unused;
    err e = {0};
    chain *c = chain_new(device, &chain_add, 1);
    assert_true(chain_reset(c, 2, &e));
    gpu_counters before = gpu_get_counters(device);
    gpu_recording *r = gpu_record(device, false);
    for (int pass = 0; pass < 2; pass++) {
        gpu_pass_begin(r, NULL, 0);
        gpu_set_kernel(r, c->each);
        gpu_set_bindings(r, c->step[pass]);
        gpu_dispatch(r, 16, 1, 1);
        gpu_pass_end(r);
    }
    gpu_submit(device, gpu_finish(r));
    assert_true(chain_check(c, 2, &e));
    gpu_part parts[CHAIN_BINDINGS];
    chain_parts(c, 0, parts);
    gpu_bindings_free(gpu_bindings_new(device, c->each, parts, CHAIN_BINDINGS));
    gpu_write(device, c->grid, 0, &(uint32_t){1}, 4);
    gpu_counters n = gpu_counters_since(device, before);
    assert_true(n.dispatches == 2 && n.passes == 2 && n.submits == 1 && n.bind_groups == 1);
    assert_true(n.bytes_written == 4 && n.bytes_read == 4096);
    chain_free(c);
}

/* ---- errors -------------------------------------------------------------- */

static void expect_error(const char *part)
{
    err e = {0}, again = {0};
    assert_false(gpu_wait(device, &e));
    assert_non_null(strstr(e.text, part));
    assert_null(strchr(e.text, '\n'));
    assert_false(gpu_ok(device, &again));
    uint32_t word;
    gpu_buffer *b = gpu_buffer_new(device, 4, GPU_USE_STORAGE);
    assert_false(gpu_read_now(device, b, 0, &word, 4, &again));
    gpu_take_error(device, &again);
    assert_string_equal(again.text, e.text);
    gpu_buffer_free(b);
    /* Taken, the device works again. */
    err none = {0};
    assert_true(gpu_wait(device, &none));
}

static void a_shader_error_names_its_line(void **unused)
{
    (void)unused;
    static const gpu_source broken = {.name = "broken",
                                      .wgsl = "@group(0) @binding(0) var<storage, read_write> r: array<u32>;\n"
                                              "@compute @workgroup_size(1)\n"
                                              "fn main() {\n"
                                              "    r[0] = nothing_of_the_kind + 1u;\n"
                                              "}\n"};
    gpu_kernel *k = gpu_kernel_new(
        device,
        &(gpu_kernel_desc){.source = &broken, .entry = "main", .binding_count = 1, .bindings = {GPU_BIND_WRITE}});
    err e = {0};
    assert_false(gpu_ok(device, &e));
    assert_non_null(strstr(e.text, "kernel 'broken', WGSL line 4: "));
    assert_non_null(strstr(e.text, "\"r[0] = nothing_of_the_kind + 1u;\""));
    expect_error("nothing_of_the_kind");
    gpu_kernel_free(k);
}

static void a_missing_entry_point_is_an_error(void **unused)
{
    (void)unused;
    gpu_kernel *k = gpu_kernel_new(
        device, &(gpu_kernel_desc){.source = chain_add.source,
                                   .entry = "nobody",
                                   .binding_count = CHAIN_BINDINGS,
                                   .bindings = {GPU_BIND_UNIFORM, GPU_BIND_READ, GPU_BIND_WRITE, GPU_BIND_WRITE}});
    expect_error("nobody");
    gpu_kernel_free(k);
}

static void a_kernel_without_spirv_is_an_error(void **unused)
{
    (void)unused;
    static const gpu_source only_wgsl = {.name = "only-wgsl", .wgsl = "@compute @workgroup_size(1) fn main() {}"};
    gpu_kernel *k = gpu_kernel_new(device, &(gpu_kernel_desc){.source = &only_wgsl, .entry = "main"});
    expect_error("only-wgsl");
    gpu_kernel_free(k);
}

static void a_binding_too_large_is_an_error(void **unused)
{
    (void)unused;
    uint64_t limit = gpu_get_info(device)->max_storage_binding_bytes;
    if (limit >= gpu_get_info(device)->max_buffer_bytes || limit > 1u << 30)
        skip(); /* no buffer of this device is larger than what can be bound */
    gpu_buffer *b = gpu_buffer_new(device, limit + 4, GPU_USE_STORAGE);
    chain *c = chain_new(device, &chain_empty, 1);
    gpu_part parts[CHAIN_BINDINGS];
    chain_parts(c, 0, parts);
    parts[1] = (gpu_part){.buffer = b};
    gpu_bindings *bindings = gpu_bindings_new(device, c->each, parts, CHAIN_BINDINGS);
    expect_error("larger than this device allows");
    gpu_bindings_free(bindings);
    chain_free(c);
    gpu_buffer_free(b);
}

/* This one only the library itself checks. */
static void the_librarys_own_validation_is_reported(void **unused)
{
    (void)unused;
    chain *c = chain_new(device, &chain_empty, 1);
    gpu_part parts[CHAIN_BINDINGS];
    chain_parts(c, 0, parts);
    parts[0].offset = 4; /* not a uniform buffer's alignment */
    gpu_bindings *bindings = gpu_bindings_new(device, c->each, parts, CHAIN_BINDINGS);
    expect_error("align");
    gpu_bindings_free(bindings);
    chain_free(c);
}

static void a_buffer_too_large_is_an_error(void **unused)
{
    (void)unused;
    gpu_buffer *b = gpu_buffer_new(device, UINT64_MAX / 8 * 4, GPU_USE_STORAGE);
    expect_error("larger than this device allows");
    gpu_buffer_free(b);
    b = gpu_buffer_new(device, 6, GPU_USE_STORAGE);
    expect_error("multiple of 4");
    gpu_buffer_free(b);
}

static void reads_and_writes_stay_inside(void **unused)
{
    (void)unused;
    uint32_t words[4] = {0};
    gpu_buffer *b = gpu_buffer_new(device, 8, GPU_USE_STORAGE);
    gpu_write(device, b, 4, words, 8);
    expect_error("does not fit");
    gpu_write(device, b, UINT64_MAX - 3, words, 8);
    expect_error("does not fit");
    err e = {0};
    assert_false(gpu_read_now(device, b, 8, words, 4, &e));
    expect_error("does not fit");
    gpu_buffer_free(b);
}

static void a_lost_device_fails_everything_and_crashes_nothing(void **unused)
{
    (void)unused;
    err e = {0};
    uint32_t word = 0;
    gpu *g = open_or_fail(gpu_get_info(device)->impl);
    chain *c = chain_new(g, &chain_add, 1);
    gpu_lose(g);
    assert_false(gpu_wait(g, &e));
    assert_non_null(strstr(e.text, "device lost"));
    assert_false(gpu_read_now(g, c->state, 0, &word, 4, NULL));
    assert_false(chain_reset(c, 1, NULL));
    gpu_recording *r = gpu_record(g, false);
    gpu_pass_begin(r, NULL, 0);
    gpu_set_kernel(r, c->each);
    gpu_set_bindings(r, c->step[0]);
    gpu_dispatch(r, 1, 1, 1);
    gpu_pass_end(r);
    gpu_submit(g, gpu_finish(r));
    assert_false(gpu_wait(g, NULL));
    gpu_take_error(g, &e);
    assert_false(gpu_wait(g, NULL)); /* a loss cannot be taken away */
    chain *late = chain_new(g, &chain_add, 1);
    chain_free(late);
    chain_free(c);
    gpu_close(g);
}

static void asking_for_a_gpu_refuses_software(void **unused)
{
    (void)unused;
    if (gpu_get_info(device)->type != GPU_TYPE_SOFTWARE)
        skip();
    err e = {0};
    assert_null(gpu_open_now(&(gpu_choice){.impl = gpu_get_info(device)->impl, .adapter = GPU_ADAPTER_GPU}, &e));
    assert_int_equal(e.kind, ERR_NO_GPU);
    assert_non_null(strstr(e.text, gpu_get_info(device)->impl));
}

/* ---- once, not on each --------------------------------------------------- */

static void two_libraries_work_in_one_process(void **unused)
{
    (void)unused;
    err e = {0};
    gpu *dawn = open_or_fail("dawn"), *wgpu = open_or_fail("wgpu");
    chain *a = chain_new(dawn, &chain_add, 1), *b = chain_new(wgpu, &chain_add, 1);
    for (int i = 0; i < 3; i++) {
        assert_true(chain_reset(a, 0, &e) && chain_reset(b, 0, &e));
        assert_true(chain_check(a, 0, &e) && chain_check(b, 0, &e));
    }
    chain_free(a);
    chain_free(b);
    gpu_close(dawn);
    gpu_close(wgpu);
}

static void choices_that_cannot_work_say_why(void **unused)
{
    (void)unused;
    err e = {0};
    assert_null(gpu_open_now(&(gpu_choice){.impl = "metal9"}, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    assert_non_null(strstr(e.text, "unknown implementation 'metal9'"));
    err_clear(&e);
    assert_null(gpu_open_now(&(gpu_choice){.impl = "/no/such/libwebgpu.so"}, &e));
    assert_non_null(strstr(e.text, "/no/such/libwebgpu.so: no such library"));
    err_clear(&e);
    assert_null(gpu_open_now(&(gpu_choice){.impl = "/etc/passwd"}, &e));
    assert_non_null(strstr(e.text, "not a library that loads"));
    err_clear(&e);
    assert_null(gpu_open_now(&(gpu_choice){.impl = "wgpu", .no_validation = true}, &e));
    assert_non_null(strstr(e.text, "in Dawn only"));
}

static void dawn_opens_without_its_safety(void **unused)
{
    (void)unused;
    for (int i = 1; i < 4; i++) {
        err e = {0};
        gpu *g = gpu_open_now(&(gpu_choice){.impl = "dawn", .no_validation = i & 1, .no_robustness = i & 2}, &e);
        assert_non_null(g);
        gpu_close(g);
    }
}

static void the_stub_computes_nothing(void **unused)
{
    (void)unused;
    err e = {0};
    uint32_t word = 0;
    gpu *g = open_or_fail("stub");
    gpu_buffer *b = gpu_buffer_new(g, 4, GPU_USE_STORAGE);
    gpu_write(g, b, 0, &(uint32_t){5}, 4);
    assert_true(gpu_read_now(g, b, 0, &word, 4, &e));
    assert_int_equal(word, 5);
    chain *c = chain_new(g, &chain_empty, 1);
    assert_true(chain_reset(c, 1, &e));
    assert_false(chain_check(c, 1, &e));
    chain_free(c);
    gpu_buffer_free(b);
    gpu_close(g);
}

int main(void)
{
    const struct CMUnitTest each[] = {
        cmocka_unit_test(info_is_complete),
        cmocka_unit_test(features_are_checked_by_use),
        cmocka_unit_test(buffers_start_as_zeros_and_keep_what_is_written),
        cmocka_unit_test(copies_stay_in_order),
        cmocka_unit_test(callbacks_report_the_end),
        cmocka_unit_test(both_ways_of_waiting_work),
        cmocka_unit_test(counters_count),
        cmocka_unit_test(a_binding_too_large_is_an_error),
        cmocka_unit_test(a_buffer_too_large_is_an_error),
        cmocka_unit_test(reads_and_writes_stay_inside),
        cmocka_unit_test(a_lost_device_fails_everything_and_crashes_nothing),
        cmocka_unit_test(asking_for_a_gpu_refuses_software),
    };
    const struct CMUnitTest webgpu[] = {
        cmocka_unit_test(a_shader_error_names_its_line),
        cmocka_unit_test(a_missing_entry_point_is_an_error),
        cmocka_unit_test(the_librarys_own_validation_is_reported),
    };
    const struct CMUnitTest vulkan[] = {
        cmocka_unit_test(a_kernel_without_spirv_is_an_error),
    };
    const struct CMUnitTest once[] = {
        cmocka_unit_test(two_libraries_work_in_one_process),
        cmocka_unit_test(choices_that_cannot_work_say_why),
        cmocka_unit_test(dawn_opens_without_its_safety),
        cmocka_unit_test(the_stub_computes_nothing),
    };
    return RUN_ON_EACH(each) + cmocka_run_group_tests_name("dawn", webgpu, open_dawn, close_device) +
           cmocka_run_group_tests_name("wgpu", webgpu, open_wgpu, close_device) +
           cmocka_run_group_tests_name("vulkan", vulkan, open_vulkan, close_device) +
           cmocka_run_group_tests(once, NULL, NULL);
}
