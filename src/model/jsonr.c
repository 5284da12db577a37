/* jsonr: values, texts and lists of one tree lie in blocks that are freed together. */
#include "model/jsonr.h"

#include "base/number.h"
#include "base/str.h"
#include "model/unicode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 64, MOST_NUMBER = 64, BLOCK_BYTES = 1 << 16, FEW = 8 };

struct jsonr {
    jsonr_kind kind;
    uint32_t count; /* of members; of a text, its bytes */
    union {
        bool yes;
        int64_t whole;
        double real;
        const char *text;
        const jsonr *items;
    } as;
    const char **keys;
    uint32_t *sorted; /* of an object with many members: their places in the order of their keys */
};

typedef struct block {
    struct block *before;
    uint64_t bytes[]; /* aligned for everything here */
} block;

typedef struct tree {
    jsonr root; /* first: a root's address is its tree's */
    block *last;
    size_t used, room;
} tree;

typedef struct reader {
    tree *t;
    const char *at, *end;
    int depth;
    /* members of the lists and objects that are not closed yet, those of the inner ones last */
    jsonr *items;
    const char **keys;
    uint32_t count, capacity;
} reader;

static bool read_value(reader *j, jsonr *out);

/* ---- memory --------------------------------------------------------------------------------------------- */

static void *take_room(tree *t, size_t bytes)
{
    bytes = (bytes + 7) & ~(size_t)7;
    if (bytes > t->room - t->used) {
        t->room = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        block *b = mem_alloc(sizeof *b + t->room);
        b->before = t->last;
        t->last = b;
        t->used = 0;
    }
    void *taken = (char *)t->last->bytes + t->used;
    t->used += bytes;
    return taken;
}

static void *keep(tree *t, const void *bytes, size_t count)
{
    return count ? memcpy(take_room(t, count), bytes, count) : NULL;
}

static void push(reader *j, const char *key, const jsonr *item)
{
    if (j->count == j->capacity) {
        j->capacity = j->capacity ? 2 * j->capacity : 64;
        j->items = mem_grow(j->items, j->capacity * sizeof *j->items);
        j->keys = mem_grow(j->keys, j->capacity * sizeof *j->keys);
    }
    j->items[j->count] = *item;
    j->keys[j->count++] = key;
}

/* ---- objects -------------------------------------------------------------------------------------------- */

typedef struct named {
    const char *key;
    uint32_t at;
} named;

static int compare_named(const void *a, const void *b)
{
    const named *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    return order ? order : x->at < y->at ? -1 : 1;
}

static uint32_t *sort_keys(tree *t, const jsonr *object)
{
    named *all = mem_alloc(object->count * sizeof *all);
    uint32_t *sorted = take_room(t, object->count * sizeof *sorted);
    for (uint32_t i = 0; i < object->count; i++)
        all[i] = (named){object->keys[i], i};
    qsort(all, object->count, sizeof *all, compare_named);
    for (uint32_t i = 0; i < object->count; i++)
        sorted[i] = all[i].at;
    free(all);
    return sorted;
}

const jsonr *jsonr_get(const jsonr *object, const char *key)
{
    if (!jsonr_is(object, JSONR_OBJECT) || !key)
        return NULL;
    if (!object->sorted) {
        for (uint32_t i = object->count; i-- > 0;)
            if (strcmp(object->keys[i], key) == 0)
                return &object->as.items[i];
        return NULL;
    }
    uint32_t from = 0, to = object->count; /* the first behind it is among these, or behind all */
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (strcmp(object->keys[object->sorted[middle]], key) <= 0)
            from = middle + 1;
        else
            to = middle;
    }
    const uint32_t *found = from ? &object->sorted[from - 1] : NULL;
    return found && strcmp(object->keys[*found], key) == 0 ? &object->as.items[*found] : NULL;
}

/* ---- texts ---------------------------------------------------------------------------------------------- */

static void skip_space(reader *j)
{
    while (j->at < j->end && *j->at && strchr(" \t\r\n", *j->at))
        j->at++;
}

static bool take(reader *j, char c)
{
    skip_space(j);
    if (j->at == j->end || *j->at != c)
        return false;
    j->at++;
    return true;
}

