#include "graph/kernel_text.h"
#include "base/str.h"
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *file_named(const char *path)
{
    for (const kernel_file *f = kernel_files; f->path; f++)
        if (strcmp(f->path, path) == 0)
            return f->text;
    fprintf(stderr, "solo: kernels/%s is not in this program\n", path);
    abort(); /* the build made the list: a name that is not there is a mistake in this code */
}

/* "weight/TYPE.wgsl" with the variant's words in it, and the folder in front. */
static void include_path(const kernel_variant *v, const char *name, size_t length, str *path)
{
    if (!memchr(name, '/', length))
        str_add(path, "include/");
    for (size_t i = 0; i < length;) {
        if (length - i >= 4 && memcmp(name + i, "TYPE", 4) == 0) {
            str_add(path, v->type ? v->type : "");
            i += 4;
        } else if (length - i >= 3 && memcmp(name + i, "HOW", 3) == 0) {
            str_add(path, v->subgroup ? "subgroup" : "shared");
            i += 3;
        } else
            str_add_bytes(path, name + i++, 1);
    }
}

static bool same_name(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool kernel_same_variant(const kernel_variant *a, const kernel_variant *b)
{
    bool same = same_name(a->name, b->name) && same_name(a->type, b->type) && a->subgroup == b->subgroup;
    for (int i = 0; same && i < KERNEL_MAX_CONSTANTS; i++)
        same = same_name(a->constants[i].name, b->constants[i].name) && a->constants[i].value == b->constants[i].value;
    return same;
}

static const kernel_constant *wanted_constant(const kernel_variant *v, const char *line, size_t length)
{
    static const char begin[] = "const ";
    for (const kernel_constant *c = v->constants; c < v->constants + KERNEL_MAX_CONSTANTS && c->name; c++) {
        size_t n = strlen(c->name);
        if (length > sizeof begin + n && memcmp(line, begin, sizeof begin - 1) == 0 &&
            memcmp(line + sizeof begin - 1, c->name, n) == 0 && line[sizeof begin - 1 + n] == ' ')
            return c;
    }
    return NULL;
}

static void add_file(const kernel_variant *v, const char *path, str *out)
{
    static const char include[] = "//!include \"";
    for (const char *line = file_named(path); *line;) {
        size_t length = strcspn(line, "\n") + 1;
        const kernel_constant *c = wanted_constant(v, line, length);
        if (c)
            str_addf(out, "const %s = %uu;\n", c->name, c->value);
        else if (strncmp(line, include, sizeof include - 1) == 0) {
            str inner = {0};
            include_path(v, line + sizeof include - 1, length - sizeof include - 1, &inner);
            add_file(v, inner.data, out);
            str_free(&inner);
        } else
            str_add_bytes(out, line, length);
        line += length;
    }
}

static void add_spirv(const kernel_variant *v, const char *name, gpu_source *s)
{
    for (const kernel_binary *b = kernel_binaries; b->name && !v->constants[0].name; b++)
        if (strcmp(b->name, name) == 0) {
            s->spirv = b->spirv;
            s->spirv_bytes = b->bytes;
        }
}

gpu_source *kernel_text(const kernel_variant *v)
{
    gpu_source *s = mem_alloc(sizeof *s);
    str path = {0}, name = {0}, text = {0};
    str_addf(&path, "graph/%s.wgsl", v->name);
    str_addf(&name, v->type ? "%s.%s" : "%s", v->name, v->type);
    if (v->subgroup)
        str_addf(&text, "enable subgroups;\nconst SUBGROUP = %uu;\n", v->subgroup);
    add_file(v, path.data, &text);
    add_spirv(v, name.data, s);
    str_free(&path);
    s->name = name.data;
    s->wgsl = text.data;
    return s;
}

void kernel_add_file(const char *path, str *out)
{
    str_add(out, file_named(path));
}

void kernel_text_free(gpu_source *s)
{
    if (!s)
        return;
    free((char *)s->name);
    free((char *)s->wgsl);
    free(s);
}
