/* layout: packs the blocks of each weight type into the planes that kernels read. */
#include "graph/layout.h"
#include "graph/layout_iq.h"
#include "graph/type_iq.h"

#include <string.h>

static const layout LAYOUTS[] = {
    [TYPE_F32] = {.chunk_weights = 4, .low_bytes = 16},
    [TYPE_F16] = {.chunk_weights = 8, .low_bytes = 16},
    [TYPE_BF16] = {.chunk_weights = 8, .low_bytes = 16},
    [TYPE_Q4_0] = {.chunk_weights = 32, .low_bytes = 16, .scale_chunks = 1, .factor_bytes = 2, .bytes = BYTES_ONE},
    [TYPE_Q4_1] = {.chunk_weights = 32, .low_bytes = 16, .scale_chunks = 1, .factor_bytes = 4, .bytes = BYTES_ONE},
    [TYPE_Q5_0] = {.chunk_weights = 32,
                   .low_bytes = 16,
                   .high_bytes = 4,
                   .scale_chunks = 1,
                   .factor_bytes = 2,
                   .bytes = BYTES_ONE},
    [TYPE_Q5_1] = {.chunk_weights = 32,
                   .low_bytes = 16,
                   .high_bytes = 4,
                   .scale_chunks = 1,
                   .factor_bytes = 4,
                   .bytes = BYTES_ONE},
    [TYPE_Q8_0] = {.chunk_weights = 32, .low_bytes = 32, .scale_chunks = 1, .factor_bytes = 2, .bytes = BYTES_ONE},
    [TYPE_Q2_K] = {.chunk_weights = 32,
                   .low_bytes = 8,
                   .scale_chunks = 8,
                   .scale_bytes = 16,
                   .factor_bytes = 4,
                   .bytes = BYTES_HALVES},
    [TYPE_Q3_K] = {.chunk_weights = 32,
                   .low_bytes = 8,
                   .high_bytes = 4,
                   .scale_chunks = 8,
                   .scale_bytes = 16,
                   .factor_bytes = 2,
                   .bytes = BYTES_HALVES},
    [TYPE_Q4_K] = {.chunk_weights = 32,
                   .low_bytes = 16,
                   .scale_chunks = 8,
                   .scale_bytes = 16,
                   .factor_bytes = 4,
                   .bytes = BYTES_ONE},
    [TYPE_Q5_K] = {.chunk_weights = 32,
                   .low_bytes = 16,
                   .high_bytes = 4,
                   .scale_chunks = 8,
                   .scale_bytes = 16,
                   .factor_bytes = 4,
                   .bytes = BYTES_ONE},
    [TYPE_Q6_K] = {.chunk_weights = 32,
                   .low_bytes = 16,
                   .high_bytes = 8,
                   .scale_chunks = 8,
                   .scale_bytes = 16,
                   .factor_bytes = 2,
                   .bytes = BYTES_HALVES},
    [TYPE_IQ4_NL] = {.chunk_weights = 32, .low_bytes = 16, .scale_chunks = 1, .factor_bytes = 2, .bytes = BYTES_PAIRS},
    [TYPE_MXFP4] = {.chunk_weights = 32, .low_bytes = 16, .scale_chunks = 1, .factor_bytes = 1, .bytes = BYTES_PAIRS},
    [TYPE_IQ4_XS] = {.chunk_weights = 32,
                     .low_bytes = 16,
                     .scale_chunks = 8,
                     .scale_bytes = 8,
                     .factor_bytes = 2,
                     .bytes = BYTES_PAIRS},
    [TYPE_TQ1_0] = {.chunk_weights = 32, .low_bytes = 8, .scale_chunks = 8, .factor_bytes = 2, .bytes = BYTES_ONE},
    [TYPE_TQ2_0] = {.chunk_weights = 32, .low_bytes = 8, .scale_chunks = 8, .factor_bytes = 2, .bytes = BYTES_ONE},
#ifndef __wasm__ /* TYPE_HAS_GRIDS */
#define GRID(name, words) .grid = name, .grid_bytes = sizeof name / sizeof *name * sizeof(uint32_t) * (words)
    [TYPE_IQ2_XXS] = {.chunk_weights = 32,
                      .low_bytes = 8,
                      .scale_chunks = 8,
                      .factor_bytes = 2,
                      .bytes = BYTES_ONE,
                      GRID(iq2_xxs_grid, 2)},
    [TYPE_IQ2_XS] = {.chunk_weights = 32,
                     .low_bytes = 8,
                     .scale_chunks = 8,
                     .scale_bytes = 8,
                     .factor_bytes = 2,
                     .bytes = BYTES_HALVES,
                     GRID(iq2_xs_grid, 2)},
    [TYPE_IQ2_S] = {.chunk_weights = 32,
                    .low_bytes = 8,
                    .scale_chunks = 8,
                    .scale_bytes = 16,
                    .factor_bytes = 2,
                    .bytes = BYTES_HALVES,
                    GRID(iq2_s_grid, 2)},
    [TYPE_IQ3_XXS] = {.chunk_weights = 32,
                      .low_bytes = 8,
                      .high_bytes = 4,
                      .scale_chunks = 8,
                      .factor_bytes = 2,
                      .bytes = BYTES_ONE,
                      GRID(iq3_xxs_grid, 1)},
    [TYPE_IQ3_S] = {.chunk_weights = 32,
                    .low_bytes = 8,
                    .high_bytes = 4,
                    .scale_chunks = 8,
                    .scale_bytes = 16,
                    .factor_bytes = 2,
                    .bytes = BYTES_ONE,
                    GRID(iq3_s_grid, 1)},
    [TYPE_IQ1_S] = {.chunk_weights = 32,
                    .low_bytes = 4,
                    .scale_chunks = 8,
                    .scale_bytes = 16,
                    .factor_bytes = 2,
                    .bytes = BYTES_ONE,
                    GRID(iq1_grid, 1)},
    [TYPE_IQ1_M] = {.chunk_weights = 32,
                    .low_bytes = 4,
                    .scale_chunks = 8,
                    .scale_bytes = 24,
                    .factor_bytes = 2,
                    .bytes = BYTES_HALVES,
                    GRID(iq1_grid, 1)},
#endif
};

