/* dirent: scandir, which Windows does not have. */
#ifndef SOLO_OS_WINDOWS_DIRENT_H
#define SOLO_OS_WINDOWS_DIRENT_H

#include_next <dirent.h>

int scandir(const char *folder, struct dirent ***found, int (*wanted)(const struct dirent *),
            int (*compare)(const struct dirent **, const struct dirent **));
int alphasort(const struct dirent **a, const struct dirent **b);

#endif
