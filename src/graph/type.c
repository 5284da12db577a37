/* type: sizes of the weight types, and conversion of their blocks to f32. */
#include "graph/type.h"
#include "graph/type_iq.h"
#include "graph/type_k.h"

#include <math.h>
#include <string.h>

/* ---- halves ---------------------------------------------------------------- */

static float float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

float f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
    if (exponent == 31)
        return float_of(sign | 0x7f800000 | fraction << 13);
    if (exponent)
        return float_of(sign | (exponent + 127 - 15) << 23 | fraction << 13);
    float small = (float)fraction * 0x1p-24f; /* zero or subnormal: exact as a float */
    return sign ? -small : small;
}

/* To nearest, ties to even. A NaN stays one, made quiet, as processors do it. */
uint16_t f32_to_f16(float f)
{
    uint32_t bits = bits_of(f), magnitude = bits & 0x7fffffff;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x477ff000) /* 65520, half way to what would be the next one, and beyond */
        return sign | 0x7c00;
    if (magnitude < 0x38800000) /* below the smallest normal half: in units of 2^-24 */
        return (uint16_t)(sign | (uint16_t)lrintf(float_of(magnitude) * 0x1p24f));
    uint32_t odd = magnitude >> 13 & 1;
    return (uint16_t)(sign | (magnitude - (112u << 23) + 0xfff + odd) >> 13);
}

float bf16_to_f32(uint16_t h)
{
    return float_of((uint32_t)h << 16);
}

uint16_t f32_to_bf16(float f)
{
    uint32_t bits = bits_of(f);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* ---- plain types ----------------------------------------------------------- */

/* Files are little-endian, and their data may be unaligned: everything is read byte by byte, which compilers turn into
 * plain loads. */

static uint16_t load16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t load32(const uint8_t *p)
{
    return (uint32_t)load16(p) | (uint32_t)load16(p + 2) << 16;
}

static void store16(uint8_t *p, uint16_t value)
{
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
}

static void store32(uint8_t *p, uint32_t value)
{
    store16(p, (uint16_t)value);
    store16(p + 2, (uint16_t)(value >> 16));
}

static void f32_read(const uint8_t *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = float_of(load32(from + 4 * i));
}

static void f32_write(const float *from, uint8_t *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        store32(to + 4 * i, bits_of(from[i]));
}

static void f16_read(const uint8_t *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = f16_to_f32(load16(from + 2 * i));
}

static void f16_write(const float *from, uint8_t *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        store16(to + 2 * i, f32_to_f16(from[i]));
}

static void bf16_read(const uint8_t *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = bf16_to_f32(load16(from + 2 * i));
}

static void bf16_write(const float *from, uint8_t *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        store16(to + 2 * i, f32_to_bf16(from[i]));
}

/* ---- blocks of 32 ---------------------------------------------------------- */

/* A block begins with its scale d (a half), in the _1 types followed by its
 * minimum m (another). q5 then has 4 bytes with the fifth bit of each weight, and
 * q4 and q5 have 16 bytes of nibbles: weight i low, weight 16 + i high. */
enum {
    WEIGHTS = 32,
    Q4_0_BYTES = 2 + 16,
    Q4_1_BYTES = 2 + 2 + 16,
    Q5_0_BYTES = 2 + 4 + 16,
    Q5_1_BYTES = 2 + 2 + 4 + 16,
    Q8_0_BYTES = 2 + 32
};

static int nibble(const uint8_t *nibbles, int i)
{
    return i < 16 ? nibbles[i] & 15 : nibbles[i - 16] >> 4;
}

/* The block's fifth bits stand in front of its nibbles. */
static int five_bits(const uint8_t *high, int i)
{
    return nibble(high + 4, i) | (int)(load32(high) >> i & 1) << 4;
}

static void q4_0_read(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += Q4_0_BYTES, to += WEIGHTS) {
        float d = f16_to_f32(load16(from));
        for (int i = 0; i < WEIGHTS; i++)
            to[i] = (float)(nibble(from + 2, i) - 8) * d;
    }
}

static void q4_1_read(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += Q4_1_BYTES, to += WEIGHTS) {
        float d = f16_to_f32(load16(from)), m = f16_to_f32(load16(from + 2));
        for (int i = 0; i < WEIGHTS; i++)
            to[i] = (float)nibble(from + 4, i) * d + m;
    }
}

