/* rng: splitmix64, and numbers, choices and orders made from it. */
#include "base/rng.h"

rng rng_seed(uint64_t seed)
{
    return (rng){seed};
}

/* splitmix64: one addition, three mixes; every seed is a good one. */
uint64_t rng_next(rng *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint32_t rng_below(rng *r, uint32_t bound)
{
    return (uint32_t)(((rng_next(r) >> 32) * (uint64_t)bound) >> 32);
}

double rng_unit(rng *r)
{
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}

void rng_shuffle(rng *r, uint32_t *items, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = rng_below(r, i), t = items[i - 1];
        items[i - 1] = items[j];
        items[j] = t;
    }
}
