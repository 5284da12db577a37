/* cache_folder: the user's cache folder, by the environment. */
#include "base/cache_folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool cache_folder_add(str *path)
{
    const char *own = getenv("SOLO_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own && *own) {
        if (strcmp(own, "off") == 0)
            return false;
        str_add(path, own);
    } else if (xdg && *xdg == '/') /* one that is not absolute is to be ignored, the XDG specification says */
        str_addf(path, "%s/solo", xdg);
    else if (home && *home)
        str_addf(path, "%s/.cache/solo", home);
    else
        return false;
    return true;
}

void cache_folder_make(const char *path)
{
    char *folder = mem_dup(path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(folder, 0700); /* one that cannot be made shows when the file is written */
        *slash = '/';
    }
    free(folder);
}

bool cache_folder_may_write(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 ? S_ISREG(info.st_mode) : errno == ENOENT;
}
