/* name: parsing and checking the names of models and of their files. */
#include "hub/name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- OWNER/REPO[:FILE] --------------------------------------------------------------------- */

/* As hubs allow it: letters, digits, and - _ . inside, never two dots or dashes in a row. */
static bool take_part(const char *text, size_t length, char out[HUB_PART_BYTES])
{
    if (length == 0 || length >= HUB_PART_BYTES)
        return false;
    for (size_t i = 0; i < length; i++) {
        bool is_plain = isalnum((unsigned char)text[i]) || text[i] == '_';
        bool is_edge = i == 0 || i + 1 == length;
        if (!is_plain && ((text[i] != '-' && text[i] != '.') || is_edge || text[i + 1] == text[i]))
            return false;
    }
    memcpy(out, text, length);
    out[length] = 0;
    return true;
}

bool hub_ends_in(const char *path, const char *end)
{
    size_t a = strlen(path), b = strlen(end);
    return a >= b && strcasecmp(path + a - b, end) == 0;
}

bool hub_name_parse(const char *text, hub_name *n)
{
    static const char *const file_ends[] = {".gguf", ".safetensors", ".json", ".bin"};
    *n = (hub_name){0};
    size_t owner = strcspn(text, "/:");
    if (text[owner] != '/')
        return false;
    const char *repo = text + owner + 1;
    size_t length = strcspn(repo, "/:");
    if (repo[length] == '/' || !take_part(text, owner, n->owner) || !take_part(repo, length, n->repo))
        return false;
    for (size_t i = 0; i < sizeof file_ends / sizeof *file_ends; i++)
        if (hub_ends_in(n->repo, file_ends[i]))
            return false;
    if (repo[length] == ':')
        n->file = repo + length + 1;
    return !n->file || hub_path_is_safe(n->file);
}

/* ---- files --------------------------------------------------------------------------------- */

/* One that hides, "." and ".." begin with a dot; what Solo itself keeps in such a folder does, too. */
static bool component_is_safe(const char *text, size_t length)
{
    if (length == 0 || length > HUB_COMPONENT_BYTES || text[0] == '.')
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f || text[i] == '\\')
            return false;
    return true;
}

/* UTF-8 whose characters C1, the other control characters, are not among. */
static bool is_printable(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        int more = *at < 0x80                  ? 0
                   : *at >= 0xc2 && *at < 0xe0 ? 1
                   : *at >= 0xe0 && *at < 0xf0 ? 2
                   : *at >= 0xf0 && *at < 0xf5 ? 3
                                               : -1;
        if (more < 0 || (at[0] == 0xc2 && at[1] < 0xa0))
            return false;
        for (at++; more > 0; more--, at++)
            if ((*at & 0xc0) != 0x80)
                return false;
    }
    return true;
}

bool hub_path_is_safe(const char *path)
{
    if (strlen(path) > HUB_PATH_BYTES || !is_printable(path))
        return false;
    for (;;) {
        size_t length = strcspn(path, "/");
        if (!component_is_safe(path, length))
            return false;
        if (!path[length])
            return true;
        path += length + 1;
    }
}

/* An underscore ends no type: Q4_K is not what Q4_K_M says. */
bool hub_path_has_type(const char *path, const char *type)
{
    size_t length = strlen(type);
    for (const char *at = path; length && *at; at++) {
        if (strncasecmp(at, type, length) != 0 || (at > path && isalnum((unsigned char)at[-1])))
            continue;
        if (!isalnum((unsigned char)at[length]) && at[length] != '_')
            return true;
    }
    return false;
}

const char *hub_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void hub_add_escaped(str *url, const char *path)
{
    for (const unsigned char *at = (const unsigned char *)path; *at; at++)
        if (isalnum(*at) || strchr("-._~/", *at))
            str_add_bytes(url, (const char *)at, 1);
        else
            str_addf(url, "%%%02X", *at);
}

void hub_size_text(uint64_t bytes, char out[HUB_SIZE_BYTES])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double size = (double)bytes;
    size_t unit = 0;
    for (; size >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        size /= 1000;
    snprintf(out, HUB_SIZE_BYTES, unit && size < 9.95 ? "%.1f %s" : "%.0f %s", size, units[unit]);
}
