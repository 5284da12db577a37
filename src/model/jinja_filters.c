/* jinja_filters: `value | filter(arguments)`. */
#include "model/jinja_filters.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The names, in the order of the enum. */
static const char NAMES[] =
    "abs\0capitalize\0count\0d\0default\0dictsort\0e\0escape\0first\0float\0format\0indent\0int\0items\0join\0last\0"
    "length\0list\0lower\0map\0max\0min\0reject\0rejectattr\0replace\0reverse\0round\0safe\0select\0selectattr\0sort\0"
    "string\0sum\0title\0tojson\0trim\0unique\0upper\0";

int jinja_find_word(const char *words, jinja_text word)
{
    for (int i = 0; *words; words += strlen(words) + 1, i++)
        if (jinja_is(word, words))
            return i;
    return -1;
}

int jinja_filter_named(jinja_text name)
{
    return jinja_find_word(NAMES, name);
}

static jinja_value text_of(jinja_text t, bool safe)
{
    jinja_value v = jinja_text_as(t);
    v.safe = safe;
    return v;
}

/* ---- texts and numbers --------------------------------------------------------------------------- */

static jinja_text spaces(jinja_core *k, int64_t count)
{
    jinja_builder b = {k, NULL};
    for (int64_t i = 0; i < count && !k->failed; i++)
        jinja_add_word(&b, " ");
    return jinja_built(&b);
}

/* A text, or as many spaces. */
static bool arg_indent(jinja_core *k, const jinja_args *args, size_t place, const char *name, jinja_text *out)
{
    jinja_value v;
    if (!jinja_arg(k, args, place, name, &v) || v.type == JINJA_NONE)
        return false;
    int64_t width = 0;
    if (v.type == JINJA_TEXT)
        *out = v.as.text;
    else if (jinja_arg_whole(k, args, place, name, &width))
        *out = spaces(k, width);
    return true;
}

static jinja_value tojson(jinja_run *r, jinja_value v, const jinja_args *args)
{
    jinja_core *k = &r->k;
    jinja_builder b = {k, NULL};
    jinja_text indent;
    jinja_value separators;
    jinja_json how = {.ascii = jinja_arg_true(k, args, 0, "ensure_ascii", false),
                      .sorted = jinja_arg_true(k, args, 3, "sort_keys", false)};
    if (arg_indent(k, args, 1, "indent", &indent))
        how.indent = &indent;
    how.comma = jinja_text_of(k, ", ", how.indent ? 1 : 2, false);
    how.colon = jinja_text_of(k, ": ", 2, false);
    if (jinja_arg(k, args, 2, "separators", &separators) && separators.type != JINJA_NONE) {
        const jinja_items *two = jinja_iterate(k, separators);
        if (!two || two->count != 2 || two->at[0].type != JINJA_TEXT || two->at[1].type != JINJA_TEXT) {
            jinja_fail(k, "tojson: separators are two texts");
            return v;
        }
        how.comma = two->at[0].as.text;
        how.colon = two->at[1].as.text;
    }
    jinja_add_json(&b, v, &how, 0);
    return jinja_text_as(jinja_built(&b));
}

static jinja_value indent(jinja_run *r, jinja_value v, const jinja_args *args)
{
    jinja_text width = {0}, t = jinja_str(&r->k, v);
    jinja_builder b = {&r->k, NULL};
    if (!arg_indent(&r->k, args, 0, "width", &width))
        width = spaces(&r->k, 4);
    bool blank = jinja_arg_true(&r->k, args, 2, "blank", false);
    if (jinja_arg_true(&r->k, args, 1, "first", false))
        jinja_add_text(&b, width);
    /* a line end is put behind the text first, so that the last line is one, too */
    t = jinja_join(&r->k, t, jinja_text_of(&r->k, "\n", 1, false));
    for (size_t at = 0, whole; at < t.length && !r->k.failed; at += whole) {
        size_t length = jinja_line_length(t, at, &whole);
        if (at)
            jinja_add_word(&b, "\n");
        if (at && (length || blank))
            jinja_add_text(&b, width);
        jinja_add_text(&b, jinja_part(t, at, length));
    }
    return text_of(jinja_built(&b), v.safe);
}

static bool number_in(jinja_text t, double *out)
{
    char text[64], *end;
    t = jinja_strip(t, NULL, true, true);
    if (t.length == 0 || t.length >= sizeof text)
        return false;
    memcpy(text, jinja_bytes(t), t.length);
    text[t.length] = 0;
    if (text[strspn(text, "+-0123456789.eE")])
        return false;
    *out = number_read(text, &end);
    return *end == 0;
}

static jinja_value to_int(jinja_run *r, jinja_value v, const jinja_args *args)
{
    jinja_value otherwise = jinja_whole(0), base;
    double number;
    jinja_arg(&r->k, args, 0, "default", &otherwise);
    if (jinja_arg(&r->k, args, 1, "base", &base) && (base.type != JINJA_WHOLE || base.as.whole != 10))
        jinja_fail(&r->k, "int: only base 10 is supported");
    if (v.type == JINJA_WHOLE || v.type == JINJA_BOOL)
        return jinja_whole(v.type == JINJA_BOOL ? v.as.yes : v.as.whole);
    if (v.type == JINJA_REAL)
        number = v.as.real;
    else if (v.type != JINJA_TEXT || !number_in(v.as.text, &number))
        return otherwise;
    if (!(fabs(number) < 9e15)) /* larger ones are not exact */
        return isfinite(number) ? jinja_fail(&r->k, "a number that is too large"), otherwise : otherwise;
    return jinja_whole((int64_t)number);
}

