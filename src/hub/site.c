/* site: reads what the environment says about the hub. */
#include "hub/site.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char PUBLIC_HUB[] = "https://huggingface.co";
enum { TIMEOUT_S = 30, MOST_URL_BYTES = 200, MOST_TOKEN_BYTES = 1000 };

/* Scheme, host, port and path; no user, query or fragment. */
static const char *behind_scheme(const char *url)
{
    const char *rest = strncasecmp(url, "https://", 8) == 0  ? url + 8
                       : strncasecmp(url, "http://", 7) == 0 ? url + 7
                                                             : NULL;
    bool ok = rest && isalnum((unsigned char)*rest) && strlen(url) <= MOST_URL_BYTES && !strstr(rest, "..");
    for (const char *at = rest; ok && *at; at++)
        ok = isalnum((unsigned char)*at) || strchr(".-_:/", *at);
    return ok ? rest : NULL;
}

static bool read_url(hub_site *s, const char *url, err *e)
{
    const char *rest = behind_scheme(url);
    if (!rest)
        return err_set_kind(e, ERR_USAGE, "SOLO_HUB: takes the address of a hub, such as %s, or off", PUBLIC_HUB);
    str_add(&s->url, url);
    while (s->url.data[s->url.length - 1] == '/')
        s->url.data[--s->url.length] = 0;
    str_add(&s->folder, s->url.data + (rest - url));
    for (char *at = s->folder.data; *at; at++)
        *at = *at == '/' ? '_' : (char)tolower((unsigned char)*at);
    return true;
}

/* It becomes a line of a request, which no other may begin in. */
static bool read_token(hub_site *s, err *e)
{
    s->token = getenv("HF_TOKEN");
    if (s->token && !*s->token)
        s->token = NULL;
    for (const char *at = s->token; at && *at; at++)
        if (!isgraph((unsigned char)*at) || at - s->token >= MOST_TOKEN_BYTES)
            return err_set_kind(e, ERR_USAGE,
                                "HF_TOKEN: is no token: it has spaces or control characters, or is too long");
    return true;
}

static bool read_timeout(hub_site *s, err *e)
{
    const char *text = getenv("SOLO_HUB_TIMEOUT");
    char *end;
    long seconds = text && *text ? strtol(text, &end, 10) : TIMEOUT_S;
    if (text && *text && (*end || seconds < 1 || seconds > 3600))
        return err_set_kind(e, ERR_USAGE, "SOLO_HUB_TIMEOUT: takes seconds, from 1 to 3600");
    s->timeout_s = (uint32_t)seconds;
    return true;
}

bool hub_site_read(hub_site *s, err *e)
{
    const char *url = getenv("SOLO_HUB");
    *s = (hub_site){0};
    s->is_off = url && strcmp(url, "off") == 0;
    s->is_public = !url || !*url || s->is_off;
    if (read_url(s, s->is_public ? PUBLIC_HUB : url, e) && read_token(s, e) && read_timeout(s, e))
        return true;
    hub_site_free(s);
    return false;
}

void hub_site_free(hub_site *s)
{
    str_free(&s->url);
    str_free(&s->folder);
    *s = (hub_site){0};
}
