/* checksum_block: one block of SHA-256, in two ways. */
#ifndef SOLO_HUB_CHECKSUM_BLOCK_H
#define SOLO_HUB_CHECKSUM_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

static inline uint32_t checksum_word(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

void checksum_block_plain(uint32_t state[8], const uint8_t block[64]);
/* By the processor's own instructions, about ten times as fast. False: it has none, and nothing was done. */
bool checksum_block_fast(uint32_t state[8], const uint8_t block[64]);

#endif