const layout *layout_of(tensor_type type)
{
    return &LAYOUTS[type];
}

uint32_t layout_chunks(tensor_type type, uint32_t columns)
{
    uint32_t weights = LAYOUTS[type].chunk_weights;
    return (columns + weights - 1) / weights;
}

uint64_t layout_plane_bytes(tensor_type type, uint32_t rows, uint32_t columns, layout_plane p)
{
    const layout *l = &LAYOUTS[type];
    uint64_t chunks = (uint64_t)rows * layout_chunks(type, columns);
    switch (p) {
    case PLANE_GRID: return l->grid_bytes;
    case PLANE_LOW: return chunks * l->low_bytes;
    case PLANE_HIGH: return chunks * l->high_bytes;
    case PLANE_SCALES: return l->scale_chunks ? chunks / l->scale_chunks * l->scale_bytes : 0;
    default: return l->scale_chunks ? (chunks / l->scale_chunks * l->factor_bytes + 3) / 4 * 4 : 0;
    }
}

uint64_t layout_plane_at(tensor_type type, uint32_t rows, uint32_t columns, layout_plane p)
{
    uint64_t at = 0;
    for (int before = 0; before < (int)p; before++)
        at += layout_plane_bytes(type, rows, columns, (layout_plane)before);
    return at;
}

uint64_t layout_bytes(tensor_type type, uint32_t rows, uint32_t columns)
{
    uint64_t bytes = layout_plane_at(type, rows, columns, PLANE_COUNT);
    return (bytes + LAYOUT_ALIGN_BYTES - 1) / LAYOUT_ALIGN_BYTES * LAYOUT_ALIGN_BYTES;
}

uint32_t layout_rows_together(tensor_type type)
{
    return LAYOUTS[type].factor_bytes == 1 ? 4 : 2;
}

/* ---- putting weights in order ---------------------------------------------- */

/* Four bytes at a time, in the order of little-endian machines, as GPUs and wasm are. What is written is never read:
 * it may be memory that is slow to read, since a GPU copies from it. */
typedef uint32_t four_bytes;

static void load(four_bytes *to, const uint8_t *from, int words)
{
    memcpy(to, from, (size_t)words * sizeof *to);
}

static void store(uint8_t *to, four_bytes word)
{
    memcpy(to, &word, sizeof word);
}

