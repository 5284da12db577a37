/* map: a file mapped into memory with mmap. */
#include "base/map.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t nothing[1];

static bool map_descriptor(map *m, int fd, const char *path, err *e)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return err_set(e, "%s: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return err_set(e, "%s: is a folder", path);
    if (!S_ISREG(info.st_mode))
        return err_set(e, "%s: not a plain file", path);
    if ((uintmax_t)info.st_size > SIZE_MAX)
        return err_set(e, "%s: too large to map (%jd bytes)", path, (intmax_t)info.st_size);
    if (info.st_size == 0) {
        *m = (map){nothing, 0};
        return true;
    }
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return err_set(e, "%s: cannot map: %s", path, strerror(errno));
    *m = (map){bytes, (size_t)info.st_size};
    return true;
}

/* Nothing can be given to whoever reads on: the program ends here, with what may be called in a handler. */
static void on_cut(int signal)
{
    static const char text[] = "solo: a file became shorter while it was read\n";
    (void)signal;
    ssize_t written = write(err_descriptor, text, sizeof text - 1);
    (void)written; /* there is nobody else to say it to */
    _exit(1);
}

void map_survive_cuts(void)
{
    struct sigaction action = {.sa_handler = on_cut};
    sigaction(SIGBUS, &action, NULL);
}

bool map_open(map *m, const char *path, err *e)
{
    *m = (map){0};
    /* not blocking: a pipe without a writer is refused, not waited for */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_set(e, "%s: %s", path, strerror(errno));
    bool ok = map_descriptor(m, fd, path, e);
    close(fd);
    return ok;
}

bool map_touch(const void *bytes, size_t length)
{
#ifdef MADV_POPULATE_READ
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)bytes / page * page;
    /* a kernel that does not know it brings pages when they are looked at */
    return madvise((void *)from, (uintptr_t)bytes + length - from, MADV_POPULATE_READ) == 0 || errno != EFAULT;
#else
    (void)bytes, (void)length;
    return true;
#endif
}

void map_close(map *m)
{
    if (m->length)
        munmap((void *)m->bytes, m->length);
    *m = (map){0};
}
