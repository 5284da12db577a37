/* quantised: Hugging Face folders whose weights are of 4 or 8 bits (GPTQ, AWQ, compressed-tensors) or fp8, turned into
 * types that Solo has.
 *
 * A weight is (n - zero) * scale, with a zero and a scale for each group of inputs. Where all zeros are 8 of 16 that is
 * q4_0, bit by bit; otherwise n - zero fits q8_0, exactly as well, unless it has 8 bits and zeros of its own. Inputs in
 * another order than their groups (act-order) and fp8 become f16. Not in the browser. */
#ifndef SOLO_QUANTISED_H
#define SOLO_QUANTISED_H

#include "model/model.h"
#include "model/safetensors.h"

struct json_t; /* of jansson, which a page has not */

/* Is the folder's "quantization_config" one of these? An error that names what is not supported if it is not. */
bool quantised_is_known(const struct json_t *config, const char *file, err *e);

/* Replaces all weights of the model that are quantised in its folder. Nothing to do if config.json has no
 * "quantization_config". */
bool quantised_unpack(model *m, const safetensors *folder, const char *config, size_t length, err *e);

/* May a tensor of such a folder be left unused? What stands beside quantised weights may, biases of nothing but zeros,
 * which AutoGPTQ's folders of before 2024 have for all weights, and those of so many experts, which are one weight here. */
bool quantised_leaves_out(const safetensors *folder, size_t tensor, uint32_t experts);

#endif
