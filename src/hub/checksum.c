/* checksum: SHA-256 and SHA-1, as FIPS 180-4 describes them. */
#include "hub/checksum.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- one block ------------------------------------------------------------------------------- */

static uint32_t rotate_left(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static uint32_t rotate_right(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static uint32_t read_big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t ROUND_256[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline void round_256(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e, uint32_t f, uint32_t g,
                             uint32_t *h, uint32_t added)
{
    uint32_t first =
        *h + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) + ((e & f) ^ (~e & g)) + added;
    *d += first;
    *h = first + (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
}

static void add_block_256(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = read_big_endian(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate_right(a, 7) ^ rotate_right(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate_right(b, 17) ^ rotate_right(b, 19) ^ b >> 10);
    }
    memcpy(s, state, sizeof s);
    /* what a round shifts is renamed instead: eight rounds later all have their old names */
    for (int i = 0; i < 64; i += 8) {
        round_256(s[0], s[1], s[2], &s[3], s[4], s[5], s[6], &s[7], ROUND_256[i] + w[i]);
        round_256(s[7], s[0], s[1], &s[2], s[3], s[4], s[5], &s[6], ROUND_256[i + 1] + w[i + 1]);
        round_256(s[6], s[7], s[0], &s[1], s[2], s[3], s[4], &s[5], ROUND_256[i + 2] + w[i + 2]);
        round_256(s[5], s[6], s[7], &s[0], s[1], s[2], s[3], &s[4], ROUND_256[i + 3] + w[i + 3]);
        round_256(s[4], s[5], s[6], &s[7], s[0], s[1], s[2], &s[3], ROUND_256[i + 4] + w[i + 4]);
        round_256(s[3], s[4], s[5], &s[6], s[7], s[0], s[1], &s[2], ROUND_256[i + 5] + w[i + 5]);
        round_256(s[2], s[3], s[4], &s[5], s[6], s[7], s[0], &s[1], ROUND_256[i + 6] + w[i + 6]);
        round_256(s[1], s[2], s[3], &s[4], s[5], s[6], s[7], &s[0], ROUND_256[i + 7] + w[i + 7]);
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

static void add_block_1(uint32_t state[8], const uint8_t *block)
{
    static const uint32_t constants[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 16; i++)
        w[i] = read_big_endian(block + 4 * i);
    for (int i = 16; i < 80; i++)
        w[i] = rotate_left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20 ? (b & c) | (~b & d) : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
        uint32_t next = rotate_left(a, 5) + f + e + constants[i / 20] + w[i];
        e = d;
        d = c;
        c = rotate_left(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

/* ---- bytes in pieces ----------------------------------------------------------------------- */

size_t checksum_digits(checksum_kind kind)
{
    return kind == CHECKSUM_SHA256 ? 64 : 40;
}

checksum checksum_begin(checksum_kind kind, uint64_t file_bytes)
{
    static const uint32_t begin_256[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    static const uint32_t begin_1[8] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    checksum c = {.kind = kind};
    memcpy(c.state, kind == CHECKSUM_SHA256 ? begin_256 : begin_1, sizeof c.state);
    if (kind == CHECKSUM_GIT) {
        char head[32];
        int length = snprintf(head, sizeof head, "blob %" PRIu64, file_bytes);
        checksum_add(&c, head, (size_t)length + 1);
    }
    return c;
}

static void add_block(checksum *c, const uint8_t *block)
{
    (c->kind == CHECKSUM_SHA256 ? add_block_256 : add_block_1)(c->state, block);
}

void checksum_add(checksum *c, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    while (count) {
        size_t filled = c->bytes % CHECKSUM_BLOCK_BYTES, taken = CHECKSUM_BLOCK_BYTES - filled;
        if (taken > count)
            taken = count;
        if (taken == CHECKSUM_BLOCK_BYTES)
            add_block(c, at);
        else {
            memcpy(c->block + filled, at, taken);
            if (filled + taken == CHECKSUM_BLOCK_BYTES)
                add_block(c, c->block);
        }
        c->bytes += taken;
        at += taken;
        count -= taken;
    }
}

void checksum_end(checksum *c, char hex[CHECKSUM_HEX_BYTES])
{
    uint64_t bits = c->bytes * 8;
    uint8_t end[CHECKSUM_BLOCK_BYTES + 8] = {0x80};
    /* up to eight bytes before the end of a block, where the length in bits stands */
    size_t padding = (2 * CHECKSUM_BLOCK_BYTES - 8 - c->bytes % CHECKSUM_BLOCK_BYTES - 1) % CHECKSUM_BLOCK_BYTES + 1;
    for (int i = 0; i < 8; i++)
        end[padding + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
    checksum_add(c, end, padding + 8);
    for (size_t i = 0; i < checksum_digits(c->kind) / 8; i++)
        snprintf(hex + 8 * i, 9, "%08" PRIx32, c->state[i]);
}
