/* builtin: finds the simulations in the binary by name, and their one-line summaries. */
#include "sim/builtin.h"
#include "base/str.h"
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

static const char FOLDER[] = "sim/";

static const char *file_named(const char *name, const char *ending)
{
    str path = {0};
    const char *text = NULL;
    str_addf(&path, "%s%s%s", FOLDER, name, ending);
    for (const kernel_file *f = kernel_files; f->path && !text; f++)
        if (strcmp(f->path, path.data) == 0)
            text = f->text;
    str_free(&path);
    return text;
}

const char *sim_builtin(const char *name)
{
    return file_named(name, ".wgsl");
}

const char *sim_builtin_cuda(const char *name)
{
    return file_named(name, ".cu");
}

const char *sim_builtin_name(uint32_t i)
{
    static char name[64];
    for (const kernel_file *f = kernel_files; f->path; f++)
        if (strncmp(f->path, FOLDER, strlen(FOLDER)) == 0 && strstr(f->path, ".wgsl") && i-- == 0) {
            size_t n = strlen(f->path) - strlen(FOLDER) - strlen(".wgsl");
            if (n >= sizeof name)
                n = sizeof name - 1;
            memcpy(name, f->path + strlen(FOLDER), n);
            name[n] = 0;
            return name;
        }
    return NULL;
}

char *sim_builtin_summary(const char *name)
{
    const char *text = sim_builtin(name);
    str out = {0};
    /* up to the first full stop that ends a word, over the lines of the comment */
    for (const char *p = text ? text + strspn(text, "/ ") : ""; *p; p++) {
        if (*p == '\n')
            p += strspn(p, "\n/ ") - 1;
        bool ends = *p == '.' && (p[1] == '\n' || p[1] == ' ');
        str_add_bytes(&out, *p == '\n' || *p == '/' ? " " : p, 1);
        if (ends)
            break;
    }
    return out.data ? out.data : mem_dup("");
}
