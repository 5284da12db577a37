/* Expands kernels while Solo is built, by the code that does so at run time (src/graph/kernel_text.c).
 *
 * First every kernel of kernels/graph is expanded in all its variants, so that an unknown include or constant fails the
 * build. Then each line "PATH TYPE" of standard input (TYPE: "-" for none) is answered by the plain variant of
 * kernels/PATH, ended by a zero byte. */
#include "graph/kernel_text.h"
#include "kernels.h"

#include <stdio.h>
#include <string.h>

/* All values of the placeholders REDUCE, EXCHANGE, XTYPE and UNITS with one of TYPE. */
static bool check_type(const char *path, const char *type, err *e)
{
    static const char *const x[] = {"f32", "int8", "int8_halves", "int8_pairs"};
    bool ok = true;
    for (size_t i = 0; i < 8 * sizeof x / sizeof *x && ok; i++) {
        kernel_variant v = {.type = type, .subgroup = i & 1 ? 32 : 0, .quads = i & 2, .matrix = i & 4, .x = x[i / 8]};
        str text = {0};
        ok = kernel_expand(&v, path, &text, e);
        str_free(&text);
    }
    return ok;
}

static bool check_kernel(const kernel_file *f, err *e)
{
    bool ok = true;
    if (!strstr(f->text, "weight/TYPE.wgsl"))
        return check_type(f->path, NULL, e);
    for (const kernel_file *w = kernel_files; w->path && ok; w++) {
        char type[32];
        if (sscanf(w->path, "weight/%31[a-z0-9_]", type) == 1)
            ok = check_type(f->path, type, e);
    }
    return ok;
}

static bool check_all(err *e)
{
    bool ok = true;
    for (const kernel_file *f = kernel_files; f->path && ok; f++)
        ok = strncmp(f->path, "graph/", 6) != 0 || check_kernel(f, e);
    return ok;
}

int main(void)
{
    char path[128], type[32];
    err e = {0};
    bool ok = check_all(&e);
    while (ok && scanf("%127s %31s", path, type) == 2) {
        kernel_variant v = {.type = strcmp(type, "-") == 0 ? NULL : type};
        str text = {0};
        ok = kernel_expand(&v, path, &text, &e);
        if (ok)
            fwrite(text.data, 1, text.length + 1, stdout);
        str_free(&text);
    }
    if (!ok)
        fprintf(stderr, "%s\n", e.text);
    return ok ? 0 : 1;
}
