/* record_params: the parameters of a result, and the identity made of them. */
#include "lab/record_fields.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add_bytes(const char *bytes, size_t count, void *out)
{
    str_add_bytes(out, bytes, count);
    return 0;
}

const char *record_value_text(record_reader *r, json_t *value)
{
    char number[32];
    str dumped = {0};
    if (json_is_string(value))
        return record_keep_text(r->view, json_string_value(value));
    if (json_is_number(value)) {
        double x = json_number_value(value);
        bool whole = floor(x) == x && fabs(x) < 1e15; /* a seed has more digits than a measurement */
        snprintf(number, sizeof number, whole ? "%.0f" : "%.9g", x);
        return record_keep_text(r->view, number);
    }
    if (json_dump_callback(value, add_bytes, &dumped, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY) != 0)
        str_free(&dumped);
    return record_keep_str(r->view, &dumped);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const view_param *)a)->key, ((const view_param *)b)->key);
}

bool record_read_params(record_reader *r, json_t *object, view_param **out, size_t *count)
{
    json_t *params, *value;
    const char *key;
    *out = NULL;
    *count = 0;
    if (!record_read_object(r, object, "params", &params))
        return false;
    if (!params)
        return true;
    *out = record_keep(r->view, json_object_size(params) * sizeof **out);
    json_object_foreach(params, key, value)(*out)[(*count)++] =
        (view_param){.key = record_keep_text(r->view, key),
                     .text = record_value_text(r, value),
                     .number = json_is_number(value) ? json_number_value(value) : NAN};
    if (*count)
        qsort(*out, *count, sizeof **out, by_key);
    return true;
}

/* Quoted where the text could be mistaken for a part of the identity. */
static void add_word(str *out, const char *text)
{
    bool plain = *text != 0;
    for (const char *p = text; *p; p++)
        plain = plain && *p != ' ' && *p != '=' && *p != '"' && *p != '\\';
    if (plain) {
        str_add(out, text);
        return;
    }
    str_add(out, "\"");
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            str_add(out, "\\");
        str_add_bytes(out, p, 1);
    }
    str_add(out, "\"");
}

const char *record_identity(record_reader *r, const view_result *result)
{
    str identity = {0};
    add_word(&identity, result->name);
    for (size_t i = 0; i < result->param_count; i++) {
        str_add(&identity, " ");
        add_word(&identity, result->params[i].key);
        str_add(&identity, "=");
        add_word(&identity, result->params[i].text);
    }
    return record_keep_str(r->view, &identity);
}

const char *view_param_text(const view_result *result, const char *key)
{
    for (size_t i = 0; i < result->param_count; i++)
        if (strcmp(result->params[i].key, key) == 0)
            return result->params[i].text;
    return "";
}

double view_param_number(const view_result *result, const char *key)
{
    for (size_t i = 0; i < result->param_count; i++)
        if (strcmp(result->params[i].key, key) == 0)
            return result->params[i].number;
    return NAN;
}