static void q5_0_read(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += Q5_0_BYTES, to += WEIGHTS) {
        float d = f16_to_f32(load16(from));
        for (int i = 0; i < WEIGHTS; i++)
            to[i] = (float)(five_bits(from + 2, i) - 16) * d;
    }
}

static void q5_1_read(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += Q5_1_BYTES, to += WEIGHTS) {
        float d = f16_to_f32(load16(from)), m = f16_to_f32(load16(from + 2));
        for (int i = 0; i < WEIGHTS; i++)
            to[i] = (float)five_bits(from + 4, i) * d + m;
    }
}

static void q8_0_read(const uint8_t *from, float *to, size_t blocks)
{
    for (; blocks; blocks--, from += Q8_0_BYTES, to += WEIGHTS) {
        float d = f16_to_f32(load16(from));
        for (int i = 0; i < WEIGHTS; i++)
            to[i] = (float)(int8_t)from[2 + i] * d;
    }
}

/* The other way: the scale is chosen from the extremes of the block, the weights
 * are rounded with the unrounded scale, and the scale itself becomes a half. */

static float inverse(float d)
{
    return d != 0 ? 1 / d : 0;
}

/* Cut to a whole number 0 .. top. Weights that are no numbers become 0. */
static int whole(float x, int top)
{
    return x >= (float)top ? top : x > 0 ? (int)x : 0;
}

/* Of the weights farthest from zero, the first, with its sign. */
static float farthest(const float *x)
{
    float most = 0;
    for (int i = 0; i < WEIGHTS; i++)
        if (fabsf(x[i]) > fabsf(most))
            most = x[i];
    return most;
}

static void extremes(const float *x, float *lowest, float *highest)
{
    *lowest = *highest = x[0];
    for (int i = 1; i < WEIGHTS; i++) {
        *lowest = x[i] < *lowest ? x[i] : *lowest;
        *highest = x[i] > *highest ? x[i] : *highest;
    }
}

static void put_nibbles(uint8_t *nibbles, const int *q)
{
    for (int i = 0; i < 16; i++)
        nibbles[i] = (uint8_t)((q[i] & 15) | (q[i + 16] & 15) << 4);
}

static void put_five_bits(uint8_t *high, const int *q)
{
    uint32_t fifth = 0;
    for (int i = 0; i < WEIGHTS; i++)
        fifth |= (uint32_t)(q[i] >> 4 & 1) << i;
    store32(high, fifth);
    put_nibbles(high + 4, q);
}

/* d is such that the weight farthest from zero becomes -8 (or -16): the side
 * that has one more step. */
static void symmetric(const float *x, int steps, uint8_t *scale, int *q)
{
    float d = farthest(x) / (float)-steps, by = inverse(d);
    store16(scale, f32_to_f16(d));
    for (int i = 0; i < WEIGHTS; i++) {
        float scaled = x[i] * by; /* a value of its own, so that it is rounded by itself */
        q[i] = whole(scaled + ((float)steps + 0.5f), 2 * steps - 1);
    }
}

static void from_minimum(const float *x, int top, uint8_t *scale, int *q)
{
    float lowest, highest;
    extremes(x, &lowest, &highest);
    float d = (highest - lowest) / (float)top, by = inverse(d);
    store16(scale, f32_to_f16(d));
    store16(scale + 2, f32_to_f16(lowest));
    for (int i = 0; i < WEIGHTS; i++) {
        float scaled = (x[i] - lowest) * by;
        q[i] = whole(scaled + 0.5f, top);
    }
}

static void q4_0_write(const float *from, uint8_t *to, size_t blocks)
{
    int q[WEIGHTS];
    for (; blocks; blocks--, from += WEIGHTS, to += Q4_0_BYTES) {
        symmetric(from, 8, to, q);
        put_nibbles(to + 2, q);
    }
}

static void q4_1_write(const float *from, uint8_t *to, size_t blocks)
{
    int q[WEIGHTS];
    for (; blocks; blocks--, from += WEIGHTS, to += Q4_1_BYTES) {
        from_minimum(from, 15, to, q);
        put_nibbles(to + 4, q);
    }
}

