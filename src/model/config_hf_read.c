/* config_hf_read: single values of a config.json, checked. */
#include "model/config_hf_internal.h"

#include <math.h>

bool hf_wrong(hf_source *s, const char *key, const char *what)
{
    return err_set(s->e, "%s: \"%s\" %s", s->file, key, what);
}

/* Where a default is not what null means. */
bool hf_is_null(const json_t *object, const char *key)
{
    return json_is_null(json_object_get(object, key));
}

/* 1 to `high`; `fallback` if missing, and if that is 0 it must be there. */
bool hf_size_in(hf_source *s, const json_t *object, const char *key, uint32_t high, uint32_t fallback, uint32_t *out)
{
    const json_t *value = json_get_present(object, key);
    *out = fallback;
    if (!value)
        return fallback && fallback <= high ? true : hf_wrong(s, key, "is missing");
    if (!json_is_integer(value))
        return hf_wrong(s, key, "must be a whole number");
    if (!config_check_number(s->file, key, (double)json_integer_value(value), 1, high, s->e))
        return false;
    *out = (uint32_t)json_integer_value(value);
    return true;
}

bool hf_size(hf_source *s, const char *key, uint32_t high, uint32_t fallback, uint32_t *out)
{
    return hf_size_in(s, s->root, key, high, fallback, out);
}

bool hf_count(hf_source *s, const char *key, uint32_t high, uint32_t fallback, uint32_t *out)
{
    const json_t *value = json_get_present(s->root, key);
    *out = fallback;
    if (!value)
        return true;
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > high)
        return err_set(s->e, "%s: \"%s\" must be a whole number of 0 to %u", s->file, key, high);
    *out = (uint32_t)json_integer_value(value);
    return true;
}

bool hf_number_in(hf_source *s, const json_t *object, const char *key, double low, double high, double fallback,
                  double *out)
{
    const json_t *value = json_get_present(object, key);
    *out = fallback;
    if (!value)
        return isnan(fallback) ? hf_wrong(s, key, "is missing") : true;
    if (!json_is_number(value))
        return hf_wrong(s, key, "must be a number");
    *out = json_number_value(value);
    return config_check_number(s->file, key, *out, low, high, s->e);
}

bool hf_float(hf_source *s, const char *key, double low, double high, float fallback, float *out)
{
    double value;
    if (!hf_number_in(s, s->root, key, low, high, fallback, &value))
        return false;
    *out = (float)value;
    return true;
}

bool hf_bool(hf_source *s, const char *key, bool fallback, bool *out)
{
    const json_t *value = json_get_present(s->root, key);
    *out = fallback;
    if (!value)
        return true;
    if (!json_is_boolean(value))
        return hf_wrong(s, key, "must be true or false");
    *out = json_is_true(value);
    return true;
}

/* NULL in `*out` if absent. */
bool hf_text(hf_source *s, const json_t *object, const char *key, const char **out)
{
    const json_t *value = json_get_present(object, key);
    *out = json_string_value(value);
    return !value || *out ? true : hf_wrong(s, key, "must be a text");
}

/* The first of several names that the file has; the last if it has none. */
const char *hf_one_of(hf_source *s, const char *a, const char *b, const char *c)
{
    return json_get_present(s->root, a) || !b ? a : json_get_present(s->root, b) || !c ? b : c;
}

bool hf_list(hf_source *s, const char *key, uint32_t count, float *out)
{
    const json_t *list = json_get_present(s->rope, key);
    if (!list)
        return hf_wrong(s, key, "is missing");
    if (json_array_size(list) != count)
        return err_set(s->e, "%s: \"%s\" must be %u numbers, one per rotated pair", s->file, key, count);
    for (uint32_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_number(value))
            return hf_wrong(s, key, "must be numbers only");
        if (!config_check_number(s->file, key, json_number_value(value), 1e-6, 1e6, s->e))
            return false;
        out[i] = (float)json_number_value(value);
    }
    return true;
}
