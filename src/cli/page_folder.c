/* page_folder: looks beside this program, and where an installation has the page. */
#include "cli/page_folder.h"
#include "base/file.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

bool page_folder_find(str *folder)
{
    static const char *const places[] = {"web", "../share/solo/web"};
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (int i = 0; slash && i < 2; i++) {
        str page = {0};
        folder->length = 0;
        str_addf(folder, "%s/%s", self, places[i]);
        str_addf(&page, "%s/index.html", folder->data);
        bool here = file_exists(page.data);
        str_free(&page);
        if (here)
            return true;
    }
    return false;
}
