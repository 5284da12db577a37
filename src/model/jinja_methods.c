/* jinja_methods: the methods of lists, dicts and loops: `value.method(arguments)`. */
#include "model/jinja_internal.h"

#include <string.h>

/* The names, in the order of the enums. A dict's method hides its key of the same name, as in Python. */
static const char LIST_NAMES[] = "append\0copy\0count\0extend\0index\0insert\0pop\0";
static const char DICT_NAMES[] = "clear\0copy\0fromkeys\0get\0items\0keys\0pop\0popitem\0setdefault\0update\0values\0";
static const char LOOP_NAMES[] = "cycle\0changed\0";
enum { LIST_APPEND, LIST_COPY, LIST_COUNT, LIST_EXTEND, LIST_INDEX, LIST_INSERT, LIST_POP };
enum {
    DICT_CLEAR,
    DICT_COPY,
    DICT_FROMKEYS,
    DICT_GET,
    DICT_ITEMS,
    DICT_KEYS,
    DICT_POP,
    DICT_POPITEM,
    DICT_SETDEFAULT,
    DICT_UPDATE,
    DICT_VALUES
};

int jinja_method_named(jinja_value self, jinja_text name)
{
    switch (self.type) {
    case JINJA_TEXT: return jinja_text_method_named(name);
    case JINJA_LIST: return self.as.items->kind <= ITEMS_TUPLE ? jinja_find_word(LIST_NAMES, name) : -1;
    case JINJA_DICT: return jinja_find_word(DICT_NAMES, name);
    case JINJA_LOOP: return jinja_find_word(LOOP_NAMES, name);
    default: return -1;
    }
}

static jinja_value pop_item(jinja_core *k, jinja_items *items, const jinja_args *args)
{
    int64_t at = -1;
    jinja_arg_whole(k, args, 0, NULL, &at);
    at += at < 0 ? (int64_t)items->count : 0;
    if (at < 0 || at >= (int64_t)items->count) {
        jinja_fail(k, "pop index out of range");
        return jinja_none();
    }
    jinja_value v = items->at[at];
    memmove(&items->at[at], &items->at[at + 1], (items->count - (size_t)at - 1) * sizeof v);
    items->count--;
    return v;
}

static jinja_value list_method(jinja_run *r, int method, jinja_items *items, const jinja_args *args)
{
    jinja_core *k = &r->k;
    jinja_value v = jinja_none(), out = jinja_none();
    int64_t found = 0;
    jinja_arg(k, args, 0, NULL, &v);
    if (items->kind == ITEMS_TUPLE && method != LIST_COUNT && method != LIST_INDEX) {
        jinja_fail(k, "'tuple' object has no such method");
        return out;
    }
    switch (method) {
    case LIST_APPEND: jinja_items_add(k, items, v); break;
    case LIST_POP: return pop_item(k, items, args);
    case LIST_COPY:
        out = jinja_items_new(k, ITEMS_LIST);
        for (size_t i = 0; i < items->count && !k->failed; i++)
            jinja_items_add(k, out.as.items, items->at[i]);
        break;
    case LIST_EXTEND: {
        const jinja_items *more = jinja_iterate(k, v);
        for (size_t i = 0, all = more ? more->count : 0; i < all && !k->failed; i++)
            jinja_items_add(k, items, more->at[i]);
        break;
    }
    case LIST_COUNT:
    case LIST_INDEX:
        for (size_t i = 0; i < items->count; i++)
            if (jinja_equal(k, items->at[i], v)) {
                if (method == LIST_INDEX)
                    return jinja_whole((int64_t)i);
                found++;
            }
        if (method == LIST_INDEX)
            jinja_fail(k, "the value is not in the list");
        return jinja_whole(found);
    default: jinja_fail(k, "'insert' is not supported"); break;
    }
    return out;
}

