/* jinja_methods: the methods of texts, lists, dicts and loops: `value.method(arguments)`. */
#include "model/jinja_internal.h"
#include "model/unicode.h"

#include <string.h>

/* The names, in the order of the enums. A dict's method hides its key of the same name, as in Python. */
static const char TEXT_NAMES[] =
    "capitalize\0count\0endswith\0find\0format\0index\0isalnum\0isalpha\0isdigit\0islower\0isspace\0isupper\0join\0lowe"
    "r\0"
    "lstrip\0partition\0removeprefix\0removesuffix\0replace\0rfind\0rpartition\0rsplit\0rstrip\0split\0splitlines\0"
    "startswith\0strip\0title\0upper\0zfill\0";
static const char LIST_NAMES[] = "append\0copy\0count\0extend\0index\0insert\0pop\0";
static const char DICT_NAMES[] = "clear\0copy\0fromkeys\0get\0items\0keys\0pop\0popitem\0setdefault\0update\0values\0";
static const char LOOP_NAMES[] = "cycle\0changed\0";
enum {
    TEXT_CAPITALIZE,
    TEXT_COUNT,
    TEXT_ENDSWITH,
    TEXT_FIND,
    TEXT_FORMAT,
    TEXT_INDEX,
    TEXT_ISALNUM,
    TEXT_ISALPHA,
    TEXT_ISDIGIT,
    TEXT_ISLOWER,
    TEXT_ISSPACE,
    TEXT_ISUPPER,
    TEXT_JOIN,
    TEXT_LOWER,
    TEXT_LSTRIP,
    TEXT_PARTITION,
    TEXT_REMOVEPREFIX,
    TEXT_REMOVESUFFIX,
    TEXT_REPLACE,
    TEXT_RFIND,
    TEXT_RPARTITION,
    TEXT_RSPLIT,
    TEXT_RSTRIP,
    TEXT_SPLIT,
    TEXT_SPLITLINES,
    TEXT_STARTSWITH,
    TEXT_STRIP,
    TEXT_TITLE,
    TEXT_UPPER,
    TEXT_ZFILL
};
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
    case JINJA_TEXT: return jinja_find_word(TEXT_NAMES, name);
    case JINJA_LIST: return self.as.items->kind <= ITEMS_TUPLE ? jinja_find_word(LIST_NAMES, name) : -1;
    case JINJA_DICT: return jinja_find_word(DICT_NAMES, name);
    case JINJA_LOOP: return jinja_find_word(LOOP_NAMES, name);
    default: return -1;
    }
}

/* ---- texts ------------------------------------------------------------------------------------ */

static void add_part(jinja_core *k, jinja_value list, jinja_text t, size_t from, size_t to)
{
    jinja_items_add(k, list.as.items, jinja_text_as(jinja_part(t, from, to - from)));
}

/* Without a separator: at white space, of which none is left. */
static jinja_value split_spaces(jinja_core *k, jinja_text t, int64_t most)
{
    jinja_value out = jinja_items_new(k, ITEMS_LIST);
    for (t = jinja_strip(t, NULL, true, false); t.length && !k->failed; t = jinja_strip(t, NULL, true, false)) {
        size_t at = 0, length = 0;
        if (most >= 0 && (int64_t)out.as.items->count >= most) {
            t = jinja_strip(t, NULL, false, true);
            at = t.length;
        }
        while (at < t.length && !jinja_is_space(utf8_decode(jinja_bytes(t) + at, t.length - at, &length)))
            at += length;
        add_part(k, out, t, 0, at);
        t = jinja_part(t, at, t.length - at);
    }
    return out;
}

static jinja_value reverse_in_place(jinja_value list)
{
    jinja_items *l = list.as.items;
    for (size_t i = 0; i < l->count / 2; i++) {
        jinja_value other = l->at[i];
        l->at[i] = l->at[l->count - 1 - i];
        l->at[l->count - 1 - i] = other;
    }
    return list;
}

