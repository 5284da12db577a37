/* openai_fields: reading fields, and saying which one is wrong. */
#include "serve/openai_fields.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool openai_refuse(openai_fault *f, unsigned status, const char *param, const char *code, const char *fmt, ...)
{
    if (f->status)
        return false;
    f->status = status;
    f->code = code;
    snprintf(f->param, sizeof f->param, "%s", param ? param : "");
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->text, sizeof f->text, fmt, ap);
    va_end(ap);
    return false;
}

field_place field_item(const field_place *at, size_t i)
{
    field_place p;
    snprintf(p.name, sizeof p.name, "%s[%zu]", at->name, i);
    return p;
}

field_place field_member(const field_place *at, const char *name)
{
    field_place p;
    snprintf(p.name, sizeof p.name, "%s%s%.60s", at->name, at->name[0] ? "." : "", name);
    return p;
}

bool fields_read(const json_t *object, const field_reader *table, void *to, const field_place *at, openai_fault *f)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return openai_refuse(f, 400, at->name, "invalid_type", "%s is no object", at->name);
    json_object_foreach((json_t *)object, key, value)
    {
        field_place here = field_member(at, key);
        const field_reader *r = table;
        if (json_is_null(value))
            continue;
        while (r->name && strcmp(r->name, key) != 0)
            r++;
        if (!r->name)
            return openai_refuse(f, 400, here.name, "unknown_parameter", "%s is not known here", here.name);
        if (!r->read)
            return openai_refuse(f, 400, here.name, "unsupported_parameter", "%s is not supported: %s", here.name,
                                 r->why);
        if (!r->read(to, value, &here, f))
            return false;
    }
    return true;
}

bool field_number(const json_t *value, double low, double high, double *to, const field_place *at, openai_fault *f)
{
    double read = json_number_value(value);
    if (!json_is_number(value))
        return openai_refuse(f, 400, at->name, "invalid_type", "%s is no number", at->name);
    if (!(read >= low && read <= high))
        return openai_refuse(f, 400, at->name, "invalid_value", "%s is not from %g to %g", at->name, low, high);
    *to = read;
    return true;
}

bool field_whole(const json_t *value, uint64_t low, uint64_t high, uint32_t *to, const field_place *at, openai_fault *f)
{
    if (!json_is_integer(value))
        return openai_refuse(f, 400, at->name, "invalid_type", "%s is no whole number", at->name);
    json_int_t read = json_integer_value(value);
    if (read < 0 || (uint64_t)read < low || (uint64_t)read > high)
        return openai_refuse(f, 400, at->name, "invalid_value", "%s is not from %llu to %llu", at->name,
                             (unsigned long long)low, (unsigned long long)high);
    *to = (uint32_t)read;
    return true;
}

bool field_bool(const json_t *value, bool *to, const field_place *at, openai_fault *f)
{
    if (!json_is_boolean(value))
        return openai_refuse(f, 400, at->name, "invalid_type", "%s is neither true nor false", at->name);
    *to = json_is_true(value);
    return true;
}

bool field_text(const json_t *value, const char **to, const field_place *at, openai_fault *f)
{
    if (!json_is_string(value))
        return openai_refuse(f, 400, at->name, "invalid_type", "%s is no text", at->name);
    *to = json_string_value(value);
    return true;
}

bool field_is_tokens(const json_t *value)
{
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!json_is_integer(json_array_get(value, i)))
            return false;
    return json_array_size(value) > 0;
}

bool field_tokens(const json_t *value, uint32_t vocab, token_list *out, const field_place *at, openai_fault *f)
{
    for (size_t i = 0; i < json_array_size(value); i++) {
        json_int_t id = json_integer_value(json_array_get(value, i));
        if (id < 0 || id >= vocab)
            return openai_refuse(f, 400, at->name, "invalid_value", "%s: %lld is no token of this model", at->name,
                                 (long long)id);
        token_list_add(out, (int32_t)id);
    }
    return true;
}
