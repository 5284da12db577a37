/* synth_test: what of synth.h only tests call. */
#ifndef SOLO_SYNTH_TEST_H
#define SOLO_SYNTH_TEST_H

#include "model/synth.h"

/* `count` weights of a random matrix with this deviation. */
void synth_weights(tensor_type type, double deviation, uint64_t seed, void *to, size_t count);

/* A file of this model's shapes with fewer layers (0: all), whose tensors are all zeros and take no room on a disk; without
 * a tokenizer. */
bool synth_outline(const char *arch, const char *type, uint32_t layers, const char *path, err *e);

#endif
