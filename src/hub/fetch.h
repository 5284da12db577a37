/* fetch: one file of a hub into its place: resumed, checked, and only then under its own name. */
#ifndef SOLO_HUB_FETCH_H
#define SOLO_HUB_FETCH_H

#include "hub/http.h"
#include "hub/listing.h"
#include "hub/site.h"

typedef struct hub_fetch {
    http *h;
    const hub_site *site;
    const char *url;
    const char *folder; /* of the repository */
    const hub_file *file;
    const char *label; /* for the progress */
    const volatile sig_atomic_t *stop;
} hub_fetch;

/* Is the file here, complete and as the hub lists it? Its contents are read for that. */
bool hub_fetch_is_here(const hub_fetch *f);
/* How much of it an earlier try has left. */
uint64_t hub_fetch_begun_bytes(const hub_fetch *f);
/* On failure what came so far stays, unless it is wrong. */
bool hub_fetch_file(const hub_fetch *f, err *e);

/* Why a server refused, for a person. `what` is the repository or the file. */
void hub_refusal(err *e, const char *what, long status, const hub_site *site);

#endif
