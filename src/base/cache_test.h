/* cache_test: what of cache.h only tests call. */
#ifndef SOLO_CACHE_TEST_H
#define SOLO_CACHE_TEST_H

#include "base/cache.h"

/* Where a key's file is, to be freed; NULL: there is no cache. */
char *cache_path(const char *key);

#endif
