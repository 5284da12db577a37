/* synth_test: what of synth.h only tests call. */
#ifndef SOLO_SYNTH_TEST_H
#define SOLO_SYNTH_TEST_H

#include "model/synth.h"

/* `count` weights of a random matrix with this deviation. */
void synth_weights(tensor_type type, double deviation, uint64_t seed, void *to, size_t count);

#endif
