#include "graph/one_text.h"
#include "base/str.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A declaration at the top level of a kernel. */
typedef struct declaration {
    char *name, *text;
    bool apart; /* this kernel's own: it gets a name of its own */
} declaration;

typedef struct declarations {
    declaration *items;
    size_t count, capacity;
} declarations;

static char *copy_of(const char *text, size_t length)
{
    char *copy = mem_alloc(length + 1);
    memcpy(copy, text, length);
    return copy;
}

static void declare(declarations *d, const char *name, size_t name_length, const char *text, size_t length)
{
    if (d->count == d->capacity) {
        d->capacity = d->capacity ? d->capacity * 2 : 64;
        d->items = mem_grow(d->items, d->capacity * sizeof *d->items);
    }
    d->items[d->count++] = (declaration){copy_of(name, name_length), copy_of(text, length), false};
}

static const declaration *find(const declarations *d, const char *name, size_t length)
{
    for (size_t i = 0; i < d->count; i++)
        if (strlen(d->items[i].name) == length && memcmp(d->items[i].name, name, length) == 0)
            return &d->items[i];
    return NULL;
}

static void free_declarations(declarations *d)
{
    for (size_t i = 0; i < d->count; i++) {
        free(d->items[i].name);
        free(d->items[i].text);
    }
    free(d->items);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Kernels are laid out so that declarations begin in the first column: const and var end with the
 * line, fn and struct with the brace that closes them. */
static void take_apart(const char *text, declarations *d)
{
    static const char *const begins[] = {"fn ", "const ", "struct ", "var<workgroup> "};
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n") + 1, taken = length;
        for (int b = 0; b < 4; b++) {
            size_t begin = strlen(begins[b]);
            if (strncmp(line, begins[b], begin) != 0)
                continue;
            const char *name = line + begin;
            size_t name_length = 0;
            while (is_word(name[name_length]))
                name_length++;
            if (b == 0 || b == 2) {
                int depth = 0;
                const char *at = line + strcspn(line, "{");
                do {
                    depth += (*at == '{') - (*at == '}');
                    at++;
                } while (depth > 0 && *at);
                taken = (size_t)(at - line) + strcspn(at, "\n") + 1;
            }
            declare(d, name, name_length, line, taken);
        }
        line += taken;
    }
}

/* Does a text use a name that its kernel has for itself? */
static bool uses_apart(const char *text, const declarations *own)
{
    for (const char *at = text; *at;) {
        if (!is_word(*at)) {
            at++;
            continue;
        }
        size_t length = 0;
        while (is_word(at[length]))
            length++;
        const declaration *d = find(own, at, length);
        if (d && d->apart)
            return true;
        at += length;
    }
    return false;
}

static void set_apart(declarations *own, const declarations *shared)
{
    for (size_t i = 0; i < own->count; i++) {
        const declaration *there = find(shared, own->items[i].name, strlen(own->items[i].name));
        own->items[i].apart =
            strcmp(own->items[i].name, "body") == 0 || (there && strcmp(there->text, own->items[i].text) != 0);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < own->count; i++)
            if (!own->items[i].apart && uses_apart(own->items[i].text, own))
                changed = own->items[i].apart = true;
    }
}

/* A text with this kernel's own names numbered. */
static void add_numbered(const char *text, const declarations *own, uint32_t number, str *out)
{
    for (const char *at = text; *at;) {
        size_t length = 0;
        while (is_word(at[length]))
            length++;
        if (length == 0) {
            str_add_bytes(out, at++, 1);
            continue;
        }
        const declaration *d = find(own, at, length);
        str_add_bytes(out, at, length);
        if (d && d->apart)
            str_addf(out, "_%u", number);
        at += length;
    }
}

static void add_kernel(const kernel_variant *v, uint32_t number, declarations *shared, str *out)
{
    gpu_source *source = kernel_text(v);
    declarations own = {0};
    take_apart(source->wgsl, &own);
    set_apart(&own, shared);
    for (size_t i = 0; i < own.count; i++) {
        declaration *d = &own.items[i];
        if (strcmp(d->name, "main") == 0)
            continue;
        if (d->apart)
            add_numbered(d->text, &own, number, out);
        else if (!find(shared, d->name, strlen(d->name))) {
            str_add(out, d->text);
            declare(shared, d->name, strlen(d->name), d->text, strlen(d->text));
        }
    }
    free_declarations(&own);
    kernel_text_free(source);
}

gpu_source *one_text(const kernel_variant *variants, uint32_t count, uint32_t phase_words, uint32_t kind_word)
{
    gpu_source *s = mem_alloc(sizeof *s);
    declarations shared = {0};
    str text = {0};
    for (uint32_t i = 0; i < count; i++)
        if (variants[i].subgroup) {
            str_add(&text, "enable subgroups;\n");
            break;
        }
    str_addf(&text, "const PHASE_WORDS = %uu;\nconst KIND_WORD = %uu;\n", phase_words, kind_word);
    kernel_add_file("include/one.wgsl", &text);
    for (uint32_t i = 0; i < count; i++)
        add_kernel(&variants[i], i, &shared, &text);
    str_add(&text, "\nfn body_of(kind: u32, args: u32, v: u32, local: u32) {\n    switch (kind) {\n");
    for (uint32_t i = 0; i < count; i++)
        str_addf(&text, "        case %uu: { body_%u(args, v, local); }\n", i, i);
    str_add(&text, "        default: {}\n    }\n}\n");
    free_declarations(&shared);
    s->name = mem_dup("one dispatch");
    s->wgsl = text.data;
    return s;
}
