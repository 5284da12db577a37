/* jinja_from_json: JSON as a value of a template: lists of tools, and calls of them. */
#include "model/jinja.h"
#include "model/jsonr.h"

#include <string.h>

static jinja_value value_of(jinja_run *r, const jsonr *json, bool plain)
{
    const char *text = jsonr_text(json);
    const jsonr *item;
    jinja_value all;
    if (text)
        return jinja_text_value(r, text, jsonr_text_length(json), plain);
    if (jsonr_is(json, JSONR_WHOLE))
        return jinja_whole(jsonr_whole(json));
    if (jsonr_is(json, JSONR_REAL))
        return jinja_real(jsonr_number(json));
    if (jsonr_is(json, JSONR_BOOL))
        return jinja_bool(jsonr_is_true(json));
    if (jsonr_is(json, JSONR_LIST)) {
        all = jinja_list(r);
        jsonr_each(item, json) jinja_push(r, all, value_of(r, item, plain));
        return all;
    }
    if (jsonr_is(json, JSONR_OBJECT)) {
        all = jinja_dict(r);
        jsonr_each(item, json)
        {
            const char *key = jsonr_key(json, item_at);
            jinja_put_value(r, all, jinja_text_value(r, key, strlen(key), plain), value_of(r, item, plain));
        }
        return all;
    }
    return jinja_none();
}

bool jinja_from_json(jinja_run *r, const char *text, size_t length, bool plain, jinja_value *out)
{
    jsonr *json = jsonr_read(text, length, NULL);
    if (json)
        *out = value_of(r, json, plain);
    jsonr_free(json);
    return json != NULL;
}
