/* megakernel_link: links the kernels of a plan into one WGSL module, the megakernel. */
#include "graph/megakernel_link.h"
#include "base/str.h"
#include "graph/megakernel_schedule.h"
#include "launch/kernel_file.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A declaration at the top level of a kernel. */
typedef struct declaration {
    char *name, *text;
    size_t name_length;
    bool apart; /* this kernel's own: it gets a name of its own */
    bool given; /* declared by the launching code: not this kernel's */
    bool alias; /* a struct of this kernel's own that is another kernel's */
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

/* Comments are dropped: they mention names that the code does not use, and differ between equal declarations. */
static void drop_comments(char *text)
{
    char *to = text;
    for (const char *from = text; *from;) {
        if (from[0] == '/' && from[1] == '/')
            from += strcspn(from, "\n");
        else
            *to++ = *from++;
    }
    *to = '\0';
}

static void declare(declarations *d, const char *name, size_t name_length, const char *text, size_t length)
{
    if (d->count == d->capacity) {
        d->capacity = d->capacity ? d->capacity * 2 : 64;
        d->items = mem_grow(d->items, d->capacity * sizeof *d->items);
    }
    d->items[d->count] =
        (declaration){copy_of(name, name_length), copy_of(text, length), name_length, false, false, false};
    drop_comments(d->items[d->count++].text);
}

static const declaration *find(const declarations *d, const char *name, size_t length)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->items[i].name_length == length && memcmp(d->items[i].name, name, length) == 0)
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

/* Kernels are laid out so that declarations begin in the first column: const, alias and var end with the
 * line, fn and struct with the brace that closes them. */
static void take_apart(const char *text, declarations *d)
{
    static const char *const begins[] = {"fn ", "const ", "struct ", "alias ", "var<workgroup> ", "var<private> "};
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n") + 1, taken = length;
        for (size_t b = 0; b < sizeof begins / sizeof *begins; b++) {
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

/* Buffers of weights beyond the first have names of their own. */
static bool is_weights(const char *name, size_t length)
{
    static const char *const names[] = {"weights", "weight_words", "weight_word", "weight_halves"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && memcmp(name, names[i], length) == 0)
            return true;
    return false;
}

/* Where each buffer of weights is bound once only, `weight_words[i]` becomes `weight_word(i)`. */
static char *with_one_view(const char *text)
{
    static const char begin[] = "weight_words[";
    str out = {0};
    uint32_t depth = 0, closes[8]; /* brackets that are open; at which of them such a call ends */
    size_t calls = 0;
    for (const char *at = text; *at; at++) {
        if (strncmp(at, begin, sizeof begin - 1) == 0 && calls < sizeof closes / sizeof *closes) {
            str_add(&out, "weight_word(");
            closes[calls++] = ++depth;
            at += sizeof begin - 2;
            continue;
        }
        depth += *at == '[';
        bool ends = *at == ']' && calls && closes[calls - 1] == depth;
        calls -= ends;
        depth -= *at == ']';
        str_add_bytes(&out, ends ? ")" : at, 1);
    }
    return out.data;
}

/* Does a text use a name that is private to its kernel? */
static bool uses_apart(const char *text, const declarations *own, uint32_t arena)
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
        if ((d && d->apart) || (arena && is_weights(at, length)))
            return true;
        at += length;
    }
    return false;
}

