/* os_macos: the same by sysctl, dyld and libraries whose names end in .dylib. */
#include "base/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mach-o/dyld.h>
#include <mach/mach.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/sysctl.h>
#include <unistd.h>

void os_cpu_name(char *out, size_t room)
{
    size_t length = room;
    if (sysctlbyname("machdep.cpu.brand_string", out, &length, NULL, 0) != 0)
        snprintf(out, room, "unknown");
}

/* Its pipe closes, which it sees when it has measured. */
void os_end_with_parent(void)
{
}

bool os_random(void *to, size_t bytes)
{
    return getentropy(to, bytes) == 0;
}

struct timespec os_changed_at(const struct stat *info)
{
    return info->st_mtimespec;
}

typedef struct sorting {
    os_compare compare;
    void *user;
} sorting;

static int compare_for(void *sorting_of, const void *a, const void *b)
{
    const sorting *of = sorting_of;
    return of->compare(a, b, of->user);
}

void os_sort(void *items, size_t count, size_t bytes, os_compare compare, void *user)
{
    sorting of = {compare, user};
    qsort_r(items, count, bytes, &of, compare_for);
}

bool os_work_time(double *all_s, double *own_s, uint32_t *processors)
{
    (void)all_s, (void)own_s, (void)processors;
    return false;
}

void os_memory(uint64_t *total_bytes, uint64_t *free_bytes)
{
    size_t length = sizeof *total_bytes;
    *total_bytes = *free_bytes = 0;
    if (sysctlbyname("hw.memsize", total_bytes, &length, NULL, 0) != 0)
        *total_bytes = 0;
    vm_statistics64_data_t pages;
    mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
    if (host_statistics64(mach_host_self(), HOST_VM_INFO64, (host_info64_t)&pages, &count) == KERN_SUCCESS)
        *free_bytes = ((uint64_t)pages.free_count + pages.inactive_count) * (uint64_t)sysconf(_SC_PAGESIZE);
}

bool os_program_path(char *out, size_t room)
{
    uint32_t size = (uint32_t)room;
    if (_NSGetExecutablePath(out, &size) == 0)
        return true;
    *out = 0;
    return false;
}

int os_open_unnamed(const char *folder, mode_t mode)
{
    (void)folder, (void)mode;
    errno = ENOTSUP;
    return -1;
}

int os_stream_socket(int family)
{
    int fd = socket(family, SOCK_STREAM, 0);
    if (fd >= 0)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

bool os_is_hung_up(int socket)
{
    char next;
    ssize_t n = recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

/* libNAME.so.N: libNAME.N.dylib; libNAME.so: libNAME.dylib */
void os_library_name(const char *name, char out[OS_LIBRARY_ROOM])
{
    const char *ending = strstr(name, ".so");
    if (ending && (ending[3] == '.' || ending[3] == 0))
        snprintf(out, OS_LIBRARY_ROOM, "%.*s%s.dylib", (int)(ending - name), name, ending + 3);
    else
        snprintf(out, OS_LIBRARY_ROOM, "%s", name);
}

void *os_load_library(const char *name)
{
    char file[OS_LIBRARY_ROOM];
    os_library_name(name, file);
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}
