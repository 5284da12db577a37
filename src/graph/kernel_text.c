#include "graph/kernel_text.h"
#include "base/str.h"
#include "kernels.h"
#include "launch/kernel_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "weight/TYPE.wgsl" with the variant's words in it, and the folder in front. (A quotation mark ends the name: no word goes beyond it.) */
static void include_path(const kernel_variant *v, const char *name, size_t length, str *path)
{
    if (!memchr(name, '/', length))
        str_add(path, "include/");
    const struct {
        const char *word, *text;
    } words[] = {{"TYPE", v->type ? v->type : ""},
                 {"REDUCE", v->subgroup ? "subgroup" : "shared"},
                 {"EXCHANGE", v->quads ? "quads" : "xor"},
                 {"XTYPE", v->packed ? "int8" : "f32"}};
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

void kernel_set_constant(kernel_variant *v, const char *name, uint32_t value)
{
    kernel_constant *c = v->constants;
    while (c->name && strcmp(c->name, name) != 0)
        c++;
    if (!c->name)
        *c = (kernel_constant){name, value};
}

bool kernel_same_variant(const kernel_variant *a, const kernel_variant *b)
{
    bool same = same_name(a->name, b->name) && same_name(a->type, b->type) && a->subgroup == b->subgroup &&
                a->quads == b->quads && a->packed == b->packed;
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
    for (const char *line = kernel_file_text(path); *line;) {
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

/* The value of a constant that the text declares. */
static uint32_t constant_in(const char *text, const char *name, size_t length)
{
    static const char begin[] = "const ";
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        const char *at = line + sizeof begin - 1;
        if (strncmp(line, begin, sizeof begin - 1) == 0 && strncmp(at, name, length) == 0 &&
            strncmp(at + length, " = ", 3) == 0)
            return (uint32_t)strtoul(at + length + 3, NULL, 10);
    }
    fprintf(stderr, "solo: no constant %.*s in a kernel\n", (int)length, name);
    abort();
}

/* Where the line is that ends what this one begins, a line after "//!for"; or the text. */
static const char *end_of_for(const char *line)
{
    for (int depth = 1; *line; line += strcspn(line, "\n") + 1) {
        depth += (strncmp(line, "//!for ", 7) == 0) - (strncmp(line, "//!end", 6) == 0);
        if (depth == 0)
            break;
    }
    return line;
}

static void add_written_out(const char *whole, const char *text, const char *end, str *out);

/* Lines with the number i wherever `#letter` stands. */
static void add_turn(const char *whole, const char *text, const char *end, char letter, uint32_t i, str *out)
{
    str turn = {0};
    for (const char *at = text; at < end;) {
        if (at[0] == '#' && at[1] == letter) {
            str_addf(&turn, "%u", i);
            at += 2;
        } else
            str_add_bytes(&turn, at++, 1);
    }
    if (turn.data)
        add_written_out(whole, turn.data, turn.data + strlen(turn.data), out);
    str_free(&turn);
}

/* What stands between "//!for i COUNT" and "//!end" comes as often as the constant says, `#i` being which time it is: variables
 * with numbers are in registers for sure, where an array's elements may not be. */
static void add_written_out(const char *whole, const char *text, const char *end, str *out)
{
    static const char begin[] = "//!for ";
    for (const char *line = text; line < end;) {
        const char *next = line + strcspn(line, "\n") + 1;
        if (strncmp(line, begin, sizeof begin - 1) == 0) {
            char letter = line[sizeof begin - 1];
            const char *name = line + sizeof begin + 1, *last = end_of_for(next);
            uint32_t count = constant_in(whole, name, strcspn(name, "\n"));
            for (uint32_t i = 0; i < count; i++)
                add_turn(whole, next, last, letter, i, out);
            next = last + strcspn(last, "\n") + 1;
        } else
            str_add_bytes(out, line, (size_t)(next - line));
        line = next;
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
    str path = {0}, name = {0}, text = {0}, written = {0};
    str_addf(&path, "graph/%s.wgsl", v->name);
    str_addf(&name, v->type ? "%s.%s" : "%s", v->name, v->type);
    if (v->subgroup)
        str_addf(&text, "enable subgroups;\nconst SUBGROUP = %uu;\n", v->subgroup);
    add_file(v, path.data, &text);
    add_spirv(v, name.data, s);
    add_written_out(text.data, text.data, text.data + strlen(text.data), &written);
    str_free(&path);
    str_free(&text);
    s->name = name.data;
    s->wgsl = written.data;
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