/* The low and the high nibbles of `2 * words` words, of each two words as one. */
static void put_nibbles(uint8_t *low, uint8_t *high, const four_bytes *q, int words)
{
    const four_bytes mask = 0x0f0f0f0f;
    for (int w = 0; w < words; w++, q += 2) {
        store(low + 4 * w, (q[0] & mask) | (q[1] & mask) << 4);
        store(high + 4 * w, (q[0] >> 4 & mask) | (q[1] & ~mask));
    }
}

/* 32 numbers of two bits into 8 bytes: those from bit `shift` on in each byte. */
static void put_twos(uint8_t *to, const four_bytes *q, int shift)
{
    const four_bytes mask = 0x03030303;
    for (int w = 0; w < 2; w++, q += 4)
        store(to + 4 * w, (q[0] >> shift & mask) | (q[1] >> shift & mask) << 2 | (q[2] >> shift & mask) << 4 |
                              (q[3] >> shift & mask) << 6);
}

/* Bit `shift` of 32 bytes into 4 bytes. */
static void put_ones(uint8_t *to, const four_bytes *q, int shift)
{
    four_bytes word = 0;
    for (int j = 0; j < 8; j++)
        word |= (q[j] >> shift & 0x01010101) << j;
    store(to, word);
}

/* Blocks of 32: type.c and type_iq.c describe their bits. Nibbles are weight i low, weight 16 + i high. */
static void pack_32(tensor_type type, const uint8_t *from, size_t blocks, void *planes[PLANE_COUNT])
{
    const layout *l = &LAYOUTS[type];
    uint32_t bytes = type_find(type)->block_bytes, factor_bytes = l->factor_bytes, high_bytes = l->high_bytes;
    uint8_t *low = planes[PLANE_LOW], *high = planes[PLANE_HIGH], *factors = planes[PLANE_FACTORS];
    for (; blocks; blocks--, from += bytes, low += l->low_bytes, factors += factor_bytes) {
        const uint8_t *rest = from + factor_bytes;
        if (factor_bytes == 2)
            memcpy(factors, from, 2);
        else if (factor_bytes == 4)
            memcpy(factors, from, 4);
        else
            *factors = *from;
        if (type == TYPE_Q8_0) {
            memcpy(low, rest, 32);
            continue;
        }
        if (high_bytes) {
            layout_put_bits(high, rest);
            high += 4;
            rest += 4;
        }
        four_bytes q[4];
        load(q, rest, 4);
        put_nibbles(low, low + 8, q, 2);
    }
}

/* Blocks of 256, their eight chunks one by one: type_k.c describes their bits. */

static void pack_q2_k(const uint8_t *from, uint8_t *low, uint8_t *scales, uint8_t *factors)
{
    four_bytes q[16];
    memcpy(scales, from, 16);
    memcpy(factors, from + 80, 4);
    load(q, from + 16, 16);
    for (int run = 0; run < 8; run++)
        put_twos(low + 8 * run, q + run / 4 * 8, run % 4 * 2);
}

static void pack_q3_k(const uint8_t *from, uint8_t *low, uint8_t *high, uint8_t *scales, uint8_t *factors)
{
    four_bytes q[16], top[8];
    memcpy(factors, from + 108, 2);
    for (int run = 0; run < 16; run++) {
        int low4 = from[96 + run % 8] >> run / 8 * 4 & 15, high2 = from[104 + run % 4] >> run / 4 * 2 & 3;
        scales[run] = (uint8_t)(int8_t)((low4 | high2 << 4) - 32);
    }
    load(top, from, 8);
    load(q, from + 32, 16);
    for (int run = 0; run < 8; run++) {
        put_twos(low + 8 * run, q + run / 4 * 8, run % 4 * 2);
        put_ones(high + 4 * run, top, run);
    }
}

/* Four scales and four minima, each minimum behind its scale. */
static void put_pairs(uint8_t *to, four_bytes scales, four_bytes minima)
{
    store(to, (scales & 0xff) | (minima & 0xff) << 8 | (scales & 0xff00) << 8 | (minima & 0xff00) << 16);
    scales >>= 16;
    minima >>= 16;
    store(to + 4, (scales & 0xff) | (minima & 0xff) << 8 | (scales & 0xff00) << 8 | (minima & 0xff00) << 16);
}

