/* jinja_methods_text: the methods of texts: `text.method(arguments)`. */
#include "model/jinja_internal.h"
#include "model/unicode.h"

#include <string.h>

/* The names, in the order of the enum. */
static const char TEXT_NAMES[] =
    "capitalize\0count\0endswith\0find\0format\0index\0isalnum\0isalpha\0isdigit\0islower\0isspace\0isupper\0join\0lowe"
    "r\0"
    "lstrip\0partition\0removeprefix\0removesuffix\0replace\0rfind\0rpartition\0rsplit\0rstrip\0split\0splitlines\0"
    "startswith\0strip\0title\0upper\0zfill\0";
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

int jinja_text_method_named(jinja_text name)
{
    return jinja_find_word(TEXT_NAMES, name);
}

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

jinja_value jinja_call_text_method(jinja_run *r, int method, jinja_value self, const jinja_args *args)
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