static bool take_word(reader *j, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(j->end - j->at) < length || memcmp(j->at, word, length) != 0)
        return false;
    j->at += length;
    return true;
}

static bool read_hex(reader *j, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++, j->at++) {
        const char *digit = j->at < j->end && *j->at ? strchr("0123456789abcdefABCDEF", *j->at) : NULL;
        if (!digit)
            return false;
        uint32_t value = (uint32_t)(digit - "0123456789abcdefABCDEF");
        *out = *out * 16 + (value < 16 ? value : value - 6);
    }
    return true;
}

/* After "\u". Half of a pair alone is no character. */
static bool read_point(reader *j, uint32_t *out)
{
    uint32_t low;
    if (!read_hex(j, out))
        return false;
    if (*out >= 0xD800 && *out < 0xDC00) {
        if (!take_word(j, "\\u") || !read_hex(j, &low) || low < 0xDC00 || low > 0xDFFF)
            return false;
        *out = 0x10000 + ((*out - 0xD800) << 10) + (low - 0xDC00);
    }
    return *out && !(*out >= 0xDC00 && *out <= 0xDFFF);
}

static bool read_escape(reader *j, str *out)
{
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char bytes[4];
    uint32_t point;
    if (j->at == j->end)
        return false;
    char c = *j->at++;
    const char *name = c ? strchr(names, c) : NULL;
    if (name)
        str_add_bytes(out, &meant[name - names], 1);
    else if (c == 'u' && read_point(j, &point))
        str_add_bytes(out, bytes, utf8_put(point, bytes));
    else
        return false;
    return true;
}

/* After the opening quote. */
static bool read_text(reader *j, jsonr *out)
{
    str text = {0};
    str_add(&text, "");
    bool ok = true;
    while (ok && j->at < j->end && *j->at != '"') {
        int length = utf8_length(j->at, (size_t)(j->end - j->at));
        ok = (unsigned char)*j->at >= 0x20 && length > 0;
        if (ok && *j->at == '\\') {
            j->at++;
            ok = read_escape(j, &text);
        } else if (ok) {
            str_add_bytes(&text, j->at, (size_t)length);
            j->at += length;
        }
    }
    ok = ok && j->at < j->end && text.length < UINT32_MAX;
    if (ok) {
        j->at++;
        out->kind = JSONR_TEXT;
        out->count = (uint32_t)text.length;
        out->as.text = keep(j->t, text.data, text.length + 1);
    }
    str_free(&text);
    return ok;
}

/* ---- numbers -------------------------------------------------------------------------------------------- */

static bool skip_digits(const char **at)
{
    size_t digits = strspn(*at, "0123456789");
    *at += digits;
    return digits > 0;
}

/* strtod would take more: hexadecimal numbers, names, a point without digits. */
static bool is_number(const char *text, bool *whole)
{
    const char *at = text + (*text == '-');
    const bool zero = *at == '0';
    if (!skip_digits(&at) || (zero && at - text > 1 + (*text == '-')))
        return false;
    *whole = !*at;
    if (*at == '.' && (at++, !skip_digits(&at)))
        return false;
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '+' || *at == '-';
        if (!skip_digits(&at))
            return false;
    }
    return !*at;
}

static bool read_number(reader *j, jsonr *out)
{
    char text[MOST_NUMBER + 1];
    size_t length = 0;
    bool whole;
    for (const char *at = j->at; at < j->end && *at && strchr("+-.0123456789eE", *at); at++) {
        if (length == MOST_NUMBER)
            return false;
        text[length++] = *at;
    }
    text[length] = 0;
    if (!is_number(text, &whole))
        return false;
    j->at += length;
    errno = 0;
    long long number = strtoll(text, NULL, 10);
    if (whole && errno == 0) {
        *out = (jsonr){.kind = JSONR_WHOLE, .as.whole = number};
        return true;
    }
    double real = number_read(text, NULL);
    *out = (jsonr){.kind = JSONR_REAL, .as.real = real};
    return real - real == 0; /* finite */
}

/* ---- values --------------------------------------------------------------------------------------------- */

static bool read_member(reader *j, bool of_object)
{
    jsonr key = {0}, item = {0};
    if (of_object && !(take(j, '"') && read_text(j, &key) && take(j, ':')))
        return false;
    if (!read_value(j, &item))
        return false;
    push(j, key.as.text, &item);
    return true;
}

