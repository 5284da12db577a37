/* stdio: getline, and a rename that replaces what is there. */
#ifndef SOLO_OS_WINDOWS_STDIO_H
#define SOLO_OS_WINDOWS_STDIO_H

#include_next <stdio.h>

#include <sys/types.h>

ssize_t getline(char **line, size_t *capacity, FILE *from);
int os_windows_rename(const char *from, const char *to);
/* One that others may rename and remove, too; bytes are read and written as they are. */
FILE *os_windows_fopen(const char *path, const char *mode);
#define fopen(path, mode) os_windows_fopen(path, mode)
#define rename(from, to)  os_windows_rename(from, to)

#endif
