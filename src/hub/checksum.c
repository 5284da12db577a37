/* checksum: SHA-256 and SHA-1, as FIPS 180-4 describes them. */
#include "hub/checksum.h"

#include "hub/checksum_block.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- one block ------------------------------------------------------------------------------- */

static uint32_t rotate_left(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static void add_block_1(uint32_t state[8], const uint8_t *block)
{
    static const uint32_t constants[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 16; i++)
        w[i] = checksum_word(block + 4 * i);
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
    if (c->kind != CHECKSUM_SHA256)
        add_block_1(c->state, block);
    else if (!checksum_block_fast(c->state, block))
        checksum_block_plain(c->state, block);
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
