/* pull: a model of a hub, by its name, into the store. */
#ifndef SOLO_HUB_PULL_H
#define SOLO_HUB_PULL_H

#include "hub/name.h"
#include "hub/site.h"

/* Asks the hub which files there are, chooses, and fetches what is not here yet. What is chosen and how large it is goes to
 * `say`, a line each. Adds the path of the model. */
bool hub_pull(const hub_site *s, const hub_name *n, void (*say)(const char *line), str *path, err *e);

/* Did Ctrl-C end the last one? What has come by then stays. */
bool hub_pull_was_interrupted(void);

#endif
