/* server_names: what --allow-host and --allow-origin take. */
#include "cli/server_names.h"

#include <ctype.h>
#include <string.h>

/* A name or an address, in brackets if it has colons, and maybe a port. */
static bool is_host(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    bool bracketed = *text == '[';
    size_t length = bracketed ? 1 + strspn(text + 1, "0123456789abcdefABCDEF:.") : strspn(text, letters);
    if (length <= (bracketed ? 1 : 0) || (bracketed && text[length++] != ']'))
        return false;
    text += length;
    return !*text || (*text == ':' && isdigit((unsigned char)text[1]) && !text[1 + strspn(text + 1, "0123456789")]);
}

/* "null" is the origin of files. */
static bool is_origin(const char *text)
{
    const char *behind = strstr(text, "://");
    if (strcmp(text, "*") == 0 || strcmp(text, "null") == 0)
        return true;
    return behind && behind > text &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.") ==
               (size_t)(behind - text) &&
           is_host(behind + 3);
}

bool cli_check_server_names(const text_list *hosts, const text_list *origins, err *e)
{
    for (uint32_t i = 0; i < hosts->count; i++)
        if (!is_host(hosts->items[i]))
            return err_set_kind(e, ERR_USAGE, "--allow-host takes a name such as models.example.org, not '%s'",
                                hosts->items[i]);
    for (uint32_t i = 0; i < origins->count; i++)
        if (!is_origin(origins->items[i]))
            return err_set_kind(
                e, ERR_USAGE,
                "--allow-origin takes an origin such as https://example.org, without a path, or *, not '%s'",
                origins->items[i]);
    return true;
}
