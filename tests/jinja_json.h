/* jinja_json: JSON as values of a template. All texts are plain but those of "role". */
#ifndef SOLO_TESTS_JINJA_JSON_H
#define SOLO_TESTS_JINJA_JSON_H

#include "model/jinja.h"

#include <jansson.h>
#include <string.h>

static inline jinja_value jinja_of_json(jinja_run *r, const json_t *j, bool plain)
{
    switch (json_typeof(j)) {
    case JSON_TRUE: return jinja_bool(true);
    case JSON_FALSE: return jinja_bool(false);
    case JSON_INTEGER: return jinja_whole(json_integer_value(j));
    case JSON_REAL: return jinja_real(json_real_value(j));
    case JSON_STRING: return jinja_text_value(r, json_string_value(j), json_string_length(j), plain);
    case JSON_NULL: return jinja_none();
    case JSON_ARRAY: {
        jinja_value list = jinja_list(r);
        size_t i;
        json_t *item;
        json_array_foreach(j, i, item) jinja_push(r, list, jinja_of_json(r, item, plain));
        return list;
    }
    default: break;
    }
    jinja_value dict = jinja_dict(r);
    const char *key;
    json_t *item;
    json_object_foreach((json_t *)j, key, item)
    {
        bool role = strcmp(key, "role") == 0;
        jinja_put_value(r, dict, jinja_text_value(r, key, strlen(key), plain), jinja_of_json(r, item, plain && !role));
    }
    return dict;
}

#endif
