/* synth: a real model's shapes with random weights, for measuring without the model itself.
 *
 * The same seed makes the same file anywhere.
 *
 * Matrices are normal with a deviation of 1 / sqrt(columns), norms are about 1, so that
 * activations and logits stay of the order of 1. A matrix is filled with blocks picked
 * at random from a few thousand that were made for it: as fast as the disk, and each
 * block has the statistics of weights that were quantised.                          */
#ifndef SOLO_SYNTH_H
#define SOLO_SYNTH_H

#include "base/err.h"
#include "base/str.h"
#include "graph/type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "qwen2.5-0.5b", ...; NULL past the last. */
const char *synth_name(size_t i);

/* The types there are: "f32", ...; NULL past the last. */
const char *synth_type(uint32_t i);

/* `arch` and `type` as they were typed. `notes` gets lines
 * about what a user should know. */
bool synth_model(const char *arch, const char *type, uint64_t seed, const char *path, str *notes, err *e);

#endif
