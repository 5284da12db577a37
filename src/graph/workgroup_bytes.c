/* workgroup_bytes: evaluates the sizes of the workgroup variables that a module declares. */
#include "graph/workgroup_bytes.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 32 }; /* of constants made of constants, and of brackets */

/* An expression, or a type, that is being read. */
typedef struct reading {
    const char *module; /* in which constants are looked up */
    const char *at;
    int depth;
    bool failed;
} reading;

static uint64_t expression(reading *r, int least);

static void skip_spaces(reading *r)
{
    while (*r->at == ' ')
        r->at++;
}

static bool take(reading *r, const char *word)
{
    skip_spaces(r);
    if (strncmp(r->at, word, strlen(word)) != 0)
        return false;
    r->at += strlen(word);
    return true;
}

static void expect(reading *r, const char *word)
{
    if (!take(r, word))
        r->failed = true;
}

static size_t name_length(const char *at)
{
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_')
        length++;
    return length;
}

/* The text behind the first of these words that begins a line, or NULL. */
static const char *find_line(const char *module, const char *words)
{
    size_t length = strlen(words);
    for (const char *at = module; (at = strstr(at, words)); at += length)
        if (at == module || at[-1] == '\n')
            return at + length;
    return NULL;
}

static const char *find_constant(const char *module, const char *name, size_t length)
{
    char begin[96];
    if (length > sizeof begin - 16)
        return NULL;
    snprintf(begin, sizeof begin, "const %.*s = ", (int)length, name);
    return find_line(module, begin);
}

static uint64_t constant(reading *r, const char *name, size_t length)
{
    reading inner = {r->module, find_constant(r->module, name, length), r->depth + 1, false};
    if (!inner.at || inner.depth > MOST_DEPTH) {
        r->failed = true;
        return 0;
    }
    uint64_t value = expression(&inner, 0);
    r->failed |= inner.failed;
    return value;
}

/* select(otherwise, value, condition), min or max of two. */
static uint64_t call(reading *r, const char *name, size_t length)
{
    uint64_t a = expression(r, 0);
    expect(r, ",");
    uint64_t b = expression(r, 0);
    if (length == 6 && strncmp(name, "select", 6) == 0) {
        expect(r, ",");
        a = expression(r, 0) ? b : a;
    } else if (length == 3 && strncmp(name, "min", 3) == 0)
        a = a < b ? a : b;
    else if (length == 3 && strncmp(name, "max", 3) == 0)
        a = a > b ? a : b;
    else
        r->failed = true;
    expect(r, ")");
    return a;
}

static uint64_t operand(reading *r)
{
    skip_spaces(r);
    if (isdigit((unsigned char)*r->at)) {
        char *end;
        uint64_t value = strtoull(r->at, &end, 0);
        r->at = end + (*end == 'u');
        return value;
    }
    if (take(r, "(")) {
        uint64_t value = r->depth++ < MOST_DEPTH ? expression(r, 0) : 0;
        r->depth--;
        expect(r, ")");
        return value;
    }
    const char *name = r->at;
    size_t length = name_length(name);
    r->at += length;
    if (length && take(r, "("))
        return call(r, name, length);
    if (length)
        return constant(r, name, length);
    r->failed = true;
    return 0;
}

typedef struct operation {
    const char *word;
    int binds; /* more tightly than those with a lower number */
} operation;

/* Longer words before those that they begin with. */
static const operation operations[] = {{"==", 1}, {"!=", 1}, {"<<", 5}, {">>", 5}, {"<=", 1}, {">=", 1},
                                       {"<", 1},  {">", 1},  {"|", 2},  {"^", 3},  {"&", 4},  {"+", 6},
                                       {"-", 6},  {"*", 7},  {"/", 7},  {"%", 7}};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static uint64_t apply(reading *r, const char *word, uint64_t a, uint64_t b)
{
    switch (word[0]) {
    case '=': return a == b;
    case '!': return a != b;
    case '<': return word[1] == '<' ? a << (b & 31) : word[1] ? a <= b : a < b;
    case '>': return word[1] == '>' ? a >> (b & 31) : word[1] ? a >= b : a > b;
    case '|': return a | b;
    case '^': return a ^ b;
    case '&': return a & b;
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    default: break;
    }
    if (b == 0) {
        r->failed = true;
        return 0;
    }
    return word[0] == '/' ? a / b : a % b;
}

/* Operands joined by operations that bind more tightly than `least`. */
static uint64_t expression(reading *r, int least)
{
    uint64_t value = operand(r);
    while (!r->failed) {
        int i = 0;
        skip_spaces(r);
        while (i < OPERATIONS && strncmp(r->at, operations[i].word, strlen(operations[i].word)) != 0)
            i++;
        if (i == OPERATIONS || operations[i].binds <= least)
            break;
        r->at += strlen(operations[i].word);
        value = apply(r, operations[i].word, value, expression(r, operations[i].binds)) & UINT32_MAX;
    }
    return value;
}

/* Bytes of a type, and what its place is a multiple of. */
static uint64_t type_size(reading *r, uint64_t *align)
{
    *align = 4;
    if (take(r, "array<")) {
        uint64_t each = r->depth++ < MOST_DEPTH ? type_size(r, align) : 0;
        r->depth--;
        expect(r, ",");
        uint64_t count = expression(r, 1); /* no comparisons: a ">" ends the list */
        expect(r, ">");
        return (each + *align - 1) / *align * *align * count;
    }
    if (take(r, "atomic<u32>") || take(r, "u32") || take(r, "i32") || take(r, "f32") || take(r, "bool"))
        return 4;
    if (take(r, "f16")) {
        *align = 2;
        return 2;
    }
    if (take(r, "vec2<")) {
        *align = 8;
        type_size(r, &(uint64_t){0});
        expect(r, ">");
        return 8;
    }
    if (take(r, "vec4<")) {
        *align = 16;
        type_size(r, &(uint64_t){0});
        expect(r, ">");
        return 16;
    }
    r->failed = true;
    return 0;
}

uint32_t workgroup_bytes(const char *wgsl)
{
    uint64_t total = 0, align;
    for (const char *at = wgsl; (at = find_line(at, "var<workgroup> "));) {
        reading r = {.module = wgsl, .at = at + strcspn(at, ":\n")};
        expect(&r, ":");
        uint64_t bytes = type_size(&r, &align);
        expect(&r, ";");
        if (r.failed || bytes > UINT32_MAX)
            return UINT32_MAX;
        total += (bytes + 15) / 16 * 16;
    }
    return total < UINT32_MAX ? (uint32_t)total : UINT32_MAX;
}
