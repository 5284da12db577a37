/* unpack: text that the build made short (tools/pack_text.mjs describes how it lies). */
#ifndef SOLO_UNPACK_H
#define SOLO_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills all of `to`; false if it is not what `from` makes. */
bool unpack_text(const uint8_t *from, size_t count, char *to, size_t size);

#endif
