/* page_folder: where the page is, seen from this program. */
#ifndef SOLO_PAGE_FOLDER_H
#define SOLO_PAGE_FOLDER_H

#include "base/str.h"

#include <stdbool.h>

/* False: it is in neither place. */
bool page_folder_find(str *folder);

#endif
