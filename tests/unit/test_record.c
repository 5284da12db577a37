/* Reading records: good ones, and every kind of bad one a file can hold. */
#include "base/str.h"
#include "lab/record_read.h"
#include "lab/report.h"
#include "temporary.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char small[] =
    "{\"schema\":\"solo-record-1\",\"solo\":{\"version\":\"0.1.0\",\"commit\":\"abc1234\"},"
    "\"when\":\"2026-01-31T12:00:00Z\",\"host\":{\"os\":\"Linux\",\"cpu\":\"C\",\"cores\":2},"
    "\"gpus\":[{\"impl\":\"dawn\",\"device\":\"D\",\"features\":{\"f16\":true,\"x\":false,\"subgroup_size\":[8,16]},"
    "\"copy_gbps\":null}],\"clock_ns\":1,\"experiment\":\"dispatch\",\"unknown\":[1,{\"a\":2}],"
    "\"results\":[{\"name\":\"dispatch\",\"params\":{\"submit\":\"batch\",\"impl\":\"dawn\",\"n\":4,\"on\":true},"
    "\"unit\":\"us\",\"samples\":[3,1,2],\"points\":[[1,10],[2,20.5]],\"r2\":null}],"
    "\"checks\":[{\"what\":\"w\",\"ok\":true,\"detail\":\"d\"}],"
    "\"claims\":[{\"claim\":\"c\",\"said_by\":\"s\",\"here\":\"h\",\"verdict\":\"partly\"}]}";

static bool parse(const char *text, record_view *view, err *e)
{
    *e = (err){0};
    return record_view_parse(view, "f.json", text, strlen(text), e);
}

/* Refused, and the error names the file and `part`. */
static void assert_refused(const char *text, const char *part)
{
    record_view view;
    err e;
    assert_false(parse(text, &view, &e));
    assert_null(view.blocks);
    assert_int_equal(e.kind, ERR_FAILED);
    if (strncmp(e.text, "f.json: ", 8) != 0 || !strstr(e.text, part))
        fail_msg("\"%s\" does not mention \"%s\"", e.text, part);
}

/* A record whose only result has these members after its name. */
static void assert_result_refused(const char *members, const char *part)
{
    str text = {0};
    str_addf(&text, "{\"schema\":\"solo-record-1\",\"results\":[{\"name\":\"tg128\",%s}]}", members);
    assert_refused(text.data, part);
    str_free(&text);
}

static void reads_a_record(void **state)
{
    (void)state;
    record_view view;
    err e;
    assert_true(parse(small, &view, &e));
    assert_string_equal(view.version, "0.1.0");
    assert_string_equal(view.commit, "abc1234");
    assert_true(view.cores == 2 && view.clock_ns == 1 && isnan(view.clock_cost_ns));
    assert_int_equal(view.gpu_count, 1);
    assert_string_equal(view.gpus[0].impl, "dawn");
    assert_string_equal(view.gpus[0].features, "f16, subgroup_size 8–16");
    assert_string_equal(view.gpus[0].driver, "");
    assert_true(isnan(view.gpus[0].copy_gbps));
    assert_int_equal(view.check_count, 1);
    assert_true(view.checks[0].ok);
    assert_string_equal(view.claims[0].verdict, "partly");
    record_view_free(&view);
}

static void whole_numbers_keep_their_digits(void **state)
{
    (void)state;
    record_view view;
    err e;
    assert_true(parse(
        "{\"schema\":\"solo-record-1\",\"results\":[{\"name\":\"x\",\"params\":{\"seed\":772933621123,\"sigma\":0.1,"
        "\"huge\":1e300},\"unit\":\"us\",\"samples\":[1]}]}",
        &view, &e));
    assert_string_equal(view.results[0].identity, "x huge=1e+300 seed=772933621123 sigma=0.1");
    record_view_free(&view);
}

static void reads_a_result(void **state)
{
    (void)state;
    record_view view;
    err e;
    assert_true(parse(small, &view, &e));
    const view_result *r = &view.results[0];
    assert_string_equal(r->identity, "dispatch impl=dawn n=4 on=true submit=batch");
    assert_string_equal(view_param_text(r, "submit"), "batch");
    assert_string_equal(view_param_text(r, "nothing"), "");
    assert_true(view_param_number(r, "n") == 4 && isnan(view_param_number(r, "impl")));
    assert_int_equal(r->n, 3);
    assert_true(r->median == 2); /* not in the file: worked out */
    assert_true(r->ci95[0] >= 1 && r->ci95[1] <= 3);
    assert_true(isnan(r->r2) && isnan(r->intercept));
    assert_int_equal(r->point_count, 2);
    assert_true(r->x[1] == 2 && r->y[1] == 20.5);
    record_view_free(&view);
}