static void q5_0_write(const float *from, uint8_t *to, size_t blocks)
{
    int q[WEIGHTS];
    for (; blocks; blocks--, from += WEIGHTS, to += Q5_0_BYTES) {
        symmetric(from, 16, to, q);
        put_five_bits(to + 2, q);
    }
}

static void q5_1_write(const float *from, uint8_t *to, size_t blocks)
{
    int q[WEIGHTS];
    for (; blocks; blocks--, from += WEIGHTS, to += Q5_1_BYTES) {
        from_minimum(from, 31, to, q);
        put_five_bits(to + 4, q);
    }
}

static void q8_0_write(const float *from, uint8_t *to, size_t blocks)
{
    for (; blocks; blocks--, from += WEIGHTS, to += Q8_0_BYTES) {
        float d = fabsf(farthest(from)) / 127, by = inverse(d);
        store16(to, f32_to_f16(d));
        for (int i = 0; i < WEIGHTS; i++) {
            int q = whole(roundf(fabsf(from[i] * by)), 127);
            to[2 + i] = (uint8_t)(from[i] < 0 ? -q : q);
        }
    }
}

/* ---- the table ------------------------------------------------------------- */

typedef struct format {
    type_info info;
    void (*read)(const uint8_t *from, float *to, size_t blocks);
    void (*write)(const float *from, uint8_t *to, size_t blocks); /* NULL: only read */
} format;

#ifdef __wasm__ /* a page converts no models */
#define WRITTEN(function) NULL
#else
#define WRITTEN(function) function
#endif

static const format formats[] = {
    [TYPE_F32] = {{"f32", 1, 4, 0, TYPE_F32, {0}}, f32_read, f32_write},
    [TYPE_F16] = {{"f16", 1, 2, 1, TYPE_F16, {0}}, f16_read, f16_write},
    [TYPE_BF16] = {{"bf16", 1, 2, 32, TYPE_BF16, {0}}, bf16_read, bf16_write},
    [TYPE_Q4_0] = {{"q4_0", WEIGHTS, Q4_0_BYTES, 2, TYPE_F16, {1}}, q4_0_read, q4_0_write},
    [TYPE_Q4_1] = {{"q4_1", WEIGHTS, Q4_1_BYTES, 3, TYPE_F16, {1, 3}}, q4_1_read, q4_1_write},
    [TYPE_Q5_0] = {{"q5_0", WEIGHTS, Q5_0_BYTES, 8, TYPE_F16, {1}}, q5_0_read, q5_0_write},
    [TYPE_Q5_1] = {{"q5_1", WEIGHTS, Q5_1_BYTES, 9, TYPE_F16, {1, 3}}, q5_1_read, q5_1_write},
    [TYPE_Q8_0] = {{"q8_0", WEIGHTS, Q8_0_BYTES, 7, TYPE_F16, {1}}, q8_0_read, q8_0_write},
    [TYPE_IQ4_NL] = {{"iq4_nl", WEIGHTS, IQ4_NL_BYTES, 25, TYPE_F16, {1}}, iq4_nl_read, WRITTEN(iq4_nl_write)},
    [TYPE_MXFP4] = {{"mxfp4", WEIGHTS, MXFP4_BYTES, 38, TYPE_F16, {0}}, mxfp4_read, WRITTEN(mxfp4_write)},
    [TYPE_Q2_K] = {{"q2_k", K_WEIGHTS, Q2_K_BYTES, 10, TYPE_Q4_0, {81, 83}}, q2_k_to_f32, WRITTEN(q2_k_from_f32)},
    [TYPE_Q3_K] = {{"q3_k", K_WEIGHTS, Q3_K_BYTES, 11, TYPE_Q4_0, {109}}, q3_k_to_f32, WRITTEN(q3_k_from_f32)},
    [TYPE_Q4_K] = {{"q4_k", K_WEIGHTS, Q4_K_BYTES, 14, TYPE_Q5_0, {1, 3}}, q4_k_to_f32, WRITTEN(q4_k_from_f32)},
    [TYPE_Q5_K] = {{"q5_k", K_WEIGHTS, Q5_K_BYTES, 16, TYPE_Q5_1, {1, 3}}, q5_k_to_f32, WRITTEN(q5_k_from_f32)},
    [TYPE_Q6_K] = {{"q6_k", K_WEIGHTS, Q6_K_BYTES, 18, TYPE_Q8_0, {209}}, q6_k_to_f32, WRITTEN(q6_k_from_f32)},
    [TYPE_IQ4_XS] = {{"iq4_xs", K_WEIGHTS, IQ4_XS_BYTES, 30, TYPE_IQ4_NL, {1}}, iq4_xs_read, NULL},
    [TYPE_TQ1_0] = {{"tq1_0", K_WEIGHTS, TQ1_0_BYTES, 36, TYPE_Q4_0, {53}}, tq1_0_read, NULL},
    [TYPE_TQ2_0] = {{"tq2_0", K_WEIGHTS, TQ2_0_BYTES, 37, TYPE_Q4_0, {65}}, tq2_0_read, NULL},
#ifndef __wasm__ /* TYPE_HAS_GRIDS */
    [TYPE_IQ2_XXS] = {{"iq2_xxs", K_WEIGHTS, IQ2_XXS_BYTES, 19, TYPE_IQ4_NL, {1}}, iq2_xxs_read, NULL},
    [TYPE_IQ2_XS] = {{"iq2_xs", K_WEIGHTS, IQ2_XS_BYTES, 20, TYPE_IQ4_NL, {1}}, iq2_xs_read, NULL},
    [TYPE_IQ2_S] = {{"iq2_s", K_WEIGHTS, IQ2_S_BYTES, 28, TYPE_IQ4_NL, {1}}, iq2_s_read, NULL},
    [TYPE_IQ3_XXS] = {{"iq3_xxs", K_WEIGHTS, IQ3_XXS_BYTES, 23, TYPE_IQ4_NL, {1}}, iq3_xxs_read, NULL},
    [TYPE_IQ3_S] = {{"iq3_s", K_WEIGHTS, IQ3_S_BYTES, 26, TYPE_IQ4_NL, {1}}, iq3_s_read, NULL},
    [TYPE_IQ1_S] = {{"iq1_s", K_WEIGHTS, IQ1_S_BYTES, 24, TYPE_IQ4_NL, {1}}, iq1_s_read, NULL},
    [TYPE_IQ1_M] = {{"iq1_m", K_WEIGHTS, IQ1_M_BYTES, 31, TYPE_IQ4_NL, {0}}, iq1_m_read, NULL},
#endif
};

