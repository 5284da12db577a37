/* layout: packs the blocks of each weight type into the planes that kernels read. */
#include "graph/layout.h"
#include "graph/type_k.h"

#include <string.h>

static const layout LAYOUTS[] = {
    [TYPE_F32] = {.chunk_weights = 4, .low_bytes = 16},
    [TYPE_F16] = {.chunk_weights = 8, .low_bytes = 16},
    [TYPE_BF16] = {.chunk_weights = 8, .low_bytes = 16},
    [TYPE_Q4_0] = {.chunk_weights = 32, .low_bytes = 16, .scale_chunks = 1, .factor_bytes = 2, .bytes = true},
    [TYPE_Q4_1] = {.chunk_weights = 32, .low_bytes = 16, .scale_chunks = 1, .factor_bytes = 4, .bytes = true},
    [TYPE_Q5_0] =
        {.chunk_weights = 32, .low_bytes = 16, .high_bytes = 4, .scale_chunks = 1, .factor_bytes = 2, .bytes = true},
    [TYPE_Q5_1] =
        {.chunk_weights = 32, .low_bytes = 16, .high_bytes = 4, .scale_chunks = 1, .factor_bytes = 4, .bytes = true},
    [TYPE_Q8_0] = {.chunk_weights = 32, .low_bytes = 32, .scale_chunks = 1, .factor_bytes = 2, .bytes = true},
    [TYPE_Q2_K] = {.chunk_weights = 32, .low_bytes = 8, .scale_chunks = 8, .scale_bytes = 16, .factor_bytes = 4},
    [TYPE_Q3_K] =
        {.chunk_weights = 32, .low_bytes = 8, .high_bytes = 4, .scale_chunks = 8, .scale_bytes = 16, .factor_bytes = 2},
    [TYPE_Q4_K] =
        {.chunk_weights = 32, .low_bytes = 16, .scale_chunks = 8, .scale_bytes = 16, .factor_bytes = 4, .bytes = true},
    [TYPE_Q5_K] = {.chunk_weights = 32,
                   .low_bytes = 16,
                   .high_bytes = 4,
                   .scale_chunks = 8,
                   .scale_bytes = 16,
                   .factor_bytes = 4,
                   .bytes = true},
    [TYPE_Q6_K] = {.chunk_weights = 32,
                   .low_bytes = 16,
                   .high_bytes = 8,
                   .scale_chunks = 8,
                   .scale_bytes = 16,
                   .factor_bytes = 2},
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

/* ---- putting weights in order ---------------------------------------------- */

/* 32 numbers of four bits into 16 bytes. */
static void put_fours(uint8_t *to, const uint8_t *q)
{
    for (int w = 0; w < 4; w++, q += 8)
        for (int b = 0; b < 4; b++)
            *to++ = (uint8_t)((q[b] & 15) | (q[4 + b] & 15) << 4);
}

/* 32 numbers of two bits into 8 bytes. */
static void put_twos(uint8_t *to, const uint8_t *q)
{
    for (int w = 0; w < 2; w++, q += 16)
        for (int b = 0; b < 4; b++)
            *to++ = (uint8_t)((q[b] & 3) | (q[4 + b] & 3) << 2 | (q[8 + b] & 3) << 4 | (q[12 + b] & 3) << 6);
}

static void put_ones(uint8_t *to, const uint8_t *q)
{
    for (int byte = 0; byte < 4; byte++, q += 8) {
        to[byte] = 0;
        for (int i = 0; i < 8; i++)
            to[byte] |= (uint8_t)((q[i] & 1) << i);
    }
}

/* The nibbles of q4 and q5: weight i low, weight 16 + i high. */
static void nibbles_of(const uint8_t *from, uint8_t *q)
{
    for (int i = 0; i < 16; i++) {
        q[i] = from[i] & 15;
        q[16 + i] = from[i] >> 4;
    }
}

/* Blocks of 32: type.c describes their bits. */
static void pack_32(tensor_type type, const uint8_t *from, size_t blocks, void *planes[PLANE_COUNT])
{
    const layout *l = &LAYOUTS[type];
    uint32_t bytes = type_find(type)->block_bytes;
    uint8_t *low = planes[PLANE_LOW], *high = planes[PLANE_HIGH], *factors = planes[PLANE_FACTORS], q[32];
    for (; blocks; blocks--, from += bytes, low += l->low_bytes, factors += l->factor_bytes) {
        memcpy(factors, from, l->factor_bytes);
        const uint8_t *rest = from + l->factor_bytes;
        if (type == TYPE_Q8_0) {
            memcpy(low, rest, 32);
            continue;
        }
        if (l->high_bytes) {
            memcpy(high, rest, 4); /* bit i is weight i's there as well */
            high += 4;
            rest += 4;
        }
        nibbles_of(rest, q);
        put_fours(low, q);
    }
}

/* Blocks of 256, their eight chunks one by one: type_k.c describes their bits. */

static void pack_q2_k(const uint8_t *from, uint8_t *low, uint8_t *scales, uint8_t *factors)
{
    uint8_t q[32];
    memcpy(scales, from, 16);
    memcpy(factors, from + 80, 4);
    for (int run = 0; run < 8; run++) {
        for (int i = 0; i < 32; i++)
            q[i] = from[16 + run / 4 * 32 + i] >> run % 4 * 2;
        put_twos(low + 8 * run, q);
    }
}

static void pack_q3_k(const uint8_t *from, uint8_t *low, uint8_t *high, uint8_t *scales, uint8_t *factors)
{
    uint8_t q[32], top[32];
    memcpy(factors, from + 108, 2);
    for (int run = 0; run < 16; run++) {
        int low4 = from[96 + run % 8] >> run / 8 * 4 & 15, high2 = from[104 + run % 4] >> run / 4 * 2 & 3;
        scales[run] = (uint8_t)(int8_t)((low4 | high2 << 4) - 32);
    }
    for (int run = 0; run < 8; run++) {
        for (int i = 0; i < 32; i++) {
            q[i] = from[32 + run / 4 * 32 + i] >> run % 4 * 2;
            top[i] = from[i] >> run;
        }
        put_twos(low + 8 * run, q);
        put_ones(high + 4 * run, top);
    }
}

static void pack_q45_k(const uint8_t *from, bool five, uint8_t *low, uint8_t *high, uint8_t *scales, uint8_t *factors)
{
    const uint8_t *quants = from + (five ? 48 : 16), *tops = from + 16;
    uint8_t q[32], top[32];
    memcpy(factors, from, 4);
    for (int run = 0; run < 8; run++) {
        int scale, minimum;
        k_scale_and_minimum(from + 4, run, &scale, &minimum);
        scales[run] = (uint8_t)scale;
        scales[8 + run] = (uint8_t)minimum;
        for (int i = 0; i < 32; i++) {
            q[i] = quants[run / 2 * 32 + i] >> run % 2 * 4;
            top[i] = tops[i] >> run;
        }
        put_fours(low + 16 * run, q);
        if (five)
            put_ones(high + 4 * run, top);
    }
}

static void pack_q6_k(const uint8_t *from, uint8_t *low, uint8_t *high, uint8_t *scales, uint8_t *factors)
{
    uint8_t q[32], top[32];
    memcpy(scales, from + 192, 16);
    memcpy(factors, from + 208, 2);
    for (int run = 0; run < 8; run++) {
        for (int i = 0; i < 32; i++) {
            q[i] = from[run / 4 * 64 + run % 2 * 32 + i] >> run % 4 / 2 * 4;
            top[i] = from[128 + run / 4 * 32 + i] >> run % 4 * 2;
        }
        put_fours(low + 16 * run, q);
        put_twos(high + 8 * run, top);
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
        default: pack_q45_k(from, type == TYPE_Q5_K, low, high, scales, factors); break;
        }
        low += 8 * l->low_bytes;
        if (high)
            high += 8 * l->high_bytes;
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
    if (block == 1)
        pack_floats(type, from, rows, columns, planes[PLANE_LOW]);
    else if (block == 32)
        pack_32(type, from, blocks, planes);
    else
        pack_256(type, from, blocks, planes);
}
