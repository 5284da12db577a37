/* statvfs: how much room a disk has. */
#ifndef SOLO_OS_WINDOWS_SYS_STATVFS_H
#define SOLO_OS_WINDOWS_SYS_STATVFS_H

struct statvfs {
    unsigned long long f_bavail, f_frsize;
};

int statvfs(const char *path, struct statvfs *info);

#endif
