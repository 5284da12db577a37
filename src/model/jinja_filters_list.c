/* jinja_filters_list: the filters that go over lists and dicts. */
#include "model/jinja_filters.h"

#include <string.h>

/* The attribute "a.b.0" of a value, for those filters that take one. */
static jinja_value attribute_of(jinja_run *r, jinja_value v, jinja_value path)
{
    if (path.type != JINJA_TEXT)
        return jinja_get_item(r, v, path);
    for (size_t at = 0; at <= path.as.text.length && !r->k.failed;) {
        const char *bytes = jinja_bytes(path.as.text) + at;
        const char *dot = memchr(bytes, '.', path.as.text.length - at);
        jinja_text part = jinja_part(path.as.text, at, dot ? (size_t)(dot - bytes) : path.as.text.length - at);
        int64_t number = 0;
        bool digits = part.length > 0 && part.length < 10;
        for (size_t i = 0; i < part.length && digits; i++) {
            digits = jinja_bytes(part)[i] >= '0' && jinja_bytes(part)[i] <= '9';
            number = number * 10 + jinja_bytes(part)[i] - '0';
        }
        v = jinja_get_item(r, v, digits ? jinja_whole(number) : jinja_text_as(part));
        at += part.length + 1;
    }
    return v;
}

/* Texts compare by their lower case there, unless asked otherwise. */
static jinja_value sort_key(jinja_run *r, jinja_value v, bool exact)
{
    return v.type == JINJA_TEXT && !exact ? jinja_text_as(jinja_cased(&r->k, v.as.text, CASE_LOWER)) : v;
}

static jinja_value sorted(jinja_run *r, jinja_items *items, const jinja_value *path, bool exact, bool reverse)
{
    jinja_value out = jinja_items_new(&r->k, ITEMS_LIST);
    jinja_value *keys = jinja_alloc(&r->k, (items->count + 1) * sizeof *keys);
    for (size_t i = 0; i < items->count && !r->k.failed; i++) {
        keys[i] = sort_key(r, path ? attribute_of(r, items->at[i], *path) : items->at[i], exact);
        jinja_items_add(&r->k, out.as.items, items->at[i]);
    }
    if (!r->k.failed)
        jinja_sort(&r->k, out.as.items->at, keys, items->count, reverse);
    return out;
}

static void add_pairs(jinja_core *k, const jinja_pairs *from, jinja_items *to)
{
    for (size_t i = 0; i < from->count && !k->failed; i++) {
        jinja_value pair = jinja_items_new(k, ITEMS_TUPLE);
        jinja_items_add(k, pair.as.items, from->at[i].key);
        jinja_items_add(k, pair.as.items, from->at[i].value);
        jinja_items_add(k, to, pair);
    }
}

jinja_value jinja_filter_pairs(jinja_run *r, jinja_value v, items_kind kind)
{
    jinja_value out = jinja_items_new(&r->k, kind);
    if (v.type == JINJA_DICT)
        add_pairs(&r->k, v.as.pairs, out.as.items);
    else if (v.type != JINJA_UNDEFINED)
        jinja_fail(&r->k, "Can only get item pairs from a mapping.");
    return out;
}

jinja_value jinja_filter_dictsort(jinja_run *r, jinja_value v, const jinja_args *args)
{
    jinja_value by, index = jinja_whole(0), pairs = jinja_filter_pairs(r, v, ITEMS_LIST);
    if (jinja_arg(&r->k, args, 1, "by", &by) && by.type == JINJA_TEXT && jinja_is(by.as.text, "value"))
        index = jinja_whole(1);
    return sorted(r, pairs.as.items, &index, jinja_arg_true(&r->k, args, 0, "case_sensitive", false),
                  jinja_arg_true(&r->k, args, 2, "reverse", false));
}

static jinja_value sort(jinja_run *r, jinja_items *items, const jinja_args *args)
{
    jinja_value path;
    bool has_path = jinja_arg(&r->k, args, 2, "attribute", &path) && path.type != JINJA_NONE;
    return sorted(r, items, has_path ? &path : NULL, jinja_arg_true(&r->k, args, 1, "case_sensitive", false),
                  jinja_arg_true(&r->k, args, 0, "reverse", false));
}

