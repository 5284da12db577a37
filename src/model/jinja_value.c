/* jinja_value: memory with a limit, lists and dicts, and what Python says of values: truth, equality, order. */
#include "model/jinja_internal.h"
#include "model/unicode.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the core -------------------------------------------------------------------------- */

enum { CHUNK_BYTES = 32768 };

typedef struct jinja_chunk {
    struct jinja_chunk *next;
    size_t used, capacity;
    _Alignas(16) char bytes[];
} jinja_chunk;

bool jinja_has_room(jinja_core *k, size_t bytes)
{
    if (k->failed)
        return false;
    if (bytes <= k->most_bytes && k->bytes <= k->most_bytes - bytes)
        return true;
    return jinja_fail(k, "the template needs more than %zu MiB", k->most_bytes >> 20);
}

void *jinja_alloc(jinja_core *k, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    jinja_chunk *c = k->chunks;
    if (!c || c->capacity - c->used < bytes) {
        size_t capacity = bytes > CHUNK_BYTES / 4 ? bytes : CHUNK_BYTES;
        jinja_has_room(k, capacity);
        k->bytes += capacity;
        c = mem_alloc(sizeof *c + capacity);
        c->capacity = capacity;
        /* one made for a large value is full: the one before it is used on */
        jinja_chunk **place = k->chunks && capacity != CHUNK_BYTES ? &k->chunks->next : &k->chunks;
        c->next = *place;
        *place = c;
    }
    c->used += bytes;
    return c->bytes + c->used - bytes;
}

void jinja_core_free(jinja_core *k)
{
    for (jinja_chunk *c = k->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    k->chunks = NULL;
}

bool jinja_fail(jinja_core *k, const char *fmt, ...)
{
    if (k->failed)
        return false;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(k->message, sizeof k->message, fmt, ap);
    va_end(ap);
    k->failed = true;
    return false;
}

bool jinja_fail_with(jinja_core *k, jinja_text message)
{
    return jinja_fail(k, "%.*s", (int)(message.length < 500 ? message.length : 500), jinja_bytes(message));
}

bool jinja_step(jinja_core *k, size_t cost)
{
    if (k->failed)
        return false;
    k->steps += cost;
    return k->steps <= k->most_steps || jinja_fail(k, "the template takes too many steps");
}

bool jinja_enter(jinja_core *k)
{
    if (!jinja_step(k, 1))
        return false;
    if (k->depth >= JINJA_MAX_DEPTH)
        return jinja_fail(k, "too deeply nested");
    k->depth++;
    return true;
}

void jinja_leave(jinja_core *k)
{
    k->depth--;
}

/* ---- making values ------------------------------------------------------------------------- */

jinja_value jinja_none(void)
{
    return (jinja_value){.type = JINJA_NONE};
}

jinja_value jinja_bool(bool yes)
{
    return (jinja_value){.type = JINJA_BOOL, .as.yes = yes};
}

jinja_value jinja_whole(int64_t number)
{
    return (jinja_value){.type = JINJA_WHOLE, .as.whole = number};
}

jinja_value jinja_real(double number)
{
    return (jinja_value){.type = JINJA_REAL, .as.real = number};
}

jinja_value jinja_items_new(jinja_core *k, items_kind kind)
{
    jinja_items *items = jinja_alloc(k, sizeof *items);
    items->kind = kind;
    return (jinja_value){.type = JINJA_LIST, .as.items = items};
}

jinja_value jinja_pairs_new(jinja_core *k)
{
    return (jinja_value){.type = JINJA_DICT, .as.pairs = jinja_alloc(k, sizeof(jinja_pairs))};
}

/* Room for one more of `size` bytes each; false: there is none. */
static bool grow(jinja_core *k, void **at, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    size_t more = *capacity ? 2 * *capacity : 4;
    if (!jinja_has_room(k, more * size))
        return false;
    void *larger = jinja_alloc(k, more * size);
    if (count)
        memcpy(larger, *at, count * size);
    *at = larger;
    *capacity = more;
    return true;
}

void jinja_items_add(jinja_core *k, jinja_items *items, jinja_value v)
{
    void *at = items->at;
    if (!jinja_step(k, 1) || !grow(k, &at, items->count, &items->capacity, sizeof v))
        return;
    items->at = at;
    items->at[items->count++] = v;
}

bool jinja_can_be_key(jinja_core *k, jinja_value v)
{
    bool ok = v.type != JINJA_DICT && (v.type != JINJA_LIST || v.as.items->kind == ITEMS_TUPLE);
    return ok || jinja_fail(k, "unhashable type: '%s'", jinja_type_name(v));
}

jinja_value *jinja_pairs_find(jinja_core *k, const jinja_pairs *pairs, jinja_value key)
{
    if (!jinja_step(k, pairs->count / 8 + 1))
        return NULL;
    for (size_t i = 0; i < pairs->count; i++)
        if (pairs->at[i].key.type == JINJA_TEXT && key.type == JINJA_TEXT
                ? jinja_same(pairs->at[i].key.as.text, key.as.text)
                : jinja_equal(k, pairs->at[i].key, key))
            return &pairs->at[i].value;
    return NULL;
}

void jinja_pairs_set(jinja_core *k, jinja_pairs *pairs, jinja_value key, jinja_value v)
{
    if (!jinja_can_be_key(k, key))
        return;
    jinja_value *there = jinja_pairs_find(k, pairs, key);
    void *at = pairs->at;
    if (there)
        *there = v;
    else if (!k->failed && grow(k, &at, pairs->count, &pairs->capacity, sizeof(jinja_pair))) {
        pairs->at = at;
        pairs->at[pairs->count++] = (jinja_pair){key, v};
    }
}

void jinja_pairs_remove(jinja_pairs *pairs, const jinja_value *value)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (&pairs->at[i].value == value) {
            memmove(&pairs->at[i], &pairs->at[i + 1], (pairs->count - i - 1) * sizeof *pairs->at);
            pairs->count--;
            return;
        }
}

