/* The launch strategies on every implementation: all give the CPU's answer,
 * and failed work has no time. */
#include "gpu/devices.h"
#include "lab/launch.h"

static bool is_webgpu(void)
{
    const char *family = gpu_get_info(device)->family;
    return strcmp(family, "dawn") == 0 || strcmp(family, "wgpu") == 0;
}

static const chain_kind *const KINDS[] = {&chain_empty, &chain_add, &chain_rmsnorm, &chain_gemv};

static chain *chain_or_fail(const chain_kind *kind, uint32_t workgroups)
{
    err e = {0};
    chain *c = chain_new(device, kind, workgroups);
    if (!gpu_wait(device, &e))
        fail_msg("%s", e.text);
    return c;
}

static void run_or_fail(chain *c, launch how, uint32_t steps, launch_time *t)
{
    err e = {0};
    if (!launch_run(c, &how, steps, t, &e))
        fail_msg("%s", e.text);
    assert_true(t->total_us > 0);
}

static void every_strategy_gives_the_cpus_answer(void **unused)
{
    (void)unused;
    static const uint32_t lengths[] = {1, 2, 3, 16, 33};
    for (int k = 0; k < 4; k++) {
        chain *c = chain_or_fail(KINDS[k], 1);
        for (int s = SUBMIT_SYNC; s < SUBMIT_COUNT; s++)
            for (int i = 0; i < 5; i++) {
                launch_time t;
                run_or_fail(c, (launch){.submit = s}, lengths[i], &t);
            }
        chain_free(c);
    }
}

static void strategies_make_the_calls_they_say(void **unused)
{
    (void)unused;
    static const struct {
        submit_policy submit;
        uint64_t dispatches, passes, submits;
    } expected[] = {
        {SUBMIT_SYNC, 10, 10, 10}, {SUBMIT_EACH, 10, 10, 10}, {SUBMIT_PASS, 10, 10, 1},
        {SUBMIT_BATCH, 10, 1, 1},  {SUBMIT_ONE, 1, 1, 1},
    };
    chain *c = chain_or_fail(&chain_add, 1);
    launch_time t;
    for (int i = 0; i < 5; i++) {
        run_or_fail(c, (launch){.submit = expected[i].submit}, 10, &t);
        assert_int_equal(t.counted.dispatches, expected[i].dispatches);
        assert_int_equal(t.counted.passes, expected[i].passes);
        assert_int_equal(t.counted.submits, expected[i].submits);
        assert_int_equal(t.counted.bind_groups, 0); /* made once, not per dispatch */
        assert_int_equal(t.counted.bytes_written, 0);
    }
    run_or_fail(c, (launch){.submit = SUBMIT_BATCH, .submits = 4}, 10, &t);
    assert_int_equal(t.counted.submits, 4);
    assert_int_equal(t.counted.dispatches, 10);
    chain_free(c);
}

static void patterns_give_the_same_answer(void **unused)
{
    (void)unused;
    chain *c = chain_or_fail(&chain_add, 1);
    for (int h = 0; h < PATTERN_COUNT; h++) {
        launch how = {.submit = SUBMIT_BATCH, .pattern = h};
        launch_time t;
        if (!launch_possible(gpu_get_info(device), &how))
            continue;
        run_or_fail(c, how, 20, &t);
        if (h == PATTERN_BIND_GROUP)
            assert_int_equal(t.counted.bind_groups, 20);
        if (h == PATTERN_PARAM_WRITE)
            assert_int_equal(t.counted.bytes_written, 20 * sizeof(chain_params));
    }
    chain_free(c);
}

static void replay_is_for_those_who_can(void **unused)
{
    (void)unused;
    launch how = {.submit = SUBMIT_BATCH, .pattern = PATTERN_REPLAY};
    assert_int_equal(launch_possible(gpu_get_info(device), &how), !is_webgpu());
    if (!is_webgpu())
        return;
    err e = {0};
    gpu_recording *r = gpu_record(device, true);
    gpu_submit(device, gpu_finish(r));
    assert_false(gpu_wait(device, &e));
    assert_non_null(strstr(e.text, "cannot be submitted twice"));
    gpu_take_error(device, NULL);
}

static void calls_and_device_are_timed(void **unused)
{
    (void)unused;
    chain *c = chain_or_fail(&chain_rmsnorm, 1);
    launch_time t;
    run_or_fail(c, (launch){.submit = SUBMIT_SYNC, .time_calls = true}, 10, &t);
    double sum = 0;
    for (int i = 0; i < CALL_COUNT; i++)
        sum += t.call_us[i];
    assert_true(t.call_us[CALL_SUBMIT] > 0 && t.call_us[CALL_WAIT] > 0);
    assert_true(sum <= t.total_us * 1.05);
    run_or_fail(c, (launch){.submit = SUBMIT_BATCH, .time_device = true}, 50, &t);
    assert_true(t.device_us > 0);
    chain_free(c);
}

/* A wait that returns early would make all work look fast: in both ways of
 * waiting, the time taken must cover what the device's own clock says. */
