/* Finding the files of kernels/ in this program. */
#include "launch/kernel_file.h"
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *kernel_file_text(const char *path)
{
    const kernel_file *f = kernel_files;
    kernel_files_ready();
    while (f->path && strcmp(f->path, path) != 0)
        f++;
    return f->text;
}

void kernel_file_add(const char *path, const char *array, str *out)
{
    const char *text = kernel_file_text(path);
    if (!text) {
        fprintf(stderr, "solo: kernels/%s is not in this program\n", path);
        abort(); /* a mistake in this code */
    }
    if (array)
        str_add_replaced(out, text, "ARRAY", array);
    else
        str_add(out, text);
}