/* ---- what Python says of them ---------------------------------------------------------------- */

const char *jinja_type_name(jinja_value v)
{
    static const char *const names[] = {"Undefined", "NoneType",  "bool",  "int",    "float",    "str",        "list",
                                        "dict",      "Namespace", "Macro", "method", "function", "LoopContext"};
    static const char *const lists[] = {"list", "tuple", "range", "dict_items", "generator"};
    return v.type == JINJA_LIST ? lists[v.as.items->kind] : names[v.type];
}

bool jinja_is_true(jinja_value v)
{
    switch (v.type) {
    case JINJA_UNDEFINED:
    case JINJA_NONE: return false;
    case JINJA_BOOL: return v.as.yes;
    case JINJA_WHOLE: return v.as.whole != 0;
    case JINJA_REAL: return v.as.real != 0;
    case JINJA_TEXT: return v.as.text.length != 0;
    case JINJA_LIST: return v.as.items->kind == ITEMS_GENERATOR || v.as.items->count != 0;
    case JINJA_DICT: return v.as.pairs->count != 0;
    default: return true;
    }
}

bool jinja_is_number(jinja_value v)
{
    return v.type == JINJA_BOOL || v.type == JINJA_WHOLE || v.type == JINJA_REAL;
}

double jinja_as_real(jinja_value v)
{
    return v.type == JINJA_REAL ? v.as.real : v.type == JINJA_BOOL ? v.as.yes : (double)v.as.whole;
}

static int64_t as_whole(jinja_value v)
{
    return v.type == JINJA_BOOL ? v.as.yes : v.as.whole;
}

static int compare_numbers(jinja_value a, jinja_value b)
{
    if (a.type == JINJA_REAL || b.type == JINJA_REAL) {
        double x = jinja_as_real(a), y = jinja_as_real(b);
        return x < y ? -1 : x > y;
    }
    return as_whole(a) < as_whole(b) ? -1 : as_whole(a) > as_whole(b);
}

static bool equal_items(jinja_core *k, const jinja_items *a, const jinja_items *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->kind >= ITEMS_VIEW || a->count != b->count)
        return false;
    bool same = jinja_enter(k);
    if (!same)
        return false;
    for (size_t i = 0; same && i < a->count; i++)
        same = jinja_equal(k, a->at[i], b->at[i]);
    jinja_leave(k);
    return same;
}

static bool equal_pairs(jinja_core *k, const jinja_pairs *a, const jinja_pairs *b)
{
    if (a == b)
        return true;
    if (a->count != b->count || !jinja_enter(k))
        return false;
    bool same = true;
    for (size_t i = 0; same && i < a->count; i++) {
        const jinja_value *other = jinja_pairs_find(k, b, a->at[i].key);
        same = other && jinja_equal(k, a->at[i].value, *other);
    }
    jinja_leave(k);
    return same;
}

bool jinja_equal(jinja_core *k, jinja_value a, jinja_value b)
{
    if (jinja_is_number(a) && jinja_is_number(b))
        return (a.type != JINJA_REAL || !isnan(a.as.real)) && (b.type != JINJA_REAL || !isnan(b.as.real)) &&
               compare_numbers(a, b) == 0;
    if (a.type != b.type || !jinja_step(k, 1))
        return false;
    switch (a.type) {
    case JINJA_UNDEFINED:
    case JINJA_NONE: return true;
    case JINJA_TEXT: return jinja_step(k, a.as.text.length / 64) && jinja_same(a.as.text, b.as.text);
    case JINJA_LIST: return equal_items(k, a.as.items, b.as.items);
    case JINJA_DICT: return equal_pairs(k, a.as.pairs, b.as.pairs);
    case JINJA_FUNCTION: return a.as.function == b.as.function;
    default: return a.as.pairs == b.as.pairs;
    }
}

