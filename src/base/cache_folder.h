/* cache_folder: where results are kept between runs, for cache.c and blob_cache.c.
 *
 * $XDG_CACHE_HOME/solo, else $HOME/.cache/solo. SOLO_CACHE=DIR is used instead, and
 * with SOLO_CACHE=off there is none. */
#ifndef SOLO_CACHE_FOLDER_H
#define SOLO_CACHE_FOLDER_H

#include "base/str.h"

#include <stdbool.h>

/* False: there is no folder, and nothing was added. */
bool cache_folder_add(str *path);
/* Makes the folders that a path goes through, as far as they are missing. */
void cache_folder_make(const char *path);
/* Anything but a plain file in that place is not ours to replace. */
bool cache_folder_may_write(const char *path);

#endif