static jinja_value unique(jinja_run *r, const jinja_items *items, const jinja_args *args)
{
    jinja_value path, seen = jinja_pairs_new(&r->k), out = jinja_items_new(&r->k, ITEMS_GENERATOR);
    bool exact = jinja_arg_true(&r->k, args, 0, "case_sensitive", false);
    bool has_path = jinja_arg(&r->k, args, 1, "attribute", &path) && path.type != JINJA_NONE;
    for (size_t i = 0; i < items->count && !r->k.failed; i++) {
        jinja_value key = sort_key(r, has_path ? attribute_of(r, items->at[i], path) : items->at[i], exact);
        size_t before = seen.as.pairs->count;
        jinja_pairs_set(&r->k, seen.as.pairs, key, key);
        if (seen.as.pairs->count > before)
            jinja_items_add(&r->k, out.as.items, items->at[i]);
    }
    return out;
}

static jinja_value extreme(jinja_run *r, const jinja_items *items, const jinja_args *args, bool most)
{
    jinja_value path, best = jinja_undefined((jinja_text){0}), best_key = best;
    bool exact = jinja_arg_true(&r->k, args, 0, "case_sensitive", false);
    bool has_path = jinja_arg(&r->k, args, 1, "attribute", &path) && path.type != JINJA_NONE;
    for (size_t i = 0; i < items->count && !r->k.failed; i++) {
        jinja_value key = sort_key(r, has_path ? attribute_of(r, items->at[i], path) : items->at[i], exact);
        int order = i ? jinja_compare(&r->k, key, best_key) : 0;
        if (i == 0 || (most ? order > 0 : order < 0)) {
            best = items->at[i];
            best_key = key;
        }
    }
    return best;
}

/* The arguments without the first `count`, for what map and select call. */
static jinja_args later(jinja_run *r, const jinja_args *args, size_t count)
{
    jinja_args rest = {jinja_items_new(&r->k, ITEMS_LIST).as.items, args->named};
    for (size_t i = count; i < args->given->count; i++)
        jinja_items_add(&r->k, rest.given, args->given->at[i]);
    return rest;
}

static jinja_value map(jinja_run *r, const jinja_items *items, const jinja_args *args)
{
    jinja_value path, otherwise, out = jinja_items_new(&r->k, ITEMS_GENERATOR);
    bool has_path = args->given->count == 0 && jinja_arg(&r->k, args, 0, "attribute", &path);
    bool has_default = has_path && jinja_arg(&r->k, args, 1, "default", &otherwise);
    jinja_args rest = later(r, args, 1);
    int filter = -1;
    if (!has_path) {
        jinja_text name;
        if (!jinja_arg_text(&r->k, args, 0, NULL, &name))
            jinja_fail(&r->k, "map requires a filter argument");
        else if ((filter = jinja_filter_named(name)) < 0)
            jinja_fail(&r->k, "No filter named '%.*s'.", (int)(name.length < 80 ? name.length : 80), jinja_bytes(name));
    }
    for (size_t i = 0; i < items->count && !r->k.failed; i++) {
        jinja_value v = has_path ? attribute_of(r, items->at[i], path) : jinja_filter(r, filter, items->at[i], &rest);
        jinja_items_add(&r->k, out.as.items, has_default && v.type == JINJA_UNDEFINED ? otherwise : v);
    }
    return out;
}

/* select, reject, selectattr and rejectattr. */
static jinja_value chosen(jinja_run *r, const jinja_items *items, const jinja_args *args, bool by_attribute, bool keep)
{
    jinja_value path, named, out = jinja_items_new(&r->k, ITEMS_GENERATOR);
    if (by_attribute && !jinja_arg(&r->k, args, 0, NULL, &path))
        jinja_fail(&r->k, "Missing parameter for attribute name");
    int test = -1;
    bool has_test = jinja_arg(&r->k, args, by_attribute, NULL, &named);
    if (has_test && (named.type != JINJA_TEXT || (test = jinja_test_named(named.as.text)) < 0))
        jinja_fail(&r->k, "No test of that name.");
    jinja_args rest = later(r, args, (size_t)by_attribute + 1);
    for (size_t i = 0; i < items->count && !r->k.failed; i++) {
        jinja_value v = by_attribute ? attribute_of(r, items->at[i], path) : items->at[i];
        if ((has_test ? jinja_test(r, test, v, &rest) : jinja_is_true(v)) == keep)
            jinja_items_add(&r->k, out.as.items, items->at[i]);
    }
    return out;
}