static jinja_value split(jinja_core *k, jinja_text t, const jinja_args *args, bool from_end)
{
    jinja_text by;
    int64_t most = -1;
    size_t at = 0;
    bool has_by = jinja_arg_text(k, args, 0, "sep", &by);
    jinja_arg_whole(k, args, 1, "maxsplit", &most);
    if (k->failed || (has_by && by.length == 0)) {
        jinja_fail(k, "empty separator");
        return jinja_none();
    }
    if (!has_by && from_end && most >= 0)
        jinja_fail(k, "rsplit at white space with a limit is not supported");
    if (!has_by)
        return split_spaces(k, t, most);
    jinja_value out = jinja_items_new(k, ITEMS_LIST);
    if (from_end) {
        for (size_t found; most != 0 && (found = jinja_find_last(k, t, by)) != SIZE_MAX; most -= most > 0) {
            add_part(k, out, t, found + by.length, t.length);
            t = jinja_part(t, 0, found);
        }
        add_part(k, out, t, 0, t.length);
        return reverse_in_place(out);
    }
    for (size_t found; most != 0 && (found = jinja_find(k, t, by, at)) != SIZE_MAX; most -= most > 0) {
        add_part(k, out, t, at, found);
        at = found + by.length;
    }
    add_part(k, out, t, at, t.length);
    return out;
}

static jinja_value partition(jinja_core *k, jinja_text t, const jinja_args *args, bool last)
{
    jinja_text by = {0};
    jinja_value out = jinja_items_new(k, ITEMS_TUPLE);
    if (!jinja_arg_text(k, args, 0, NULL, &by) || by.length == 0)
        jinja_fail(k, "empty separator");
    size_t at = k->failed ? SIZE_MAX : last ? jinja_find_last(k, t, by) : jinja_find(k, t, by, 0);
    bool found = at != SIZE_MAX;
    size_t from = found ? at : last ? 0 : t.length, to = found ? at + by.length : from;
    add_part(k, out, t, 0, from);
    add_part(k, out, t, from, to);
    add_part(k, out, t, to, t.length);
    return out;
}

/* The part between the positions that are the second and third argument. */
static jinja_text between(jinja_run *r, jinja_value self, const jinja_args *args, bool *inside)
{
    jinja_value bounds[3] = {jinja_none(), jinja_none(), jinja_none()};
    jinja_arg(&r->k, args, 1, NULL, &bounds[0]);
    jinja_arg(&r->k, args, 2, NULL, &bounds[1]);
    *inside = bounds[0].type != JINJA_WHOLE || bounds[0].as.whole <= (int64_t)jinja_count_points(&r->k, self.as.text);
    return bounds[0].type == JINJA_NONE && bounds[1].type == JINJA_NONE ? self.as.text
                                                                        : jinja_get_slice(r, self, bounds).as.text;
}

/* startswith and endswith: of one, or of one of several. */
static bool has_at_end(jinja_run *r, jinja_value self, const jinja_args *args, bool at_start)
{
    jinja_value what = jinja_none();
    bool inside;
    jinja_text t = between(r, self, args, &inside);
    jinja_arg(&r->k, args, 0, NULL, &what);
    const jinja_items *several = jinja_is_items(what, ITEMS_TUPLE) ? what.as.items : NULL;
    for (size_t i = 0; i < (several ? several->count : 1); i++) {
        jinja_value one = several ? several->at[i] : what;
        if (one.type != JINJA_TEXT)
            return jinja_fail(&r->k, "%s first arg must be str or a tuple of str, not %s",
                              at_start ? "startswith" : "endswith", jinja_type_name(one));
        if (inside && (at_start ? jinja_starts(t, one.as.text) : jinja_ends(t, one.as.text)))
            return true;
    }
    return false;
}

static jinja_value find(jinja_run *r, jinja_value self, const jinja_args *args, bool last, bool must)
{
    jinja_text what = {0};
    bool inside;
    jinja_text t = between(r, self, args, &inside);
    if (!jinja_arg_text(&r->k, args, 0, NULL, &what))
        jinja_fail(&r->k, "find needs a text");
    size_t at = r->k.failed || !inside ? SIZE_MAX
                : last                 ? jinja_find_last(&r->k, t, what)
                                       : jinja_find(&r->k, t, what, 0);
    if (at == SIZE_MAX) {
        if (must)
            jinja_fail(&r->k, "substring not found");
        return jinja_whole(-1);
    }
    jinja_text before = jinja_part(self.as.text, 0, t.start - self.as.text.start + at);
    return jinja_whole((int64_t)jinja_count_points(&r->k, before));
}

static int64_t count(jinja_run *r, jinja_value self, const jinja_args *args)
{
    jinja_text what = {0};
    bool inside;
    jinja_text t = between(r, self, args, &inside);
    if (!jinja_arg_text(&r->k, args, 0, NULL, &what) || !inside)
        return 0;
    if (what.length == 0)
        return (int64_t)jinja_count_points(&r->k, t) + 1;
    int64_t found = 0;
    for (size_t at = 0; (at = jinja_find(&r->k, t, what, at)) != SIZE_MAX; at += what.length)
        found++;
    return found;
}

