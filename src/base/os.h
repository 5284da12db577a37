/* os: what differs between systems, a file for each: os_linux.c and os_macos.c (both with os_posix.c),
 * os_windows*.c, and os_wasi.c for pages, which have little of it. */
#ifndef SOLO_BASE_OS_H
#define SOLO_BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

enum { OS_LIBRARY_ROOM = 256 };

/* "unknown" where it is. */
void os_cpu_name(char *out, size_t room);
/* When a file was changed last. */
struct timespec os_changed_at(const struct stat *info);
/* Seconds since 1970 by the clock on the wall here; in a page, Greenwich's. */
int64_t os_local_time(time_t now);

/* Random bytes, at most 256. False: the system has none now, or never. */
bool os_random(void *to, size_t bytes);

/* ---- not for pages ------------------------------------------------------------------------ */

/* qsort with a word of the caller's for the comparison, which systems have in different forms. */
typedef int (*os_compare)(const void *a, const void *b, void *user);
void os_sort(void *items, size_t count, size_t bytes, os_compare compare, void *user);
/* The machine's memory; 0: not known. */
void os_memory(uint64_t *total_bytes, uint64_t *free_bytes);
/* Seconds that the processors which this process may use have worked since the machine started, what of it was this
 * process and those of its own that have ended, and how many processors they are. False: not known. */
bool os_work_time(double *all_s, double *own_s, uint32_t *processors);
/* The file of the running program. */
bool os_program_path(char *out, size_t room);
/* A file without a name in a folder, which may be given one later by /proc/self/fd; -1 where there is no such thing. */
int os_open_unnamed(const char *folder, mode_t mode);
/* A stream's socket that programs started from here do not inherit; -1 and errno. */
int os_stream_socket(int family);
/* This process is killed when the thread that forked it ends, where the system can do that. */
void os_end_with_parent(void);
/* Calls `then` after so long, in the middle of whatever runs then: only what a signal's handler may do may be done there. A
 * signal's handler may call this. */
void os_soon(uint32_t ms, void (*then)(int));
/* Whether whoever is at the other end has gone. */
bool os_is_hung_up(int socket);
/* A shared library's file by the name it has on Linux, as it is called here: libcurl.so.4 is libcurl.4.dylib on macOS. */
void os_library_name(const char *name, char out[OS_LIBRARY_ROOM]);
/* Loads it, as dlopen does; its names stay its own. */
void *os_load_library(const char *name);

#endif
