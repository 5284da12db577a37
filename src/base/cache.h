/* cache: small results that are worth keeping between runs, in files.
 *
 * They are in the user's cache folder (cache_folder.h); with SOLO_CACHE=off nothing is kept.
 *
 * A key is any text that says all the result depends on. Each has a file, named by
 * the key's hash, with the whole key in it: what is found is what was put there under
 * the very same key, or nothing. A cache that cannot be read or written, or has
 * something else in its files, is an empty one, without an error.                 */
#ifndef SOLO_CACHE_H
#define SOLO_CACHE_H

#include <stddef.h>

/* Key and value together may have this many bytes; what has more is not kept. */
enum { CACHE_MAX_BYTES = 64 * 1024 };

/* The value, to be freed, or NULL. */
char *cache_get(const char *key);
/* Replaces what was there, as a whole: others read the old value or this one. */
void cache_put(const char *key, const char *value);

#endif
