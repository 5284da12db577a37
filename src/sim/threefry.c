/* threefry: Threefry-2x32 with 20 rounds, on the CPU. */
#include "sim/threefry.h"

void threefry(const uint32_t key[2], const uint32_t count[2], uint32_t out[2])
{
    static const uint8_t turns[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    const uint32_t keys[3] = {key[0], key[1], 0x1bd11bdau ^ key[0] ^ key[1]};
    uint32_t x = count[0] + key[0], y = count[1] + key[1];
    for (uint32_t i = 0; i < 20; i++) {
        uint32_t by = turns[i % 8];
        x += y;
        y = (y << by | y >> (32 - by)) ^ x;
        if (i % 4 == 3) {
            uint32_t n = i / 4 + 1;
            x += keys[n % 3];
            y += keys[(n + 1) % 3] + n;
        }
    }
    out[0] = x;
    out[1] = y;
}

float threefry_unit(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}
