/* hash: SipHash-1-3 with a random key. */
#include "base/hash.h"
#include "base/clock.h"
#include "base/os.h"

hash_key hash_new_key(void)
{
    hash_key key = {clock_ns(), (uint64_t)(uintptr_t)&key};
    if (!os_random(&key, sizeof key))
        key.high ^= clock_ns() * 0x9E3779B97F4A7C15u; /* in a page, or early at boot: better than nothing */
    return key;
}

typedef struct sip {
    uint64_t a, b, c, d;
} sip;

static uint64_t rotate_left(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void stir(sip *s)
{
    s->a += s->b;
    s->b = rotate_left(s->b, 13) ^ s->a;
    s->a = rotate_left(s->a, 32);
    s->c += s->d;
    s->d = rotate_left(s->d, 16) ^ s->c;
    s->a += s->d;
    s->d = rotate_left(s->d, 21) ^ s->a;
    s->c += s->b;
    s->b = rotate_left(s->b, 17) ^ s->c;
    s->c = rotate_left(s->c, 32);
}

static void take(sip *s, uint64_t word)
{
    s->d ^= word;
    stir(s);
    s->a ^= word;
}

uint64_t hash_bytes(const hash_key *key, const void *bytes, size_t count)
{
    const unsigned char *from = bytes;
    sip s = {key->low ^ 0x736F6D6570736575u, key->high ^ 0x646F72616E646F6Du, key->low ^ 0x6C7967656E657261u,
             key->high ^ 0x7465646279746573u};
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++) {
        word |= (uint64_t)from[i] << (8 * (i % 8));
        if (i % 8 == 7) {
            take(&s, word);
            word = 0;
        }
    }
    take(&s, word | (uint64_t)count << 56);
    s.c ^= 0xFF;
    for (int i = 0; i < 3; i++)
        stir(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}
