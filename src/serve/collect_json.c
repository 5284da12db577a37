/* collect_json: the usual JSON, read and written fast; anything else by jansson. */
#include "serve/collect_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Exact as doubles. */
static const double TEN_TO_THE[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
enum { LARGEST_POWER = 22, DIGITS = 15 /* of a number that every double keeps */ };

/* ---- reading ------------------------------------------------------------------------------- */

/* Every function below returns NULL where jansson is to decide. */
typedef struct reader {
    const char *at, *end;
    int depth;
} reader;

enum { MOST_DEPTH = 32, MOST_KEY = 128 };

static json_t *read_value(reader *r);

static char peek(const reader *r)
{
    return r->at < r->end ? *r->at : 0;
}

static void skip_blank(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

static bool take(reader *r, char c)
{
    skip_blank(r);
    if (peek(r) != c)
        return false;
    r->at++;
    return true;
}

/* The text between two quotes that has no escapes; NULL: it has, or does not end. */
static const char *read_plain(reader *r, size_t *length, bool *is_ascii)
{
    if (!take(r, '"'))
        return NULL;
    const char *from = r->at;
    *is_ascii = true;
    for (; r->at < r->end && *r->at != '"'; r->at++) {
        if (*r->at == '\\' || (unsigned char)*r->at < 0x20)
            return NULL;
        *is_ascii = *is_ascii && (unsigned char)*r->at < 0x80;
    }
    *length = (size_t)(r->at - from);
    return r->at++ < r->end ? from : NULL;
}

static json_t *read_text(reader *r)
{
    size_t length;
    bool is_ascii;
    const char *from = read_plain(r, &length, &is_ascii);
    if (!from)
        return NULL;
    return is_ascii ? json_stringn_nocheck(from, length) : json_stringn(from, length); /* NULL: no UTF-8 */
}

/* As many digits as there are, as a number if they are 15 at most; returns how many. */
static int read_digits(reader *r, uint64_t *number)
{
    const char *from = r->at;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        *number = *number * 10 + (uint64_t)(*r->at - '0');
    return (int)(r->at - from < 1000 ? r->at - from : 1000);
}

/* Numbers are strtod's, whose decimal point is that of the program's locale: "C". */
static json_t *read_unusual(const char *from, const char *end)
{
    char text[64];
    if ((size_t)(end - from) >= sizeof text)
        return NULL;
    memcpy(text, from, (size_t)(end - from));
    text[end - from] = 0;
    return json_real(strtod(text, NULL)); /* NULL: too large */
}

/* Up to 15 digits and a power of ten are two exact doubles, whose product or quotient is rounded once: as it should
 * be. */
static json_t *read_number(reader *r)
{
    const char *from = r->at;
    uint64_t number = 0, power = 0;
    int scale = 0;
    bool is_negative = peek(r) == '-', is_real = false;
    r->at += is_negative;
    bool is_zero = peek(r) == '0';
    int digits = read_digits(r, &number);
    if (!digits || (is_zero && digits > 1))
        return NULL;
    if (peek(r) == '.') {
        r->at++;
        is_real = true;
        int more = read_digits(r, &number);
        if (!more)
            return NULL;
        digits += more; /* zeros in front count: no harm */
        scale = -more;
    }
    if (peek(r) == 'e' || peek(r) == 'E') {
        r->at++;
        is_real = true;
        bool is_down = peek(r) == '-';
        r->at += is_down || peek(r) == '+';
        int count = read_digits(r, &power);
        if (!count || count > 3)
            return NULL;
        scale += is_down ? -(int)power : (int)power;
    }
    if (!is_real)
        return digits > DIGITS ? NULL : json_integer(is_negative ? -(json_int_t)number : (json_int_t)number);
    if (digits > DIGITS || abs(scale) > LARGEST_POWER)
        return read_unusual(from, r->at);
    double value = scale < 0 ? (double)number / TEN_TO_THE[-scale] : (double)number * TEN_TO_THE[scale];
    return json_real(is_negative ? -value : value);
}

static json_t *read_word(reader *r, const char *word, json_t *value)
{
    size_t length = strlen(word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0)
        return NULL;
    r->at += length;
    return value;
}

static bool read_items(reader *r, json_t *list)
{
    if (take(r, ']'))
        return true;
    do {
        json_t *item = read_value(r);
        if (!item)
            return false;
        json_array_append_new(list, item);
    } while (take(r, ','));
    return take(r, ']');
}

static bool read_members(reader *r, json_t *object)
{
    char key[MOST_KEY];
    if (take(r, '}'))
        return true;
    do {
        size_t length;
        bool is_ascii;
        const char *name = read_plain(r, &length, &is_ascii);
        if (!name || !is_ascii || length >= sizeof key)
            return false;
        memcpy(key, name, length);
        key[length] = 0;
        json_t *value = take(r, ':') && !json_object_get(object, key) ? read_value(r) : NULL;
        if (!value)
            return false;
        json_object_set_new_nocheck(object, key, value);
    } while (take(r, ','));
    return take(r, '}');
}

static json_t *read_group(reader *r, json_t *group)
{
    r->at++;
    bool ok = r->depth++ < MOST_DEPTH && (json_is_array(group) ? read_items : read_members)(r, group);
    r->depth--;
    if (ok)
        return group;
    json_decref(group);
    return NULL;
}

static json_t *read_value(reader *r)
{
    skip_blank(r);
    switch (peek(r)) {
    case '{': return read_group(r, json_object());
    case '[': return read_group(r, json_array());
    case '"': return read_text(r);
    case 't': return read_word(r, "true", json_true());
    case 'f': return read_word(r, "false", json_false());
    case 'n': return read_word(r, "null", json_null());
    default: return read_number(r);
    }
}

json_t *collect_json_read(const char *text, size_t length, json_error_t *why)
{
    reader r = {text, text + length, 0};
    skip_blank(&r);
    json_t *root = peek(&r) == '{' ? read_value(&r) : NULL;
    skip_blank(&r);
    if (root && r.at == r.end)
        return root;
    json_decref(root);
    return json_loadb(text, length, JSON_REJECT_DUPLICATES, why);
}

/* ---- writing ------------------------------------------------------------------------------- */

enum { FLAGS = JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(DIGITS), MOST_KEYS = 128 };

static int add_bytes(const char *bytes, size_t count, void *out)
{
    str_add_bytes(out, bytes, count);
    return 0;
}

static bool write_by_jansson(json_t *value, str *out)
{
    return json_dump_callback(value, add_bytes, out, FLAGS) == 0;
}

/* The digits of a number, with zeros in front up to `least`, before `end`. */
static char *digits_before(char *end, uint64_t number, int least)
{
    for (; number || least > 0; number /= 10, least--)
        *--end = (char)('0' + number % 10);
    return end;
}

/* If a double is the nearest to some number of 15 digits, then those are what "%.15g" prints. False: it is not, or
 * it is printed with an exponent. */
static bool write_usual(double value, str *out)
{
    double size = fabs(value);
    int places = DIGITS - 1; /* behind the point */
    if (!(size >= 1e-4 && size < 1e15))
        return false;
    for (int tens = 1; tens < DIGITS && size >= TEN_TO_THE[tens]; tens++)
        places--;
    for (double least = 1; size < least && places < LARGEST_POWER - 3; least /= 10)
        places++;
    double scaled = nearbyint(size * TEN_TO_THE[places]);
    if (scaled >= TEN_TO_THE[DIGITS] || scaled / TEN_TO_THE[places] != size)
        return false;
    uint64_t number = (uint64_t)scaled;
    while (places > 1 && number % 10 == 0) {
        number /= 10;
        places--;
    }
    if (places == 0) { /* "12.0" */
        number *= 10;
        places = 1;
    }
    char text[40], *end = text + sizeof text, *point = end - places - 1;
    digits_before(end, number % (uint64_t)TEN_TO_THE[places], places);
    *point = '.';
    char *from = digits_before(point, number / (uint64_t)TEN_TO_THE[places], 1);
    if (value < 0)
        *--from = '-';
    str_add_bytes(out, from, (size_t)(end - from));
    return true;
}

static void write_count(json_int_t value, str *out)
{
    char text[24], *end = text + sizeof text;
    char *from = digits_before(end, value < 0 ? -(uint64_t)value : (uint64_t)value, 1);
    if (value < 0)
        *--from = '-';
    str_add_bytes(out, from, (size_t)(end - from));
}

static bool is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == '"' || text[i] == '\\')
            return false;
    return true;
}

