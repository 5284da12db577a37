/* Text before it is made tokens: UTF-8, Unicode's form C, and the words that pre-tokenizers cut. */
#include "base/clock.h"
#include "base/str.h"
#include "model/nfc.h"
#include "model/pretokenize.h"
#include "model/unicode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- UTF-8 -------------------------------------------------------------------- */

static void utf8_knows_what_is_not(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int length;
    } cases[] = {{"a", 1},
                 {"é", 2},
                 {"€", 3},
                 {"😀", 4},
                 {"\xC3", 0},
                 {"\xE2\x82", 0},
                 {"\xF0\x9F\x98", 0},
                 {"\x80", -1},
                 {"\xC0\x80", -1},
                 {"\xE0\x80\x80", -1},
                 {"\xED\xA0\x80", -1},
                 {"\xF4\x90\x80\x80", -1},
                 {"\xF5\x80\x80\x80", -1},
                 {"\xC3(", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(utf8_length(cases[i].text, strlen(cases[i].text)), cases[i].length);
    assert_int_equal(unicode_class('A'), UNICODE_UPPER);
    assert_int_equal(unicode_class(0x1C5), UNICODE_UPPER); /* title case */
    assert_int_equal(unicode_class(0x4E00), UNICODE_CASELESS);
    assert_int_equal(unicode_class(0x301), UNICODE_MARK);
    assert_int_equal(unicode_class(0x85), UNICODE_SPACE);
    assert_int_equal(unicode_class(0x1C), 0);
    assert_int_equal(unicode_class(0x10FFFF), 0);
    assert_int_equal(unicode_class(0xFFFFFFFF), 0);
}

/* ---- Unicode's form C ---------------------------------------------------------- */

static void expect_nfc(const char *text, const char *right)
{
    str out = {0};
    nfc_add(text, strlen(text), NULL, &out, NULL);
    assert_string_equal(out.data ? out.data : "", right);
    str_free(&out);
}

static void characters_and_marks_become_one(void **state)
{
    (void)state;
    expect_nfc("plain ASCII", "plain ASCII");
    expect_nfc("e\u0301", "é");
    expect_nfc("é", "é");
    expect_nfc("\u212B\u2126", "\u00C5\u03A9");           /* singletons */
    expect_nfc("a\u0323\u0302", "\u1EAD");                /* two marks, two steps */
    expect_nfc("a\u0302\u0323", "\u1EAD");                /* put in order first */
    expect_nfc("a\u0302x\u0323", "\u00E2x\u0323");        /* a letter is in the way */
    expect_nfc("a\u0316\u0300", "\u00E0\u0316");          /* another kind of mark is not */
    expect_nfc("a\u0305\u0300", "a\u0305\u0300");         /* the same kind is */
    expect_nfc("\u1100\u1161\u11A8\u1100\u1161", "각가"); /* Hangul */
    expect_nfc("가\u11A8", "각");
    expect_nfc("\u0958", "\u0915\u093C"); /* never composed */
    expect_nfc("\xC3", "\uFFFD");
    /* a long run of marks in the wrong order takes no longer than another */
    str text = {0};
    for (int i = 0; i < 200000; i++)
        str_add(&text, i % 2 ? "\u0301" : "\u0323");
    str out = {0};
    double start = clock_us();
    nfc_add(text.data, text.length, NULL, &out, NULL);
    assert_int_equal(out.length, text.length);
    assert_true(clock_us() - start < 5e6);
    str_free(&text);
    str_free(&out);
}

/* ---- words -------------------------------------------------------------------- */

static void expect_words(const char *rule_name, const char *text, const char *expected)
{
    const pre_rule *rule = pre_find(rule_name, strlen(rule_name));
    assert_non_null(rule);
    pre_text t = {0};
    pre_words words = {0};
    str got = {0};
    pre_text_set(&t, text, strlen(text));
    pre_split(rule, &t, &words);
    for (uint32_t w = 0, at = 0; w < words.count; w++) {
        if (w)
            str_add(&got, "|");
        for (; at < words.ends[w]; at++) {
            char c[4];
            str_add_bytes(&got, c, utf8_put(t.points[at], c));
        }
    }
    assert_string_equal(got.data, expected);
    str_free(&got);
    pre_words_free(&words);
    pre_text_free(&t);
}

static void words_are_cut_as_each_family_does(void **state)
{
    (void)state;
    expect_words("gpt-2", "I'm  fine\n\n 12ab!?", "I|'m| | fine|\n\n| 12|ab|!?");
    expect_words("gpt-2", "I'M\t", "I|'|M|\t");
    expect_words("llama-bpe", "I'LL 12345 x\n\n  y..\n", "I|'LL| |123|45| x|\n\n| | y|..\n");
    expect_words("qwen2",
                 "a12\xC2\xA0"
                 "b",
                 "a|1|2|\xC2\xA0"
                 "b");
    expect_words("qwen2", "e\xCC\x81t", "e|\xCC\x81t");
    expect_words("qwen35", "e\xCC\x81t", "e\xCC\x81t");
    expect_words("gpt-4o", "HelloWORLD's fooBar ÀÉt 1234", "Hello|WORLD's| foo|Bar| ÀÉt| |123|4");
    expect_words("tekken", "don't/\n12", "don|'t|/\n|1|2");
    expect_words("deepseek-coder", "a1\n你好b", "a|1|\n|你好|b");
    expect_words("deepseek-llm", "a 12 \n", "a| |12| |\n");
    expect_words("deepseek-v3", "(abc) 1234", "(abc|)| |123|4");
    expect_words("starcoder", "ab 123", "ab| |1|2|3");
    expect_words("falcon", "x1234!!", "x|123|4|!!");
    expect_words("bloom", "one, two (x)", "one|,| two| (|x|)");
    assert_null(pre_find("gpt", 3));
    assert_null(pre_find("", 0));
    assert_null(pre_find("phi-2 jina-es", 13));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_and_marks_become_one),
        cmocka_unit_test(words_are_cut_as_each_family_does),
        cmocka_unit_test(utf8_knows_what_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
