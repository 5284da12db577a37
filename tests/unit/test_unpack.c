/* src/base/unpack: what tools/pack_text.mjs makes, and input that it never makes. */
#include "base/unpack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char TEXT[] = "abcdabcdabcdabcdabcdabcdab! and abcd, and then abcd again!\n";
static const uint8_t PACKED[] = {48, 154, 14, 198, 105, 194, 14,  169, 78, 102, 145, 28, 73, 255, 28,  67, 233, 250,
                                 40, 237, 78, 105, 116, 99,  227, 232, 80, 178, 64,  6,  66, 24,  170, 25, 80};

enum { LENGTH = sizeof TEXT - 1 };

static void text_comes_back(void **unused)
{
    (void)unused;
    char text[LENGTH];
    assert_true(unpack_text(PACKED, sizeof PACKED, text, sizeof text));
    assert_memory_equal(text, TEXT, sizeof text);
}

/* A run is refused that would begin before the text or end behind it; memory of exactly the size shows the rest. */
static void damage_stays_inside(void **unused)
{
    (void)unused;
    uint32_t refused = 0;
    for (size_t size = 0; size <= 2 * LENGTH; size++)
        for (size_t at = 0; at < sizeof PACKED; at++) {
            uint8_t *packed = malloc(sizeof PACKED);
            char *text = malloc(size + !size);
            memcpy(packed, PACKED, sizeof PACKED);
            packed[at] ^= (uint8_t)(1 + 37 * size + at);
            refused += !unpack_text(packed, at + 1, text, size);
            free(text);
            free(packed);
        }
    assert_true(refused > 0);
    char text[LENGTH];
    assert_false(unpack_text(PACKED, sizeof PACKED, text, LENGTH / 2)); /* there is more */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_comes_back),
        cmocka_unit_test(damage_stays_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
