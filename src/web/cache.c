/* cache: base/cache.h in a page, which keeps results in the browser's storage. */
#include "base/cache.h"
#include "base/str.h"
#include "web/host.h"

#include <string.h>

char *cache_get(const char *key)
{
    int32_t length = page_recall(key, NULL, 0);
    if (length < 0 || length > CACHE_MAX_BYTES)
        return NULL;
    char *value = mem_alloc((size_t)length + 1);
    page_recall(key, value, length);
    return value;
}

void cache_put(const char *key, const char *value)
{
    if (strlen(key) + strlen(value) <= CACHE_MAX_BYTES)
        page_remember(key, value);
}
