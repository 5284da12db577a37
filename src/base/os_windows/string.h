/* string: searches that Windows does not have (os_windows_missing.c). */
#ifndef SOLO_OS_WINDOWS_STRING_H
#define SOLO_OS_WINDOWS_STRING_H

#include_next <string.h>

void *memmem(const void *in, size_t in_bytes, const void *what, size_t what_bytes);
char *strsep(char **rest, const char *between);
char *strcasestr(const char *in, const char *what);

#endif
