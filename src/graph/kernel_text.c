/* Puts kernels together from their files: includes, placeholders, constants, repeated lines (docs/kernels.md). */
#include "graph/kernel_text.h"
#include "kernels.h"
#include "launch/kernel_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "weight/TYPE.wgsl" with the variant's words in place of the placeholders, and the folder in front. (A quotation mark
 * ends the name: no placeholder goes beyond it.) */
static void include_path(const kernel_variant *v, const char *name, size_t length, str *path)
{
    if (!memchr(name, '/', length))
        str_add(path, "include/");
    const struct {
        const char *word, *text;
    } words[] = {{"TYPE", v->type ? v->type : ""},
                 {"REDUCE", v->subgroup ? "subgroup" : "shared"},
                 {"EXCHANGE", v->quads ? "quads" : "xor"},
                 {"XTYPE", v->x ? v->x : "f32"},
                 {"UNITS", v->matrix ? "units" : "lanes"}};
    for (size_t i = 0; i < length;) {
        size_t w = 0, count = sizeof words / sizeof *words;
        while (w < count && strncmp(name + i, words[w].word, strlen(words[w].word)) != 0)
            w++;
        if (w < count) {
            str_add(path, words[w].text);
            i += strlen(words[w].word);
        } else
            str_add_bytes(path, name + i++, 1);
    }
}

static bool same_name(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

void kernel_set_constant(kernel_variant *v, kernel_constant_name name, uint32_t value)
{
    kernel_constant *c = v->constants;
    while (c->name.text && strcmp(c->name.text, name.text) != 0)
        c++;
    if (!c->name.text)
        *c = (kernel_constant){name, value};
}

bool kernel_same_variant(const kernel_variant *a, const kernel_variant *b)
{
    bool same = same_name(a->name, b->name) && same_name(a->type, b->type) && a->subgroup == b->subgroup &&
                a->quads == b->quads && same_name(a->x, b->x) && a->matrix == b->matrix && a->slots == b->slots;
    for (int i = 0; same && i < KERNEL_MAX_CONSTANTS; i++)
        same = same_name(a->constants[i].name.text, b->constants[i].name.text) &&
               a->constants[i].value == b->constants[i].value;
    return same;
}

/* "override NAME = VALUE;" becomes a constant, of the variant's value if it has one. */
static void add_constant(const kernel_variant *v, const char *name, size_t length, str *out)
{
    size_t name_length = strcspn(name, " ");
    const kernel_constant *c = v->constants, *end = c + KERNEL_MAX_CONSTANTS;
    while (c < end && c->name.text &&
           (strlen(c->name.text) != name_length || memcmp(c->name.text, name, name_length) != 0))
        c++;
    str_add(out, "const ");
    if (c < end && c->name.text)
        str_addf(out, "%s = %uu;\n", c->name.text, c->value);
    else
        str_add_bytes(out, name, length);
}

static bool add_file(const kernel_variant *v, const char *path, str *out, err *e);

/* Adds a text with replacements A=B, which spaces separate: A and B have none. */
static void add_with(str *out, const char *text, const char *replacements, size_t length)
{
    str before = {0};
    str_add(&before, text);
    for (const char *at = replacements, *end = at + length; at < end;) {
        size_t all = 0, name = strcspn(at, "=");
        while (at + all < end && at[all] != ' ')
            all++;
        str from = {0}, to = {0}, after = {0};
        str_add_bytes(&from, at, name);
        str_add_bytes(&to, at + name + 1, all - name - 1);
        str_add_replaced(&after, before.data, from.data, to.data);
        str_free(&before);
        before = after;
        str_free(&from);
        str_free(&to);
        at += all + (at + all < end);
    }
    str_add(out, before.data);
    str_free(&before);
}

/* FILE" or FILE" A=B ..., which replaces A by B in the file. */
static bool add_include(const kernel_variant *v, const char *line, str *out, err *e)
{
    size_t length = strcspn(line, "\"");
    str path = {0}, text = {0};
    include_path(v, line, length, &path);
    bool ok = add_file(v, path.data, &text, e);
    if (ok && line[length + 1] == ' ')
        add_with(out, text.data, line + length + 2, strcspn(line + length + 2, "\n"));
    else if (ok)
        str_add(out, text.data);
    str_free(&path);
    str_free(&text);
    return ok;
}

static bool add_file(const kernel_variant *v, const char *path, str *out, err *e)
{
    static const char include[] = "//!include \"", override[] = "override ";
    const char *line = kernel_file_text(path);
    if (!line)
        return err_set(e, "no file kernels/%s", path);
    for (uint32_t number = 1; *line; number++) {
        size_t length = strcspn(line, "\n") + 1;
        if (strncmp(line, override, sizeof override - 1) == 0)
            add_constant(v, line + sizeof override - 1, length - (sizeof override - 1), out);
        else if (strncmp(line, include, sizeof include - 1) == 0) {
            if (!add_include(v, line + sizeof include - 1, out, e))
                return err_context(e, "kernels/%s:%u", path, number);
        } else
            str_add_bytes(out, line, length);
        line += length;
    }
    return true;
}

/* The value of a constant that the text declares as a number, in *value. */
static bool find_constant(const char *text, const char *name, size_t length, uint32_t *value)
{
    static const char begin[] = "const ";
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        const char *at = line + sizeof begin - 1;
        if (strncmp(line, begin, sizeof begin - 1) == 0 && strncmp(at, name, length) == 0 &&
            strncmp(at + length, " = ", 3) == 0 && isdigit((unsigned char)at[length + 3])) {
            *value = (uint32_t)strtoul(at + length + 3, NULL, 10);
            return true;
        }
    }
    return false;
}

