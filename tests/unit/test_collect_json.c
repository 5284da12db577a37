/* What a collector reads and writes by itself is what jansson reads and writes. */
#include "base/rng.h"
#include "serve/collect_json.h"
#include "serve/collect_memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* the last of all */
#include <cmocka.h>

static void compare_written(json_t *value)
{
    str out = {0};
    char *by_jansson = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    assert_non_null(by_jansson);
    assert_true(collect_json_write(value, &out));
    assert_string_equal(out.data, by_jansson);
    str_free(&out);
    free(by_jansson);
}

/* A text that jansson refuses is refused, with its words; any other becomes the same values. */
static void compare_read(const char *text, size_t length)
{
    json_error_t why = {0}, also = {0};
    json_t *ours = collect_json_read(text, length, &why),
           *theirs = json_loadb(text, length, JSON_REJECT_DUPLICATES, &also);
    if (!theirs) {
        if (ours)
            fail_msg("'%s' was taken", text);
        assert_string_equal(why.text, also.text);
        return;
    }
    if (!ours || !json_equal(ours, theirs))
        fail_msg("'%s' was read as something else", text);
    compare_written(ours);
    json_decref(ours);
    json_decref(theirs);
}

static void numbers_are_those_of_jansson(void **unused)
{
    (void)unused;
    rng r = rng_seed(3);
    char text[100];
    for (int i = 0; i < 60000; i++) {
        union {
            uint64_t bits;
            double value;
        } any = {.bits = rng_next(&r)};
        double size = rng_unit(&r) * pow(10, (double)rng_below(&r, 26) - 7);
        const double values[] = {any.value, size, -size, round(size),
                                 nextafter(pow(10, (double)rng_below(&r, 24) - 6), i % 2 ? 0 : 1e30)};
        double value = values[i % 5];
        if (!isfinite(value))
            continue;
        json_t *real = json_real(value);
        compare_written(real);
        json_decref(real);
        /* as it may come: with few digits, or with more than a double has */
        snprintf(text, sizeof text, "{\"a\":[%.*g,%.3f]}", 1 + (int)rng_below(&r, 20), value,
                 fabs(value) < 1e20 ? value : 0);
        compare_read(text, strlen(text));
    }
    static const json_int_t counts[] = {0, 1, -1, 10, 999999999999999, 1000000000000000, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        json_t *count = json_integer(counts[i]);
        compare_written(count);
        json_decref(count);
    }
}

static void odd_texts_are_what_jansson_says(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        "",
        "{",
        "}",
        "[]",
        "[1]",
        "1",
        " {} ",
        "{} x",
        "{}{}",
        "{\"a\":1,}",
        "{\"a\":1,\"a\":2}",
        "{\"a\" 1}",
        "{a:1}",
        "{\"a\":[1,]}",
        "{\"a\":[,1]}",
        "{\"a\":[1 2]}",
        "{\"a\":01}",
        "{\"a\":-}",
        "{\"a\":-0}",
        "{\"a\":-0.0}",
        "{\"a\":+1}",
        "{\"a\":1.}",
        "{\"a\":.5}",
        "{\"a\":1e}",
        "{\"a\":1e+}",
        "{\"a\":1E5}",
        "{\"a\":1e-7}",
        "{\"a\":1e400}",
        "{\"a\":-1e400}",
        "{\"a\":1e-400}",
        "{\"a\":1e9999}",
        "{\"a\":5e-324}",
        "{\"a\":12345678901234567890}",
        "{\"a\":9223372036854775807}",
        "{\"a\":9223372036854775808}",
        "{\"a\":0.1234567890123456789012345678901234567890123456789012345678901234567890}",
        "{\"a\":0x10}",
        "{\"a\":NaN}",
        "{\"a\":Infinity}",
        "{\"a\":true}",
        "{\"a\":tru}",
        "{\"a\":truex}",
        "{\"a\":null,\"b\":false}",
        "{\"a\":\"\\u0000\"}",
        "{\"a\":\"\\u00e9\\n\\\"\"}",
        "{\"\\u0061\":1,\"a\":2}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\t\"}",
        "{\"a\":\"\xc3\xa9\"}",
        "{\"a\":\"\xff\"}",
        "{\"a\":\"\xed\xa0\x80\"}",
        "{\"\xc3\xa9\":1}",
        "{\"\xff\":1}",
        "{\"a\":\"\x7f\"}",
        "{\"b\":1,\"a\":{\"d\":[],\"c\":{}},\"A\":[[1.5],[null]]}",
        "{\"\":1}",
        "{\"a\":\"b",
        "{\"a\":1}\n",
        "\xef\xbb\xbf{}",
        "{\"a\":1e00005}",
        "{\"a\":100000000000000000000.5}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        compare_read(texts[i], strlen(texts[i]));
    compare_read("{\"a\":\"b\0c\"}", 11);
    compare_read("{}\0", 3);
    for (int depth = 30; depth < 35; depth++) {
        str deep = {0};
        for (int half = 0; half < 2; half++)
            for (int i = 0; i < depth; i++)
                str_add(&deep, half ? (i + 1 < depth ? "]" : "}") : (i ? "[" : "{\"a\":"));
        compare_read(deep.data, deep.length);
        str_free(&deep);
    }
    str many = {0};
    for (int i = 0; i < 300; i++)
        str_addf(&many, "%s\"k%d\":%d", i ? "," : "{", i * 7919 % 300, i);
    str_add(&many, "}");
    compare_read(many.data, many.length);
    str_free(&many);
}

/* Whatever is cut off or changed in it. */
static void damaged_texts_are_what_jansson_says(void **unused)
{
    (void)unused;
    static const char whole[] = "{\"a\": [1.25, -3e-5, 12, null, true], \"b\": {\"c\": \"d\xc3\xa9\", \"e\": []}}";
    rng r = rng_seed(4);
    char text[sizeof whole];
    for (size_t length = 0; length < sizeof whole; length++) {
        snprintf(text, length + 1, "%s", whole);
        compare_read(text, strlen(text));
    }
    for (int i = 0; i < 20000; i++) {
        memcpy(text, whole, sizeof whole);
        text[rng_below(&r, sizeof whole - 1)] =
            i % 2 ? "{}[],:\"\\0e.-"[rng_below(&r, 12)] : (char)(1 + rng_below(&r, 255));
        compare_read(text, sizeof whole - 1);
    }
}

/* Values of a record go with its memory; those from before and afterwards are like any other. */
static void memory_is_a_records(void **unused)
{
    (void)unused;
    enum { LARGE = 200000 };
    json_t *before = json_string("before"), *kept = json_array();
    char *large = calloc(LARGE + 1, 1);
    assert_non_null(large);
    memset(large, 'x', LARGE);
    for (int round = 0; round < 3; round++) {
        collect_memory_begin();
        json_t *list = json_array();
        for (int i = 0; i < 10000; i++)
            json_array_append_new(list, json_integer(i));
        json_array_append_new(list, json_string(large));
        assert_int_equal(json_integer_value(json_array_get(list, 9999)), 9999);
        assert_int_equal(json_string_length(json_array_get(list, 10000)), LARGE);
        json_decref(json_object()); /* may be freed by itself, too */
        json_decref(before);
        before = NULL;
        collect_memory_end();
        json_array_append_new(kept, json_integer(round));
    }
    assert_int_equal(json_integer_value(json_array_get(kept, 2)), 2);
    json_decref(kept);
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_jansson), cmocka_unit_test(odd_texts_are_what_jansson_says),
        cmocka_unit_test(damaged_texts_are_what_jansson_says), cmocka_unit_test(memory_is_a_records)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
