/* blob_cache: large results that are worth keeping between runs, such as compiled pipelines.
 *
 * They are in the folder `blobs` of the user's cache folder (cache_folder.h), a file each, named by the
 * key's hash. A file has the whole key and a checksum of everything in it: what is found is what was put
 * there under the very same key, bit by bit, or nothing. What does not check is ignored, and replaced by the
 * next put. Files are written under another name and renamed, so that others see all of a blob or none of it.
 *
 * All files together have at most BLOB_CACHE_BYTES; those that were not used for the longest time go first.
 * A folder that cannot be read or written is an empty cache, without an error. Any thread may call this. */
#ifndef SOLO_BLOB_CACHE_H
#define SOLO_BLOB_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#define BLOB_CACHE_BYTES (256ull << 20)

/* Is there a folder? Not with SOLO_CACHE=off. */
bool blob_cache_is_on(void);

/* The blob, to be freed, and its size; NULL: there is none. */
void *blob_cache_get(const void *key, size_t key_bytes, size_t *bytes);
/* Replaces what was there. An empty blob, or one whose file would be larger than a quarter of the limit, is not kept. */
void blob_cache_put(const void *key, size_t key_bytes, const void *blob, size_t bytes);

#endif