/* After the opening bracket. */
static bool read_members(reader *j, jsonr_kind kind, jsonr *out)
{
    const bool of_object = kind == JSONR_OBJECT;
    const char end = of_object ? '}' : ']';
    const uint32_t first = j->count;
    if (++j->depth > MOST_DEPTH)
        return false;
    if (!take(j, end)) {
        do {
            if (!read_member(j, of_object))
                return false;
        } while (take(j, ','));
        if (!take(j, end))
            return false;
    }
    j->depth--;
    *out = (jsonr){.kind = kind, .count = j->count - first};
    j->count = first;
    if (!out->count)
        return true;
    out->as.items = keep(j->t, j->items + first, out->count * sizeof *j->items);
    if (of_object) {
        out->keys = keep(j->t, j->keys + first, out->count * sizeof *j->keys);
        out->sorted = out->count > FEW ? sort_keys(j->t, out) : NULL;
    }
    return true;
}

static bool read_value(reader *j, jsonr *out)
{
    if (take(j, '{'))
        return read_members(j, JSONR_OBJECT, out);
    if (take(j, '['))
        return read_members(j, JSONR_LIST, out);
    if (take(j, '"'))
        return read_text(j, out);
    *out = (jsonr){0};
    if (take_word(j, "null"))
        return true;
    if (take_word(j, "true") || take_word(j, "false")) {
        *out = (jsonr){.kind = JSONR_BOOL, .as.yes = j->at[-2] == 'u'};
        return true;
    }
    return read_number(j, out);
}

jsonr *jsonr_read(const char *text, size_t length, err *e)
{
    tree *t = mem_alloc(sizeof *t);
    reader j = {.t = t, .at = text, .end = text + length};
    bool ok = read_value(&j, &t->root);
    if (ok)
        skip_space(&j);
    free(j.items);
    free(j.keys);
    if (ok && j.at == j.end)
        return &t->root;
    uint32_t line = 1;
    for (const char *c = text; c < j.at; c++)
        line += *c == '\n';
    if (j.depth > MOST_DEPTH)
        err_set(e, "line %u: its lists are more than %d deep", line, MOST_DEPTH);
    else
        err_set(e, j.at == j.end ? "line %u: it is cut" : "line %u: this is no JSON", line);
    jsonr_free(&t->root);
    return NULL;
}

void jsonr_free(jsonr *root)
{
    tree *t = (tree *)root;
    for (block *b = t ? t->last : NULL; b;) {
        block *before = b->before;
        free(b);
        b = before;
    }
    free(t);
}

bool jsonr_is(const jsonr *v, jsonr_kind kind)
{
    return v && v->kind == kind;
}

bool jsonr_is_number(const jsonr *v)
{
    return jsonr_is(v, JSONR_WHOLE) || jsonr_is(v, JSONR_REAL);
}

bool jsonr_is_true(const jsonr *v)
{
    return jsonr_is(v, JSONR_BOOL) && v->as.yes;
}

int64_t jsonr_whole(const jsonr *v)
{
    return jsonr_is(v, JSONR_WHOLE) ? v->as.whole : 0;
}

double jsonr_number(const jsonr *v)
{
    return jsonr_is(v, JSONR_REAL) ? v->as.real : (double)jsonr_whole(v);
}

const char *jsonr_text(const jsonr *v)
{
    return jsonr_is(v, JSONR_TEXT) ? v->as.text : NULL;
}

size_t jsonr_text_length(const jsonr *v)
{
    return jsonr_is(v, JSONR_TEXT) ? v->count : 0;
}

uint32_t jsonr_count(const jsonr *v)
{
    return jsonr_is(v, JSONR_LIST) || jsonr_is(v, JSONR_OBJECT) ? v->count : 0;
}

const jsonr *jsonr_at(const jsonr *v, uint32_t i)
{
    return i < jsonr_count(v) ? &v->as.items[i] : NULL;
}

const char *jsonr_key(const jsonr *object, uint32_t i)
{
    return jsonr_is(object, JSONR_OBJECT) && i < object->count ? object->keys[i] : NULL;
}

const char *jsonr_get_text(const jsonr *object, const char *key)
{
    return jsonr_text(jsonr_get(object, key));
}
