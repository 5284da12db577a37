/* Stop texts: what is passed on, whatever pieces the text comes in. */
#include "base/rng.h"
#include "llm/stops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 4 };

/* All that is passed on of a text that comes in pieces of the given sizes, in turn. */
static bool pass(const char *const *stop_texts, size_t count, const char *text, const size_t *sizes, size_t size_count,
                 str *out)
{
    stops s = stops_of(stop_texts, count);
    size_t length = strlen(text);
    bool found = false;
    for (size_t at = 0, i = 0, n; at < length; at += n) {
        n = sizes[i++ % size_count];
        n = n < length - at ? n : length - at;
        bool now = stops_add(&s, text + at, n, out);
        assert_true(now || !found);
        found = now;
    }
    stops_end(&s, out);
    stops_free(&s);
    return found;
}

static void expect(const char *const *stop_texts, size_t count, const char *text, const char *right, bool stopped)
{
    for (size_t size = 1; size < 8; size++) {
        str out = {0};
        assert_int_equal(pass(stop_texts, count, text, &size, 1, &out), stopped);
        assert_string_equal(out.data ? out.data : "", right);
        str_free(&out);
    }
}

static void text_before_the_stop_is_passed_on(void **state)
{
    (void)state;
    const char *one[] = {"END"}, *two[] = {"\nUser:", "</s>"};
    expect(one, 1, "hello END world", "hello ", true);
    expect(one, 1, "END", "", true);
    expect(one, 1, "hello EN", "hello EN", false);
    expect(one, 1, "EEND", "E", true);
    expect(one, 1, "ENEND", "EN", true);
    expect(two, 2, "a\nUser: b</s>", "a", true);
    expect(two, 2, "a\nUse </ s></s>\nUser:", "a\nUse </ s>", true);
    expect(two, 2, "nothing\n", "nothing\n", false);
}

static void the_first_of_several_counts(void **state)
{
    (void)state;
    const char *nested[] = {"abcd", "bc"}, *same[] = {"x", "x", ""};
    expect(nested, 2, "zabcd", "za", true); /* "bc" ends first */
    const char *ending[] = {"cd", "abcd"};
    expect(ending, 2, "zabcd", "z", true); /* both end there, one began before */
    expect(same, 3, "aax", "aa", true);
    expect(NULL, 0, "anything", "anything", false);
    const char *empty[] = {""};
    expect(empty, 1, "anything", "anything", false);
}

static void nothing_is_held_longer_than_it_must_be(void **state)
{
    (void)state;
    const char *texts[] = {"aab"};
    stops s = stops_of(texts, 1);
    str out = {0};
    assert_false(stops_add(&s, "aaa", 3, &out));
    assert_string_equal(out.data, "a");
    assert_false(stops_add(&s, "c", 1, &out));
    assert_string_equal(out.data, "aaac");
    assert_true(stops_add(&s, "aab and more", 12, &out));
    assert_true(stops_add(&s, "and more", 8, &out));
    assert_string_equal(out.data, "aaac");
    stops_end(&s, &out);
    assert_string_equal(out.data, "aaac");
    /* it begins anew */
    assert_false(stops_add(&s, "x", 1, &out));
    assert_string_equal(out.data, "aaacx");
    stops_free(&s);
    str_free(&out);
}

/* Random texts over two letters against looking at the whole text at once. */
static void random_texts_agree_with_a_search_of_the_complete_text(void **state)
{
    (void)state;
    rng r = rng_seed(3);
    for (int round = 0; round < 20000; round++) {
        char written[MOST][6], text[40];
        const char *texts[MOST];
        size_t count = 1 + rng_below(&r, MOST), length = rng_below(&r, sizeof text);
        for (size_t i = 0; i < count; i++) {
            size_t n = rng_below(&r, sizeof written[i]);
            for (size_t k = 0; k < n; k++)
                written[i][k] = (char)('a' + rng_below(&r, 2));
            written[i][n] = 0;
            texts[i] = written[i];
        }
        for (size_t k = 0; k < length; k++)
            text[k] = (char)('a' + rng_below(&r, 2));
        text[length] = 0;

        /* the stop that ends first is found; of those the one that begins first */
        size_t begin = length;
        bool any = false;
        for (size_t e = 1; e <= length && !any; e++)
            for (size_t i = 0; i < count; i++) {
                size_t n = strlen(texts[i]);
                if (n && n <= e && memcmp(text + e - n, texts[i], n) == 0 && (!any || e - n < begin)) {
                    any = true;
                    begin = e - n;
                }
            }
        str out = {0};
        assert_int_equal(pass(texts, count, text, (size_t[]){1}, 1, &out), any);
        assert_int_equal(out.length, any ? begin : length);
        str_free(&out);
        size_t sizes[3] = {1 + rng_below(&r, 5), 1 + rng_below(&r, 9), 1 + rng_below(&r, 3)};
        assert_int_equal(pass(texts, count, text, sizes, 3, &out), any);
        assert_int_equal(out.length, begin);
        assert_memory_equal(out.data ? out.data : "", text, out.length);
        str_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_before_the_stop_is_passed_on),
        cmocka_unit_test(the_first_of_several_counts),
        cmocka_unit_test(nothing_is_held_longer_than_it_must_be),
        cmocka_unit_test(random_texts_agree_with_a_search_of_the_complete_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
