/* safetensors_test: what of safetensors.h only tests call. */
#ifndef SOLO_SAFETENSORS_TEST_H
#define SOLO_SAFETENSORS_TEST_H

#include "model/safetensors.h"

/* A single file that is in memory already, and must outlive the result. */
safetensors *safetensors_read(const void *bytes, size_t length, const char *name, err *e);

/* In the order of their names. */
const safetensor *safetensors_at(const safetensors *s, size_t i);

#endif
