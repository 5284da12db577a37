/* file: whole files, read with a limit and written so that nothing is lost. */
#ifndef SOLO_FILE_H
#define SOLO_FILE_H

#include "base/err.h"
#include "base/str.h"

#include <stddef.h>

/* The contents, terminated by a zero byte, or NULL. A file larger than
 * `limit_bytes` is refused. */
char *file_read(const char *path, size_t limit_bytes, size_t *length, err *e);

/* Write a new file beside the target and rename it: on a full disk the old file
 * stays as it was and no half-written one is left. "-" writes to standard output. */
bool file_write(const char *path, const char *bytes, size_t length, err *e);

/* For those who write a file bit by bit: where a link leads, to be freed, and a new file
 * beside that, for it to be renamed from; its name is added to `path`. */
char *file_real_target(const char *path);
int file_create_beside(const char *target, str *path);

/* Could this be written? Asked before long work whose result goes there. */
bool file_writable(const char *path, err *e);

bool file_exists(const char *path);

#endif
