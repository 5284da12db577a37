/* json_values: values of a JSON object by key and type, and texts of it for errors. */
#include "model/json_values.h"

#include <string.h>

const json_t *json_get_present(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

bool json_key_is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

token_text json_text_of(const json_t *value)
{
    return json_is_string(value) ? (token_text){json_string_value(value), json_string_length(value)} : (token_text){0};
}

bool token_text_equals(token_text a, const char *b)
{
    return a.data && a.length == strlen(b) && memcmp(a.data, b, a.length) == 0;
}

bool json_key_equals(const json_t *object, const char *key, const char *value)
{
    return token_text_equals(json_text_of(json_object_get(object, key)), value);
}

bool json_key_is_empty(const json_t *object, const char *key)
{
    const json_t *value = json_get_present(object, key);
    return !value || (json_is_string(value) && json_string_length(value) == 0);
}

shown_text token_text_shown(token_text text)
{
    shown_text s = {{0}};
    size_t n = text.length < SHOWN_TEXT_BYTES ? text.length : SHOWN_TEXT_BYTES;
    for (size_t i = 0; i < n; i++)
        s.text[i] = (unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7F ? '?' : text.data[i];
    /* no half characters */
    while (n < text.length && n > 0 && ((unsigned char)text.data[n] & 0xC0) == 0x80)
        s.text[--n] = 0;
    if (n < text.length)
        memcpy(s.text + n, "...", 4);
    return s;
}
