/* pt2: programs that torch.export.save wrote: a zip archive, not compressed, with a graph of ATen operators as JSON and
 * weights that are used where they lie. Hostile until checked. */
#ifndef SOLO_PT2_H
#define SOLO_PT2_H

#include "model/aten.h"

typedef struct pt2 pt2;
pt2 *pt2_open(const char *path, err *e);
/* The bytes must stay valid; `name` is for errors. */
pt2 *pt2_from_bytes(const void *bytes, size_t length, const char *name, err *e);
void pt2_free(pt2 *p);
aten_program *pt2_program(const pt2 *p);
/* By the end of its name. */
bool pt2_is_path(const char *path);

#endif