/* Is there a character, and are all of these kinds? */
static bool all_are(jinja_text t, uint8_t classes)
{
    for (size_t at = 0, length; at < t.length; at += length) {
        uint32_t point = utf8_decode(jinja_bytes(t) + at, t.length - at, &length);
        if (!(unicode_class(point) & classes) && !(classes == UNICODE_SPACE && jinja_is_space(point)))
            return false;
    }
    return t.length > 0;
}

static jinja_value splitlines(jinja_core *k, jinja_text t, bool with_ends)
{
    jinja_value out = jinja_items_new(k, ITEMS_LIST);
    for (size_t at = 0, whole; at < t.length && !k->failed; at += whole) {
        size_t length = jinja_line_length(t, at, &whole);
        add_part(k, out, t, at, at + (with_ends ? whole : length));
    }
    return out;
}

static jinja_value join(jinja_core *k, jinja_text between, const jinja_args *args)
{
    jinja_value list;
    jinja_builder b = {k, NULL};
    const jinja_items *items = jinja_arg(k, args, 0, NULL, &list) ? jinja_iterate(k, list) : NULL;
    for (size_t i = 0; items && i < items->count && !k->failed; i++) {
        if (i)
            jinja_add_text(&b, between);
        if (items->at[i].type == JINJA_TEXT)
            jinja_add_text(&b, items->at[i].as.text);
        else
            jinja_fail(k, "sequence item %zu: expected str instance, %s found", i, jinja_type_name(items->at[i]));
    }
    return jinja_text_as(jinja_built(&b));
}

static jinja_text without_end(jinja_core *k, jinja_text t, const jinja_args *args, bool prefix)
{
    jinja_text end = {0};
    jinja_arg_text(k, args, 0, NULL, &end);
    if (prefix)
        return jinja_starts(t, end) ? jinja_part(t, end.length, t.length - end.length) : t;
    return jinja_ends(t, end) ? jinja_part(t, 0, t.length - end.length) : t;
}

static jinja_text stripped(jinja_core *k, jinja_text t, const jinja_args *args, bool left, bool right)
{
    jinja_text chars;
    bool has = jinja_arg_text(k, args, 0, "chars", &chars);
    jinja_step(k, has ? (size_t)t.length / 64 * chars.length / 4 : t.length / 64);
    return k->failed ? t : jinja_strip(t, has ? &chars : NULL, left, right);
}

static jinja_text replaced(jinja_core *k, jinja_text t, const jinja_args *args)
{
    jinja_text old, by;
    int64_t most = -1;
    if (!jinja_arg_text(k, args, 0, NULL, &old) || !jinja_arg_text(k, args, 1, NULL, &by)) {
        jinja_fail(k, "replace needs two texts");
        return t;
    }
    jinja_arg_whole(k, args, 2, "count", &most);
    return jinja_replace(k, t, old, by, most);
}

static jinja_text zfill(jinja_core *k, jinja_text t, const jinja_args *args)
{
    int64_t width = 0, length = (int64_t)jinja_count_points(k, t);
    jinja_builder b = {k, NULL};
    jinja_arg_whole(k, args, 0, NULL, &width);
    bool sign = t.length && (*jinja_bytes(t) == '-' || *jinja_bytes(t) == '+');
    jinja_add_text(&b, jinja_part(t, 0, sign));
    for (; length < width && !k->failed; length++)
        jinja_add_word(&b, "0");
    jinja_add_text(&b, jinja_part(t, sign, t.length - sign));
    return jinja_built(&b);
}

/* "{}", "{0}" and "{name}", without format specifications. */
static jinja_value format(jinja_run *r, jinja_text t, const jinja_args *args)
{
    jinja_builder b = {&r->k, NULL};
    size_t next = 0;
    for (size_t at = 0; at < t.length && !r->k.failed; at++) {
        const char *c = jinja_bytes(t) + at;
        bool twice = at + 1 < t.length && c[1] == *c;
        if ((*c != '{' && *c != '}') || twice) {
            jinja_add_text(&b, jinja_part(t, at, 1));
            at += twice && (*c == '{' || *c == '}');
            continue;
        }
        const char *end = *c == '{' ? memchr(c, '}', t.length - at) : NULL;
        size_t length = end ? (size_t)(end - c) - 1 : 0;
        char name[40] = "";
        jinja_value v;
        if (!end || length >= sizeof name || memchr(c + 1, ':', length) || memchr(c + 1, '!', length) ||
            memchr(c + 1, '.', length) || memchr(c + 1, '[', length)) {
            jinja_fail(&r->k, "a format that is not supported");
            break;
        }
        memcpy(name, c + 1, length);
        bool number = length > 0 && length < 3 && name[strspn(name, "0123456789")] == 0;
        size_t place =
            length == 0 ? next++
            : number    ? (size_t)(name[0] - '0') * (length == 2 ? 10 : 1) + (length == 2 ? (size_t)(name[1] - '0') : 0)
                        : SIZE_MAX;
        if (!jinja_arg(&r->k, args, place, name, &v))
            jinja_fail(&r->k, "format: there is no argument '%s'", name);
        else
            jinja_add_text(&b, jinja_str(&r->k, v));
        at += length + 1;
    }
    return jinja_text_as(jinja_built(&b));
}