static void identity_cannot_be_forged(void **state)
{
    (void)state;
    record_view view;
    err e;
    assert_true(parse("{\"schema\":\"solo-record-1\",\"results\":["
                      "{\"name\":\"a\",\"params\":{\"x\":\"1 y=2\"},\"samples\":[1]},"
                      "{\"name\":\"a\",\"params\":{\"x\":\"1\",\"y\":2},\"samples\":[1]}]}",
                      &view, &e));
    assert_string_equal(view.results[0].identity, "a x=\"1 y=2\"");
    assert_string_equal(view.results[1].identity, "a x=1 y=2");
    record_view_free(&view);
}

static void control_characters_become_spaces(void **state)
{
    (void)state;
    record_view view;
    err e;
    assert_true(parse("{\"schema\":\"solo-record-1\",\"when\":\"a\\u001b[31m\\u009bb\\n\",\"results\":[]}", &view, &e));
    assert_string_equal(view.when, "a [31m  b ");
    record_view_free(&view);
}

static void gpu_stands_in_for_gpus(void **state)
{
    (void)state;
    record_view view;
    err e;
    assert_true(parse("{\"schema\":\"solo-record-1\",\"gpu\":{\"device\":\"D\"},\"results\":[]}", &view, &e));
    assert_int_equal(view.gpu_count, 1);
    assert_string_equal(view.gpus[0].device, "D");
    record_view_free(&view);
}

static void refuses_every_truncation(void **state)
{
    (void)state;
    for (size_t length = 0; length + 1 < sizeof small; length++) {
        record_view view;
        err e = {0};
        assert_false(record_view_parse(&view, "f.json", small, length, &e));
        assert_non_null(strstr(e.text, "f.json: not JSON: line "));
    }
}

/* Every byte of a good record replaced: read or refused, never a crash. */
static void survives_every_changed_byte(void **state)
{
    (void)state;
    static const char tries[] = {'"', '[', '}', '0', '-', 'e', '\\', '\0', '\x1b', '\xff'};
    char text[sizeof small];
    for (size_t i = 0; i + 1 < sizeof small; i++)
        for (size_t k = 0; k < sizeof tries; k++) {
            record_view view;
            err e = {0};
            memcpy(text, small, sizeof small);
            text[i] = tries[k];
            if (record_view_parse(&view, "f.json", text, sizeof small - 1, &e))
                record_view_free(&view);
            else
                assert_int_equal(e.kind, ERR_FAILED);
            assert_null(strpbrk(e.text, "\x1b\n"));
        }
}

static void refuses_what_is_not_a_record(void **state)
{
    (void)state;
    assert_refused("", "not JSON: line 1");
    assert_refused("hello", "not JSON: line 1");
    assert_refused("[]", "must be an object");
    assert_refused("{}", "\"schema\" is missing");
    assert_refused("{\"schema\":1}", "\"schema\" must be a string");
    assert_refused("{\"schema\":\"solo-record-2\"}", "solo-record-2");
    assert_refused("{\"schema\":\"solo-record-1\"}", "\"results\" is missing");
    assert_refused("{\"schema\":\"solo-record-1\",\"schema\":\"solo-record-1\"}", "duplicate");
    assert_refused("{\"schema\":\"solo-record-1\"}{}", "not JSON");
}

static void refuses_wrong_types(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"\"solo\":1", "\"solo\""},
        {"\"solo\":{\"version\":1}", "\"version\""},
        {"\"when\":{}", "\"when\""},
        {"\"host\":[]", "\"host\""},
        {"\"host\":{\"cores\":\"2\"}", "\"cores\""},
        {"\"gpus\":{}", "\"gpus\""},
        {"\"gpus\":[1]", "gpus[0]"},
        {"\"gpus\":[{\"impl\":1}]", "gpus[0]: \"impl\""},
        {"\"gpu\":[]", "\"gpu\""},
        {"\"clock_ns\":\"1\"", "\"clock_ns\""},
        {"\"params\":[]", "\"params\""},
        {"\"checks\":[{\"ok\":1}]", "checks[0]: \"ok\""},
        {"\"checks\":3", "\"checks\""},
        {"\"claims\":[[]]", "claims[0]"},
        {"\"results\":{}", "\"results\""},
        {"\"results\":[null]", "results[0]"},
        {"\"results\":[{}]", "\"name\""},
        {"\"gpus\":[{\"features\":1}]", "\"features\""},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        bool has_results = strstr(pairs[i][0], "\"results\"") != NULL;
        str text = {0};
        str_addf(&text, "{\"schema\":\"solo-record-1\",%s%s}", pairs[i][0], has_results ? "" : ",\"results\":[]");
        assert_refused(text.data, pairs[i][1]);
        str_free(&text);
    }
}

