/* gguf_test: what of gguf.h only tests call. */
#ifndef SOLO_GGUF_TEST_H
#define SOLO_GGUF_TEST_H

#include "model/gguf.h"

uint32_t gguf_version(const gguf *g);

#endif
