/* checksum: SHA-256 and SHA-1 of bytes that come in pieces.
 *
 * A hub names large files by their SHA-256, and small ones as git does: by the SHA-1 of "blob LENGTH", a zero byte and
 * the contents. */
#ifndef SOLO_HUB_CHECKSUM_H
#define SOLO_HUB_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { CHECKSUM_SHA256, CHECKSUM_GIT } checksum_kind;

enum { CHECKSUM_BLOCK_BYTES = 64, CHECKSUM_HEX_BYTES = 65 };

typedef struct checksum {
    checksum_kind kind;
    uint32_t state[8];
    uint64_t bytes; /* seen so far */
    uint8_t block[CHECKSUM_BLOCK_BYTES];
} checksum;

/* `file_bytes`: of the whole file, which git's begins with. */
checksum checksum_begin(checksum_kind kind, uint64_t file_bytes);
void checksum_add(checksum *c, const void *bytes, size_t count);
/* In hexadecimal digits, lower case. */
void checksum_end(checksum *c, char hex[CHECKSUM_HEX_BYTES]);

/* How many digits one of this kind has. */
size_t checksum_digits(checksum_kind kind);

#endif
