/* map: a file as memory, for reading only.
 *
 * Nothing is read until it is looked at. A file that others cut short while it is
 * mapped ends the program when the missing part is touched; replacing it by a rename
 * is harmless. */
#ifndef SOLO_MAP_H
#define SOLO_MAP_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

typedef struct map {
    const uint8_t *bytes; /* never NULL while open, also for an empty file */
    size_t length;
} map;

/* Only plain files can be mapped. */
bool map_open(map *m, const char *path, err *e);
void map_close(map *m);
/* For a program's main: touching what was cut off ends it with one line and exit status 1, not with SIGBUS. */
void map_survive_cuts(void);
/* Reads what is mapped there, all at once, which takes less time than page by page. False: the file no longer has it. */
bool map_touch(const void *bytes, size_t length);

#endif
