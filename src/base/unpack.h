/* unpack: text that the build made short (tools/pack_text.mjs describes how it lies). */
#ifndef SOLO_UNPACK_H
#define SOLO_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills all of `to`; false if `from` cannot make it. It is the build's own: damage is survived, but not always noticed. */
bool unpack_text(const uint8_t *from, size_t count, char *to, size_t size);

#endif
