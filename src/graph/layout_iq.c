/* layout_iq: packs the I types and the types of three values into planes; type_iq.c and type_grid.c describe their bits. */
#include "graph/layout_iq.h"
#include "graph/type_iq.h"

#include <string.h>

static uint32_t load32(const uint8_t *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static void store32(uint8_t *p, uint32_t word)
{
    memcpy(p, &word, sizeof word);
}

/* Sixteen nibbles of 32 weights: weight i low, weight 16 + i high, into words of eight. */
static void put_nibbles(uint8_t *to, const uint8_t *from)
{
    const uint32_t mask = 0x0f0f0f0f;
    for (int w = 0; w < 2; w++) {
        uint32_t a = load32(from + 8 * w), b = load32(from + 8 * w + 4);
        store32(to + 4 * w, (a & mask) | (b & mask) << 4);
        store32(to + 8 + 4 * w, (a >> 4 & mask) | (b & ~mask));
    }
}

static void pack_iq4_xs(const uint8_t *from, uint8_t *low, uint8_t *scales, uint8_t *factors)
{
    int high = from[2] | from[3] << 8;
    memcpy(factors, from, 2);
    for (int run = 0; run < 8; run++) {
        scales[run] = (uint8_t)(int8_t)(((from[4 + run / 2] >> run % 2 * 4 & 15) | (high >> 2 * run & 3) << 4) - 32);
        put_nibbles(low + 16 * run, from + 8 + 16 * run);
    }
}

static void pack_tq1_0(const uint8_t *from, uint8_t *low, uint8_t *factors)
{
    memcpy(factors, from + 52, 2);
    for (int word = 0; word < 16; word++) {
        uint32_t bits = 0;
        for (int i = 0; i < 16; i++) /* byte i % 4, from its lowest bits on */
            bits |= (uint32_t)tq1_0_at(from, 16 * word + i) << (i % 4 * 8 + i / 4 * 2);
        store32(low + 4 * word, bits);
    }
}

static void pack_tq2_0(const uint8_t *from, uint8_t *low, uint8_t *factors)
{
    const uint32_t mask = 0x03030303;
    memcpy(factors, from + 64, 2);
    for (int word = 0; word < 16; word++) {
        const uint8_t *q = from + word / 8 * 32 + word % 2 * 16;
        int shift = word % 8 / 2 * 2;
        uint32_t bits = 0;
        for (int i = 0; i < 4; i++)
            bits |= (load32(q + 4 * i) >> shift & mask) << 2 * i;
        store32(low + 4 * word, bits);
    }
}

/* The product moves bit i of four to bit 8 * i. */
static uint32_t bits_in_order(uint32_t bits)
{
    uint32_t word = 0;
    for (int j = 0; j < 8; j++)
        word |= ((bits >> 4 * j & 15) * 0x00204081 & 0x01010101) << j;
    return word;
}

void layout_put_bits(uint8_t *to, const uint8_t *from)
{
    store32(to, bits_in_order(load32(from)));
}

#ifndef __wasm__ /* TYPE_HAS_GRIDS */

/* Four times seven signs, and another bit in place of each eighth. */
static void put_signs(uint8_t *to, const uint32_t sevens[4], const uint32_t others[4])
{
    uint32_t bits = 0;
    for (int k = 0; k < 4; k++)
        bits |= (sevens[k] | others[k] << 7) << 8 * k;
    store32(to, bits_in_order(bits));
}

/* Four times seven signs and a scale of four bits. */
static void put_signs_and_scale(uint8_t *to, const uint8_t *from)
{
    uint32_t word = load32(from), sevens[4], others[4];
    for (int k = 0; k < 4; k++) {
        sevens[k] = word >> 7 * k & 127;
        others[k] = word >> (28 + k) & 1;
    }
    put_signs(to, sevens, others);
}

/* Indices of nine bits with seven signs each: eight bits in bytes, and the ninth beside the signs. */
static void pack_iq2_xs(const uint8_t *from, uint8_t *low, uint8_t *scales)
{
    for (int run = 0; run < 8; run++) {
        uint32_t sevens[4], others[4];
        for (int k = 0; k < 4; k++) {
            const uint8_t *q = from + 2 + 8 * run + 2 * k;
            low[8 * run + k] = q[0];
            others[k] = q[1] & 1;
            sevens[k] = q[1] >> 1;
        }
        put_signs(low + 8 * run + 4, sevens, others);
    }
    memcpy(scales, from + 66, 8);
}

/* For each 32 weights: four indices, four bytes of signs; upper bits of the indices, two scales. */
static void pack_iq2_s(const uint8_t *from, uint8_t *low, uint8_t *scales)
{
    for (int run = 0; run < 8; run++) {
        memcpy(low + 8 * run, from + 2 + 4 * run, 4);
        layout_put_bits(low + 8 * run + 4, from + 34 + 4 * run);
        scales[2 * run] = from[66 + run];
        scales[2 * run + 1] = from[74 + run];
    }
}

static void pack_iq3_s(const uint8_t *from, uint8_t *low, uint8_t *high, uint8_t *scales)
{
    memcpy(low, from + 2, 64);
    for (int run = 0; run < 8; run++) {
        layout_put_bits(high + 4 * run, from + 74 + 4 * run);
        scales[2 * run] = from[66 + run];
        scales[2 * run + 1] = from[106 + run / 2] >> run % 2 * 4 & 15;
    }
}

/* What the indices lack, and then a byte with the two scales of each 32 weights. */
static void pack_iq1_m(const uint8_t *from, uint8_t *low, uint8_t *scales, uint8_t *factors)
{
    uint16_t d = iq1_m_half(from + 48);
    memcpy(low, from, 32);
    memcpy(scales, from + 32, 16);
    memcpy(factors, &d, 2);
    for (int run = 0; run < 8; run++) {
        const uint8_t *four = from + 48 + run / 2 * 2;
        scales[16 + run] = (uint8_t)((four[0] | four[1] << 8) >> run % 2 * 6 & 63);
    }
}

static void pack_grid(tensor_type type, const uint8_t *from, uint8_t *low, uint8_t *high, uint8_t *scales,
                      uint8_t *factors)
{
    if (type == TYPE_IQ1_M) {
        pack_iq1_m(from, low, scales, factors);
        return;
    }
    memcpy(factors, from, 2);
    switch (type) {
    case TYPE_IQ2_S: pack_iq2_s(from, low, scales); break;
    case TYPE_IQ3_S: pack_iq3_s(from, low, high, scales); break;
    case TYPE_IQ1_S:
        memcpy(low, from + 2, 32);
        memcpy(scales, from + 34, 16);
        break;
    case TYPE_IQ2_XS: pack_iq2_xs(from, low, scales); break;
    case TYPE_IQ3_XXS:
        memcpy(low, from + 2, 64);
        for (int run = 0; run < 8; run++)
            put_signs_and_scale(high + 4 * run, from + 66 + 4 * run);
        break;
    default: /* iq2_xxs */
        for (int run = 0; run < 8; run++) {
            memcpy(low + 8 * run, from + 2 + 8 * run, 4);
            put_signs_and_scale(low + 8 * run + 4, from + 6 + 8 * run);
        }
    }
}

/* Four numbers of `bits` bits as bytes of what they mean. */
static uint32_t four_values(tensor_type type, uint32_t numbers, int bits)
{
    static const uint8_t iq2[] = {8, 25, 43}, iq3_xxs[] = {4, 12, 20, 28, 36, 44, 52, 62};
    uint32_t word = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t n = numbers >> bits * i & ((1u << bits) - 1);
        uint32_t value = type == TYPE_IQ3_XXS ? iq3_xxs[n] : type == TYPE_IQ3_S ? 2 * n + 1 : iq2[n];
        word |= value << 8 * i;
    }
    return word;
}

