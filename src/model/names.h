/* names: numbers by name. */
#ifndef SOLO_NAMES_H
#define SOLO_NAMES_H

#include "base/hash.h"

/* Zero-initialise it. Names must stay valid as long as it is used. */
typedef struct names {
    hash_key key;
    struct name_slot {
        const char *name;
        uint32_t number;
    } * slots;
    uint32_t count, mask;
} names;

/* Replaces the number that a name had. */
void names_put(names *n, const char *name, uint32_t number);
/* NULL: it has none, or there is no name. */
const uint32_t *names_get(const names *n, const char *name);
void names_free(names *n);

#endif
