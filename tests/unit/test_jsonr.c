/* JSON as a tree: what is read, what is refused and with which line, and paths to what is not there.
 * tests/fuzz/fuzz_tools.c compares the verdict with Jansson's. */
#include "base/str.h"
#include "model/jsonr.h"
#include "model/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static jsonr *read_text(const char *text)
{
    err e = {0};
    jsonr *json = jsonr_read(text, strlen(text), &e);
    if (!json)
        fail_msg("%s: %s", text, e.text);
    return json;
}

static void test_values(void **state)
{
    (void)state;
    jsonr *json = read_text(
        "{\"a\": [1, -2.5e1, true, null, \"x\\u00e9\\n\\ud83d\\ude00\"], \"b\": {\"c\": 9223372036854775807},\n"
        " \"a \": {}, \"b\": {\"c\": 9223372036854775808}}");
    const jsonr *list = jsonr_get(json, "a");
    assert_int_equal(jsonr_count(json), 4);
    assert_int_equal(jsonr_count(list), 5);
    assert_int_equal(jsonr_whole(jsonr_at(list, 0)), 1);
    assert_true(jsonr_number(jsonr_at(list, 1)) == -25 && jsonr_is(jsonr_at(list, 1), JSONR_REAL));
    assert_true(jsonr_is_true(jsonr_at(list, 2)) && jsonr_is(jsonr_at(list, 3), JSONR_NULL));
    assert_string_equal(jsonr_text(jsonr_at(list, 4)), "x\xc3\xa9\n\xf0\x9f\x98\x80");
    assert_int_equal(jsonr_text_length(jsonr_at(list, 4)), 8);
    assert_int_equal(jsonr_whole(jsonr_get(jsonr_at(json, 1), "c")), INT64_MAX);
    assert_true(jsonr_number(jsonr_get(jsonr_get(json, "b"), "c")) == 9223372036854775808.0); /* the last of two */
    assert_string_equal(jsonr_key(json, 2), "a ");
    assert_int_equal(jsonr_count(jsonr_get(json, "a ")), 0);
    assert_null(jsonr_get(jsonr_get(jsonr_at(list, 7), "d"), "e"));
    assert_null(jsonr_get_text(list, "a"));
    assert_null(jsonr_get(json, NULL));
    jsonr_free(json);
}

/* Large enough for what is sorted, for several blocks, and for texts longer than a block. */
static void test_many_members(void **state)
{
    (void)state;
    enum { COUNT = 5000, LONG = 100000 };
    str text = {0};
    char name[20];
    names places = {0};
    str_add(&text, "{");
    for (uint32_t i = 0; i < COUNT; i++)
        str_addf(&text, "\"key %u\": %u, ", i * 7919 % COUNT, i);
    str_add(&text, "\"long\": \"");
    for (int i = 0; i < LONG; i++)
        str_add(&text, "y");
    str_add(&text, "\", \"key 0\": -1}");
    jsonr *json = read_text(text.data);
    assert_int_equal(jsonr_count(json), COUNT + 2);
    assert_int_equal(jsonr_text_length(jsonr_get(json, "long")), LONG);
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "key %u", i * 7919 % COUNT);
        assert_int_equal(jsonr_whole(jsonr_get(json, name)), i ? (int)i : -1);
        names_put(&places, jsonr_key(json, i), i);
    }
    names_put(&places, "key 1", 77);
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "key %u", i * 7919 % COUNT);
        assert_int_equal(*names_get(&places, name), strcmp(name, "key 1") == 0 ? 77 : i);
    }
    assert_null(jsonr_get(json, "key"));
    assert_null(jsonr_get(json, "zzz"));
    assert_null(names_get(&places, "key"));
    assert_null(names_get(&places, NULL));
    names_free(&places);
    jsonr_free(json);
    str_free(&text);
}

static void expect_refused(const char *text, size_t length, const char *why)
{
    err e = {0};
    if (jsonr_read(text, length, &e))
        fail_msg("%s was read", text);
    assert_string_equal(e.text, why);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const cut[] = {"", "{", "[1,", "\"a", "{\"a\"", "{\"a\":", "[\"\\u12"};
    static const char *const wrong[] = {"01 ",     "[1,]",         "{a: 1}",      "[1 2]",    "nulL", "\"\x01\"",
                                        "\"\\x\"", "\"\\ud800x\"", "\"\\u0000\"", "\"\xff\"", "0x10", "1e999 ",
                                        "[] []",   "{\"a\" 1}",    "+1",          "-",        "1.",   "tru "};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        err e = {0};
        assert_null(jsonr_read(cut[i], strlen(cut[i]), &e));
        assert_int_equal(e.kind, ERR_FAILED);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_refused(wrong[i], strlen(wrong[i]), "line 1: this is no JSON");
    expect_refused("{\n\"a\":\n?}", 9, "line 3: this is no JSON");
    expect_refused("[1,\n2", 5, "line 2: it is cut");
    char deep[66];
    memset(deep, '[', sizeof deep);
    expect_refused(deep, sizeof deep, "line 1: its lists are more than 64 deep");
    expect_refused("1\0", 2, "line 1: this is no JSON");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_many_members),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
