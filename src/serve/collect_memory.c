/* collect_memory: allocation from blocks for jansson, while a thread asks for it. */
#include "serve/collect_memory.h"

#include "base/str.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 64000, ALIGNMENT = _Alignof(max_align_t) };

typedef struct block {
    struct block *next;
    size_t used, room;
    max_align_t bytes[];
} block;

static _Thread_local struct {
    bool is_on;
    block *first; /* the one that has room, or is for a single large value */
} own;

static void *allocate(size_t bytes)
{
    if (!own.is_on)
        return mem_grow(NULL, bytes);
    size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!own.first || own.first->room - own.first->used < whole) {
        size_t room = whole > BLOCK_BYTES ? whole : BLOCK_BYTES;
        block *made = mem_grow(NULL, sizeof *made + room);
        *made = (block){.next = own.first, .room = room};
        own.first = made;
    }
    void *at = (char *)own.first->bytes + own.first->used;
    own.first->used += whole;
    return at;
}

static bool is_in_block(const void *p)
{
    for (const block *b = own.first; b; b = b->next)
        if ((const char *)p >= (const char *)b->bytes && (const char *)p < (const char *)b->bytes + b->used)
            return true;
    return false;
}

static void release(void *p)
{
    if (!own.is_on || !is_in_block(p))
        free(p);
}

void collect_memory_use(void)
{
    static atomic_flag is_set = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&is_set))
        json_set_alloc_funcs(allocate, release);
}

void collect_memory_begin(void)
{
    collect_memory_use();
    own.is_on = true;
}

void collect_memory_end(void)
{
    own.is_on = false;
    for (block *next; own.first; own.first = next) {
        next = own.first->next;
        free(own.first);
    }
}
