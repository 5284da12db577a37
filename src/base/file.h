/* file: whole files, read with a limit and written so that nothing is lost. */
#ifndef SOLO_FILE_H
#define SOLO_FILE_H

#include "base/err.h"
#include "base/str.h"

#include <stddef.h>

/* The contents, terminated by a zero byte, or NULL. A file larger than
 * `limit_bytes` is refused. */
char *file_read(const char *path, size_t limit_bytes, size_t *length, err *e);
/* The same of a file that nobody named, in a folder that somebody gave: a pipe there would be waited for. */
char *file_read_plain(const char *path, size_t limit_bytes, size_t *length, err *e);

/* Write a new file beside the target and rename it: on a full disk the old file
 * stays as it was and no half-written one is left (file_new.h). "-" writes to standard output. */
bool file_write(const char *path, const char *bytes, size_t length, err *e);

/* May a file that begins like this take the place of what is there? Of a file that is not empty only if that begins so,
 * too: a name is soon mistyped, and a model lost. */
bool file_replaceable(const char *path, const char *begin, size_t length, err *e);

/* Could this be written? Asked before long work whose result goes there. */
bool file_writable(const char *path, err *e);

/* Unless the system says that it is not there: what cannot be found out is found out, and said, when it is opened. */
bool file_exists(const char *path);

#endif
