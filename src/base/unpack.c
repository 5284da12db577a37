/* Unpacking text: new bytes, and runs of bytes that were there before. tools/pack_text.mjs is the other side of it. */
#include "base/unpack.h"
#include "base/str.h"

#include <stdlib.h>

enum { BITS = 12, SHIFT = 4, LEAST_RUN = 2, MOST_BITS = 20, HIGH_BITS = 4 };

typedef uint16_t chance; /* that a bit is 0, of 2^BITS */

typedef struct number_model {
    chance bits[32], high[MOST_BITS][1 << HIGH_BITS], low[MOST_BITS];
} number_model;

typedef struct models {
    chance kind[2], again, fresh[256][256];
    number_model length, distance[2];
} models;

typedef struct input {
    const uint8_t *at, *end;
    uint32_t range, code;
} input;

static uint32_t next(input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

static uint32_t bit(input *in, chance *c)
{
    uint32_t bound = (in->range >> BITS) * *c, is_one = in->code >= bound;
    if (is_one) {
        in->code -= bound;
        in->range -= bound;
        *c -= *c >> SHIFT;
    } else {
        in->range = bound;
        *c += ((1 << BITS) - *c) >> SHIFT;
    }
    while (in->range < 1 << 24) {
        in->range <<= 8;
        in->code = in->code << 8 | next(in);
    }
    return is_one;
}

static uint32_t tree(input *in, chance *of, uint32_t bits)
{
    uint32_t node = 1;
    for (uint32_t i = 0; i < bits; i++)
        node = node * 2 + bit(in, &of[node]);
    return node - (1u << bits);
}

/* From 1 on; 0: no number has so many bits. */
static uint32_t number(input *in, number_model *of)
{
    uint32_t bits = tree(in, of->bits, 5), high = bits < HIGH_BITS ? bits : HIGH_BITS;
    if (bits >= MOST_BITS)
        return 0;
    uint32_t value = 1u << high | tree(in, of->high[bits], high);
    for (uint32_t i = high; i < bits; i++)
        value = value * 2 + bit(in, &of->low[bits]);
    return value;
}

static bool unpack(input *in, models *m, char *to, size_t size)
{
    uint32_t ran = 0, distance = 0;
    for (size_t done = 0; done < size;) {
        if (!bit(in, &m->kind[ran])) {
            ran = 0;
            to[done] = (char)tree(in, m->fresh[done ? (uint8_t)to[done - 1] : 0], 8);
            done++;
            continue;
        }
        uint32_t length = number(in, &m->length) + LEAST_RUN - 1;
        if (!bit(in, &m->again))
            distance = number(in, &m->distance[length > LEAST_RUN + 1]);
        if (length < LEAST_RUN || !distance || distance > done || length > size - done)
            return false;
        for (ran = 1; length; length--, done++) /* byte by byte: it may repeat what it has just written */
            to[done] = to[done - distance];
    }
    return in->at == in->end;
}

bool unpack_text(const uint8_t *from, size_t count, char *to, size_t size)
{
    input in = {.at = from, .end = from + count, .range = UINT32_MAX};
    models *m = mem_alloc(sizeof *m);
    for (size_t i = 0; i < sizeof *m / sizeof(chance); i++)
        ((chance *)m)[i] = 1 << (BITS - 1);
    for (int i = 0; i < 4; i++)
        in.code = in.code << 8 | next(&in);
    bool ok = unpack(&in, m, to, size);
    free(m);
    return ok;
}