static void refuses_bad_results_by_name(void **state)
{
    (void)state;
    assert_result_refused("\"unit\":\"us\"", "results[0] (tg128): \"samples\" is missing");
    assert_result_refused("\"samples\":[]", "\"samples\" is empty");
    assert_result_refused("\"samples\":[1,null]", "(tg128): \"samples[1]\" is null");
    assert_result_refused("\"samples\":[1,\"2\"]", "\"samples[1]\" must be a number");
    assert_result_refused("\"samples\":7", "\"samples\" must be an array");
    assert_result_refused("\"samples\":[1],\"unit\":7", "\"unit\"");
    assert_result_refused("\"samples\":[1],\"params\":7", "\"params\"");
    assert_result_refused("\"samples\":[1],\"points\":[[1]]", "\"points[0]\"");
    assert_result_refused("\"samples\":[1],\"points\":[3]", "\"points[0]\"");
    assert_result_refused("\"samples\":[1],\"ci95\":[1]", "\"ci95\"");
    assert_result_refused("\"samples\":[1],\"ci95\":[1,\"x\"]", "\"ci95\"");
    assert_result_refused("\"samples\":[1],\"median\":[]", "\"median\"");
    assert_result_refused("\"samples\":[1e999]", "not JSON");
    assert_result_refused("\"samples\":[NaN]", "not JSON");
    assert_result_refused("\"samples\":[1],\"samples\":[1]", "duplicate");
}

static void refuses_deep_nesting(void **state)
{
    (void)state;
    str text = {0};
    str_add(&text, "{\"schema\":\"solo-record-1\",\"results\":");
    for (int i = 0; i < 200000; i++)
        str_add(&text, "[");
    assert_refused(text.data, "not JSON");
    str_free(&text);
}

static void refuses_too_many_samples(void **state)
{
    (void)state;
    str text = {0};
    str_add(&text, "\"samples\":[1");
    for (int i = 0; i < RECORD_MAX_SAMPLES; i++)
        str_add(&text, ",1");
    str_add(&text, "]");
    assert_result_refused(text.data, "\"samples\" has more than");
    str_free(&text);
}

static void refuses_too_many_samples_together(void **state)
{
    (void)state;
    str text = {0};
    str_add(&text, "{\"schema\":\"solo-record-1\",\"results\":[");
    for (int i = 0; i <= RECORD_MAX_ALL / RECORD_MAX_SAMPLES; i++) {
        str_addf(&text, "%s{\"name\":\"r%d\",\"samples\":[1", i ? "," : "", i);
        for (int k = 1; k < RECORD_MAX_SAMPLES; k++)
            str_add(&text, ",1");
        str_add(&text, "]}");
    }
    str_add(&text, "]}");
    assert_refused(text.data, "more than 250000 entries together");
    str_free(&text);
}

static void refuses_too_many_results(void **state)
{
    (void)state;
    str text = {0};
    str_add(&text, "{\"schema\":\"solo-record-1\",\"results\":[0");
    for (int i = 0; i < RECORD_MAX_RESULTS; i++)
        str_add(&text, ",0");
    str_add(&text, "]}");
    assert_refused(text.data, "\"results\" has more than");
    str_free(&text);
}

static void loads_from_a_file(void **state)
{
    (void)state;
    char path[TEMPORARY_BYTES];
    int fd = temporary_file(path, "record");
    assert_true(fd >= 0);
    assert_int_equal(write(fd, small, sizeof small - 1), sizeof small - 1);
    close(fd);
    record_view view;
    err e = {0};
    assert_true(record_view_load(&view, path, &e));
    assert_int_equal(view.result_count, 1);
    record_view_free(&view);
    unlink(path);
    assert_false(record_view_load(&view, path, &e));
    assert_non_null(strstr(e.text, path));
}

