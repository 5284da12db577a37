/* jinja_from_json: JSON as a value of a template: lists of tools, and calls of them. */
#include "base/number.h"
#include "model/jinja.h"
#include "model/unicode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64, MAX_NUMBER = 64 };

typedef struct reader {
    jinja_run *r;
    const char *at, *end;
    bool plain;
    int depth;
} reader;

static bool read_value(reader *j, jinja_value *out);

static void skip_space(reader *j)
{
    while (j->at < j->end && strchr(" \t\r\n", *j->at) && *j->at)
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
static bool read_text(reader *j, str *out)
{
    str_add(out, "");
    while (j->at < j->end && *j->at != '"') {
        int length = utf8_length(j->at, (size_t)(j->end - j->at));
        if ((unsigned char)*j->at < 0x20 || length < 1)
            return false;
        if (*j->at == '\\') {
            j->at++;
            if (!read_escape(j, out))
                return false;
        } else {
            str_add_bytes(out, j->at, (size_t)length);
            j->at += length;
        }
    }
    return j->at++ < j->end;
}

static bool read_string(reader *j, jinja_value *out)
{
    str text = {0};
    bool ok = read_text(j, &text);
    if (ok)
        *out = jinja_text_value(j->r, text.data, text.length, j->plain);
    str_free(&text);
    return ok;
}

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

static bool read_number(reader *j, jinja_value *out)
{
    char text[MAX_NUMBER + 1];
    size_t length = 0;
    bool whole;
    for (; j->at < j->end && *j->at && strchr("+-.0123456789eE", *j->at); j->at++) {
        if (length == MAX_NUMBER)
            return false;
        text[length++] = *j->at;
    }
    text[length] = 0;
    if (!is_number(text, &whole))
        return false;
    errno = 0;
    long long number = strtoll(text, NULL, 10);
    if (whole && errno == 0) {
        *out = jinja_whole(number);
        return true;
    }
    double real = number_read(text, NULL);
    *out = jinja_real(real);
    return real - real == 0; /* finite */
}

static bool read_list(reader *j, jinja_value *out)
{
    *out = jinja_list(j->r);
    if (take(j, ']'))
        return true;
    do {
        jinja_value item;
        if (!read_value(j, &item))
            return false;
        jinja_push(j->r, *out, item);
    } while (take(j, ','));
    return take(j, ']');
}

static bool read_dict(reader *j, jinja_value *out)
{
    *out = jinja_dict(j->r);
    if (take(j, '}'))
        return true;
    do {
        jinja_value key, item;
        if (!take(j, '"') || !read_string(j, &key) || !take(j, ':') || !read_value(j, &item))
            return false;
        jinja_put_value(j->r, *out, key, item);
    } while (take(j, ','));
    return take(j, '}');
}

static bool read_nested(reader *j, bool (*read)(reader *j, jinja_value *out), jinja_value *out)
{
    bool ok = ++j->depth <= MAX_DEPTH && read(j, out);
    j->depth--;
    return ok;
}

static bool read_value(reader *j, jinja_value *out)
{
    if (take(j, '{'))
        return read_nested(j, read_dict, out);
    if (take(j, '['))
        return read_nested(j, read_list, out);
    if (take(j, '"'))
        return read_string(j, out);
    *out = jinja_none();
    if (take_word(j, "null"))
        return true;
    if (take_word(j, "true") || take_word(j, "false")) {
        *out = jinja_bool(j->at[-2] == 'u');
        return true;
    }
    return read_number(j, out);
}

bool jinja_from_json(jinja_run *r, const char *text, size_t length, bool plain, jinja_value *out)
{
    reader j = {.r = r, .at = text, .end = text + length, .plain = plain};
    bool ok = read_value(&j, out);
    skip_space(&j);
    return ok && j.at == j.end;
}
