/* names: a hash table with open addressing, at most half full. */
#include "model/names.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* Where the name is, or belongs. */
static struct name_slot *find_slot(const names *n, const char *name)
{
    uint32_t at = (uint32_t)hash_bytes(&n->key, name, strlen(name)) & n->mask;
    while (n->slots[at].name && strcmp(n->slots[at].name, name) != 0)
        at = (at + 1) & n->mask;
    return &n->slots[at];
}

static void grow(names *n)
{
    names wider = {
        .key = n->slots ? n->key : hash_new_key(), .count = n->count, .mask = n->slots ? 2 * n->mask + 1 : 31};
    wider.slots = mem_alloc((wider.mask + (size_t)1) * sizeof *wider.slots);
    for (uint32_t i = 0; n->slots && i <= n->mask; i++)
        if (n->slots[i].name)
            *find_slot(&wider, n->slots[i].name) = n->slots[i];
    free(n->slots);
    *n = wider;
}

void names_put(names *n, const char *name, uint32_t number)
{
    if (!n->slots || 2 * n->count > n->mask)
        grow(n);
    struct name_slot *slot = find_slot(n, name);
    n->count += !slot->name;
    *slot = (struct name_slot){slot->name ? slot->name : name, number};
}

const uint32_t *names_get(const names *n, const char *name)
{
    struct name_slot *slot = n->slots && name ? find_slot(n, name) : NULL;
    return slot && slot->name ? &slot->number : NULL;
}

void names_free(names *n)
{
    free(n->slots);
    *n = (names){0};
}
