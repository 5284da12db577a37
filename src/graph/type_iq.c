/* type_iq: conversion of types with a table of 16 values, and of three values, from and to f32. */
#include "graph/type_iq.h"
#include "graph/type.h"

#include <math.h>
#include <string.h>

const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
/* Twice the numbers of four bits (sign, two bits of exponent, one of fraction). */
const int8_t mxfp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static float half_at(const uint8_t *p)
{
    return f16_to_f32((uint16_t)(p[0] | p[1] << 8));
}

static void looked_up(const uint8_t *nibbles, const int8_t *values, float d, float *to)
{
    for (int i = 0; i < 16; i++) {
        to[i] = d * (float)values[nibbles[i] & 15];
        to[i + 16] = d * (float)values[nibbles[i] >> 4];
    }
}

/* d, 16 bytes of nibbles: weight i low, weight 16 + i high. */
void iq4_nl_read(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += IQ4_NL_BYTES, to += 32)
        looked_up(from + 2, iq4_values, half_at(from), to);
}

/* Half of the power of two whose exponent is this byte. */
static float half_power(uint8_t exponent)
{
    return ldexpf(1, (int)exponent - 128);
}

/* An exponent, and nibbles as in iq4_nl. */
void mxfp4_read(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += MXFP4_BYTES, to += 32)
        looked_up(from + 1, mxfp4_values, half_power(from[0]), to);
}

/* d; eight scales of 6 bits, each 32 too large: two bits of each in 2 bytes, four in 4; nibbles as in iq4_nl for each 32. */
void iq4_xs_read(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += IQ4_XS_BYTES) {
        int high = from[2] | from[3] << 8;
        for (int run = 0; run < 8; run++, to += 32) {
            int scale = (from[4 + run / 2] >> run % 2 * 4 & 15) | (high >> 2 * run & 3) << 4;
            looked_up(from + 8 + 16 * run, iq4_values, half_at(from) * (float)(scale - 32), to);
        }
    }
}

/* Five weights to a byte: the byte is a fraction of 256, of which each is the next digit to the base of three. 160 weights
 * are in 32 bytes (byte i has i, 32 + i ...), 80 in 16, the last 16 in 4, which have four each. */
int tq1_0_at(const uint8_t *block, int i)
{
    static const uint8_t powers[] = {1, 3, 9, 27, 81};
    int byte, digit;
    if (i < 160) {
        byte = i % 32;
        digit = i / 32;
    } else if (i < 240) {
        byte = 32 + (i - 160) % 16;
        digit = (i - 160) / 16;
    } else {
        byte = 48 + (i - 240) % 4;
        digit = (i - 240) / 4;
    }
    return (uint8_t)(block[byte] * powers[digit]) * 3 >> 8;
}

void tq1_0_read(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += TQ1_0_BYTES)
        for (int i = 0; i < 256; i++)
            *to++ = (float)(tq1_0_at(from, i) - 1) * half_at(from + 52);
}

/* 2 bits a weight; each 32 bytes hold 128 weights, as in q2_k; d */
void tq2_0_read(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += TQ2_0_BYTES)
        for (int i = 0; i < 256; i++)
            *to++ = (float)((from[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3) - 1) * half_at(from + 64);
}

/* ---- the other way ------------------------------------------------------------ */

/* The nearest of the values, which grow; of two equally near ones the larger. */
static int nearest(float x)
{
    int i = 0;
    while (i < 15 && !(x - (float)iq4_values[i] < (float)iq4_values[i + 1] - x))
        i++;
    return i;
}

/* The scale that fits a block best, by trying some around the one that maps its farthest weight to the farthest value.
 * Weights count by their squares; errors are compared by what a best scale leaves of them, without computing it. */
static float iq4_scale(const float *x)
{
    float most = 0;
    for (int i = 0; i < 32; i++)
        if (fabsf(x[i]) > fabsf(most))
            most = x[i];
    if (!(fabsf(most) >= 1e-15f) || !isfinite(most))
        return 0;
    float scale = 0, best = 0;
    for (int attempt = -1; attempt < 15; attempt++) {
        float by = attempt < 0 ? 1 / (-most / (float)iq4_values[0]) : (float)(attempt - 7 + iq4_values[0]) / most;
        float products = 0, squares = 0;
        for (int i = 0; i < 32; i++) {
            float q = (float)iq4_values[nearest(by * x[i])], weight = x[i] * x[i];
            float weighted = weight * q;
            products += weighted * x[i];
            squares += weighted * q;
        }
        if (attempt < 0 || (squares > 0 && products * products > best * squares)) {
            scale = products / squares;
            best = scale * products;
        }
    }
    return scale;
}

void iq4_nl_write(const float *from, uint8_t *to, size_t blocks)
{
    for (; blocks; blocks--, from += 32, to += IQ4_NL_BYTES) {
        float scale = iq4_scale(from), by = scale != 0 ? 1 / scale : 0;
        uint16_t h = f32_to_f16(scale);
        to[0] = (uint8_t)h;
        to[1] = (uint8_t)(h >> 8);
        for (int i = 0; i < 16; i++)
            to[2 + i] = (uint8_t)(nearest(by * from[i]) | nearest(by * from[16 + i]) << 4);
    }
}

static int nearest_mxfp4(float x, float d)
{
    int best = 0;
    float least = fabsf((float)mxfp4_values[0] * d - x);
    for (int i = 1; i < 16; i++) {
        float far = fabsf((float)mxfp4_values[i] * d - x);
        if (far < least) {
            least = far;
            best = i;
        }
    }
    return best;
}

/* The largest weight lies between 4 and 8 times the power of two, of which the largest number is 6. */
void mxfp4_write(const float *from, uint8_t *to, size_t blocks)
{
    for (; blocks; blocks--, from += 32, to += MXFP4_BYTES) {
        float most = 0;
        for (int i = 0; i < 32; i++)
            most = fabsf(from[i]) > most ? fabsf(from[i]) : most;
        int exponent = most > 0 && isfinite(most) ? (int)floorf(log2f(most)) - 2 + 127 : 0;
        to[0] = (uint8_t)(exponent < 0 ? 0 : exponent);
        float d = half_power(to[0]);
        for (int i = 0; i < 16; i++)
            to[1 + i] = (uint8_t)(nearest_mxfp4(from[i], d) | nearest_mxfp4(from[16 + i], d) << 4);
    }
}
