/* Mutations of binary files, for fuzz_main.h. */
#include "base/rng.h"

/* Numbers that lengths, counts and types go wrong at. */
static uint64_t odd_number(rng *r)
{
    static const uint64_t odd[] = {0, 1, 2, 7, 8, 9, 13, 31, 32, 63, 64, 255, 256, 65535, 65536};
    switch (rng_below(r, 4)) {
    case 0: return odd[rng_below(r, sizeof odd / sizeof odd[0])];
    case 1: return UINT64_MAX - rng_below(r, 40);
    case 2: return (uint64_t)1 << rng_below(r, 64);
    default: return rng_next(r);
    }
}

static void mutate_once(rng *r, uint8_t *bytes, size_t *length)
{
    if (*length == 0)
        return;
    size_t at = rng_below(r, (uint32_t)*length), left = *length - at;
    uint64_t number = odd_number(r);
    static const size_t widths[] = {1, 4, 8};
    size_t width = widths[rng_below(r, 3)];
    switch (rng_below(r, 6)) {
    case 0: bytes[at] ^= (uint8_t)(1 << rng_below(r, 8)); break;
    case 1: bytes[at] = (uint8_t)rng_next(r); break;
    case 2:
    case 3:
        for (size_t i = 0; i < width && i < left; i++)
            bytes[at + i] = (uint8_t)(number >> 8 * i);
        break;
    case 4: { /* copy a piece over another */
        size_t from = rng_below(r, (uint32_t)*length), n = 1 + rng_below(r, 64);
        size_t most = *length - (from > at ? from : at);
        memmove(bytes + at, bytes + from, n < most ? n : most);
        break;
    }
    default: /* take a piece out, or cut the end off */
        if (rng_below(r, 2))
            *length = at;
        else {
            size_t n = 1 + rng_below(r, 16);
            n = n < left ? n : left;
            memmove(bytes + at, bytes + at + n, left - n);
            *length -= n;
        }
    }
}
