/* file_new: a file without a name, or beside its target, and how it takes the target's place. */
#include "base/file_new.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODE_OF_NEW = 0666 }; /* less the umask */

/* The folder of a path: what stands before the last slash. */
static char *folder_of(const char *path)
{
    char *folder = mem_dup(path), *slash = strrchr(folder, '/');
    if (!slash) {
        free(folder);
        return mem_dup(".");
    }
    slash[slash == folder] = 0;
    return folder;
}

/* Not by mkstemp: its files are 0600, and the umask cannot be asked for without changing it. */
static int open_named(file_new *f)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        f->temporary.length = 0;
        str_addf(&f->temporary, "%s.%ld-%d", f->target, (long)getpid(), attempt);
        int fd = open(f->temporary.data, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, MODE_OF_NEW);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* The mode of the file that is replaced: what was for one person must not become everyone's. */
static bool take_mode(const file_new *f)
{
    struct stat old, new;
    if (stat(f->target, &old) != 0)
        return errno == ENOENT;
    return fstat(f->fd, &new) == 0 &&
           (((old.st_mode ^ new.st_mode) & 0777) == 0 || fchmod(f->fd, old.st_mode & 0777) == 0);
}

bool file_new_open(file_new *f, const char *path)
{
    char *real = realpath(path, NULL);
    *f = (file_new){.fd = -1, .target = real ? real : mem_dup(path)};
    if (!*path) {
        errno = ENOENT;
        return false;
    }
    char *folder = folder_of(f->target);
    f->fd = os_open_unnamed(folder, MODE_OF_NEW);
    free(folder);
    if (f->fd < 0 && (f->fd = open_named(f)) < 0) {
        int why = errno;
        str_free(&f->temporary);
        errno = why;
        return false;
    }
    if (take_mode(f))
        return true;
    int why = errno;
    close(f->fd);
    if (f->temporary.data)
        unlink(f->temporary.data);
    str_free(&f->temporary);
    errno = why;
    return false;
}

/* A file without a name gets one beside the target first: it cannot replace the target at once. */
static bool give_name(file_new *f)
{
    char open_file[64];
    snprintf(open_file, sizeof open_file, "/proc/self/fd/%d", f->fd);
    for (int attempt = 0; attempt < 100; attempt++) {
        f->temporary.length = 0;
        str_addf(&f->temporary, "%s.%ld-%d", f->target, (long)getpid(), attempt);
        if (linkat(AT_FDCWD, open_file, AT_FDCWD, f->temporary.data, AT_SYMLINK_FOLLOW) == 0)
            return true;
        if (errno != EEXIST)
            break;
    }
    int why = errno;
    str_free(&f->temporary);
    errno = why;
    return false;
}

bool file_sync_folder(const char *path)
{
    char *folder = folder_of(path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd < 0 || fsync(fd) == 0 || errno == EINVAL || errno == EROFS; /* nothing to sync in some file systems */
    int why = errno;
    if (fd >= 0)
        close(fd);
    free(folder);
    errno = why;
    return ok;
}

bool file_new_place(file_new *f, bool sync)
{
    if ((sync && fsync(f->fd) != 0) || (!f->temporary.data && !give_name(f)) ||
        rename(f->temporary.data, f->target) != 0)
        return false;
    str_free(&f->temporary);
    return !sync || file_sync_folder(f->target);
}

void file_new_free(file_new *f)
{
    int why = errno;
    if (f->temporary.data)
        unlink(f->temporary.data);
    str_free(&f->temporary);
    free(f->target);
    errno = why;
}
