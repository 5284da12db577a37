/* The dispatch experiment where there is little time: as many processes as fit, two at least. */
#include "lab/dispatch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static dispatch_lab measured(const char *impls, double limit_s)
{
    err e = {0};
    dispatch_lab lab;
    if (!dispatch_measure(&lab, &(dispatch_options){.impl_list = impls, .quick = true, .limit_s = limit_s, .seed = 1},
                          &e))
        fail_msg("%s", e.text);
    return lab;
}

static void what_would_take_too_long_is_left_out(void **unused)
{
    (void)unused;
    dispatch_lab lab = measured("stub", 1e-9);
    assert_int_equal(lab.options.processes, 2);
    assert_int_equal(lab.left_out, 2);
    assert_int_equal(lab.options.rounds, 2);
    const measurement *k = dispatch_find(&lab, MEASURE_DISPATCH, "stub", SUBMIT_BATCH, "empty");
    assert_non_null(k);
    assert_int_equal(k->rounds, 2);
    assert_int_equal(k->rounds_per_process, 1);
    assert_int_equal(k->result.n, 2);
    uint32_t points = 0;
    for (uint32_t i = 0; i < lab.measurement_count; i++)
        points += lab.measurements[i].spec.points;
    assert_int_equal(lab.runs, 2 * (points + lab.measurement_count)); /* a process warms up at one length of each */
    dispatch_free(&lab);
}

/* Dawn alone has variants. */
static void variants_are_left_out_where_setting_up_takes_long(void **unused)
{
    (void)unused;
    err e = {0};
    dispatch_lab lab;
    bool here = dispatch_measure(&lab, &(dispatch_options){.impl_list = "dawn", .quick = true, .limit_s = 1e-9}, &e);
    if (!here && e.kind == ERR_NO_GPU)
        skip();
    assert_true(here);
    assert_true(lab.left_out_variants);
    assert_int_equal(lab.device_count, 1);
    dispatch_free(&lab);
}

static void with_time_nothing_is_left_out(void **unused)
{
    (void)unused;
    dispatch_lab lab = measured("stub", 1e9);
    assert_int_equal(lab.options.processes, 4);
    assert_int_equal(lab.left_out, 0);
    assert_false(lab.left_out_variants);
    assert_int_equal(lab.options.rounds, 8);
    dispatch_free(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_would_take_too_long_is_left_out),
        cmocka_unit_test(variants_are_left_out_where_setting_up_takes_long),
        cmocka_unit_test(with_time_nothing_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
