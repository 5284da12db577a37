/* stdlib: realpath and the environment, by the names that the rest uses. */
#ifndef SOLO_OS_WINDOWS_STDLIB_H
#define SOLO_OS_WINDOWS_STDLIB_H

#include_next <stdlib.h>

/* With slashes, never backslashes. */
char *realpath(const char *path, char *resolved);
int setenv(const char *name, const char *value, int replace);
int unsetenv(const char *name);

#endif