/* Two counts are the variant's: ALONE is 1 if rows belong to one text, else SLOTTED is. Texts that are not for slots have
 * no trace of them. */
static bool find_count(const char *text, const char *name, size_t length, uint32_t *value)
{
    static const char slotted[] = "SLOTTED", alone[] = "ALONE";
    bool is_alone = length == sizeof alone - 1 && memcmp(name, alone, length) == 0;
    if (find_constant(text, is_alone ? slotted : name, is_alone ? sizeof slotted - 1 : length, value))
        *value = is_alone ? 0 : *value;
    else if (is_alone || (length == sizeof slotted - 1 && memcmp(name, slotted, length) == 0))
        *value = is_alone;
    else
        return false;
    return true;
}

/* The line that ends the repetition whose first line this is; or the end of the text. */
static const char *end_of_for(const char *line)
{
    for (int depth = 1; *line; line += strcspn(line, "\n") + 1) {
        depth += (strncmp(line, "//!for ", 7) == 0) - (strncmp(line, "//!end", 6) == 0);
        if (depth == 0)
            break;
    }
    return line;
}

static bool add_repeated(const char *all, const char *text, const char *end, str *out, err *e);

/* The lines with the number i in place of `#letter`. */
static bool add_repetition(const char *all, const char *text, const char *end, char letter, uint32_t i, str *out,
                           err *e)
{
    str lines = {0};
    for (const char *at = text; at < end;) {
        if (at[0] == '#' && at[1] == letter) {
            str_addf(&lines, "%u", i);
            at += 2;
        } else
            str_add_bytes(&lines, at++, 1);
    }
    bool ok = !lines.data || add_repeated(all, lines.data, lines.data + lines.length, out, e);
    str_free(&lines);
    return ok;
}

/* Lines between "//!for i COUNT" and "//!end" are repeated as often as the constant says, with the number of the
 * repetition in place of `#i`: variables with numbers are certain to be in registers, where an array may not be. */
static bool add_repeated(const char *all, const char *text, const char *end, str *out, err *e)
{
    static const char begin[] = "//!for ";
    for (const char *line = text; line < end;) {
        const char *next = line + strcspn(line, "\n") + 1;
        if (strncmp(line, begin, sizeof begin - 1) == 0) {
            char letter = line[sizeof begin - 1];
            const char *name = line + sizeof begin + 1, *last = end_of_for(next);
            size_t length = strcspn(name, "\n");
            uint32_t count = 0;
            if (!find_count(all, name, length, &count))
                return err_set(e, "no constant %.*s that is a number, for //!for", (int)length, name);
            for (uint32_t i = 0; i < count; i++)
                if (!add_repetition(all, next, last, letter, i, out, e))
                    return false;
            next = last + strcspn(last, "\n") + 1;
        } else
            str_add_bytes(out, line, (size_t)(next - line));
        line = next;
    }
    return true;
}

