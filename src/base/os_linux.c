/* os_linux: what Linux has of its own: /proc, files without a name, POLLRDHUP. */
#include "base/os.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

void os_cpu_name(char *out, size_t room)
{
    snprintf(out, room, "unknown");
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon) {
            colon[strcspn(colon, "\n")] = 0;
            snprintf(out, room, "%s", colon + 2);
            break;
        }
    }
    if (f)
        fclose(f);
}

void os_end_with_parent(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

bool os_random(void *to, size_t bytes)
{
    return getrandom(to, bytes, GRND_NONBLOCK) == (ssize_t)bytes;
}

struct timespec os_changed_at(const struct stat *info)
{
    return info->st_mtim;
}

void os_sort(void *items, size_t count, size_t bytes, os_compare compare, void *user)
{
    qsort_r(items, count, bytes, compare, user);
}

void os_memory(uint64_t *total_bytes, uint64_t *free_bytes)
{
    *total_bytes = *free_bytes = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    unsigned long long kib;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "MemTotal: %llu kB", &kib) == 1)
            *total_bytes = kib * 1024;
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            *free_bytes = kib * 1024;
    }
    if (f)
        fclose(f);
}

bool os_program_path(char *out, size_t room)
{
    ssize_t n = readlink("/proc/self/exe", out, room - 1);
    out[n > 0 ? n : 0] = 0;
    return n > 0;
}

int os_open_unnamed(const char *folder, mode_t mode)
{
    /* without this folder it could not be named later */
    return access("/proc/self/fd", X_OK) == 0 ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode) : -1;
}

int os_stream_socket(int family)
{
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

bool os_is_hung_up(int socket)
{
    struct pollfd p = {.fd = socket, .events = POLLRDHUP};
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLERR | POLLHUP | POLLNVAL));
}

void os_library_name(const char *name, char out[OS_LIBRARY_ROOM])
{
    snprintf(out, OS_LIBRARY_ROOM, "%s", name);
}

void *os_load_library(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}
