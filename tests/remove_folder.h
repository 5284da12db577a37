/* Removes a folder with all that is in it, for tear-down. */
#ifndef SOLO_TEST_REMOVE_FOLDER_H
#define SOLO_TEST_REMOVE_FOLDER_H

#include <ftw.h>
#include <unistd.h>

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)where;
    return kind == FTW_DP ? rmdir(path) : unlink(path);
}

static int remove_folder(const char *path)
{
    return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
