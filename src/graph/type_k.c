/* type_k: conversion of the K-quants to f32. */
#include "graph/type_k.h"
#include "graph/type.h"

/* Each format is written as: where in the block the bits of weight i are. The
 * weights come in runs of 16 or 32 that share a scale; two bits (or four) of a
 * byte belong to one run and the next two to the run after it. */

static float half_at(const uint8_t *p)
{
    return f16_to_f32((uint16_t)(p[0] | p[1] << 8));
}

/* scales[16]: low nibble scale, high nibble minimum, one per 16 weights
 * quants[64]: 2 bits a weight; each 32 bytes hold 128 weights
 * d, dmin                                                                  */
void q2_k_to_f32(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += Q2_K_BYTES) {
        const uint8_t *scales = from, *quants = from + 16;
        float d = half_at(from + 80), dmin = half_at(from + 82);
        for (int run = 0; run < 16; run++) {
            const uint8_t *q = quants + run / 8 * 32 + run % 2 * 16;
            int shift = run % 8 / 2 * 2;
            float scale = d * (float)(scales[run] & 15), minimum = dmin * (float)(scales[run] >> 4);
            for (int i = 0; i < 16; i++)
                *to++ = scale * (float)(q[i] >> shift & 3) - minimum;
        }
    }
}

/* high[32]:   the third bit of each weight: bit k of byte i is weight 32 k + i's.
 *             Set it means 0, clear it means -4
 * quants[64]: the low two bits, as in q2_k
 * scales[12]: sixteen scales of 6 bits, each 32 too large: the low four bits in
 *             the nibbles of the first 8 bytes, the high two in the last 4
 * d                                                                        */
void q3_k_to_f32(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += Q3_K_BYTES) {
        const uint8_t *high = from, *quants = from + 32, *scales = from + 96;
        float d = half_at(from + 108);
        for (int run = 0; run < 16; run++) {
            int low4 = scales[run % 8] >> run / 8 * 4 & 15;
            int high2 = scales[8 + run % 4] >> run / 4 * 2 & 3;
            float scale = d * (float)((low4 | high2 << 4) - 32);
            const uint8_t *q = quants + run / 8 * 32 + run % 2 * 16;
            const uint8_t *h = high + run % 2 * 16;
            int shift = run % 8 / 2 * 2, bit = run / 2;
            for (int i = 0; i < 16; i++)
                *to++ = scale * (float)((q[i] >> shift & 3) - (h[i] >> bit & 1 ? 0 : 4));
        }
    }
}

/* The eight scales and minimums of q4_k and q5_k, 6 bits each, in 12 bytes. The
 * first four of each are the low bits of bytes 0-3 and 4-7; the last four have
 * their low nibbles in bytes 8-11 and their top two bits above the first four. */
static void k_scale_and_minimum(const uint8_t *packed, int run, int *scale, int *minimum)
{
    if (run < 4) {
        *scale = packed[run] & 63;
        *minimum = packed[run + 4] & 63;
    } else {
        *scale = (packed[run + 4] & 15) | packed[run - 4] >> 6 << 4;
        *minimum = packed[run + 4] >> 4 | packed[run] >> 6 << 4;
    }
}

/* d, dmin, scales[12], quants[128]: 4 bits a weight; each 32 bytes hold the run
 * of 32 in their low nibbles and the next one in their high ones            */
void q4_k_to_f32(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += Q4_K_BYTES) {
        const uint8_t *quants = from + 16;
        float d = half_at(from), dmin = half_at(from + 2);
        for (int run = 0; run < 8; run++) {
            int s, m;
            k_scale_and_minimum(from + 4, run, &s, &m);
            const uint8_t *q = quants + run / 2 * 32;
            int shift = run % 2 * 4;
            float scale = d * (float)s, minimum = dmin * (float)m;
            for (int i = 0; i < 32; i++)
                *to++ = scale * (float)(q[i] >> shift & 15) - minimum;
        }
    }
}

/* d, dmin, scales[12], high[32]: bit k of byte i is the fifth bit of weight
 * 32 k + i; quants[128]: as in q4_k                                         */
void q5_k_to_f32(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += Q5_K_BYTES) {
        const uint8_t *high = from + 16, *quants = from + 48;
        float d = half_at(from), dmin = half_at(from + 2);
        for (int run = 0; run < 8; run++) {
            int s, m;
            k_scale_and_minimum(from + 4, run, &s, &m);
            const uint8_t *q = quants + run / 2 * 32;
            int shift = run % 2 * 4;
            float scale = d * (float)s, minimum = dmin * (float)m;
            for (int i = 0; i < 32; i++)
                *to++ = scale * (float)((q[i] >> shift & 15) | (high[i] >> run & 1) << 4) - minimum;
        }
    }
}

/* low[128], high[64]: 4 and 2 bits a weight. Each 128 weights have 64 bytes of
 * `low` (the first 64 weights in the low nibbles) and 32 of `high` (two bits per
 * run of 32); scales[16]: signed, one per 16 weights; d                     */
void q6_k_to_f32(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += Q6_K_BYTES) {
        const uint8_t *low = from, *high = from + 128, *scales = from + 192;
        float d = half_at(from + 208);
        for (int run = 0; run < 16; run++) {
            const uint8_t *l = low + run / 8 * 64 + run % 4 * 16;
            const uint8_t *h = high + run / 8 * 32 + run % 2 * 16;
            int low_shift = run % 8 / 4 * 4, high_shift = run % 8 / 2 * 2;
            float scale = d * (float)(int8_t)scales[run];
            for (int i = 0; i < 16; i++)
                *to++ = scale * (float)(((l[i] >> low_shift & 15) | (h[i] >> high_shift & 3) << 4) - 32);
        }
    }
}
