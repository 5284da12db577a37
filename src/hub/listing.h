/* listing: the files of a repository, as a hub's API lists them or as they lie in a folder. */
#ifndef SOLO_HUB_LISTING_H
#define SOLO_HUB_LISTING_H

#include "base/err.h"
#include "hub/checksum.h"

typedef struct hub_file {
    char *path; /* below the repository, with / between folders; hub_path_is_safe */
    uint64_t bytes;
    checksum_kind kind;
    char digest[CHECKSUM_HEX_BYTES]; /* empty: of a file in a folder */
} hub_file;

typedef struct hub_listing {
    hub_file *files; /* sorted by path, once hub_listing_sort was called */
    size_t count;
} hub_listing;

enum { HUB_MOST_FILES = 100000 };

/* Adds what GET /api/models/OWNER/REPO/tree/REVISION answers: an array with type, path, size, oid and lfs.oid of each.
 * Folders and hidden files are passed over; a name that leads out of the folder is an error, as is a file without a
 * size or a checksum. */
bool hub_listing_add_json(hub_listing *l, const char *text, size_t length, err *e);
void hub_listing_add(hub_listing *l, const char *path, uint64_t bytes);
/* False: a path is there twice. */
bool hub_listing_sort(hub_listing *l, err *e);
/* NULL: it is not there. */
const hub_file *hub_listing_find(const hub_listing *l, const char *path);
void hub_listing_free(hub_listing *l);

#endif