static jinja_value dict_view(jinja_core *k, const jinja_pairs *pairs, int method)
{
    jinja_value out = jinja_items_new(k, ITEMS_VIEW);
    for (size_t i = 0; i < pairs->count && !k->failed; i++) {
        jinja_value pair = jinja_none();
        if (method == DICT_ITEMS) {
            pair = jinja_items_new(k, ITEMS_TUPLE);
            jinja_items_add(k, pair.as.items, pairs->at[i].key);
            jinja_items_add(k, pair.as.items, pairs->at[i].value);
        }
        jinja_items_add(k, out.as.items,
                        method == DICT_ITEMS  ? pair
                        : method == DICT_KEYS ? pairs->at[i].key
                                              : pairs->at[i].value);
    }
    return out;
}

static jinja_value dict_method(jinja_run *r, int method, jinja_pairs *pairs, const jinja_args *args)
{
    jinja_core *k = &r->k;
    jinja_value key = jinja_none(), other = jinja_none(), out = jinja_none();
    bool has_key = jinja_arg(k, args, 0, NULL, &key), has_other = jinja_arg(k, args, 1, NULL, &other);
    jinja_value *found = NULL;
    if (method == DICT_GET || method == DICT_POP || method == DICT_SETDEFAULT) {
        if (!has_key)
            jinja_fail(k, "the method needs a key");
        else if (jinja_can_be_key(k, key))
            found = jinja_pairs_find(k, pairs, key);
    }
    switch (method) {
    case DICT_GET: return found ? *found : other;
    case DICT_ITEMS:
    case DICT_KEYS:
    case DICT_VALUES: return dict_view(k, pairs, method);
    case DICT_POP:
        if (!found && !has_other)
            jinja_fail(k, "pop: there is no such key");
        out = found ? *found : other;
        if (found)
            jinja_pairs_remove(pairs, found);
        return out;
    case DICT_SETDEFAULT:
        if (!found)
            jinja_pairs_set(k, pairs, key, other);
        return found ? *found : other;
    case DICT_CLEAR: pairs->count = 0; return out;
    case DICT_COPY: out = jinja_pairs_new(k); break;
    case DICT_UPDATE: out = (jinja_value){.type = JINJA_DICT, .as.pairs = pairs}; break;
    default: jinja_fail(k, "this method of dicts is not supported"); return out;
    }
    const jinja_pairs *from = method == DICT_COPY ? pairs : key.type == JINJA_DICT ? key.as.pairs : NULL;
    for (int part = 0; part < 2; part++, from = method == DICT_UPDATE ? args->named : NULL)
        for (size_t i = 0; from && from != out.as.pairs && i < from->count; i++)
            jinja_pairs_set(k, out.as.pairs, from->at[i].key, from->at[i].value);
    return method == DICT_COPY ? out : jinja_none();
}

static jinja_value loop_method(jinja_run *r, int method, jinja_loop *loop, const jinja_args *args)
{
    jinja_value tuple = jinja_items_new(&r->k, ITEMS_TUPLE);
    *tuple.as.items = *args->given;
    tuple.as.items->kind = ITEMS_TUPLE;
    if (method == 0) {
        if (args->given->count == 0)
            jinja_fail(&r->k, "no items for cycling given");
        return args->given->count ? args->given->at[loop->index % args->given->count] : jinja_none();
    }
    bool same = loop->changed && jinja_equal(&r->k, *loop->changed, tuple);
    loop->changed = jinja_alloc(&r->k, sizeof *loop->changed);
    *loop->changed = tuple;
    return jinja_bool(!same);
}

jinja_value jinja_call_method(jinja_run *r, const jinja_method *m, const jinja_args *args)
{
    switch (m->self.type) {
    case JINJA_TEXT: return jinja_call_text_method(r, m->name, m->self, args);
    case JINJA_LIST: return list_method(r, m->name, m->self.as.items, args);
    case JINJA_DICT: return dict_method(r, m->name, m->self.as.pairs, args);
    default: return loop_method(r, m->name, m->self.as.loop, args);
    }
}
