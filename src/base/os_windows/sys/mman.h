/* mman: files mapped for reading, which is all that is asked for. */
#ifndef SOLO_OS_WINDOWS_SYS_MMAN_H
#define SOLO_OS_WINDOWS_SYS_MMAN_H

#include <stddef.h>
#include <sys/types.h>

enum { PROT_READ = 1, MAP_PRIVATE = 2 };
#define MAP_FAILED ((void *)-1)

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
int munmap(void *at, size_t bytes);

#endif