/* Scales and minima of six bits, four at a time; type_k.c has them one by one. */
static void put_scales(uint8_t *scales, const uint8_t *packed)
{
    four_bytes p[3];
    load(p, packed, 3);
    put_pairs(scales, p[0] & 0x3f3f3f3f, p[1] & 0x3f3f3f3f);
    put_pairs(scales + 8, (p[2] & 0x0f0f0f0f) | (p[0] >> 2 & 0x30303030),
              (p[2] >> 4 & 0x0f0f0f0f) | (p[1] >> 2 & 0x30303030));
}

static void pack_q45_k(const uint8_t *from, bool five, uint8_t *low, uint8_t *high, uint8_t *scales, uint8_t *factors)
{
    const uint8_t *quants = from + (five ? 48 : 16);
    memcpy(factors, from, 4);
    put_scales(scales, from + 4);
    for (int run = 0; run < 8; run += 2) {
        four_bytes q[8];
        load(q, quants + 16 * run, 8);
        put_nibbles(low + 16 * run, low + 16 * run + 16, q, 4);
    }
    if (five) {
        four_bytes top[8];
        load(top, from + 16, 8);
        for (int run = 0; run < 8; run++)
            put_ones(high + 4 * run, top, run);
    }
}

/* Of each half of a block, 32 bytes have runs 0 and 2 in their nibbles, the next 32 runs 1 and 3. */
static void pack_q6_k(const uint8_t *from, uint8_t *low, uint8_t *high, uint8_t *scales, uint8_t *factors)
{
    memcpy(scales, from + 192, 16);
    memcpy(factors, from + 208, 2);
    for (int half = 0; half < 2; half++, low += 64, high += 32) {
        four_bytes q[16], top[8];
        load(q, from + 64 * half, 16);
        load(top, from + 128 + 32 * half, 8);
        put_nibbles(low, low + 32, q, 4);
        put_nibbles(low + 16, low + 48, q + 8, 4);
        for (int run = 0; run < 4; run++)
            put_twos(high + 8 * run, top, 2 * run);
    }
}

static void pack_256(tensor_type type, const uint8_t *from, size_t blocks, void *planes[PLANE_COUNT])
{
    const layout *l = &LAYOUTS[type];
    uint8_t *low = planes[PLANE_LOW], *high = planes[PLANE_HIGH], *scales = planes[PLANE_SCALES],
            *factors = planes[PLANE_FACTORS];
    for (; blocks; blocks--, from += type_find(type)->block_bytes) {
        switch (type) {
        case TYPE_Q2_K: pack_q2_k(from, low, scales, factors); break;
        case TYPE_Q3_K: pack_q3_k(from, low, high, scales, factors); break;
        case TYPE_Q6_K: pack_q6_k(from, low, high, scales, factors); break;
        case TYPE_Q4_K:
        case TYPE_Q5_K: pack_q45_k(from, type == TYPE_Q5_K, low, high, scales, factors); break;
        default: layout_pack_iq(type, from, low, high, scales, factors); break;
        }
        low += 8 * l->low_bytes;
        if (high)
            high += 8 * l->high_bytes;
        if (scales)
            scales += l->scale_bytes;
        factors += l->factor_bytes;
    }
}

/* Floats stay as they are; only a row that ends within a chunk is filled up with zeros. */
static void pack_floats(tensor_type type, const uint8_t *from, uint32_t rows, uint32_t columns, uint8_t *low)
{
    size_t bytes = type_bytes(type, columns), whole = (size_t)layout_chunks(type, columns) * LAYOUTS[type].low_bytes;
    if (bytes == whole) {
        memcpy(low, from, bytes * rows);
        return;
    }
    for (; rows; rows--, from += bytes, low += whole) {
        memcpy(low, from, bytes);
        memset(low + bytes, 0, whole - bytes);
    }
}

void layout_pack(tensor_type type, const void *from, uint32_t rows, uint32_t columns, void *planes[PLANE_COUNT])
{
    uint32_t block = type_find(type)->block_weights;
    size_t blocks = (size_t)rows * (columns / block);
    if (planes[PLANE_GRID])
        layout_put_grid(type, &LAYOUTS[type], planes[PLANE_GRID]);
    if (block == 1)
        pack_floats(type, from, rows, columns, planes[PLANE_LOW]);
    else if (block == 32)
        pack_32(type, from, blocks, planes);
    else
        pack_256(type, from, blocks, planes);
}
