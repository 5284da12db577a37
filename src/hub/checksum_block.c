/* checksum_block: SHA-256, as FIPS 180-4 describes it, and by the instructions that x86 processors have for it. */
#include "hub/checksum_block.h"

#include <string.h>

static uint32_t rotate_right(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t ROUND_256[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline void round_256(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e, uint32_t f, uint32_t g,
                             uint32_t *h, uint32_t added)
{
    uint32_t first =
        *h + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) + ((e & f) ^ (~e & g)) + added;
    *d += first;
    *h = first + (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
}

void checksum_block_plain(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = checksum_word(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate_right(a, 7) ^ rotate_right(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate_right(b, 17) ^ rotate_right(b, 19) ^ b >> 10);
    }
    memcpy(s, state, sizeof s);
    /* what a round shifts is renamed instead: eight rounds later all have their old names */
    for (int i = 0; i < 64; i += 8) {
        round_256(s[0], s[1], s[2], &s[3], s[4], s[5], s[6], &s[7], ROUND_256[i] + w[i]);
        round_256(s[7], s[0], s[1], &s[2], s[3], s[4], s[5], &s[6], ROUND_256[i + 1] + w[i + 1]);
        round_256(s[6], s[7], s[0], &s[1], s[2], s[3], s[4], &s[5], ROUND_256[i + 2] + w[i + 2]);
        round_256(s[5], s[6], s[7], &s[0], s[1], s[2], s[3], &s[4], ROUND_256[i + 3] + w[i + 3]);
        round_256(s[4], s[5], s[6], &s[7], s[0], s[1], s[2], &s[3], ROUND_256[i + 4] + w[i + 4]);
        round_256(s[3], s[4], s[5], &s[6], s[7], s[0], s[1], &s[2], ROUND_256[i + 5] + w[i + 5]);
        round_256(s[2], s[3], s[4], &s[5], s[6], s[7], s[0], &s[1], ROUND_256[i + 6] + w[i + 6]);
        round_256(s[1], s[2], s[3], &s[4], s[5], s[6], s[7], &s[0], ROUND_256[i + 7] + w[i + 7]);
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

/* ---- by instructions --------------------------------------------------------------------------- */

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>

enum { SSSE3 = 1 << 9, SSE41 = 1 << 19, SHA = 1 << 29 };

static bool has_instructions(void)
{
    unsigned a, b, c, d;
    bool has_shuffles = __get_cpuid(1, &a, &b, &c, &d) && (c & SSSE3) && (c & SSE41);
    return has_shuffles && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & SHA);
}

/* The state lies in two registers as the instructions want it: f e b a, and h g d c. */
__attribute__((target("sha,sse4.1"))) static void add_by_instructions(uint32_t state[8], const uint8_t block[64])
{
    const __m128i big_endian = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
    __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
    __m128i feba = _mm_alignr_epi8(badc, hgfe, 8), hgdc = _mm_blend_epi16(hgfe, badc, 0xf0);
    const __m128i first = feba, second = hgdc;
    __m128i w[16];
    for (int i = 0; i < 16; i++) {
        if (i < 4)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(block + 16 * i)), big_endian);
        else
            w[i] = _mm_sha256msg2_epu32(
                _mm_add_epi32(_mm_sha256msg1_epu32(w[i - 4], w[i - 3]), _mm_alignr_epi8(w[i - 1], w[i - 2], 4)),
                w[i - 1]);
        __m128i added = _mm_add_epi32(w[i], _mm_loadu_si128((const __m128i *)(ROUND_256 + 4 * i)));
        hgdc = _mm_sha256rnds2_epu32(hgdc, feba, added);
        feba = _mm_sha256rnds2_epu32(feba, hgdc, _mm_shuffle_epi32(added, 0x0e));
    }
    __m128i abef = _mm_shuffle_epi32(_mm_add_epi32(feba, first), 0x1b);
    __m128i ghcd = _mm_shuffle_epi32(_mm_add_epi32(hgdc, second), 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(abef, ghcd, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(ghcd, abef, 8));
}

bool checksum_block_fast(uint32_t state[8], const uint8_t block[64])
{
    static _Atomic int known; /* 1: it has them, -1: it has not */
    if (!known)
        known = has_instructions() ? 1 : -1;
    if (known < 0)
        return false;
    add_by_instructions(state, block);
    return true;
}
#else
bool checksum_block_fast(uint32_t state[8], const uint8_t block[64])
{
    (void)state;
    (void)block;
    return false;
}
#endif
