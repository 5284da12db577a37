/* os_linux: what Linux has of its own: /proc, files without a name, POLLRDHUP. */
#include "base/os.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
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

/* "cpu3 user nice system idle iowait irq softirq steal ...", in ticks. */
bool os_work_time(double *all_s, double *own_s, uint32_t *processors)
{
    cpu_set_t ours;
    struct rusage own = {0}, ended = {0};
    FILE *f = sched_getaffinity(0, sizeof ours, &ours) == 0 ? fopen("/proc/stat", "r") : NULL;
    char line[256];
    unsigned number;
    unsigned long long t[8], ticks = 0;
    *processors = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &number, &t[0], &t[1], &t[2], &t[3], &t[4],
                   &t[5], &t[6], &t[7]) == 9 &&
            number < CPU_SETSIZE && CPU_ISSET(number, &ours)) {
            ticks += t[0] + t[1] + t[2] + t[5] + t[6] + t[7];
            ++*processors;
        }
    if (f)
        fclose(f);
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &ended);
    *all_s = (double)ticks / (double)sysconf(_SC_CLK_TCK);
    *own_s = 0;
    const struct timeval parts[] = {own.ru_utime, own.ru_stime, ended.ru_utime, ended.ru_stime};
    for (int i = 0; i < 4; i++)
        *own_s += (double)parts[i].tv_sec + (double)parts[i].tv_usec * 1e-6;
    return *processors > 0;
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
