/* What is said beside a published claim: a cost that came out as nothing is no figure. */
#include "lab/dispatch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROUNDS = 4, POINTS = 3 };

/* Costs of `us` a dispatch by the clock, of `host_us` in calls, a little more from round to round by `noise`. */
static void add(dispatch_lab *lab, measurement_name name, submit_policy submit, const char *kernel, double us,
                double noise)
{
    measurement *k = &lab->measurements[lab->measurement_count++];
    *k = (measurement){.spec = {.name = name, .how = {.submit = submit}, .points = POINTS, .n = {16, 32, 64}}};
    strcpy(k->spec.kernel, kernel);
    measurement_prepare(k, ROUNDS, 1);
    for (uint32_t round = 0; round < ROUNDS; round++)
        for (uint32_t point = 0; point < POINTS; point++) {
            double cost = (us + noise * (round - 1.5)) * k->spec.n[point];
            measurement_store(k, round, point, &(measurement_time){.us = cost, .call_us = {cost}});
        }
    measurement_finish(k);
}

/* The claims of a page on one device. */
static void claims_of(double us, double noise, claim claims[CLAIM_COUNT])
{
    dispatch_lab lab = {.options = {.processes = ROUNDS, .rounds = ROUNDS}, .device_count = 1};
    strcpy(lab.devices[0].info.impl, "web");
    lab.measurements = calloc(3, sizeof *lab.measurements);
    add(&lab, MEASURE_HOST, SUBMIT_EACH, "add", us, noise);
    add(&lab, MEASURE_DISPATCH, SUBMIT_SYNC, "empty", 20 * us, 0.01);
    add(&lab, MEASURE_DISPATCH, SUBMIT_BATCH, "empty", us, noise);
    dispatch_claims(&lab, claims);
    dispatch_free(&lab);
}

static void a_cost_has_its_interval(void **unused)
{
    (void)unused;
    claim claims[CLAIM_COUNT];
    claims_of(30, 0.2, claims);
    assert_string_equal(claims[1].here, "web on the host: 30.0 us [29.7 30.3]");
    assert_int_equal(claims[1].verdict, CLAIM_CONFIRMED);
    assert_non_null(strstr(claims[0].here, "web: wait each over one pass: 20.0x ["));
}

static void a_cost_of_nothing_is_no_figure(void **unused)
{
    (void)unused;
    claim claims[CLAIM_COUNT];
    claims_of(-3, 30, claims);
    assert_string_equal(claims[1].here, "web on the host: cannot tell");
    assert_string_equal(claims[0].here, "web: wait each over one pass: cannot tell");
    for (int i = 0; i < CLAIM_COUNT; i++) {
        assert_null(strchr(claims[i].here, '-'));
        assert_int_equal(claims[i].verdict, CLAIM_CANNOT_TELL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cost_has_its_interval),
        cmocka_unit_test(a_cost_of_nothing_is_no_figure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
