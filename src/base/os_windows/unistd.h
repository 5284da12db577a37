/* unistd: what Windows has by other names, or not at all (os_windows_files.c, os_windows_missing.c). */
#ifndef SOLO_OS_WINDOWS_UNISTD_H
#define SOLO_OS_WINDOWS_UNISTD_H

#include_next <unistd.h>

enum { _SC_NPROCESSORS_ONLN = 84, _SC_PAGESIZE = 30 };

long sysconf(int what);
int fsync(int fd);
ssize_t pread(int fd, void *to, size_t bytes, off_t at);
short geteuid(void);
/* always ENOSYS: os_open_unnamed has none to name */
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);

#endif
