/* Finding the files of kernels/ in this program. */
#include "launch/kernel_file.h"
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *kernel_file_text(const char *path)
{
    for (const kernel_file *f = kernel_files; f->path; f++)
        if (strcmp(f->path, path) == 0)
            return f->text;
    fprintf(stderr, "solo: kernels/%s is not in this program\n", path);
    abort(); /* the build made the list: a name that is not there is a mistake in this code */
}

void kernel_file_add(const char *path, const char *array, str *out)
{
    static const char word[] = "ARRAY";
    const char *text = kernel_file_text(path);
    for (const char *at; array && (at = strstr(text, word)); text = at + sizeof word - 1) {
        str_add_bytes(out, text, (size_t)(at - text));
        str_add(out, array);
    }
    str_add(out, text);
}