static jinja_value to_float(jinja_run *r, jinja_value v, const jinja_args *args)
{
    jinja_value otherwise = jinja_real(0);
    double number;
    jinja_arg(&r->k, args, 0, "default", &otherwise);
    if (jinja_is_number(v))
        return jinja_real(jinja_as_real(v));
    return v.type == JINJA_TEXT && number_in(v.as.text, &number) ? jinja_real(number) : otherwise;
}

static jinja_value round_to(jinja_run *r, jinja_value v, const jinja_args *args)
{
    int64_t precision = 0;
    jinja_text method = jinja_text_of(&r->k, "common", 6, false);
    jinja_arg_whole(&r->k, args, 0, "precision", &precision);
    jinja_arg_text(&r->k, args, 1, "method", &method);
    if (!jinja_is_number(v) || precision < -15 || precision > 15) {
        jinja_fail(&r->k, "round: not a number, or too many digits");
        return v;
    }
    double scale = pow(10, (double)precision), number = jinja_as_real(v);
    if (jinja_is(method, "ceil"))
        return jinja_real(ceil(number * scale) / scale);
    if (jinja_is(method, "floor"))
        return jinja_real(floor(number * scale) / scale);
    /* Python's round: of the decimal digits, ties to even */
    double out = precision == 0 ? rint(number) : rint(number * scale) / scale;
    return v.type == JINJA_REAL ? jinja_real(out) : v;
}

static jinja_value replace(jinja_run *r, jinja_value v, const jinja_args *args)
{
    jinja_value old, by;
    int64_t most = -1;
    if (!jinja_arg(&r->k, args, 0, "old", &old) || !jinja_arg(&r->k, args, 1, "new", &by)) {
        jinja_fail(&r->k, "replace needs two texts");
        return v;
    }
    jinja_arg_whole(&r->k, args, 2, "count", &most);
    return jinja_text_as(jinja_replace(&r->k, jinja_str(&r->k, v), jinja_str(&r->k, old), jinja_str(&r->k, by), most));
}

static jinja_value or_default(jinja_run *r, jinja_value v, const jinja_args *args)
{
    jinja_value otherwise = jinja_text_as((jinja_text){0});
    jinja_arg(&r->k, args, 0, "default_value", &otherwise);
    bool empty_too = jinja_arg_true(&r->k, args, 1, "boolean", false);
    return v.type == JINJA_UNDEFINED || (empty_too && !jinja_is_true(v)) ? otherwise : v;
}

static jinja_value absolute(jinja_run *r, jinja_value v)
{
    if (!jinja_is_number(v))
        jinja_fail(&r->k, "bad operand type for abs(): '%s'", jinja_type_name(v));
    if (v.type == JINJA_REAL)
        return jinja_real(fabs(v.as.real));
    return v.type == JINJA_WHOLE && v.as.whole < 0 ? jinja_math(r, '-', jinja_whole(0), v) : v;
}

static jinja_value formatted(jinja_run *r, jinja_value v, const jinja_args *args)
{
    jinja_value tuple = jinja_items_new(&r->k, ITEMS_TUPLE);
    if (args->named)
        jinja_fail(&r->k, "format: named arguments are not supported");
    *tuple.as.items = *args->given;
    tuple.as.items->kind = ITEMS_TUPLE;
    return jinja_percent(r, jinja_str(&r->k, v), tuple);
}

jinja_value jinja_filter(jinja_run *r, int filter, jinja_value v, const jinja_args *args)
{
    jinja_core *k = &r->k;
    jinja_value chars;
    size_t length = 0;
    switch (filter) {
    case F_ABS: return absolute(r, v);
    case F_CAPITALIZE: return text_of(jinja_cased(k, jinja_str(k, v), CASE_CAPITAL), v.safe);
    case F_COUNT:
    case F_LENGTH: return jinja_length(k, v, &length) ? jinja_whole((int64_t)length) : jinja_none();
    case F_D:
    case F_DEFAULT: return or_default(r, v, args);
    case F_DICTSORT: return jinja_filter_dictsort(r, v, args);
    case F_E:
    case F_ESCAPE: return v.safe ? v : text_of(jinja_escape(k, jinja_str(k, v)), true);
    case F_FLOAT: return to_float(r, v, args);
    case F_FORMAT: return formatted(r, v, args);
    case F_INDENT: return indent(r, v, args);
    case F_INT: return to_int(r, v, args);
    case F_ITEMS: return jinja_filter_pairs(r, v, ITEMS_GENERATOR);
    case F_LOWER: return text_of(jinja_cased(k, jinja_str(k, v), CASE_LOWER), v.safe);
    case F_REPLACE: return replace(r, v, args);
    case F_ROUND: return round_to(r, v, args);
    case F_SAFE: return text_of(jinja_str(k, v), true);
    case F_STRING: return text_of(jinja_str(k, v), v.safe);
    case F_TITLE: return text_of(jinja_cased(k, jinja_str(k, v), CASE_TITLE_FILTER), v.safe);
    case F_TOJSON: return tojson(r, v, args);
    case F_TRIM:
        if (jinja_arg(k, args, 0, "chars", &chars) && chars.type == JINJA_TEXT)
            return text_of(jinja_strip(jinja_str(k, v), &chars.as.text, true, true), v.safe);
        return text_of(jinja_strip(jinja_str(k, v), NULL, true, true), v.safe);
    case F_UPPER: return text_of(jinja_cased(k, jinja_str(k, v), CASE_UPPER), v.safe);
    default: return jinja_filter_items(r, filter, v, args);
    }
}
