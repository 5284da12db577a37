/* hash: of texts from outside, so that nobody can choose texts that all fall into one place of a table. */
#ifndef SOLO_HASH_H
#define SOLO_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct hash_key {
    uint64_t low, high;
} hash_key;

/* Another one in every process, which nothing printed depends on. */
hash_key hash_new_key(void);

/* SipHash-1-3. */
uint64_t hash_bytes(const hash_key *key, const void *bytes, size_t count);

#endif
