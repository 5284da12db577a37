/* Each verdict, and what leads to it. */
#include "base/str.h"
#include "lab/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Thirteen samples around `centre`, the farthest `spread` of it away. */
enum { SAMPLES = 13 };
typedef struct fixture {
    double samples[SAMPLES];
    view_result result;
} fixture;

static view_result *around(fixture *f, double centre, double spread, const char *unit)
{
    for (int i = 0; i < SAMPLES; i++)
        f->samples[i] = centre * (1 + spread * (i - SAMPLES / 2) / (SAMPLES / 2));
    f->result = (view_result){.name = "r",
                              .identity = "r",
                              .unit = unit,
                              .samples = f->samples,
                              .n = SAMPLES,
                              .median = centre,
                              .ci95 = {centre, centre}};
    return &f->result;
}

static verdict judge(double a, double b, double spread, const char *unit, double clock_ns)
{
    fixture fa, fb;
    return compare_results(around(&fa, a, spread, unit), around(&fb, b, spread, unit), clock_ns).verdict;
}

static void times_are_better_when_lower(void **state)
{
    (void)state;
    static const char *const units[] = {"ns", "us", "ms", "s"};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(judge(100, 80, 0.01, units[i], 1e-9), VERDICT_FASTER);
        assert_int_equal(judge(100, 125, 0.01, units[i], 1e-9), VERDICT_SLOWER);
    }
}

static void rates_are_better_when_higher(void **state)
{
    (void)state;
    static const char *const units[] = {"tok/s", "gen/s", "GB/s"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(judge(100, 80, 0.01, units[i], 1), VERDICT_SLOWER);
        assert_int_equal(judge(100, 125, 0.01, units[i], 1), VERDICT_FASTER);
    }
}

static void small_differences_are_the_same(void **state)
{
    (void)state;
    assert_int_equal(judge(100, 100, 0.02, "us", 1), VERDICT_SAME);
    assert_int_equal(judge(100, 102, 0.001, "us", 1), VERDICT_SAME); /* certain, and too small to matter */
    assert_int_equal(judge(50, 51, 0.001, "tok/s", 1), VERDICT_SAME);
}

static void wide_intervals_cannot_tell(void **state)
{
    (void)state;
    assert_int_equal(judge(100, 100, 0.5, "us", 1), VERDICT_CANNOT_TELL);
    assert_int_equal(judge(100, 105, 0.03, "us", 1), VERDICT_CANNOT_TELL); /* astride the 5% line */
}

static void few_samples_cannot_tell(void **state)
{
    (void)state;
    fixture fa, fb;
    view_result *a = around(&fa, 100, 0, "us"), *b = around(&fb, 50, 0, "us");
    b->n = 2;
    comparison c = compare_results(a, b, 1);
    assert_int_equal(c.verdict, VERDICT_CANNOT_TELL);
    assert_string_equal(c.why, "fewer than 3 samples");
    b->n = 3;
    assert_int_equal(compare_results(a, b, 1).verdict, VERDICT_FASTER);
}

static void nothing_below_the_clock(void **state)
{
    (void)state;
    /* a difference of 20 us, seen with a clock that steps by 100 us */
    assert_int_equal(judge(100, 120, 0.001, "us", 1e5), VERDICT_CANNOT_TELL);
    assert_int_equal(judge(100, 120, 0.001, "us", 1e4), VERDICT_SLOWER);
    /* "same" rules out 5 us: a clock of 10 us cannot show that, one of 1 us can */
    assert_int_equal(judge(100, 100, 0.001, "us", 1e4), VERDICT_CANNOT_TELL);
    assert_int_equal(judge(100, 100, 0.001, "us", 1e3), VERDICT_SAME);
    /* a record that does not say how fine its clock is */
    assert_int_equal(judge(100, 120, 0.001, "us", NAN), VERDICT_SLOWER);
}

static void a_slope_shares_the_clock_step(void **state)
{
    (void)state;
    double x[] = {1, 512}, y[] = {1, 512};
    fixture fa, fb;
    view_result *a = around(&fa, 1, 0.001, "us"), *b = around(&fb, 1.2, 0.001, "us");
    assert_int_equal(compare_results(a, b, 1000).verdict, VERDICT_CANNOT_TELL);
    a->x = b->x = x;
    a->y = b->y = y;
    a->point_count = b->point_count = 2;
    assert_int_equal(compare_results(a, b, 1000).verdict, VERDICT_SLOWER);
    a->point_count = 0; /* the coarser side decides */
    assert_int_equal(compare_results(a, b, 1000).verdict, VERDICT_CANNOT_TELL);
}

static void meaningless_ratios_cannot_tell(void **state)
{
    (void)state;
    assert_int_equal(judge(0, 1, 0.01, "us", 1), VERDICT_CANNOT_TELL);
    assert_int_equal(judge(-1, -2, 0.01, "us", 1), VERDICT_CANNOT_TELL);
    assert_int_equal(judge(1, -2, 0.01, "us", 1), VERDICT_CANNOT_TELL);
    assert_int_equal(judge(1, 2, 0.01, "parrots", 1), VERDICT_CANNOT_TELL);
    assert_int_equal(judge(1, 2, 0.01, "", 1), VERDICT_CANNOT_TELL);
    fixture fa, fb;
    comparison c = compare_results(around(&fa, 1, 0.01, "us"), around(&fb, 2, 0.01, "ms"), 1);
    assert_string_equal(c.why, "the units differ");
}

