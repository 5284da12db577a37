/* jsonw: JSON appended to a str, with commas, escapes and numbers as JSON has them. */
#include "base/jsonw.h"

#include <math.h>
#include <stdio.h>

jsonw jsonw_to(str *out)
{
    return (jsonw){.out = out};
}

static bool inline_here(const jsonw *j)
{
    return j->depth > 0 && j->flat[j->depth - 1];
}

static void newline(jsonw *j)
{
    str_add(j->out, "\n");
    for (int i = 0; i < j->depth; i++)
        str_add(j->out, " ");
}

/* The length of the well-formed UTF-8 sequence that begins here, or 0. */
static size_t utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    size_t n = s[0] >= 0xc2 && s[0] <= 0xdf ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool beyond = (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf4 && s[1] > 0x8f);
    return n && (overlong || beyond) ? 0 : n;
}

/* File and driver names may hold any bytes; JSON is UTF-8. */
static void quoted(str *out, const char *text)
{
    str_add(out, "\"");
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t n = utf8_length(s);
        if (*s == '"' || *s == '\\')
            str_addf(out, "\\%c", *s);
        else if (*s < 0x20 || *s == 0x7f)
            str_addf(out, "\\u%04x", *s);
        else if (n)
            str_add_bytes(out, (const char *)s, n);
        else
            str_add(out, "\xef\xbf\xbd"); /* U+FFFD */
        s += n ? n : 1;
    }
    str_add(out, "\"");
}

static void before_value(jsonw *j, const char *key)
{
    if (j->depth > 0) {
        bool *has = &j->has_items[j->depth - 1];
        if (*has)
            str_add(j->out, inline_here(j) ? ", " : ",");
        *has = true;
        if (!inline_here(j))
            newline(j);
    }
    if (key) {
        quoted(j->out, key);
        str_add(j->out, ": ");
    }
}

static void open(jsonw *j, const char *key, char first, char last)
{
    bool flat = j->depth > 0 && (j->flat[j->depth - 1] || j->rows[j->depth - 1]);
    before_value(j, key);
    str_add_bytes(j->out, &first, 1);
    j->has_items[j->depth] = false;
    j->flat[j->depth] = flat;
    j->rows[j->depth] = false;
    j->close[j->depth++] = last;
}

void jsonw_object(jsonw *j, const char *key)
{
    open(j, key, '{', '}');
}

void jsonw_array(jsonw *j, const char *key)
{
    open(j, key, '[', ']');
}

void jsonw_flat(jsonw *j)
{
    j->flat[j->depth - 1] = true;
}

void jsonw_rows(jsonw *j)
{
    j->rows[j->depth - 1] = true;
}

void jsonw_end(jsonw *j)
{
    bool had = j->has_items[j->depth - 1], flat = inline_here(j);
    char last = j->close[j->depth - 1];
    j->depth--;
    if (had && !flat)
        newline(j);
    str_add_bytes(j->out, &last, 1);
    if (j->depth == 0)
        str_add(j->out, "\n");
}

void jsonw_text(jsonw *j, const char *key, const char *value)
{
    before_value(j, key);
    if (value)
        quoted(j->out, value);
    else
        str_add(j->out, "null");
}

void jsonw_number(jsonw *j, const char *key, double value)
{
    before_value(j, key);
    if (!isfinite(value))
        str_add(j->out, "null");
    else
        str_addf(j->out, "%.9g", value);
}

void jsonw_count(jsonw *j, const char *key, uint64_t value)
{
    before_value(j, key);
    str_addf(j->out, "%llu", (unsigned long long)value);
}

void jsonw_bool(jsonw *j, const char *key, bool value)
{
    before_value(j, key);
    str_add(j->out, value ? "true" : "false");
}

void jsonw_null(jsonw *j, const char *key)
{
    before_value(j, key);
    str_add(j->out, "null");
}
