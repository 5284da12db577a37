/* stops: texts that end a generation, found while it streams.
 *
 * What could be the beginning of one is held back until it is clear that it is not,
 * so that no part of a stop text is ever passed on.                               */
#ifndef SOLO_STOPS_H
#define SOLO_STOPS_H

#include "base/str.h"

#include <stdbool.h>

typedef struct stops {
    const char *const *texts; /* (count) they must live on; empty ones are ignored */
    size_t count;
    str held;
    bool found;
} stops;

stops stops_of(const char *const *texts, size_t count);
void stops_free(stops *s);

/* Takes in more text and appends what may be passed on. True once a stop text was
 * found: what comes before the one that ends first was passed on, and nothing will be
 * any more. */
bool stops_add(stops *s, const char *text, size_t bytes, str *out);

/* The text is over: what was held back is passed on, too. Begins anew. */
void stops_end(stops *s, str *out);

#endif