enum { FORMATS = sizeof formats / sizeof formats[0] };

static const format *format_of(uint32_t number)
{
    return number < FORMATS && formats[number].info.name ? &formats[number] : NULL;
}

const type_info *type_find(uint32_t number)
{
    const format *f = format_of(number);
    return f ? &f->info : NULL;
}

const type_info *type_named(const char *name)
{
    for (uint32_t i = 0; i < FORMATS; i++)
        if (formats[i].info.name && strcmp(formats[i].info.name, name) == 0)
            return &formats[i].info;
    return NULL;
}

const char *type_name_at(uint32_t i, bool written)
{
    for (uint32_t number = 0; number < FORMATS; number++)
        if (formats[number].info.name && (!written || formats[number].write) && i-- == 0)
            return formats[number].info.name;
    return NULL;
}

const char *type_reason(uint32_t number)
{
    bool grid = number == TYPE_IQ2_XXS || number == TYPE_IQ2_XS || number == TYPE_IQ2_S || number == TYPE_IQ3_XXS ||
                number == TYPE_IQ3_S || number == TYPE_IQ1_S || number == TYPE_IQ1_M;
    return grid && !TYPE_HAS_GRIDS ? "(an I type of 1 to 3 bits) is not read by a page, only by the program"
                                   : "is not supported";
}

uint64_t type_bytes(tensor_type type, uint64_t weights)
{
    const type_info *info = type_find(type);
    return info ? weights / info->block_weights * info->block_bytes : 0;
}

void type_to_f32(tensor_type type, const void *from, float *to, size_t weights)
{
    const format *f = format_of(type);
    if (f)
        f->read(from, to, weights / f->info.block_weights);
}

bool type_from_f32(tensor_type type, const float *from, void *to, size_t weights)
{
    const format *f = format_of(type);
    if (!f || !f->write)
        return false;
    f->write(from, to, weights / f->info.block_weights);
    return true;
}
