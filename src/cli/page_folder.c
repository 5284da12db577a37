/* page_folder: looks beside this program, and where an installation has the page. */
#include "cli/page_folder.h"
#include "base/file.h"
#include "base/os.h"

#include <limits.h>
#include <string.h>

bool page_folder_find(str *folder)
{
    static const char *const places[] = {"web", "../share/solo/web"};
    char self[PATH_MAX];
    char *slash = os_program_path(self, sizeof self) ? strrchr(self, '/') : NULL;
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