int jinja_compare(jinja_core *k, jinja_value a, jinja_value b)
{
    if (jinja_is_number(a) && jinja_is_number(b))
        return compare_numbers(a, b);
    if (a.type == JINJA_TEXT && b.type == JINJA_TEXT)
        return jinja_step(k, a.as.text.length / 64 + 1) ? jinja_order(a.as.text, b.as.text) : 0;
    if (a.type == JINJA_LIST && b.type == JINJA_LIST && a.as.items->kind == b.as.items->kind &&
        a.as.items->kind <= ITEMS_TUPLE) {
        const jinja_items *x = a.as.items, *y = b.as.items;
        int order = 0;
        if (!jinja_enter(k))
            return 0;
        for (size_t i = 0; order == 0 && i < x->count && i < y->count && !k->failed; i++)
            if (!jinja_equal(k, x->at[i], y->at[i]))
                order = jinja_compare(k, x->at[i], y->at[i]);
        jinja_leave(k);
        return order ? order : x->count < y->count ? -1 : x->count > y->count;
    }
    if (a.type == JINJA_UNDEFINED || b.type == JINJA_UNDEFINED) {
        jinja_text name = a.type == JINJA_UNDEFINED ? a.as.text : b.as.text;
        jinja_fail(k, "'%.*s' is undefined", (int)name.length, jinja_bytes(name));
    }
    jinja_fail(k, "'%s' and '%s' cannot be compared", jinja_type_name(a), jinja_type_name(b));
    return 0;
}

bool jinja_length(jinja_core *k, jinja_value v, size_t *length)
{
    switch (v.type) {
    case JINJA_UNDEFINED: *length = 0; return true;
    case JINJA_TEXT: *length = jinja_count_points(k, v.as.text); return true;
    case JINJA_DICT: *length = v.as.pairs->count; return true;
    case JINJA_LOOP: *length = v.as.loop->items->count; return true;
    case JINJA_LIST:
        *length = v.as.items->count;
        if (v.as.items->kind != ITEMS_GENERATOR)
            return true;
        break;
    default: break;
    }
    return jinja_fail(k, "object of type '%s' has no length", jinja_type_name(v));
}

jinja_items *jinja_iterate(jinja_core *k, jinja_value v)
{
    if (v.type == JINJA_LIST && v.as.items->kind == ITEMS_LIST)
        return v.as.items;
    jinja_items *items = jinja_items_new(k, ITEMS_LIST).as.items;
    if (v.type == JINJA_LIST) {
        *items = *v.as.items;
        items->kind = ITEMS_LIST;
        items->capacity = items->count; /* what is added goes elsewhere */
        if (v.as.items->kind == ITEMS_GENERATOR)
            v.as.items->count = 0;
    } else if (v.type == JINJA_DICT) {
        for (size_t i = 0; i < v.as.pairs->count; i++)
            jinja_items_add(k, items, v.as.pairs->at[i].key);
    } else if (v.type == JINJA_TEXT) {
        jinja_text t = v.as.text;
        for (size_t at = 0, length; at < t.length && !k->failed; at += length) {
            utf8_decode(jinja_bytes(t) + at, t.length - at, &length);
            jinja_items_add(k, items, jinja_text_as(jinja_part(t, at, length)));
        }
    } else if (v.type != JINJA_UNDEFINED) {
        jinja_fail(k, "'%s' object is not iterable", jinja_type_name(v));
        return NULL;
    }
    return items;
}

bool jinja_contains(jinja_core *k, jinja_value in, jinja_value what)
{
    if (in.type == JINJA_TEXT) {
        if (what.type != JINJA_TEXT)
            return jinja_fail(k, "'in <string>' requires string as left operand, not %s", jinja_type_name(what));
        return jinja_find(k, in.as.text, what.as.text, 0) != SIZE_MAX;
    }
    if (in.type == JINJA_DICT)
        return jinja_can_be_key(k, what) && jinja_pairs_find(k, in.as.pairs, what);
    const jinja_items *items = jinja_iterate(k, in);
    for (size_t i = 0; items && i < items->count && !k->failed; i++)
        if (jinja_equal(k, items->at[i], what))
            return true;
    return false;
}

/* ---- sorting ------------------------------------------------------------------------------------ */

/* Stable; by `keys`, which are moved along. Merging, so that nothing is called by pointer. */
void jinja_sort(jinja_core *k, jinja_value *items, jinja_value *keys, size_t count, bool reverse)
{
    jinja_value *to = jinja_alloc(k, 2 * count * sizeof *to), *to_keys = to + count;
    for (size_t run = 1; run < count && !k->failed; run *= 2) {
        for (size_t low = 0; low < count; low += 2 * run) {
            size_t middle = low + run < count ? low + run : count, high = middle + run < count ? middle + run : count;
            for (size_t a = low, b = middle, out = low; out < high; out++) {
                bool first = a < middle;
                if (first && b < high) {
                    int order = jinja_compare(k, keys[a], keys[b]);
                    first = reverse ? order >= 0 : order <= 0;
                }
                size_t from = first ? a++ : b++;
                to[out] = items[from];
                to_keys[out] = keys[from];
            }
        }
        memcpy(items, to, count * sizeof *to);
        memcpy(keys, to_keys, count * sizeof *to);
    }
}
