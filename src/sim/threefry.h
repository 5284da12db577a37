/* threefry: the random numbers of kernels/sim_runtime/rng.wgsl on the CPU, bit for bit. */
#ifndef SOLO_SIM_THREEFRY_H
#define SOLO_SIM_THREEFRY_H

#include <stdint.h>

/* Threefry-2x32 with 20 rounds. */
void threefry(const uint32_t key[2], const uint32_t count[2], uint32_t out[2]);

/* 0 <= x < 1, in steps of 2^-24. */
float threefry_unit(uint32_t word);

#endif