/* Numbers at the edges of what JSON can say must not upset a chart. */
static void page_survives_extreme_numbers(void **state)
{
    (void)state;
    static const char *const values[] = {"0", "-1", "1e308", "-1e308", "1e-308", "5e-324"};
    static const char *const names[] = {"dispatch", "device", "host", "habit", "submits", "safety", "barrier", "x"};
    str text = {0}, page = {0};
    str_add(&text, "{\"schema\":\"solo-record-1\",\"results\":[");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            str_addf(
                &text,
                "%s{\"name\":\"%s\",\"unit\":\"us\",\"params\":{\"impl\":\"i%zu\",\"submit\":\"batch\",\"submits\":%s,"
                "\"workgroups\":%s},\"samples\":[%s,1],\"points\":[[%s,%s],[1,2]]}",
                i + k ? "," : "", names[i], k, values[k], values[k], values[k], values[k], values[k]);
    str_add(&text, "]}");
    record_view view;
    err e;
    assert_true(parse(text.data, &view, &e));
    report_page(&page, &view, 1);
    assert_null(strstr(page.data, "nan"));
    assert_null(strstr(page.data, "\"inf"));
    assert_null(strstr(page.data, "-inf"));
    str_free(&page);
    str_free(&text);
    record_view_free(&view);
}

static void page_escapes_what_records_say(void **state)
{
    (void)state;
    const char *bad = "<script>'&\\\"";
    str text = {0}, page = {0};
    str_addf(&text, "{\"schema\":\"solo-record-1\",\"when\":\"%s\",\"experiment\":\"%s\",\"params\":{\"%s\":\"%s\"},",
             bad, bad, bad, bad);
    str_addf(&text, "\"solo\":{\"version\":\"%s\",\"commit\":\"%s\"},\"host\":{\"os\":\"%s\",\"cpu\":\"%s\"},", bad,
             bad, bad, bad);
    str_addf(&text, "\"gpus\":[{\"impl\":\"%s\",\"device\":\"%s\",\"features\":{\"%s\":\"%s\"}}],\"results\":[", bad,
             bad, bad, bad);
    static const char *const names[] = {"dispatch", "device", "host", "habit", "submits", "safety", "barrier", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        str_addf(&text,
                 "%s{\"name\":\"%s\",\"unit\":\"%s\",\"samples\":[1,2,3],\"points\":[[1,2],[2,3]],\"params\":{\"impl\":"
                 "\"%s\","
                 "\"submit\":\"%s\",\"kernel\":\"%s\",\"call\":\"%s\",\"habit\":\"%s\",\"dispatches\":\"%s\","
                 "\"submits\":2,\"workgroups\":3,\"%s\":\"%s\"}}",
                 i ? "," : "", *names[i] ? names[i] : bad, bad, bad, bad, bad, bad, bad, bad, bad, bad);
    str_addf(&text, "],\"checks\":[{\"what\":\"%s\",\"ok\":false,\"detail\":\"%s\"}],", bad, bad);
    str_addf(&text, "\"claims\":[{\"claim\":\"%s\",\"said_by\":\"%s\",\"here\":\"%s\",\"verdict\":\"%s\"}]}", bad, bad,
             bad, bad);
    record_view view;
    err e;
    if (!parse(text.data, &view, &e))
        fail_msg("%s", e.text);
    report_page(&page, &view, 1);
    assert_null(strstr(page.data, "<script"));
    assert_non_null(strstr(page.data, "&lt;script&gt;&#39;&amp;&quot;"));
    str_free(&page);
    str_free(&text);
    record_view_free(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_record),
        cmocka_unit_test(whole_numbers_keep_their_digits),
        cmocka_unit_test(reads_a_result),
        cmocka_unit_test(identity_cannot_be_forged),
        cmocka_unit_test(control_characters_become_spaces),
        cmocka_unit_test(gpu_stands_in_for_gpus),
        cmocka_unit_test(refuses_every_truncation),
        cmocka_unit_test(survives_every_changed_byte),
        cmocka_unit_test(refuses_what_is_not_a_record),
        cmocka_unit_test(refuses_wrong_types),
        cmocka_unit_test(refuses_bad_results_by_name),
        cmocka_unit_test(refuses_deep_nesting),
        cmocka_unit_test(refuses_too_many_samples),
        cmocka_unit_test(refuses_too_many_samples_together),
        cmocka_unit_test(refuses_too_many_results),
        cmocka_unit_test(loads_from_a_file),
        cmocka_unit_test(page_survives_extreme_numbers),
        cmocka_unit_test(page_escapes_what_records_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
