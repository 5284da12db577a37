/* Mutations of JSON, for fuzz_main.h. The target defines `words` before: what goes in. */
#include "base/rng.h"

/* `*bytes` has room for 64 more. */
static void mutate_once(rng *r, uint8_t *bytes, size_t *length)
{
    size_t at = rng_below(r, (uint32_t)*length + 1), left = *length - at, n = 1 + rng_below(r, 16);
    const char *word = words[rng_below(r, sizeof words / sizeof *words)];
    size_t word_length = strlen(word);
    static const char common[] = "0123456789{}[]\",:-e ";
    switch (rng_below(r, 6)) {
    case 0:
    case 1: /* a word over what is there, up to the next separator */
        for (n = 0; n < left && n < 32 && !strchr(",:]}", bytes[at + n]); n++)
            ;
        memmove(bytes + at + word_length, bytes + at + n, left - n);
        memcpy(bytes + at, word, word_length);
        *length += word_length - n;
        break;
    case 2:
        if (left)
            bytes[at] ^= (uint8_t)(1 << rng_below(r, 8));
        break;
    case 3:
        if (left)
            bytes[at] = (uint8_t)common[rng_below(r, 20)];
        break;
    case 4: /* a piece taken out */
        n = n < left ? n : left;
        memmove(bytes + at, bytes + at + n, left - n);
        *length -= n;
        break;
    default: /* a piece over another */
        if (left) {
            size_t from = rng_below(r, (uint32_t)*length), most = *length - (from > at ? from : at);
            memmove(bytes + at, bytes + from, n < most ? n : most);
        }
    }
}
