/* os_windows_files: files as POSIX has them: shared with whoever renames or removes them, mapped, locked. */
#include "base/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <windows.h>

static int fail_as_windows_does(void)
{
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_NETPATH: errno = ENOENT; break;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: errno = EEXIST; break;
    case ERROR_DISK_FULL: errno = ENOSPC; break;
    case ERROR_SHARING_VIOLATION:
    case ERROR_USER_MAPPED_FILE: errno = EBUSY; break;
    case ERROR_LOCK_VIOLATION:
    case ERROR_IO_PENDING: errno = EWOULDBLOCK; break;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_COMMITMENT_LIMIT: errno = ENOMEM; break;
    case ERROR_FILENAME_EXCED_RANGE: errno = ENAMETOOLONG; break;
    default: errno = EACCES;
    }
    return -1;
}

static HANDLE handle_of(int fd)
{
    return (HANDLE)_get_osfhandle(fd);
}

static bool is_folder(const char *path)
{
    DWORD attributes = GetFileAttributesA(path);
    return attributes != INVALID_FILE_ATTRIBUTES && attributes & FILE_ATTRIBUTE_DIRECTORY;
}

static bool is_open_folder(int fd)
{
    FILE_BASIC_INFO info;
    return GetFileInformationByHandleEx(handle_of(fd), FileBasicInfo, &info, sizeof info) &&
           info.FileAttributes & FILE_ATTRIBUTE_DIRECTORY;
}

/* ---- opening and renaming ------------------------------------------------------------------ */

/* Not _open: a file that it opened can neither be renamed nor removed. */
int open(const char *path, int flags, ...)
{
    static const char null[] = "/dev/null";
    bool makes = (flags & O_CREAT) != 0;
    DWORD access = flags & O_WRONLY ? GENERIC_WRITE : flags & O_RDWR ? GENERIC_READ | GENERIC_WRITE : GENERIC_READ;
    DWORD how = makes             ? (flags & O_EXCL    ? CREATE_NEW
                                     : flags & O_TRUNC ? CREATE_ALWAYS
                                                       : OPEN_ALWAYS)
                : flags & O_TRUNC ? TRUNCATE_EXISTING
                                  : OPEN_EXISTING;
    bool folder = is_folder(path);
    if (folder && access != GENERIC_READ) {
        errno = EISDIR;
        return -1;
    }
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = !(flags & O_CLOEXEC)};
    HANDLE file = CreateFileA(strcmp(path, null) == 0 ? "NUL" : path, access,
                              FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, &inherited, how,
                              folder ? FILE_FLAG_BACKUP_SEMANTICS : FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return fail_as_windows_does();
    int fd = _open_osfhandle((intptr_t)file, (flags & (O_APPEND | O_CLOEXEC)) | _O_BINARY);
    if (fd < 0)
        CloseHandle(file);
    return fd;
}

FILE *os_windows_fopen(const char *path, const char *mode)
{
    bool both = strchr(mode, '+') != NULL;
    int flags = *mode == 'r' ? 0 : O_CREAT | (*mode == 'w' ? O_TRUNC : O_APPEND);
    int fd = open(path, flags | O_CLOEXEC | (both ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY), 0666);
    FILE *f = fd >= 0 ? _fdopen(fd, mode) : NULL;
    if (!f && fd >= 0)
        _close(fd);
    return f;
}

int os_windows_rename(const char *from, const char *to)
{
    return MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING) ? 0 : fail_as_windows_does();
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    (void)from_folder, (void)from, (void)to_folder, (void)to, (void)flags;
    errno = ENOSYS;
    return -1;
}

char *realpath(const char *path, char *resolved)
{
    char *full = *path ? _fullpath(NULL, path, 0) : NULL;
    if (!full || _access(full, 0) != 0) {
        free(full);
        errno = ENOENT;
        return NULL;
    }
    for (char *at = full; *at; at++)
        if (*at == '\\')
            *at = '/';
    if (!resolved)
        return full;
    if (strlen(full) >= PATH_MAX) {
        free(full);
        errno = ENAMETOOLONG;
        return NULL;
    }
    strcpy(resolved, full);
    free(full);
    return resolved;
}

/* ---- reading and writing ------------------------------------------------------------------- */

/* A folder has nothing to be written: the file system's journal keeps renames. */
int fsync(int fd)
{
    return FlushFileBuffers(handle_of(fd)) || is_open_folder(fd) ? 0 : fail_as_windows_does();
}

/* A pipe whose other end is closed has several numbers there. */
int write(int fd, const void *from, unsigned bytes)
{
    int put = _write(fd, from, bytes);
    if (put < 0 && (GetLastError() == ERROR_NO_DATA || GetLastError() == ERROR_BROKEN_PIPE))
        errno = EPIPE;
    return put;
}

