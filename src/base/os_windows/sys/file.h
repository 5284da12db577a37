/* file: locks of whole files. */
#ifndef SOLO_OS_WINDOWS_SYS_FILE_H
#define SOLO_OS_WINDOWS_SYS_FILE_H

enum { LOCK_EX = 2, LOCK_NB = 4 };
int flock(int fd, int how);

#endif
