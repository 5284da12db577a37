/* file_new: a file that takes the place of another once it is complete.
 *
 *     file_new f;
 *     if (file_new_open(&f, path)) ... write to f.fd ...
 *     ok = file_new_place(&f, true);
 *     close(f.fd);
 *     file_new_free(&f);
 *
 * Until it has its place it has no name, where the file system can do that, so that even a killed program leaves nothing
 * behind; elsewhere its name is the target's with something added. It gets the mode of the file that it replaces, or
 * that of any new file (the umask). Failures leave their cause in errno. Not in the browser. */
#ifndef SOLO_FILE_NEW_H
#define SOLO_FILE_NEW_H

#include "base/str.h"

#include <stdbool.h>

typedef struct file_new {
    int fd;
    char *target;  /* where a link leads */
    str temporary; /* its name; empty: it has none */
} file_new;

bool file_new_open(file_new *f, const char *path);
/* `sync`: also after a crash of the machine it is the old file or all of the new one. */
bool file_new_place(file_new *f, bool sync);
/* The folder that this file is in: it keeps a rename, not the file. */
bool file_sync_folder(const char *path);
/* What has no place is removed. Does not close the file. */
void file_new_free(file_new *f);

#endif