static bool write_text(json_t *value, str *out)
{
    const char *text = json_string_value(value);
    size_t length = json_string_length(value);
    if (!is_plain(text, length))
        return write_by_jansson(value, out);
    str_add_bytes(out, "\"", 1);
    str_add_bytes(out, text, length);
    str_add_bytes(out, "\"", 1);
    return true;
}

static bool write_list(json_t *list, str *out)
{
    size_t i;
    json_t *item;
    str_add_bytes(out, "[", 1);
    json_array_foreach(list, i, item)
    {
        if (i)
            str_add_bytes(out, ",", 1);
        if (!collect_json_write(item, out))
            return false;
    }
    str_add_bytes(out, "]", 1);
    return true;
}

static bool write_object(json_t *object, str *out)
{
    const char *keys[MOST_KEYS], *key;
    json_t *value;
    size_t count = 0;
    if (json_object_size(object) > MOST_KEYS)
        return write_by_jansson(object, out);
    json_object_foreach(object, key, value)
    {
        size_t at = count++;
        if (!is_plain(key, strlen(key)))
            return write_by_jansson(object, out);
        for (; at && strcmp(keys[at - 1], key) > 0; at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
    str_add_bytes(out, "{", 1);
    for (size_t i = 0; i < count; i++) {
        str_add(out, i ? ",\"" : "\"");
        str_add(out, keys[i]);
        str_add_bytes(out, "\":", 2);
        if (!collect_json_write(json_object_get(object, keys[i]), out))
            return false;
    }
    str_add_bytes(out, "}", 1);
    return true;
}

bool collect_json_write(json_t *value, str *out)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: return write_object(value, out);
    case JSON_ARRAY: return write_list(value, out);
    case JSON_STRING: return write_text(value, out);
    case JSON_INTEGER: write_count(json_integer_value(value), out); return true;
    case JSON_REAL:
        if (write_usual(json_real_value(value), out))
            return true;
        break;
    default: break;
    }
    return write_by_jansson(value, out);
}
