/* rng: small seeded random numbers for shuffling and resampling. */
#ifndef SOLO_RNG_H
#define SOLO_RNG_H

#include <stdint.h>

typedef struct rng {
    uint64_t state;
} rng;

rng rng_seed(uint64_t seed);
uint64_t rng_next(rng *r);
uint32_t rng_below(rng *r, uint32_t bound); /* 0 .. bound-1 */
double rng_unit(rng *r);                    /* 0 <= x < 1 */
void rng_shuffle(rng *r, uint32_t *items, uint32_t count);

#endif
