/* jinja_json: values as text: what Python prints for them, and JSON as json.dumps writes it. */
#include "base/number.h"
#include "model/jinja_internal.h"
#include "model/unicode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------------------------ */

/* The shortest digits that give the number again, written as Python does. */
void jinja_add_real(jinja_builder *b, double number)
{
    char text[40], digits[24];
    if (isnan(number) || isinf(number)) {
        jinja_add_word(b, isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
        return;
    }
    number_locale l = number_begin();
    for (int precision = 0; precision < 17; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, number);
        if (number_read(text, NULL) == number)
            break;
    }
    number_end(l);
    const char *at = text;
    if (*at == '-') {
        jinja_add_word(b, "-");
        at++;
    }
    int count = 0;
    for (; *at && *at != 'e'; at++)
        if (*at != '.')
            digits[count++] = *at;
    digits[count] = 0;
    int power = (int)strtol(at + 1, NULL, 10);
    if (power < -4 || power >= 16) {
        jinja_add(b, digits, 1, false);
        if (count > 1)
            jinja_add_word(b, ".");
        jinja_add_word(b, digits + 1);
        snprintf(text, sizeof text, "e%c%02d", power < 0 ? '-' : '+', abs(power));
        jinja_add_word(b, text);
    } else if (power < 0) {
        jinja_add_word(b, "0.");
        for (int i = -1; i > power; i--)
            jinja_add_word(b, "0");
        jinja_add_word(b, digits);
    } else {
        for (int i = 0; i <= power; i++)
            jinja_add(b, i < count ? digits + i : "0", 1, false);
        jinja_add_word(b, ".");
        jinja_add_word(b, count > power + 1 ? digits + power + 1 : "0");
    }
}

static void add_whole(jinja_builder *b, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    jinja_add_word(b, text);
}

/* ---- Python's repr ------------------------------------------------------------------------- */

static void add_hex(jinja_builder *b, const char *before, uint32_t point, int width, bool plain)
{
    char text[16];
    int length = snprintf(text, sizeof text, "\\%s%0*x", before, width, (unsigned)point);
    jinja_add(b, text, (size_t)length, plain);
}

/* Not every character that Python does not print is known here: those that are no letter, mark, number, punctuation,
 * symbol or simple space are taken for such. */
static bool is_printed(uint32_t point)
{
    return point == ' ' || (point >= 0x21 && point < 0x7F) ||
           (point > 0xA0 && (unicode_class(point) & ~UNICODE_SPACE) && point != 0xAD);
}

static void add_text_repr(jinja_builder *b, jinja_text t)
{
    bool single = memchr(jinja_bytes(t), '\'', t.length), twice = memchr(jinja_bytes(t), '"', t.length);
    char quote = single && !twice ? '"' : '\'';
    jinja_add(b, &quote, 1, false);
    for (size_t at = 0, length; at < t.length && !b->k->failed; at += length) {
        uint32_t point = utf8_decode(jinja_bytes(t) + at, t.length - at, &length);
        bool plain = t.block->marks[t.start + at];
        const char *letter = point == '\n'   ? "\\n"
                             : point == '\r' ? "\\r"
                             : point == '\t' ? "\\t"
                             : point == '\\' ? "\\\\"
                                             : NULL;
        if (letter)
            jinja_add(b, letter, 2, plain);
        else if (point == (uint32_t)quote)
            jinja_add(b, "\\'", 2, plain);
        else if (is_printed(point))
            jinja_add_text(b, jinja_part(t, at, length));
        else
            add_hex(b,
                    point < 0x100     ? "x"
                    : point < 0x10000 ? "u"
                                      : "U",
                    point,
                    point < 0x100     ? 2
                    : point < 0x10000 ? 4
                                      : 8,
                    plain);
    }
    jinja_add(b, &quote, 1, false);
}

static void add_items_repr(jinja_builder *b, const jinja_items *items)
{
    bool tuple = items->kind == ITEMS_TUPLE;
    if (items->kind >= ITEMS_RANGE) {
        jinja_fail(b->k, "a %s cannot be printed",
                   jinja_type_name((jinja_value){.type = JINJA_LIST, .as.items = (jinja_items *)items}));
        return;
    }
    jinja_add_word(b, tuple ? "(" : "[");
    for (size_t i = 0; i < items->count && !b->k->failed; i++) {
        jinja_add_word(b, i ? ", " : "");
        jinja_add_repr(b, items->at[i]);
    }
    jinja_add_word(b, !tuple ? "]" : items->count == 1 ? ",)" : ")");
}

void jinja_add_repr(jinja_builder *b, jinja_value v)
{
    if (!jinja_enter(b->k))
        return;
    switch (v.type) {
    case JINJA_UNDEFINED: jinja_add_word(b, "Undefined"); break;
    case JINJA_NONE: jinja_add_word(b, "None"); break;
    case JINJA_BOOL: jinja_add_word(b, v.as.yes ? "True" : "False"); break;
    case JINJA_WHOLE: add_whole(b, v.as.whole); break;
    case JINJA_REAL: jinja_add_real(b, v.as.real); break;
    case JINJA_TEXT:
        if (v.safe)
            jinja_fail(b->k, "what is marked as safe cannot be printed inside a list");
        add_text_repr(b, v.as.text);
        break;
    case JINJA_LIST: add_items_repr(b, v.as.items); break;
    case JINJA_DICT:
        jinja_add_word(b, "{");
        for (size_t i = 0; i < v.as.pairs->count && !b->k->failed; i++) {
            jinja_add_word(b, i ? ", " : "");
            jinja_add_repr(b, v.as.pairs->at[i].key);
            jinja_add_word(b, ": ");
            jinja_add_repr(b, v.as.pairs->at[i].value);
        }
        jinja_add_word(b, "}");
        break;
    default: jinja_fail(b->k, "a %s cannot be printed", jinja_type_name(v)); break;
    }
    jinja_leave(b->k);
}

