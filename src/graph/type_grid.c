/* type_grid: conversion of the I types of up to 3 bits to f32. Their weights come in groups of 4 or 8, whose absolute values
 * are an entry of a grid; iq2 and iq3 have a sign for each weight. Not in a page. */
#include "graph/type.h"
#include "graph/type_iq.h"

static float half_at(const uint8_t *p)
{
    return f16_to_f32((uint16_t)(p[0] | p[1] << 8));
}

static uint32_t load16(const uint8_t *p)
{
    return (uint32_t)(p[0] | p[1] << 8);
}

static uint32_t load32(const uint8_t *p)
{
    return load16(p) | load16(p + 2) << 16;
}

/* Seven signs; the eighth makes the number of those set even. */
static uint32_t eight_signs(uint32_t seven)
{
    uint32_t odd = seven ^ seven >> 4;
    odd ^= odd >> 2;
    odd ^= odd >> 1;
    return seven | (odd & 1) << 7;
}

static float with_sign(int value, uint32_t signs, int i)
{
    return (float)(signs >> i & 1 ? -value : value);
}

static void eight_of_iq2(uint16_t entry, uint32_t signs, float d, float *to)
{
    static const int values[4] = {8, 25, 43, 0};
    for (int i = 0; i < 8; i++)
        to[i] = d * with_sign(values[entry >> 2 * i & 3], signs, i);
}

/* d; for each 32: four indices of 8 bits; four times seven signs, and a scale of 4 bits above them */
void iq2_xxs_read(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += IQ2_XXS_BYTES)
        for (int run = 0; run < 8; run++) {
            const uint8_t *q = from + 2 + 8 * run;
            uint32_t rest = load32(q + 4);
            float d = half_at(from) * (0.5f + (float)(rest >> 28)) * 0.25f;
            for (int k = 0; k < 4; k++, to += 8)
                eight_of_iq2(iq2_xxs_grid[q[k]], eight_signs(rest >> 7 * k & 127), d, to);
        }
}

/* d; for each 8 weights an index of 9 bits and seven signs above it; scales of 4 bits for each 16 */
void iq2_xs_read(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += IQ2_XS_BYTES)
        for (int k = 0; k < 32; k++, to += 8) {
            uint32_t q = load16(from + 2 + 2 * k), scale = from[66 + k / 4] >> k % 4 / 2 * 4 & 15;
            float d = half_at(from) * (0.5f + (float)scale) * 0.25f;
            eight_of_iq2(iq2_xs_grid[q & 511], eight_signs(q >> 9), d, to);
        }
}

/* d; 32 times the low 8 bits of an index; 32 bytes of signs; the upper two bits; scales as in iq2_xs */
void iq2_s_read(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += IQ2_S_BYTES)
        for (int k = 0; k < 32; k++, to += 8) {
            uint32_t index = from[2 + k] | (from[66 + k / 4] >> k % 4 * 2 & 3u) << 8;
            uint32_t scale = from[74 + k / 4] >> k % 4 / 2 * 4 & 15;
            eight_of_iq2(iq2_s_grid[index], from[34 + k], half_at(from) * (0.5f + (float)scale) * 0.25f, to);
        }
}

/* d; 64 indices; for each 32 four times seven signs, and a scale of 4 bits above them */
void iq3_xxs_read(const uint8_t *from, float *to, size_t blocks)
{
    static const int values[8] = {4, 12, 20, 28, 36, 44, 52, 62};
    for (; blocks; blocks--, from += IQ3_XXS_BYTES)
        for (int i = 0; i < 256; i++) {
            uint32_t rest = load32(from + 66 + i / 32 * 4);
            float d = half_at(from) * (0.5f + (float)(rest >> 28)) * 0.5f;
            int value = values[iq3_xxs_grid[from[2 + i / 4]] >> i % 4 * 3 & 7];
            *to++ = d * with_sign(value, eight_signs(rest >> i % 32 / 8 * 7 & 127), i % 8);
        }
}

/* d; 64 times the low 8 bits of an index; their ninth bits; signs; scales of 4 bits for each 32 */
void iq3_s_read(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += IQ3_S_BYTES)
        for (int i = 0; i < 256; i++) {
            uint32_t index = from[2 + i / 4] | (from[66 + i / 32] >> i / 4 % 8 & 1u) << 8;
            uint32_t scale = from[106 + i / 64] >> i % 64 / 32 * 4 & 15;
            int value = 2 * (iq3_s_grid[index] >> i % 4 * 3 & 7) + 1;
            *to++ = half_at(from) * (float)(1 + 2 * scale) * with_sign(value, from[74 + i / 8], i % 8);
        }
}

static void eight_of_iq1(uint16_t entry, float shift, float d, float *to)
{
    for (int i = 0; i < 8; i++)
        to[i] = d * ((float)((int)(entry >> 2 * i & 3) - 1) + shift);
}

/* d; 32 times the low 8 bits of an index; for each 32 weights, 16 bits: four times the upper 3 bits, a scale of 3 bits, and
 * whether all weights are an eighth less, or more */
void iq1_s_read(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += IQ1_S_BYTES)
        for (int k = 0; k < 32; k++, to += 8) {
            uint32_t rest = load16(from + 34 + k / 4 * 2), index = from[2 + k] | (rest >> k % 4 * 3 & 7) << 8;
            eight_of_iq1(iq1_grid[index], rest >> 15 ? -0.125f : 0.125f,
                         half_at(from) * (float)(2 * (rest >> 12 & 7) + 1), to);
        }
}

uint16_t iq1_m_half(const uint8_t *scales)
{
    uint32_t bits = 0;
    for (int i = 0; i < 4; i++)
        bits |= (load16(scales + 2 * i) >> 12) << 4 * i;
    return (uint16_t)bits;
}

/* 32 times the low 8 bits of an index; for each of them a nibble: the upper 3 bits, and the shift; four times 16 bits: four
 * scales of 3 bits, one for each 16 weights, and above them 4 bits of d */
void iq1_m_read(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += IQ1_M_BYTES) {
        float d = f16_to_f32(iq1_m_half(from + 48));
        for (int k = 0; k < 32; k++, to += 8) {
            uint32_t rest = from[32 + k / 2] >> k % 2 * 4, index = from[k] | (rest & 7) << 8;
            uint32_t scale = load16(from + 48 + k / 8 * 2) >> k % 8 / 2 * 3 & 7;
            eight_of_iq1(iq1_grid[index], rest & 8 ? -0.125f : 0.125f, d * (float)(2 * scale + 1), to);
        }
    }
}