bool kernel_expand(const kernel_variant *v, const char *path, str *out, err *e)
{
    str text = {0};
    if (v->matrix)
        str_add(&text, KERNEL_MATRIX_LINES);
    if (v->subgroup)
        str_addf(&text, "enable subgroups;\nconst SUBGROUP = %uu;\n", v->subgroup);
    if (v->slots)
        str_add(&text, "const SLOTTED = 1u;\n");
    bool ok = add_file(v, path, &text, e);
    if (ok && !add_repeated(text.data, text.data, text.data + text.length, out, e))
        ok = err_context(e, "kernels/%s", path);
    str_free(&text);
    return ok;
}

static void add_spirv(const kernel_variant *v, const char *name, gpu_source *s)
{
    for (const kernel_binary *b = kernel_binaries; b->name && !v->constants[0].name.text; b++)
        if (strcmp(b->name, name) == 0) {
            s->spirv = b->spirv;
            s->spirv_bytes = b->bytes;
        }
}

/* Cannot happen: the build expands every kernel. */
static void stop(const char *text)
{
    fprintf(stderr, "solo: %s\n", text);
    abort();
}

gpu_source *kernel_text(const kernel_variant *v)
{
    gpu_source *s = mem_alloc(sizeof *s);
    str path = {0}, name = {0}, text = {0};
    err e = {0};
    str_addf(&path, "graph/%s.wgsl", v->name);
    str_addf(&name, v->type ? "%s.%s" : "%s", v->name, v->type);
    if (!kernel_expand(v, path.data, &text, &e))
        stop(e.text);
    add_spirv(v, name.data, s);
    str_free(&path);
    s->name = name.data;
    s->wgsl = text.data;
    return s;
}

void kernel_text_free(gpu_source *s)
{
    if (!s)
        return;
    free((char *)s->name);
    free((char *)s->wgsl);
    free(s);
}

/* ---- for people to read ------------------------------------------------------- */

/* The names of the files in a folder, which ends with a slash. */
static void add_names(const char *folder, str *out)
{
    for (const kernel_file *f = kernel_files; f->path; f++)
        if (strncmp(f->path, folder, strlen(folder)) == 0) {
            const char *name = f->path + strlen(folder);
            str_addf(out, "%s%.*s", out->length ? ", " : "", (int)strcspn(name, "."), name);
        }
}

static const char *file_in(const char *folder, const char *name)
{
    str path = {0};
    str_addf(&path, "%s%s.wgsl", folder, name);
    const char *text = kernel_file_text(path.data);
    str_free(&path);
    return text;
}

bool kernel_print(const char *name, const char *type, str *out, err *e)
{
    static const char kernels[] = "graph/", weights[] = "weight/";
    kernel_variant v = {.type = type};
    str names = {0}, path = {0}, text = {0};
    const char *file = file_in(kernels, name);
    bool typed = file && strstr(file, "weight/TYPE.wgsl"), ok = false;
    if (!file) {
        add_names(kernels, &names);
        err_set(e, "no kernel %s; there are %s", name, names.data);
    } else if (typed && (!type || !file_in(weights, type))) {
        add_names(weights, &names);
        err_set(e, "kernel %s needs a weight type, one of %s", name, names.data);
    } else if (!typed && type)
        err_set(e, "kernel %s reads no weights, of type %s or any other", name, type);
    else {
        str_addf(&path, "%s%s.wgsl", kernels, name);
        ok = kernel_expand(&v, path.data, &text, e);
        if (ok && strstr(text.data, "% SUBGROUP")) { /* it has no variant without */
            v.subgroup = 32;
            str_free(&text);
            ok = kernel_expand(&v, path.data, &text, e);
        }
        if (ok)
            str_add(out, text.data);
    }
    str_free(&names);
    str_free(&path);
    str_free(&text);
    return ok;
}