static jinja_value join(jinja_run *r, const jinja_items *items, const jinja_args *args)
{
    jinja_value path, between = jinja_text_as((jinja_text){0});
    jinja_builder b = {&r->k, NULL};
    jinja_arg(&r->k, args, 0, "d", &between);
    bool has_path = jinja_arg(&r->k, args, 1, "attribute", &path) && path.type != JINJA_NONE;
    jinja_text text = jinja_str(&r->k, between);
    for (size_t i = 0; i < items->count && !r->k.failed; i++) {
        if (i)
            jinja_add_text(&b, text);
        jinja_add_text(&b, jinja_str(&r->k, has_path ? attribute_of(r, items->at[i], path) : items->at[i]));
    }
    return jinja_text_as(jinja_built(&b));
}

static jinja_value reversed(jinja_run *r, jinja_value v, const jinja_items *items)
{
    jinja_builder b = {&r->k, NULL};
    jinja_value out = jinja_items_new(&r->k, ITEMS_GENERATOR);
    for (size_t i = items->count; i-- > 0 && !r->k.failed;)
        if (v.type == JINJA_TEXT)
            jinja_add_text(&b, items->at[i].as.text);
        else
            jinja_items_add(&r->k, out.as.items, items->at[i]);
    return v.type == JINJA_TEXT ? jinja_text_as(jinja_built(&b)) : out;
}

static jinja_value sum(jinja_run *r, const jinja_items *items, const jinja_args *args)
{
    jinja_value path, total = jinja_whole(0);
    bool has_path = jinja_arg(&r->k, args, 0, "attribute", &path) && path.type != JINJA_NONE;
    jinja_arg(&r->k, args, 1, "start", &total);
    for (size_t i = 0; i < items->count && !r->k.failed; i++)
        total = jinja_math(r, '+', total, has_path ? attribute_of(r, items->at[i], path) : items->at[i]);
    return total;
}

static jinja_value list_of(jinja_run *r, const jinja_items *items)
{
    jinja_value out = jinja_items_new(&r->k, ITEMS_LIST);
    for (size_t i = 0; i < items->count && !r->k.failed; i++)
        jinja_items_add(&r->k, out.as.items, items->at[i]);
    return out;
}

/* Those that go over a list. */
jinja_value jinja_filter_items(jinja_run *r, int filter, jinja_value v, const jinja_args *args)
{
    bool lazy =
        filter == F_MAP || filter == F_SELECT || filter == F_SELECTATTR || filter == F_REJECT || filter == F_REJECTATTR;
    if (lazy && !jinja_is_true(v)) /* none, too: Jinja looks no further then */
        return jinja_items_new(&r->k, ITEMS_GENERATOR);
    jinja_items *items = jinja_iterate(&r->k, v);
    if (!items)
        return jinja_none();
    switch (filter) {
    case F_FIRST: return items->count ? items->at[0] : jinja_undefined((jinja_text){0});
    case F_LAST: return items->count ? items->at[items->count - 1] : jinja_undefined((jinja_text){0});
    case F_JOIN: return join(r, items, args);
    case F_LIST: return list_of(r, items);
    case F_MAP: return map(r, items, args);
    case F_MAX:
    case F_MIN: return extreme(r, items, args, filter == F_MAX);
    case F_REVERSE: return reversed(r, v, items);
    case F_SORT: return sort(r, items, args);
    case F_SUM: return sum(r, items, args);
    case F_UNIQUE: return unique(r, items, args);
    default:
        return chosen(r, items, args, filter == F_SELECTATTR || filter == F_REJECTATTR,
                      filter == F_SELECT || filter == F_SELECTATTR);
    }
}
