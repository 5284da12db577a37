/* unicode: UTF-8, and what kind of character a code point is. */
#ifndef SOLO_UNICODE_H
#define SOLO_UNICODE_H

#include <stddef.h>
#include <stdint.h>

enum { UNICODE_REPLACEMENT = 0xFFFD };

/* Bits of unicode_class. No character has two of them. tools/unicode.mjs writes
 * them in this order. */
enum {
    UNICODE_UPPER = 1,    /* Lu, Lt */
    UNICODE_LOWER = 2,    /* Ll */
    UNICODE_CASELESS = 4, /* Lm, Lo */
    UNICODE_MARK = 8,     /* M */
    UNICODE_NUMBER = 16,  /* N */
    UNICODE_PUNCTUATION = 32,
    UNICODE_SYMBOL = 64,
    UNICODE_SPACE = 128, /* White_Space */
    UNICODE_LETTER = UNICODE_UPPER | UNICODE_LOWER | UNICODE_CASELESS
};
uint8_t unicode_class(uint32_t point);

/* How many bytes the character at `text` has: 1 to 4; 0 if it may be one whose
 * end is missing; -1 if the first byte begins none. Overlong forms, surrogates and
 * what lies beyond U+10FFFF are none. `bytes` is at least 1. */
int utf8_length(const char *text, size_t bytes);

/* The character at `text` and how many bytes it has. A byte that belongs to no
 * well-formed character is U+FFFD by itself. */
uint32_t utf8_decode(const char *text, size_t bytes, size_t *length);

/* Writes 1 to 4 bytes and returns how many. */
size_t utf8_put(uint32_t point, char out[4]);

extern const uint32_t unicode_runs[];
extern const uint32_t unicode_run_count;

#endif
