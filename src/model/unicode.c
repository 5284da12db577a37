/* unicode: classes of characters by binary search, and UTF-8 in both directions. */
#include "model/unicode.h"

/* The last run that begins at or before the point. */
static uint8_t search(uint32_t point)
{
    uint32_t low = 0, high = unicode_run_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (unicode_runs[middle] >> 8 <= point)
            low = middle;
        else
            high = middle;
    }
    return (uint8_t)unicode_runs[low];
}

uint8_t unicode_class(uint32_t point)
{
    return point < 0x110000 ? search(point) : 0;
}

int utf8_length(const char *text, size_t bytes)
{
    const unsigned char *b = (const unsigned char *)text;
    if (b[0] < 0x80)
        return 1;
    if (b[0] < 0xC2 || b[0] > 0xF4)
        return -1;
    int length = b[0] < 0xE0 ? 2 : b[0] < 0xF0 ? 3 : 4;
    /* the second byte is where overlong forms, surrogates and too large ones show */
    unsigned lowest = b[0] == 0xE0 ? 0xA0 : b[0] == 0xF0 ? 0x90 : 0x80;
    unsigned highest = b[0] == 0xED ? 0x9F : b[0] == 0xF4 ? 0x8F : 0xBF;
    for (int i = 1; i < length; i++) {
        if ((size_t)i == bytes)
            return 0;
        if (b[i] < lowest || b[i] > highest)
            return -1;
        lowest = 0x80, highest = 0xBF;
    }
    return length;
}

uint32_t utf8_decode(const char *text, size_t bytes, size_t *length)
{
    const unsigned char *b = (const unsigned char *)text;
    int n = utf8_length(text, bytes);
    *length = n > 0 ? (size_t)n : 1;
    switch (n) {
    case 1: return b[0];
    case 2: return (b[0] & 0x1Fu) << 6 | (b[1] & 0x3Fu);
    case 3: return (b[0] & 0x0Fu) << 12 | (b[1] & 0x3Fu) << 6 | (b[2] & 0x3Fu);
    case 4: return (b[0] & 0x07u) << 18 | (b[1] & 0x3Fu) << 12 | (b[2] & 0x3Fu) << 6 | (b[3] & 0x3Fu);
    default: return UNICODE_REPLACEMENT;
    }
}

size_t utf8_put(uint32_t point, char out[4])
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xC0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3F));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xE0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 0x3F));
        out[2] = (char)(0x80 | (point & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 0x3F));
    out[2] = (char)(0x80 | (point >> 6 & 0x3F));
    out[3] = (char)(0x80 | (point & 0x3F));
    return 4;
}
