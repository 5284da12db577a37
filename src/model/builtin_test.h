/* builtin_test: what of builtin.h only tests call. */
#ifndef SOLO_BUILTIN_TEST_H
#define SOLO_BUILTIN_TEST_H

#include "model/builtin.h"

/* The file's bytes, aligned to 64, there for as long as the program runs. */
const void *builtin_bytes(size_t *count);

#endif