static jinja_value text_method(jinja_run *r, int method, jinja_value self, const jinja_args *args)
{
    jinja_core *k = &r->k;
    jinja_text t = self.as.text;
    jinja_value v;
    switch (method) {
    case TEXT_CAPITALIZE: return jinja_text_as(jinja_cased(k, t, CASE_CAPITAL));
    case TEXT_COUNT: return jinja_whole(count(r, self, args));
    case TEXT_ENDSWITH:
    case TEXT_STARTSWITH: return jinja_bool(has_at_end(r, self, args, method == TEXT_STARTSWITH));
    case TEXT_FIND:
    case TEXT_INDEX: return find(r, self, args, false, method == TEXT_INDEX);
    case TEXT_RFIND: return find(r, self, args, true, false);
    case TEXT_FORMAT: return format(r, t, args);
    case TEXT_ISALNUM: return jinja_bool(all_are(t, UNICODE_LETTER | UNICODE_NUMBER));
    case TEXT_ISALPHA: return jinja_bool(all_are(t, UNICODE_LETTER));
    case TEXT_ISDIGIT:
        if (!all_are(t, UNICODE_NUMBER))
            return jinja_bool(false);
        for (size_t i = 0; i < t.length; i++)
            if ((unsigned char)jinja_bytes(t)[i] >= 0x80)
                jinja_fail(k, "isdigit is not supported for digits other than 0 to 9");
        return jinja_bool(true);
    case TEXT_ISSPACE: return jinja_bool(all_are(t, UNICODE_SPACE));
    case TEXT_ISLOWER:
    case TEXT_ISUPPER:
        return jinja_bool(jinja_test(
            r, jinja_test_named(jinja_text_of(k, method == TEXT_ISLOWER ? "lower" : "upper", 5, false)), self, args));
    case TEXT_JOIN: return join(k, t, args);
    case TEXT_LOWER: return jinja_text_as(jinja_cased(k, t, CASE_LOWER));
    case TEXT_LSTRIP: v = jinja_text_as(stripped(k, t, args, true, false)); break;
    case TEXT_RSTRIP: v = jinja_text_as(stripped(k, t, args, false, true)); break;
    case TEXT_STRIP: v = jinja_text_as(stripped(k, t, args, true, true)); break;
    case TEXT_PARTITION:
    case TEXT_RPARTITION: return partition(k, t, args, method == TEXT_RPARTITION);
    case TEXT_REMOVEPREFIX:
    case TEXT_REMOVESUFFIX: v = jinja_text_as(without_end(k, t, args, method == TEXT_REMOVEPREFIX)); break;
    case TEXT_REPLACE: v = jinja_text_as(replaced(k, t, args)); break;
    case TEXT_RSPLIT:
    case TEXT_SPLIT: return split(k, t, args, method == TEXT_RSPLIT);
    case TEXT_SPLITLINES: return splitlines(k, t, jinja_arg_true(k, args, 0, "keepends", false));
    case TEXT_TITLE: return jinja_text_as(jinja_cased(k, t, CASE_TITLE));
    case TEXT_UPPER: return jinja_text_as(jinja_cased(k, t, CASE_UPPER));
    default: return jinja_text_as(zfill(k, t, args));
    }
    v.safe = self.safe;
    return v;
}

/* ---- lists, dicts, loops ------------------------------------------------------------------------- */

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
    case JINJA_TEXT: return text_method(r, m->name, m->self, args);
    case JINJA_LIST: return list_method(r, m->name, m->self.as.items, args);
    case JINJA_DICT: return dict_method(r, m->name, m->self.as.pairs, args);
    default: return loop_method(r, m->name, m->self.as.loop, args);
    }
}
