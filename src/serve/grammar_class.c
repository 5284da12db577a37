/* grammar_class: a class of characters as sequences of ranges of bytes in UTF-8. */
#include "serve/grammar_internal.h"

#include <stdlib.h>
#include <string.h>

enum { LAST_CODE = 0x10FFFF };

static int by_low(const void *a, const void *b)
{
    uint32_t x = ((const code_range *)a)->low, y = ((const code_range *)b)->low;
    return (x > y) - (x < y);
}

static uint32_t encode(uint32_t code, uint8_t bytes[4])
{
    if (code < 0x80) {
        bytes[0] = (uint8_t)code;
        return 1;
    }
    uint32_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (uint32_t i = length; i-- > 1; code >>= 6)
        bytes[i] = (uint8_t)(0x80 | (code & 0x3F));
    bytes[0] = (uint8_t)(lead[length] | code);
    return length;
}

typedef struct builder {
    grammar *g;
    uint32_t start, end;
} builder;

/* One way through: a byte of each range after the other. */
static bool add_sequence(builder *b, const uint8_t *low, const uint8_t *high, uint32_t length)
{
    uint32_t next = b->end;
    for (uint32_t i = length; i-- > 0;) {
        uint32_t state = grammar_add_state(b->g, STATE_BYTES, next, 0);
        if (state == NO_STATE)
            return false;
        b->g->states[state].low = low[i];
        b->g->states[state].high = high[i];
        next = state;
    }
    if (b->start == NO_STATE)
        b->start = next;
    else
        b->start = grammar_add_state(b->g, STATE_SPLIT, next, b->start);
    return b->start != NO_STATE;
}

/* Characters that have the same number of bytes; split where a byte would not run through its whole range. */
static bool add_range(builder *b, uint32_t low, uint32_t high)
{
    static const uint32_t ends[] = {0x7F, 0x7FF, 0xFFFF};
    for (int i = 0; i < 3; i++)
        if (low <= ends[i] && high > ends[i])
            return add_range(b, low, ends[i]) && add_range(b, ends[i] + 1, high);
    for (uint32_t bits = 6; bits <= 18 && low >= 0x80; bits += 6) {
        uint32_t mask = (1u << bits) - 1;
        if ((low & ~mask) == (high & ~mask))
            break;
        if (low & mask)
            return add_range(b, low, low | mask) && add_range(b, (low | mask) + 1, high);
        if ((high & mask) != mask)
            return add_range(b, low, (high & ~mask) - 1) && add_range(b, high & ~mask, high);
    }
    uint8_t first[4], last[4];
    uint32_t length = encode(low, first);
    encode(high, last);
    return add_sequence(b, first, last, length);
}

/* Without the numbers that UTF-16 has for itself. */
static bool add_codes(builder *b, uint32_t low, uint32_t high)
{
    if (low < 0xD800 && high >= 0xD800)
        return add_range(b, low, 0xD7FF) && (high <= 0xDFFF || add_range(b, 0xE000, high));
    low = low >= 0xD800 && low <= 0xDFFF ? 0xE000 : low;
    return low > high || add_range(b, low, high);
}

bool grammar_add_class(grammar *g, code_range *ranges, size_t count, bool is_negated, fragment *out)
{
    builder b = {.g = g, .start = NO_STATE, .end = grammar_add_state(g, STATE_JUMP, NO_STATE, 0)};
    uint32_t next = 0; /* the first character that no range so far has */
    bool ok = b.end != NO_STATE;
    qsort(ranges, count, sizeof *ranges, by_low);
    for (size_t i = 0; ok && i < count; i++) {
        uint32_t low = ranges[i].low > next ? ranges[i].low : next;
        if (is_negated && ranges[i].low > next)
            ok = add_codes(&b, next, ranges[i].low - 1);
        else if (!is_negated && low <= ranges[i].high)
            ok = add_codes(&b, low, ranges[i].high);
        next = ranges[i].high + 1 > next ? ranges[i].high + 1 : next;
    }
    if (ok && is_negated && next <= LAST_CODE)
        ok = add_codes(&b, next, LAST_CODE);
    if (ok && b.start == NO_STATE)
        b.start = grammar_add_state(g, STATE_DEAD, 0, 0);
    *out = (fragment){b.start, b.end};
    return ok && b.start != NO_STATE;
}
