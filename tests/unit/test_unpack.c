/* src/base/unpack: what tools/pack_text.mjs makes, and input that it never makes. */
#include "base/unpack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* "abcd", again and again: four new bytes, then 22 from four before, then "!". */
static const uint8_t PACKED[] = {0x4f, 'a', 'b', 'c', 'd', 4, 0, 3, 0x10, '!'};
static const char TEXT[] = "abcdabcdabcdabcdabcdabcdab!";

static void runs_repeat_what_was_there(void **unused)
{
    (void)unused;
    char text[sizeof TEXT - 1];
    assert_true(unpack_text(PACKED, sizeof PACKED, text, sizeof text));
    assert_memory_equal(text, TEXT, sizeof text);
}

static void long_runs_of_new_bytes(void **unused)
{
    (void)unused;
    enum { LENGTH = 15 + 255 + 30 };
    uint8_t packed[LENGTH + 3] = {0xf0, 255, 30};
    char text[LENGTH];
    memset(packed + 3, 'x', LENGTH);
    assert_true(unpack_text(packed, sizeof packed, text, sizeof text));
    assert_true(text[0] == 'x' && text[LENGTH - 1] == 'x');
}

static void anything_else_is_refused(void **unused)
{
    (void)unused;
    char text[sizeof TEXT];
    for (size_t count = 0; count < sizeof PACKED; count++)
        assert_false(unpack_text(PACKED, count, text, sizeof TEXT - 1));
    assert_false(unpack_text(PACKED, sizeof PACKED, text, sizeof TEXT - 2)); /* no room */
    assert_false(unpack_text(PACKED, sizeof PACKED, text, sizeof TEXT));     /* too little */
    uint8_t far[sizeof PACKED];
    memcpy(far, PACKED, sizeof far);
    far[5] = 5; /* before the beginning */
    assert_false(unpack_text(far, sizeof far, text, sizeof TEXT - 1));
    far[5] = 0;
    assert_false(unpack_text(far, sizeof far, text, sizeof TEXT - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_repeat_what_was_there),
        cmocka_unit_test(long_runs_of_new_bytes),
        cmocka_unit_test(anything_else_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