/* ---- whole records ---- */

static record_view record_of(const char *commit, const char *results)
{
    str text = {0};
    record_view view;
    err e = {0};
    str_addf(&text, "{\"schema\":\"solo-record-1\",\"solo\":{\"commit\":\"%s\"},\"clock_ns\":1,\"results\":[%s]}",
             commit, results);
    if (!record_view_parse(&view, "f.json", text.data, text.length, &e))
        fail_msg("%s", e.text);
    str_free(&text);
    return view;
}

#define RESULT(name, params, samples) \
    "{\"name\":\"" name "\",\"unit\":\"us\",\"params\":{" params "},\"samples\":[" samples "]}"

static void records_are_matched_by_identity(void **state)
{
    (void)state;
    record_view a = record_of("1", RESULT("z", "\"p\":1,\"q\":2", "10,10,10") "," RESULT("y", "", "5,5,5") "," RESULT(
                                       "only", "", "1,1,1") "," RESULT("twice", "", "1,1,1"));
    record_view b = record_of(
        "1", RESULT("twice", "", "1,1,1") "," RESULT("twice", "", "2,2,2") "," RESULT("y", "", "5,5,5") "," RESULT(
                 "z", "\"q\":2,\"p\":1", "20,20,20") "," RESULT("z", "\"q\":3,\"p\":1", "9,9,9"));
    compared c = compare_records(&a, &b);
    assert_int_equal(c.count, 2);
    assert_string_equal(c.items[0].a->name, "z"); /* the order of A */
    assert_int_equal(c.items[0].verdict, VERDICT_SLOWER);
    assert_true(c.items[0].ratio.value == 2);
    assert_int_equal(c.items[1].verdict, VERDICT_SAME);
    assert_int_equal(c.only_a, 1);
    assert_int_equal(c.only_b, 1);
    assert_int_equal(c.repeated, 1);
    str text = {0};
    compare_text(&text, &c);
    assert_non_null(strstr(text.data, "only in A: 1 results; only in B: 1 results"));
    assert_non_null(strstr(text.data, "1 same, 0 faster, 1 slower, 0 cannot tell\n"));
    str_free(&text);
    compared_free(&c);
    record_view_free(&a);
    record_view_free(&b);
}

static void nothing_in_common(void **state)
{
    (void)state;
    record_view a = record_of("1", ""), b = record_of("1", RESULT("y", "", "5,5,5"));
    compared c = compare_records(&a, &b);
    assert_int_equal(c.count, 0);
    assert_int_equal(c.only_b, 1);
    compared_free(&c);
    record_view_free(&a);
    record_view_free(&b);
}

static void notes_say_what_differs(void **state)
{
    (void)state;
    record_view a = record_of("abc", ""), b = record_of("def", "");
    str notes = {0};
    compare_notes(&notes, &a, &a);
    assert_string_equal(notes.data, "");
    compare_notes(&notes, &a, &b);
    assert_string_equal(notes.data, "note: different commit: abc | def\n");
    str_free(&notes);
    view_gpu one = {"dawn", "1", "", "", "GPU one", "", "", "", "", "", 0, 0}, two = one;
    two.device = "GPU two";
    a.gpus = &one;
    b.gpus = &two;
    a.gpu_count = b.gpu_count = 1;
    compare_notes(&notes, &a, &b);
    assert_non_null(strstr(notes.data, "different GPU: GPU one | GPU two (the ratio is across machines)"));
    str_free(&notes);
    record_view_free(&a);
    record_view_free(&b);
}

static void json_carries_the_verdicts(void **state)
{
    (void)state;
    record_view a = record_of("1", RESULT("y", "\"k\":\"v\"", "10,10,10")),
                b = record_of("2", RESULT("y", "\"k\":\"v\"", "5,5,5"));
    compared c = compare_records(&a, &b);
    str out = {0};
    compare_json(&out, &c, &a, &b);
    assert_non_null(strstr(out.data, "\"verdict\": \"faster\""));
    assert_non_null(strstr(out.data, "\"ratio\": 0.5"));
    assert_non_null(strstr(out.data, "different commit: 1 | 2"));
    assert_non_null(strstr(out.data, "\"faster\": 1"));
    str_free(&out);
    compared_free(&c);
    record_view_free(&a);
    record_view_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_better_when_lower),     cmocka_unit_test(rates_are_better_when_higher),
        cmocka_unit_test(small_differences_are_the_same),  cmocka_unit_test(wide_intervals_cannot_tell),
        cmocka_unit_test(few_samples_cannot_tell),         cmocka_unit_test(nothing_below_the_clock),
        cmocka_unit_test(a_slope_shares_the_clock_step),   cmocka_unit_test(meaningless_ratios_cannot_tell),
        cmocka_unit_test(records_are_matched_by_identity), cmocka_unit_test(nothing_in_common),
        cmocka_unit_test(notes_say_what_differs),          cmocka_unit_test(json_carries_the_verdicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
