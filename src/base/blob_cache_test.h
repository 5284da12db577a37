/* blob_cache_test: what of blob_cache.h only tests call. */
#ifndef SOLO_BLOB_CACHE_TEST_H
#define SOLO_BLOB_CACHE_TEST_H

#include "base/blob_cache.h"

#include <stdint.h>

/* What this process did so far. */
typedef struct blob_cache_counts {
    uint64_t hits, misses, puts;
} blob_cache_counts;

blob_cache_counts blob_cache_count(void);

/* Where a key's file is, to be freed; NULL: there is no cache. */
char *blob_cache_path(const void *key, size_t key_bytes);

/* Another limit than BLOB_CACHE_BYTES. */
void blob_cache_set_limit(uint64_t bytes);

#endif