static void waits_wait(void **unused)
{
    (void)unused;
    chain *c = chain_or_fail(&chain_rmsnorm, 1);
    for (int other = 0; other < 2; other++)
        for (int s = SUBMIT_SYNC; s < SUBMIT_COUNT; s++) {
            launch_time t;
            run_or_fail(c, (launch){.submit = s, .time_device = true, .other_wait = other}, 300, &t);
            assert_true(t.device_us > 0 && t.device_us <= t.total_us * 1.01);
        }
    chain_free(c);
}

/* Two workgroups that wait for each other, where two are resident. */
static void the_grid_barrier_holds(void **unused)
{
    (void)unused;
    chain *c = chain_or_fail(&chain_neighbours, 2);
    err e = {0};
    launch_time t;
    if (!launch_run(c, &(launch){.submit = SUBMIT_ONE}, 50, &t, &e)) {
        /* One core: only one workgroup is resident, and the barrier must say so. */
        assert_non_null(strstr(e.text, "timed out"));
        skip();
    }
    chain_free(c);
}

static void too_many_workgroups_time_out_and_are_reported(void **unused)
{
    (void)unused;
    if (gpu_get_info(device)->type != GPU_TYPE_SOFTWARE)
        skip();
    chain *c = chain_or_fail(&chain_neighbours, 1024);
    err e = {0};
    launch_time t;
    c->spin_limit = 20000;
    assert_false(launch_run(c, &(launch){.submit = SUBMIT_ONE}, 5, &t, &e));
    assert_non_null(strstr(e.text, "timed out with 1024 workgroups"));
    assert_true(t.total_us == 0);
    chain_free(c);
}

static void a_wrong_answer_is_noticed(void **unused)
{
    (void)unused;
    for (int k = 0; k < 4; k++) {
        chain *c = chain_or_fail(KINDS[k], 1);
        launch_time t;
        err e = {0};
        run_or_fail(c, (launch){.submit = SUBMIT_BATCH}, 8, &t);
        assert_true(chain_check(c, 8, &e));
        assert_false(chain_check(c, 6, &e));
        assert_non_null(strstr(e.text, "wrong result"));
        chain_free(c);
    }
}

/* ---- failed work has no time --------------------------------------------- */

static void expect_no_time(chain *c, const char *part)
{
    for (int s = SUBMIT_SYNC; s < SUBMIT_COUNT; s++) {
        err e = {0};
        launch_time t = {.total_us = 1};
        assert_false(launch_run(c, &(launch){.submit = s, .time_calls = true}, 100, &t, &e));
        assert_true(t.total_us == 0 && t.call_us[CALL_SUBMIT] == 0);
        assert_non_null(strstr(e.text, part));
    }
}

static void a_shader_that_does_not_compile_has_no_time(void **unused)
{
    (void)unused;
    static const gpu_source broken = {.name = "broken", .wgsl = "fn each() { this is not WGSL }"};
    chain_kind kind = chain_add;
    kind.source = &broken;
    chain *c = chain_new(device, &kind, 1);
    expect_no_time(c, "broken");
    gpu_take_error(device, NULL);
    chain_free(c);
}

static void a_binding_too_large_has_no_time(void **unused)
{
    (void)unused;
    uint64_t limit = gpu_get_info(device)->max_storage_binding_bytes;
    if (limit >= gpu_get_info(device)->max_buffer_bytes || limit > 1u << 30)
        skip();
    chain_kind kind = chain_add;
    kind.weight_count = (uint32_t)(limit / 4 + 1);
    chain *c = chain_new(device, &kind, 1);
    expect_no_time(c, "larger than this device allows");
    gpu_take_error(device, NULL);
    chain_free(c);
}

static void a_destroyed_device_has_no_time(void **unused)
{
    (void)unused;
    gpu *kept = device;
    device = open_or_fail(gpu_get_info(kept)->impl);
    chain *c = chain_or_fail(&chain_add, 1);
    launch_time t;
    run_or_fail(c, (launch){.submit = SUBMIT_BATCH}, 5, &t);
    gpu_lose(device);
    expect_no_time(c, "device lost");
    chain_free(c);
    gpu_close(device);
    device = kept;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_strategy_gives_the_cpus_answer),
        cmocka_unit_test(strategies_make_the_calls_they_say),
        cmocka_unit_test(patterns_give_the_same_answer),
        cmocka_unit_test(replay_is_for_those_who_can),
        cmocka_unit_test(calls_and_device_are_timed),
        cmocka_unit_test(waits_wait),
        cmocka_unit_test(the_grid_barrier_holds),
        cmocka_unit_test(too_many_workgroups_time_out_and_are_reported),
        cmocka_unit_test(a_wrong_answer_is_noticed),
        cmocka_unit_test(a_shader_that_does_not_compile_has_no_time),
        cmocka_unit_test(a_binding_too_large_has_no_time),
        cmocka_unit_test(a_destroyed_device_has_no_time),
    };
    return RUN_ON_EACH(tests);
}
