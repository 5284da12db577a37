/* name: what a model is called on a hub, OWNER/REPO[:FILE], and which names of files are taken from one.
 *
 * Names come from a person or from a server, and become parts of paths and URLs: whatever could lead out of a folder or
 * disturb a terminal is refused here. */
#ifndef SOLO_HUB_NAME_H
#define SOLO_HUB_NAME_H

#include "base/str.h"

#include <stdbool.h>

enum { HUB_PART_BYTES = 97, HUB_COMPONENT_BYTES = 200, HUB_PATH_BYTES = 1000 };

typedef struct hub_name {
    char owner[HUB_PART_BYTES], repo[HUB_PART_BYTES];
    const char *file; /* of the text that was parsed; NULL: the one that suits */
} hub_name;

/* False: that is no such name. One that ends as files do (.gguf) is none, but a path. */
bool hub_name_parse(const char *text, hub_name *n);

/* Is this a path below a folder, that one may write and print? */
bool hub_path_is_safe(const char *path);

/* Has the path this quantisation's name (Q4_K_M) in it, as a word of its own? Any case. */
bool hub_path_has_type(const char *path, const char *type);
/* Does it end in this? Any case. */
bool hub_ends_in(const char *path, const char *end);
const char *hub_base_name(const char *path);

/* For a URL; slashes stay. */
void hub_add_escaped(str *url, const char *path);

enum { HUB_SIZE_BYTES = 16 };
/* "397 MB" */
void hub_size_text(uint64_t bytes, char out[HUB_SIZE_BYTES]);

#endif
