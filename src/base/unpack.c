/* Unpacking text: runs of new bytes and of bytes that were there before, by turns. */
#include "base/unpack.h"

#include <string.h>

enum { LEAST_MATCH = 4, LONG = 15 };

typedef struct input {
    const uint8_t *at, *end;
} input;

static uint8_t next(input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

static size_t length_of(input *in, uint8_t nibble)
{
    size_t length = nibble;
    if (nibble == LONG) {
        uint8_t more;
        do
            length += more = next(in);
        while (more == 255);
    }
    return length;
}

bool unpack_text(const uint8_t *from, size_t count, char *to, size_t size)
{
    input in = {from, from + count};
    size_t done = 0;
    while (in.at < in.end) {
        uint8_t both = next(&in);
        size_t fresh = length_of(&in, both >> 4);
        if (fresh > (size_t)(in.end - in.at) || fresh > size - done)
            return false;
        memcpy(to + done, in.at, fresh);
        done += fresh;
        in.at += fresh;
        if (in.at == in.end)
            break;
        size_t distance = next(&in);
        distance |= (size_t)next(&in) << 8;
        size_t old = length_of(&in, both & 15) + LEAST_MATCH;
        if (!distance || distance > done || old > size - done)
            return false;
        for (; old; old--, done++) /* byte by byte: it may repeat what it has just written */
            to[done] = to[done - distance];
    }
    return done == size;
}
