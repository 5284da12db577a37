/* fail_calls: a library for LD_PRELOAD in which one call of the program fails.
 *
 * FAULT_FILE is a file of the struct below, which all processes of a run share: which of its calls fails and of which
 * group, how many there were, and the name of the one that failed. Only calls from the program itself count, told by
 * their return address: what GPU libraries and libc do on their own is not its business. The program's static libraries
 * (jansson, SQLite) are part of it. With WITHOUT_MEMORY, for builds whose sanitizer has an allocator of its own.
 *
 * FAULT_LOG is a file that gets a line for each call that writes to a file, syncs or renames one, with the inode's number:
 * `buffer 5`, `write 5`, `sync 5`, `rename 5 NAME`. tests/faults/order.py reads it.
 *
 * FAULT_LOOKUP_S: whoever looks a name up, libraries included, waits so many seconds, and it is not found. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NAME_ROOM = 24 };
typedef enum { MEMORY, IO } group;

/* The driver writes and reads it: tests/faults/run.py. */
typedef struct faults {
    _Atomic uint64_t calls[2]; /* of each group, so far */
    uint64_t fails_at;         /* the first one is 1; 0: none */
    uint32_t fails_group;
    char failed[NAME_ROOM]; /* which call it was */
} faults;

static faults *shared;
static int log_fd = -1;
static uintptr_t program_begin, program_end;

static int note_program(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size, (void)user;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
            program_begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            program_end = program_begin + info->dlpi_phdr[i].p_memsz;
        }
    return 1; /* the program comes first, and nothing else is asked for */
}

/* By system calls: the functions of the same names are the ones below. */
__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FAULT_FILE"), *log = getenv("FAULT_LOG");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    dl_iterate_phdr(note_program, NULL);
    if (log)
        log_fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        return;
    void *at = (void *)syscall(SYS_mmap, NULL, sizeof(faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (at != MAP_FAILED)
        shared = at;
}

static bool is_of_program(const void *caller)
{
    return (uintptr_t)caller >= program_begin && (uintptr_t)caller < program_end;
}

static bool fails(group g, const void *caller, const char *name, int why)
{
    if (!shared || !is_of_program(caller))
        return false;
    uint64_t number = atomic_fetch_add(&shared->calls[g], 1) + 1;
    if (g != shared->fails_group || number != shared->fails_at)
        return false;
    snprintf(shared->failed, sizeof shared->failed, "%s", name);
    errno = why;
    return true;
}

static void note_inode(const char *what, const struct stat *info, const char *path)
{
    char line[4200];
    int length = snprintf(line, sizeof line, "%s %ju %s\n", what, (uintmax_t)info->st_ino, path);
    syscall(SYS_write, log_fd, line, length);
}

/* Of plain files and folders, by their descriptor. */
static void note(const void *caller, const char *what, int fd)
{
    struct stat info;
    int before = errno;
    if (log_fd >= 0 && is_of_program(caller) && syscall(SYS_fstat, fd, &info) == 0 &&
        (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)))
        note_inode(what, &info, "");
    errno = before;
}
#define NOTE(what, fd) note(__builtin_return_address(0), what, fd)

#define FAILS(g, why) fails(g, __builtin_return_address(0), __func__, why)
#define NEXT(name) \
    static __typeof__(&name) next; \
    if (!next) \
    *(void **)&next = dlsym(RTLD_NEXT, #name)

/* A function that passes everything on, or gives `otherwise`; one that does something to the file `fd` as well. */
#define CALL(type, name, params, args, why, otherwise) CALL_NOTED(type, name, params, args, why, otherwise, (void)0)
#define CALL_ON(what, type, name, params, args, why, otherwise) \
    CALL_NOTED(type, name, params, args, why, otherwise, NOTE(what, fd))
#define CALL_NOTED(type, name, params, args, why, otherwise, noted) \
    type name params \
    { \
        NEXT(name); \
        noted; \
        return FAILS(IO, why) ? otherwise : next args; \
    }

#ifndef WITHOUT_MEMORY
/* glibc's own, since dlsym allocates */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);

