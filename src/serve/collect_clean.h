/* collect_clean: what of a record is kept: measurements, and nothing about a person.
 *
 * Only keys that a record is known to have are kept, so that nothing comes along by accident. Of paths the last part is
 * kept, of addresses (name@host) nothing. `solo share` cleans what it sends with this very function and shows it, and the
 * collector cleans what it gets; cleaning twice changes nothing. */
#ifndef SOLO_SERVE_COLLECT_CLEAN_H
#define SOLO_SERVE_COLLECT_CLEAN_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>

enum {
    COLLECT_MAX_BYTES = 4 << 20, /* a full run of the dispatch experiment has a sixteenth of it */
    COLLECT_MAX_TEXT = 1000,     /* bytes of a text */
    COLLECT_MAX_KEY = 64,        /* and of a key */
    COLLECT_MAX_KEYS = 64,       /* in one object */
};

/* What is kept of the record, or NULL. To be called with collect_memory_begin: nothing is freed one by one. */
json_t *collect_clean(const char *name, const char *text, size_t length, err *e);

#endif
