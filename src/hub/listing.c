/* listing: reads the JSON of a hub's API, none of which is to be trusted. */
#include "hub/listing.h"
#include "base/str.h"
#include "hub/name.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t MOST_BYTES = (uint64_t)1 << 50;

static hub_file *add_file(hub_listing *l, const char *path, uint64_t bytes)
{
    if ((l->count & (l->count - 1)) == 0) /* room for as many again, at powers of two */
        l->files = mem_grow(l->files, (l->count ? 2 * l->count : 1) * sizeof *l->files);
    hub_file *f = &l->files[l->count++];
    *f = (hub_file){.path = mem_dup(path), .bytes = bytes};
    return f;
}

void hub_listing_add(hub_listing *l, const char *path, uint64_t bytes)
{
    add_file(l, path, bytes);
}

void hub_listing_free(hub_listing *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->files[i].path);
    free(l->files);
    *l = (hub_listing){0};
}

/* ---- JSON ---------------------------------------------------------------------------------- */

/* Is it, or a folder that it is in, hidden? */
static bool is_hidden(const char *path)
{
    for (const char *at = path;;) {
        size_t length = strcspn(at, "/");
        if (at[0] == '.' && length > 1 && !(length == 2 && at[1] == '.'))
            return true;
        if (!at[length])
            return false;
        at += length + 1;
    }
}

static bool take_digest(hub_file *f, const char *text)
{
    size_t digits = checksum_digits(f->kind);
    if (strlen(text) != digits || strspn(text, "0123456789abcdef") != digits)
        return false;
    memcpy(f->digest, text, digits + 1);
    return true;
}

static bool add_entry(hub_listing *l, const json_t *entry, err *e)
{
    const char *type = json_string_value(json_object_get(entry, "type"));
    const char *path = json_string_value(json_object_get(entry, "path"));
    if (!type || !path)
        return err_set(e, "the hub's list of files has an entry without a type or a path");
    if (strcmp(type, "file") != 0 || is_hidden(path))
        return true;
    if (!hub_path_is_safe(path)) {
        /* not repeated in the message: it may be anything */
        return err_set(
            e, "the hub's list of files has a name that is refused: absolute, leading out of the folder, hidden, "
               "too long, or with control characters");
    }
    const json_t *size = json_object_get(entry, "size"), *lfs = json_object_get(entry, "lfs");
    const char *sha256 = json_string_value(json_object_get(lfs, "oid"));
    const char *git = json_string_value(json_object_get(entry, "oid"));
    if (lfs && !json_is_null(lfs) && json_object_get(lfs, "size"))
        size = json_object_get(lfs, "size");
    if (!json_is_integer(size) || json_integer_value(size) < 0 || (uint64_t)json_integer_value(size) > MOST_BYTES)
        return err_set(e, "the hub's list of files has no size for %.200s", path);
    if (l->count >= HUB_MOST_FILES)
        return err_set(e, "the repository has more than %d files", HUB_MOST_FILES);
    hub_file *f = add_file(l, path, (uint64_t)json_integer_value(size));
    f->kind = sha256 ? CHECKSUM_SHA256 : CHECKSUM_GIT;
    const char *digest = sha256 ? sha256 : git;
    return (digest && take_digest(f, digest)) || err_set(e, "the hub's list of files has no checksum for %.200s", path);
}

bool hub_listing_add_json(hub_listing *l, const char *text, size_t length, err *e)
{
    json_error_t why;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    bool ok = root && json_is_array(root);
    if (!ok)
        err_set(e, "what the hub sent is no list of files");
    for (size_t i = 0; ok && i < json_array_size(root); i++)
        ok = add_entry(l, json_array_get(root, i), e);
    json_decref(root);
    return ok;
}

/* ---- order --------------------------------------------------------------------------------- */

static int by_path(const void *a, const void *b)
{
    return strcmp(((const hub_file *)a)->path, ((const hub_file *)b)->path);
}

bool hub_listing_sort(hub_listing *l, err *e)
{
    if (l->count)
        qsort(l->files, l->count, sizeof *l->files, by_path);
    for (size_t i = 1; i < l->count; i++)
        if (strcmp(l->files[i - 1].path, l->files[i].path) == 0)
            return err_set(e, "the hub's list of files has %.200s twice", l->files[i].path);
    return true;
}

const hub_file *hub_listing_find(const hub_listing *l, const char *path)
{
    hub_file key = {.path = (char *)path};
    return l->count ? bsearch(&key, l->files, l->count, sizeof *l->files, by_path) : NULL;
}