jinja_text jinja_str(jinja_core *k, jinja_value v)
{
    jinja_builder b = {k, NULL};
    if (v.type == JINJA_TEXT)
        return v.as.text;
    if (v.type != JINJA_UNDEFINED)
        jinja_add_repr(&b, v);
    return jinja_built(&b);
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static void add_json_text(jinja_builder *b, jinja_text t, bool ascii)
{
    static const char letters[] = "\"\\\n\r\t\f\b", *const by[] = {"\\\"", "\\\\", "\\n", "\\r", "\\t", "\\f", "\\b"};
    jinja_add_word(b, "\"");
    for (size_t at = 0, length; at < t.length && !b->k->failed; at += length) {
        uint32_t point = utf8_decode(jinja_bytes(t) + at, t.length - at, &length);
        bool plain = t.block->marks[t.start + at];
        const char *letter = point && point < 0x80 ? strchr(letters, (int)point) : NULL;
        if (letter)
            jinja_add(b, by[letter - letters], 2, plain);
        else if (point < 0x20 || (ascii && point >= 0x7F && point < 0x10000))
            add_hex(b, "u", point, 4, plain);
        else if (ascii && point >= 0x10000) {
            add_hex(b, "u", 0xD800 + ((point - 0x10000) >> 10), 4, plain);
            add_hex(b, "u", 0xDC00 + (point & 0x3FF), 4, plain);
        } else
            jinja_add_text(b, jinja_part(t, at, length));
    }
    jinja_add_word(b, "\"");
}

static void add_line(jinja_builder *b, const jinja_json *how, uint32_t depth)
{
    if (!how->indent)
        return;
    jinja_add_word(b, "\n");
    for (uint32_t i = 0; i < depth; i++)
        jinja_add_text(b, *how->indent);
}

static void add_scalar(jinja_builder *b, jinja_value v)
{
    switch (v.type) {
    case JINJA_NONE: jinja_add_word(b, "null"); break;
    case JINJA_BOOL: jinja_add_word(b, v.as.yes ? "true" : "false"); break;
    case JINJA_WHOLE: add_whole(b, v.as.whole); break;
    case JINJA_REAL:
        if (isnan(v.as.real) || isinf(v.as.real))
            jinja_add_word(b, isnan(v.as.real) ? "NaN" : v.as.real > 0 ? "Infinity" : "-Infinity");
        else
            jinja_add_real(b, v.as.real);
        break;
    default: jinja_fail(b->k, "Object of type %s is not JSON serializable", jinja_type_name(v));
    }
}

/* Numbers, bools and none are keys as texts. */
static void add_key(jinja_builder *b, jinja_value key, bool ascii)
{
    if (key.type == JINJA_TEXT)
        add_json_text(b, key.as.text, ascii);
    else {
        jinja_add_word(b, "\"");
        add_scalar(b, key);
        jinja_add_word(b, "\"");
    }
}

static void add_object(jinja_builder *b, const jinja_pairs *pairs, const jinja_json *how, uint32_t depth)
{
    jinja_value *keys = jinja_alloc(b->k, 2 * (pairs->count + 1) * sizeof *keys), *values = keys + pairs->count;
    for (size_t i = 0; i < pairs->count; i++) {
        keys[i] = pairs->at[i].key;
        values[i] = pairs->at[i].value;
    }
    if (how->sorted)
        jinja_sort(b->k, values, keys, pairs->count, false);
    jinja_add_word(b, "{");
    for (size_t i = 0; i < pairs->count && !b->k->failed; i++) {
        if (i)
            jinja_add_text(b, how->comma);
        add_line(b, how, depth + 1);
        add_key(b, keys[i], how->ascii);
        jinja_add_text(b, how->colon);
        jinja_add_json(b, values[i], how, depth + 1);
    }
    if (pairs->count)
        add_line(b, how, depth);
    jinja_add_word(b, "}");
}

void jinja_add_json(jinja_builder *b, jinja_value v, const jinja_json *how, uint32_t depth)
{
    if (!jinja_enter(b->k))
        return;
    if (v.type == JINJA_TEXT)
        add_json_text(b, v.as.text, how->ascii);
    else if (v.type == JINJA_DICT)
        add_object(b, v.as.pairs, how, depth);
    else if (v.type == JINJA_LIST && v.as.items->kind <= ITEMS_TUPLE) {
        const jinja_items *items = v.as.items;
        jinja_add_word(b, "[");
        for (size_t i = 0; i < items->count && !b->k->failed; i++) {
            if (i)
                jinja_add_text(b, how->comma);
            add_line(b, how, depth + 1);
            jinja_add_json(b, items->at[i], how, depth + 1);
        }
        if (items->count)
            add_line(b, how, depth);
        jinja_add_word(b, "]");
    } else
        add_scalar(b, v);
    jinja_leave(b->k);
}
