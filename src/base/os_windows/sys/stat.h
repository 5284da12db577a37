/* stat: links, modes and times of files. */
#ifndef SOLO_OS_WINDOWS_SYS_STAT_H
#define SOLO_OS_WINDOWS_SYS_STAT_H

#include_next <sys/stat.h>

#include <direct.h>
#include <pthread_time.h>

#define S_IFLNK           0120000
#define S_ISLNK(m)        (((m)&S_IFMT) == S_IFLNK)
#define UTIME_NOW         0x3fffffff
#define UTIME_OMIT        0x3ffffffe
#define mkdir(path, mode) ((void)(mode), _mkdir(path))

/* Which knows folders, too. */
int os_windows_fstat(int fd, struct stat *info);
#define fstat(fd, info) os_windows_fstat(fd, info)

int lstat(const char *path, struct stat *info);
int fchmod(int fd, mode_t mode);
int futimens(int fd, const struct timespec times[2]);
int utimensat(int folder, const char *path, const struct timespec times[2], int flags);

#endif
