/* site: which hub is asked, by the environment.
 *
 *     SOLO_HUB=URL           the hub; the public one of Hugging Face otherwise. SOLO_HUB=off: nothing is ever fetched
 *     SOLO_HUB_TIMEOUT=S     with not a byte for so many seconds a connection is given up; 30 otherwise
 *     HF_TOKEN=TOKEN         sent to the hub, and to no other host */
#ifndef SOLO_HUB_SITE_H
#define SOLO_HUB_SITE_H

#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

typedef struct hub_site {
    str url;           /* "https://huggingface.co", without a slash at its end */
    str folder;        /* what it is called in the cache: "huggingface.co" */
    const char *token; /* or NULL */
    uint32_t timeout_s;
    bool is_off;
    bool is_public; /* the one that is asked without SOLO_HUB */
} hub_site;

/* False: what the environment says is wrong. */
bool hub_site_read(hub_site *s, err *e);
void hub_site_free(hub_site *s);

#endif