void *malloc(size_t bytes)
{
    return FAILS(MEMORY, ENOMEM) ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes)
{
    return FAILS(MEMORY, ENOMEM) ? NULL : __libc_calloc(count, bytes);
}
void *realloc(void *p, size_t bytes)
{
    return FAILS(MEMORY, ENOMEM) ? NULL : __libc_realloc(p, bytes);
}
char *strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = FAILS(MEMORY, ENOMEM) ? NULL : __libc_malloc(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}
#endif

/* Opens with a mode where a file may be made. */
#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        NEXT(name); \
        va_list ap; \
        va_start(ap, flags); \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0; \
        va_end(ap); \
        return FAILS(IO, EMFILE) ? -1 : next(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

CALL(int, access, (const char *path, int mode), (path, mode), EIO, -1)
CALL(int, stat, (const char *path, struct stat *info), (path, info), EIO, -1)
CALL(int, stat64, (const char *path, struct stat64 *info), (path, info), EIO, -1)
CALL(int, lstat, (const char *path, struct stat *info), (path, info), EIO, -1)
CALL(int, fstat, (int fd, struct stat *info), (fd, info), EIO, -1)
CALL(int, fstat64, (int fd, struct stat64 *info), (fd, info), EIO, -1)
CALL(int, mkdir, (const char *path, mode_t mode), (path, mode), ENOSPC, -1)
CALL(int, unlink, (const char *path), (path), EIO, -1)
CALL(int, linkat, (int from, const char *old, int to, const char *new, int flags), (from, old, to, new, flags), ENOSPC,
     -1)
CALL(int, fchmod, (int fd, mode_t mode), (fd, mode), EIO, -1)
CALL_ON("sync", int, fsync, (int fd), (fd), EIO, -1)
CALL_ON("sync", int, fdatasync, (int fd), (fd), EIO, -1)
CALL_ON("write", int, ftruncate, (int fd, off_t bytes), (fd, bytes), ENOSPC, -1)
CALL_ON("write", int, ftruncate64, (int fd, off64_t bytes), (fd, bytes), ENOSPC, -1)
CALL(off_t, lseek, (int fd, off_t at, int whence), (fd, at, whence), EIO, -1)
CALL(ssize_t, read, (int fd, void *to, size_t bytes), (fd, to, bytes), EIO, -1)
CALL_ON("write", ssize_t, write, (int fd, const void *from, size_t bytes), (fd, from, bytes), ENOSPC, -1)
CALL(ssize_t, pread, (int fd, void *to, size_t bytes, off_t at), (fd, to, bytes, at), EIO, -1)
CALL(ssize_t, pread64, (int fd, void *to, size_t bytes, off64_t at), (fd, to, bytes, at), EIO, -1)
CALL_ON("write", ssize_t, pwrite64, (int fd, const void *from, size_t bytes, off64_t at), (fd, from, bytes, at), ENOSPC,
        -1)
CALL(void *, mmap, (void *at, size_t bytes, int protection, int flags, int fd, off_t offset),
     (at, bytes, protection, flags, fd, offset), ENOMEM, MAP_FAILED)
CALL(void *, mmap64, (void *at, size_t bytes, int protection, int flags, int fd, off64_t offset),
     (at, bytes, protection, flags, fd, offset), ENOMEM, MAP_FAILED)
CALL(int, pipe, (int fds[2]), (fds), EMFILE, -1)
CALL(int, dup, (int fd), (fd), EMFILE, -1)
CALL(int, dup2, (int fd, int to), (fd, to), EMFILE, -1)
CALL(pid_t, fork, (void), (), EAGAIN, -1)
CALL(int, socket, (int family, int type, int protocol), (family, type, protocol), EMFILE, -1)
CALL(int, bind, (int fd, const struct sockaddr *at, socklen_t bytes), (fd, at, bytes), EADDRINUSE, -1)
CALL(int, listen, (int fd, int backlog), (fd, backlog), EADDRINUSE, -1)
CALL(char *, realpath, (const char *path, char *out), (path, out), ENOMEM, NULL)
CALL(char *, getcwd, (char *out, size_t room), (out, room), EIO, NULL)
CALL(DIR *, opendir, (const char *path), (path), EMFILE, NULL)
CALL(struct dirent *, readdir, (DIR * folder), (folder), EIO, NULL)
CALL(FILE *, fopen, (const char *path, const char *mode), (path, mode), EMFILE, NULL)
CALL(FILE *, fdopen, (int fd, const char *mode), (fd, mode), ENOMEM, NULL)
CALL(FILE *, tmpfile, (void), (), ENOSPC, NULL)
CALL(int, setenv, (const char *name, const char *value, int replace), (name, value, replace), ENOMEM, -1)
CALL(ssize_t, getrandom, (void *to, size_t bytes, unsigned flags), (to, bytes, flags), EIO, -1)

int rename(const char *from, const char *to)
{
    struct stat info;
    NEXT(rename);
    if (log_fd >= 0 && is_of_program(__builtin_return_address(0)) &&
        syscall(SYS_newfstatat, AT_FDCWD, from, &info, AT_SYMLINK_NOFOLLOW) == 0)
        note_inode("rename", &info, to);
    return FAILS(IO, EIO) ? -1 : next(from, to);
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *wanted, struct addrinfo **found)
{
    NEXT(getaddrinfo);
    const char *seconds = getenv("FAULT_LOOKUP_S");
    if (!seconds)
        return next(name, service, wanted, found);
    for (unsigned left = (unsigned)atoi(seconds); left;)
        left = sleep(left); /* a signal shortens it */
    return EAI_AGAIN;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *user)
{
    NEXT(pthread_create);
    return FAILS(IO, EAGAIN) ? EAGAIN : next(thread, how, run, user);
}

/* What is closed is closed, even if it says that it failed. */
int close(int fd)
{
    NEXT(close);
    bool failing = FAILS(IO, EIO);
    int got = next(fd);
    errno = failing ? EIO : errno;
    return failing ? -1 : got;
}
int fclose(FILE *f)
{
    NEXT(fclose);
    NOTE("close", fileno(f));
    bool failing = FAILS(IO, ENOSPC);
    int got = next(f);
    errno = failing ? ENOSPC : errno;
    return failing ? EOF : got;
}

/* A stream that failed says so when it is asked. */
static size_t mark(FILE *f)
{
    if (f)
        f->_flags |= 0x20; /* glibc's mark of an error */
    return 0;
}
size_t fread(void *to, size_t bytes, size_t count, FILE *f)
{
    NEXT(fread);
    return FAILS(IO, EIO) ? mark(f) : next(to, bytes, count, f);
}
size_t fwrite(const void *from, size_t bytes, size_t count, FILE *f)
{
    NEXT(fwrite);
    NOTE("buffer", fileno(f));
    return FAILS(IO, ENOSPC) ? mark(f) : next(from, bytes, count, f);
}
int fflush(FILE *f)
{
    NEXT(fflush);
    if (f)
        NOTE("write", fileno(f));
    return FAILS(IO, ENOSPC) ? (int)mark(f) - 1 : next(f);
}
char *fgets(char *to, int room, FILE *f)
{
    NEXT(fgets);
    return FAILS(IO, EIO) ? (mark(f), NULL) : next(to, room, f);
}
int fgetc(FILE *f)
{
    NEXT(fgetc);
    return FAILS(IO, EIO) ? (int)mark(f) - 1 : next(f);
}
ssize_t __getdelim(char **line, size_t *room, int end, FILE *f)
{
    NEXT(__getdelim);
    return FAILS(IO, EIO) ? (ssize_t)mark(f) - 1 : next(line, room, end, f);
}
