/* Random blocks of any weight type, with scales that are sensible numbers. */
#ifndef SOLO_TESTS_WEIGHT_BLOCKS_H
#define SOLO_TESTS_WEIGHT_BLOCKS_H

#include "base/rng.h"
#include "graph/type.h"

#include <string.h>

/* Every type there is; the number of them. */
static inline uint32_t all_types(tensor_type types[TYPE_NUMBERS])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < TYPE_NUMBERS; i++)
        if (type_find(i))
            types[count++] = (tensor_type)i;
    return count;
}

/* Blocks of 32 or 256: any bits, and scales of up to 0.001: sums stay small, and so do their errors. */
static inline void random_blocks(tensor_type type, unsigned char *data, uint64_t blocks, rng *r)
{
    const type_info *info = type_find(type);
    for (uint64_t b = 0; b < blocks; b++, data += info->block_bytes) {
        for (uint32_t i = 0; i < info->block_bytes; i++)
            data[i] = (unsigned char)rng_next(r);
        for (int k = 0; k < 2 && info->scale_at[k]; k++) {
            uint16_t h = f32_to_f16((float)(rng_unit(r) * 0.001));
            memcpy(data + info->scale_at[k] - 1, &h, sizeof h);
        }
        if (type == TYPE_MXFP4)
            data[0] = (unsigned char)(115 + rng_below(r, 6));
        if (type == TYPE_IQ1_M) /* the upper bits of a half */
            data[55] = (unsigned char)((data[55] & 15) | 0x10 | (rng_below(r, 2) << 7));
    }
}

#endif
