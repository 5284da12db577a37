/* builtin: the model that comes with the binary (docs/builtin.md), a GGUF file. */
#ifndef SOLO_BUILTIN_H
#define SOLO_BUILTIN_H

#include "model/gguf.h"

/* What messages call it. */
#define BUILTIN_NAME "the built-in model"

gguf *builtin_open(err *e);

#endif
