/* fcntl: flags that Windows does not have, and open, which os_windows_files.c has. */
#ifndef SOLO_OS_WINDOWS_FCNTL_H
#define SOLO_OS_WINDOWS_FCNTL_H

#include_next <fcntl.h>

#include <io.h>
#include <sys/types.h>

#define O_CLOEXEC   _O_NOINHERIT
#define O_NONBLOCK  0
#define O_NOFOLLOW  0
#define O_DIRECTORY 0

enum { AT_FDCWD = -100, AT_SYMLINK_NOFOLLOW = 0x100, AT_SYMLINK_FOLLOW = 0x400 };

#endif