ssize_t pread(int fd, void *to, size_t bytes, off_t at)
{
    OVERLAPPED from = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)((uint64_t)at >> 32)};
    DWORD got = 0, most = bytes > INT32_MAX ? INT32_MAX : (DWORD)bytes;
    if (!ReadFile(handle_of(fd), to, most, &got, &from) && GetLastError() != ERROR_HANDLE_EOF)
        return fail_as_windows_does();
    return (ssize_t)got;
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    (void)at, (void)bytes, (void)protection, (void)flags, (void)offset;
    HANDLE mapping = CreateFileMappingA(handle_of(fd), NULL, PAGE_READONLY, 0, 0, NULL);
    void *mapped = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0) : NULL;
    if (!mapped)
        fail_as_windows_does();
    if (mapping)
        CloseHandle(mapping); /* what is mapped keeps it */
    return mapped ? mapped : MAP_FAILED;
}

int munmap(void *at, size_t bytes)
{
    (void)bytes;
    return UnmapViewOfFile(at) ? 0 : fail_as_windows_does();
}

/* The lock is on a byte far behind the end, so that the file itself can be read. */
int flock(int fd, int how)
{
    OVERLAPPED at = {.Offset = 0, .OffsetHigh = 0x7fffffff};
    DWORD flags = LOCKFILE_EXCLUSIVE_LOCK | (how & LOCK_NB ? LOCKFILE_FAIL_IMMEDIATELY : 0);
    return LockFileEx(handle_of(fd), flags, 0, 1, 0, &at) ? 0 : fail_as_windows_does();
}

/* ---- what is known of files ---------------------------------------------------------------- */

int os_windows_fstat(int fd, struct stat *info)
{
    if (is_open_folder(fd)) {
        *info = (struct stat){.st_mode = S_IFDIR};
        return 0;
    }
    return (fstat)(fd, info);
}

int lstat(const char *path, struct stat *info)
{
    DWORD attributes = GetFileAttributesA(path);
    if (attributes != INVALID_FILE_ATTRIBUTES && attributes & FILE_ATTRIBUTE_REPARSE_POINT) {
        *info = (struct stat){.st_mode = S_IFLNK};
        return 0;
    }
    return stat(path, info);
}

/* A new file gets its rights from its folder. */
int fchmod(int fd, mode_t mode)
{
    (void)fd, (void)mode;
    return 0;
}

static bool set_times(HANDLE file, const struct timespec times[2])
{
    FILETIME now;
    GetSystemTimeAsFileTime(&now);
    bool used = !times || times[0].tv_nsec == UTIME_NOW, changed = !times || times[1].tv_nsec == UTIME_NOW;
    return SetFileTime(file, NULL, used ? &now : NULL, changed ? &now : NULL);
}

/* A descriptor for reading does not allow it: the file is opened anew. */
int futimens(int fd, const struct timespec times[2])
{
    HANDLE file =
        ReOpenFile(handle_of(fd), FILE_WRITE_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, 0);
    bool ok = file != INVALID_HANDLE_VALUE && set_times(file, times);
    if (file != INVALID_HANDLE_VALUE)
        CloseHandle(file);
    return ok ? 0 : fail_as_windows_does();
}

int utimensat(int folder, const char *path, const struct timespec times[2], int flags)
{
    (void)folder, (void)flags;
    HANDLE file = CreateFileA(path, FILE_WRITE_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                              OPEN_EXISTING, 0, NULL);
    bool ok = file != INVALID_HANDLE_VALUE && set_times(file, times);
    if (file != INVALID_HANDLE_VALUE)
        CloseHandle(file);
    return ok ? 0 : fail_as_windows_does();
}

int statvfs(const char *path, struct statvfs *info)
{
    ULARGE_INTEGER available;
    if (!GetDiskFreeSpaceExA(path, &available, NULL, NULL))
        return fail_as_windows_does();
    *info = (struct statvfs){.f_bavail = available.QuadPart, .f_frsize = 1};
    return 0;
}

/* ---- folders ------------------------------------------------------------------------------- */

int alphasort(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

int scandir(const char *folder, struct dirent ***found, int (*wanted)(const struct dirent *),
            int (*compare)(const struct dirent **, const struct dirent **))
{
    DIR *d = opendir(folder);
    struct dirent **list = NULL;
    int count = 0;
    if (!d)
        return -1;
    for (struct dirent *entry; (entry = readdir(d));) {
        if (wanted && !wanted(entry))
            continue;
        struct dirent *copy = malloc(sizeof *copy), **longer = realloc(list, ((size_t)count + 1) * sizeof *list);
        if (!copy || !longer)
            abort();
        *copy = *entry;
        list = longer;
        list[count++] = copy;
    }
    closedir(d);
    if (compare && count > 1)
        qsort(list, (size_t)count, sizeof *list, (int (*)(const void *, const void *))compare);
    *found = list;
    return count;
}