/* What is asked for by its number. */
static bool is_always_apart(const char *name)
{
    static const char *const names[] = {"body", "work",       "prefetch", "prefetched",
                                        "arg",  "warm_cache", "warmed",   "warmed_bits"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void set_apart(declarations *own, const declarations *shared, const declarations *given, uint32_t arena)
{
    for (size_t i = 0; i < own->count; i++) {
        declaration *d = &own->items[i];
        const declaration *there = find(shared, d->name, strlen(d->name));
        d->given = strcmp(d->name, "main") == 0 || find(given, d->name, strlen(d->name));
        d->apart = !d->given && (is_always_apart(d->name) || (there && strcmp(there->text, d->text) != 0));
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < own->count; i++) {
            declaration *d = &own->items[i];
            if (!d->given && !d->apart && uses_apart(d->text, own, arena))
                changed = d->apart = true;
        }
    }
}

/* If the text here is `arg(args, NUMBER)` and that argument is constant, adds its value; returns the length of the text
 * it replaces. */
static size_t add_argument(const char *at, const phase_kernel *k, str *out)
{
    static const char begin[] = "arg(args, ";
    if (strncmp(at, begin, sizeof begin - 1) != 0 || !isdigit((unsigned char)at[sizeof begin - 1]))
        return 0;
    char *end;
    unsigned long i = strtoul(at + sizeof begin - 1, &end, 10);
    end += *end == 'u';
    if (*end != ')' || i >= MEGAKERNEL_ARG_WORDS || k->slots[i])
        return 0;
    str_addf(out, "%uu", k->words[i]);
    return (size_t)(end + 1 - at);
}

/* The text with this kernel's own names numbered and, in a compact megakernel, with constant arguments inserted. */
static void add_numbered(const char *text, const declarations *own, uint32_t number, const phase_kernel *k,
                         bool compact, str *out)
{
    uint32_t arena = k->weight_arena;
    for (const char *at = text; *at;) {
        size_t length = compact ? add_argument(at, k, out) : 0;
        if (length) {
            at += length;
            continue;
        }
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
        else if (arena && is_weights(at, length))
            str_addf(out, "_of_%u", arena);
        at += length;
    }
}

/* fn arg, for this kernel. */
static char *arguments_of(const phase_kernel *k, bool compact)
{
    str s = {0};
    if (compact) {
        str_addf(&s, "fn arg(args: u32, i: u32) -> u32 { return phase_word(args, i + %uu); }\n", MEGAKERNEL_FIRST_SLOT);
        return s.data;
    }
    str_add(&s, "fn arg(args: u32, i: u32) -> u32 {\n    switch (i) {\n");
    for (uint32_t i = 0; i < MEGAKERNEL_ARG_WORDS; i++)
        if (k->slots[i] && k->depends_on_groups[i])
            str_addf(&s, "        case %uu: { return phase_word(%uu * PHASE_WORDS, %uu); }\n", i, k->first_phase,
                     k->slots[i]);
        else if (k->slots[i] && k->per_iteration)
            str_addf(&s, "        case %uu: { return phase_word((args * %uu + %uu) * PHASE_WORDS, %uu); }\n", i,
                     k->period, k->first_phase, k->slots[i]);
        else if (k->slots[i])
            str_addf(&s, "        case %uu: { return phase_word(args, %uu); }\n", i, k->slots[i]);
        else if (k->strides[i])
            str_addf(&s, "        case %uu: { return %uu + args * %uu; }\n", i, k->words[i], k->strides[i]);
        else if (k->words[i])
            str_addf(&s, "        case %uu: { return %uu; }\n", i, k->words[i]);
    str_add(&s, "        default: { return 0u; }\n    }\n}\n");
    return s.data;
}

/* Does a declaration use names of this kernel's own that are no aliases? */
static bool is_own(const declaration *of, const declarations *own)
{
    for (const char *at = of->text; *at;) {
        size_t length = 0;
        while (is_word(at[length]))
            length++;
        const declaration *d = find(own, at, length);
        if (d && d->apart && d != of && !d->alias)
            return true;
        at += length ? length : 1;
    }
    return false;
}

/* A struct that the kernel `leader` has, too, is that one's. Returns whether it is. */
static bool add_alias(declaration *d, const declarations *own, uint32_t number, uint32_t leader, const phase_kernel *k,
                      str *out)
{
    str text = {0};
    if (leader != number && strncmp(d->text, "struct ", 7) == 0 && !is_own(d, own)) {
        add_numbered(d->text, own, leader, k, false, &text);
        d->alias = strstr(out->data, text.data);
    }
    if (d->alias)
        str_addf(out, "alias %s_%u = %s_%u;\n", d->name, number, d->name, leader);
    str_free(&text);
    return d->alias;
}

/* Adds the declarations of a kernel. */
static schedule_kernel add_kernel(const megakernel_module *m, uint32_t number, uint32_t leader, declarations *shared,
                                  const declarations *given, str *out)
{
    const phase_kernel *k = &m->kernels[number];
    bool compact = m->compact;
    gpu_source *source = kernel_text(&k->kernel);
    char *one_view = m->one_view ? with_one_view(source->wgsl) : NULL;
    declarations own = {0};
    take_apart(one_view ? one_view : source->wgsl, &own);
    free(one_view);
    for (size_t i = 0; i < own.count; i++)
        if (strcmp(own.items[i].name, "arg") == 0) {
            free(own.items[i].text);
            own.items[i].text = arguments_of(k, compact);
        }
    set_apart(&own, shared, given, k->weight_arena);
    schedule_kernel made = {.prefetches = find(&own, "prefetch", 8),
                            .single_pass = k->single_pass,
                            .per_iteration = k->per_iteration,
                            .epoch_only = m->epoch_marked && k->epoch_only,
                            .warms_cache = !m->single && k->warms_cache,
                            .leader = leader};
    for (size_t i = 0; i < own.count; i++) {
        declaration *d = &own.items[i];
        if (d->given)
            continue;
        if (d->apart && add_alias(d, &own, number, leader, k, out))
            made.shares_fetched |= strcmp(d->name, "prefetched") == 0;
        else if (d->apart)
            add_numbered(d->text, &own, number, k, compact, out);
        else if (!find(shared, d->name, strlen(d->name))) {
            str_add(out, d->text);
            declare(shared, d->name, strlen(d->name), d->text, strlen(d->text));
        }
    }
    free_declarations(&own);
    kernel_text_free(source);
    return made;
}

static void add_choice(uint32_t count, str *out)
{
    str_add(out, "\nfn body_of(kind: u32, args: u32, v: u32, local: u32) {\n    switch (kind) {\n");
    for (uint32_t i = 0; i < count; i++)
        str_addf(out, "        case %uu: { body_%u(args, v, local); }\n", i, i);
    str_add(out, "        default: {}\n    }\n}\n");
}

static void add_weights(const megakernel_module *m, str *out)
{
    uint32_t views = m->one_view ? 1 : 2;
    for (uint32_t a = 0; a < m->arenas; a++) {
        char suffix[16] = "";
        if (a)
            snprintf(suffix, sizeof suffix, "_of_%u", a);
        if (a < m->half_arenas)
            str_addf(out, "@group(0) @binding(%u) var<storage, read> weight_halves%s: array<f16>;\n",
                     MEGAKERNEL_BINDINGS + views * m->arenas + a, suffix);
        if (m->one_view) {
            str_addf(out, "@group(0) @binding(%u) var<storage, read> weights%s: array<vec4<u32>>;\n",
                     MEGAKERNEL_BINDINGS + a, suffix);
            str_addf(out, "fn weight_word%s(i: u32) -> u32 { return weights%s[i / 4u][i %% 4u]; }\n", suffix, suffix);
            continue;
        }
        str_addf(out, "@group(0) @binding(%u) var<storage, read> weights%s: array<vec4<u32>>;\n",
                 MEGAKERNEL_BINDINGS + 2 * a, suffix);
        str_addf(out, "@group(0) @binding(%u) var<storage, read> weight_words%s: array<u32>;\n",
                 MEGAKERNEL_BINDINGS + 2 * a + 1, suffix);
    }
}

gpu_source *megakernel_link(const megakernel_module *m)
{
    gpu_source *s = mem_alloc(sizeof *s);
    declarations shared = {0}, given = {0};
    schedule_kernel kernels[MEGAKERNEL_MAX_KERNELS];
    const uint32_t *kinds = m->phase_kinds ? m->phase_kinds : m->phase_kernels;
    bool written_out = !m->compact && schedule_possible(kinds, m->phases);
    str text = {0}, launch = {0};
    if (m->half_arenas)
        str_add(&text, KERNEL_MATRIX_LINES);
    for (uint32_t i = 0; i < m->kernel_count; i++)
        if (m->kernels[i].kernel.subgroup) {
            str_add(&text, "enable subgroups;\n");
            break;
        }
    str_addf(&launch, "const PHASE_WORDS = %uu;\n@group(0) @binding(0) var<%s> phase_table: array<vec4<u32>, %uu>;\n",
             m->row_words, m->uniform_table ? "uniform" : "storage, read", m->row_words * m->phases / 4);
    str_addf(&launch, "const EPOCH_MARKED = %uu;\n", m->epoch_marked);
    kernel_file_add("include/persistent.wgsl", NULL, &launch);
    if (m->single)
        kernel_file_add("include/megakernel_single.wgsl", NULL, &launch);
    else {
        kernel_file_add("include/megakernel_atomic.wgsl", NULL, &launch);
        kernel_file_add("include/exchange.wgsl", "activations", &launch);
        kernel_file_add("include/exchange.wgsl", "states", &launch);
        kernel_file_add("include/epoch.wgsl", "activations", &launch);
    }
    kernel_file_add("include/megakernel.wgsl", NULL, &launch);
    kernel_file_add(m->compact ? "include/megakernel_compact.wgsl" : "include/megakernel_fast.wgsl", NULL, &launch);
    add_weights(m, &launch);
    take_apart(launch.data, &given);
    str_add(&text, launch.data);
    for (uint32_t i = 0; i < m->kernel_count; i++)
        kernels[i] = add_kernel(m, i, written_out ? schedule_leader(m->phase_kernels, kinds, m->phases, i) : i, &shared,
                                &given, &text);
    if (written_out) {
        schedule_add(&(schedule){m->phase_kernels, m->phases, kernels, m->kernel_count, m->phase_kinds}, &text);
    } else {
        add_choice(m->kernel_count, &text);
        kernel_file_add("include/megakernel_table.wgsl", NULL, &text);
    }
    free_declarations(&shared);
    free_declarations(&given);
    str_free(&launch);
    s->name = mem_dup("one dispatch");
    s->wgsl = text.data;
    return s;
}
