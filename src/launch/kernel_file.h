/* kernel_file: the files of kernels/ that are in this program as text. */
#ifndef SOLO_LAUNCH_KERNEL_FILE_H
#define SOLO_LAUNCH_KERNEL_FILE_H

#include "base/str.h"

/* By its path below kernels/; NULL if there is none. */
const char *kernel_file_text(const char *path);
/* Adds it; ARRAY in it becomes `array`, if that is not NULL. The build made the list of files: one that is not there ends the
 * program. */
void kernel_file_add(const char *path, const char *array, str *out);

#endif
