/* stops: texts that end a generation, found while it streams.
 *
 * What could be the beginning of one is held back until it is clear that it is not,
 * so that no part of a stop text is ever passed on.                               */
#ifndef SOLO_STOPS_H
#define SOLO_STOPS_H

#include "base/str.h"

#include <stdbool.h>

typedef struct stops {
    const char *const *texts; /* (count) they must outlive this; empty ones are ignored */
    size_t count;
    str held;
    bool found;
} stops;

stops stops_of(const char *const *texts, size_t count);
void stops_free(stops *s);

/* Takes more text and appends the part that may be passed on. True once a stop text was found: the text before the one
 * that ends first has been passed on, and nothing more will be. */
bool stops_add(stops *s, const char *text, size_t bytes, str *out);

/* Ends the text: passes on what was held back, and starts over. */
void stops_end(stops *s, str *out);

#endif