void layout_put_grid(tensor_type type, const layout *l, uint8_t *to)
{
    bool threes = type == TYPE_IQ3_XXS || type == TYPE_IQ3_S, ones = type == TYPE_IQ1_S || type == TYPE_IQ1_M;
    uint32_t entry_bytes = threes || ones ? 4 : 8;
    for (uint32_t i = 0; i < l->grid_bytes / entry_bytes; i++, to += entry_bytes) {
        uint32_t entry = l->grid[i], word = 0;
        for (int k = 0; ones && k < 8; k++)
            word |= (entry >> 2 * k & 3) << (k % 4 * 8 + k / 4 * 4);
        store32(to, ones ? word : four_values(type, entry, threes ? 3 : 2));
        if (entry_bytes == 8)
            store32(to + 4, four_values(type, entry >> 8, 2));
    }
}

#else

void layout_put_grid(tensor_type type, const layout *l, uint8_t *to)
{
    (void)type, (void)l, (void)to;
}

#endif

void layout_pack_iq(tensor_type type, const uint8_t *from, uint8_t *low, uint8_t *high, uint8_t *scales,
                    uint8_t *factors)
{
    switch (type) {
    case TYPE_IQ4_XS: pack_iq4_xs(from, low, scales, factors); break;
    case TYPE_TQ1_0: pack_tq1_0(from, low, factors); break;
    case TYPE_TQ2_0: pack_tq2_0(from, low, factors); break;
    default:
#ifndef __wasm__
        pack_grid(type, from, low, high, scales, factors);
#endif
        break;
    }
    (void)high;
}
