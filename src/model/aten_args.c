/* aten_args: the arguments and results of the node that is lowered, and errors about it. */
#include "model/aten_internal.h"

#include "base/str.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t aten_type_bytes(int type)
{
    switch (type) {
    case ATEN_U8:
    case ATEN_I8:
    case ATEN_BOOL: return 1;
    case ATEN_I16:
    case ATEN_F16:
    case ATEN_BF16: return 2;
    case ATEN_I32:
    case ATEN_F32: return 4;
    case ATEN_I64:
    case ATEN_F64: return 8;
    default: return 0;
    }
}

aten_kind aten_kind_of(int type)
{
    bool is_float = type == ATEN_F16 || type == ATEN_F32 || type == ATEN_F64 || type == ATEN_BF16;
    return is_float ? ATEN_KIND_FLOAT : type == ATEN_BOOL ? ATEN_KIND_BOOL : ATEN_KIND_INT;
}

/* The last file and line of a node's stack trace outside of torch itself, and what stands there: "file.py:12: y = f(x)". */
static void source_line(const jsonr *call, char out[200])
{
    const char *trace = jsonr_get_text(jsonr_get(call, "metadata"), "stack_trace");
    const char *last = NULL;
    out[0] = 0;
    for (const char *at = trace; at && (at = strstr(at, "File \"")); at++) {
        size_t path = strcspn(at + 6, "\"\n");
        const char *inside_torch = strstr(at + 6, "/torch/");
        if (!last || !inside_torch || inside_torch >= at + 6 + path)
            last = at + 6;
    }
    const char *quote = last ? strchr(last, '"') : NULL, *line = quote ? strstr(quote, "line ") : NULL;
    if (!line)
        return;
    const char *file = quote, *code = strchr(line, '\n');
    while (file > last && file[-1] != '/' && file[-1] != '\\')
        file--;
    while (code && (*code == '\n' || *code == ' '))
        code++;
    size_t code_length = code ? strcspn(code, "\n") : 0;
    snprintf(out, 200, "%.*s:%d: %.*s", (int)(quote - file < 60 ? quote - file : 60), file, atoi(line + 5),
             (int)(code_length < 100 ? code_length : 100), code_length ? code : "");
    for (char *c = out; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127)
            *c = '?';
}

bool aten_fail(aten *a, const char *fmt, ...)
{
    char why[400], line[200] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    if (!a->at)
        return err_set(a->e, "%s", why);
    source_line(a->at->json, line);
    const char *name = jsonr_get_text(a->at->json, "name");
    return err_set(a->e, "node %.60s (%.80s)%s%s: %s", name ? name : "?", a->at->target, line[0] ? ", " : "", line,
                   why);
}

/* ---- arguments ------------------------------------------------------------------------------------------ */

/* {"as_int": 1}: what is inside; NULL for as_none. */
static const jsonr *inside(const jsonr *arg, const char **which)
{
    const char *key = jsonr_key(arg, 0);
    *which = key ? key : "";
    return key && strcmp(key, "as_none") != 0 ? jsonr_get(arg, key) : NULL;
}

static const jsonr *arg_object(const aten *a, const char *name)
{
    const jsonr *input;
    jsonr_each(input, jsonr_get(a->at->json, "inputs"))
    {
        const char *text = jsonr_get_text(input, "name");
        if (text && strcmp(text, name) == 0)
            return jsonr_get(input, "arg");
    }
    return NULL;
}

const jsonr *aten_arg(const aten *a, const char *name)
{
    const char *which;
    return inside(arg_object(a, name), &which);
}

bool aten_has(const aten *a, const char *name)
{
    return aten_arg(a, name) != NULL;
}

/* A number; torch writes those that are not finite as texts, and symbols that are known as {"as_int": 1}. */
static bool number_of(const jsonr *value, double *out)
{
    const char *text = jsonr_text(value), *which;
    if (jsonr_is(value, JSONR_OBJECT))
        value = inside(value, &which);
    if (jsonr_is_number(value))
        *out = jsonr_number(value);
    else if (jsonr_is(value, JSONR_BOOL))
        *out = jsonr_is_true(value);
    else if (text && (strcmp(text, "Infinity") == 0 || strcmp(text, "inf") == 0))
        *out = INFINITY;
    else if (text && (strcmp(text, "-Infinity") == 0 || strcmp(text, "-inf") == 0))
        *out = -INFINITY;
    else
        return false;
    return true;
}

double aten_float(aten *a, const char *name, double otherwise)
{
    const jsonr *value = aten_arg(a, name);
    double number = otherwise;
    if (value && !number_of(value, &number))
        aten_fail(a, "%s is no number that is known before it runs", name);
    return number;
}

int64_t aten_int(aten *a, const char *name, int64_t otherwise)
{
    const jsonr *value = aten_arg(a, name);
    if (jsonr_is(value, JSONR_WHOLE))
        return jsonr_whole(value);
    double number = aten_float(a, name, (double)otherwise);
    return fabs(number) < 9e18 ? (int64_t)number : number < 0 ? INT64_MIN : INT64_MAX;
}

bool aten_bool(const aten *a, const char *name, bool otherwise)
{
    const jsonr *value = aten_arg(a, name);
    return value ? jsonr_is_true(value) : otherwise;
}

uint32_t aten_ints(aten *a, const char *name, int64_t *out, uint32_t room)
{
    const jsonr *list = aten_arg(a, name);
    if (!list)
        return 0;
    if (!jsonr_is(list, JSONR_LIST)) {
        out[0] = aten_int(a, name, 0);
        return 1;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < jsonr_count(list); i++) {
        double number = 0;
        if (count == room || !number_of(jsonr_at(list, i), &number) || fabs(number) > 9e15) {
            aten_fail(a, "%s has more numbers than are supported, or some that are not known before it runs", name);
            return 0;
        }
        out[count++] = (int64_t)number;
    }
    return count;
}

const char *aten_text(const aten *a, const char *name)
{
    return jsonr_text(aten_arg(a, name));
}

bool aten_dim(aten *a, int64_t dim, uint32_t rank, uint32_t *out)
{
    int64_t most = rank ? rank : 1;
    if (dim < -most || dim >= most)
        return aten_fail(a, "dimension %lld of %u", (long long)dim, rank);
    *out = (uint32_t)(dim < 0 ? dim + most : dim);
    return true;
}

/* ---- tensors -------------------------------------------------------------------------------------------- */

bool aten_find_value(aten *a, const char *name, aten_value *out)
{
    const uint32_t *number = names_get(&a->value_of, name);
    if (!number)
        return aten_fail(a, "there is no tensor %.60s before it", name);
    *out = a->values[*number];
    return true;
}

const char *aten_tensor_name(const aten *a, const char *name)
{
    return jsonr_get_text(aten_arg(a, name), "name");
}

bool aten_get(aten *a, const char *name, aten_value *out)
{
    const char *which, *tensor = aten_tensor_name(a, name);
    const jsonr *value = inside(arg_object(a, name), &which);
    double number;
    *out = (aten_value){0};
    if (tensor)
        return aten_find_value(a, tensor, out);
    if (!value || !number_of(value, &number))
        return aten_fail(a, "it has no argument %s that is supported", name);
    *out = aten_scalar(a,
                       strcmp(which, "as_float") == 0  ? ATEN_KIND_FLOAT
                       : strcmp(which, "as_bool") == 0 ? ATEN_KIND_BOOL
                                                       : ATEN_KIND_INT,
                       number);
    return true;
}

bool aten_get_list(aten *a, const char *name, bool joins, aten_value *out, uint32_t room, uint32_t *count)
{
    const jsonr *list = aten_arg(a, name), *item;
    *count = 0;
    if (jsonr_count(list) > room)
        return aten_fail(a, "%u tensors as %s", jsonr_count(list), name);
    jsonr_each(item, list)
    {
        const char *which, *tensor = jsonr_get_text(item, "name");
        if (!tensor) /* an optional one: {"as_tensor": {"name": ..}} or as_none */
            tensor = jsonr_get_text(inside(item, &which), "name");
        if (joins && aten_is_empty(a, tensor))
            continue;
        out[*count] = (aten_value){.rank = UINT32_MAX};
        if (tensor && !aten_find_value(a, tensor, &out[*count]))
            return false;
        ++*count;
    }
    return *count || aten_fail(a, "0 tensors as %s", name);
}

bool aten_is_empty(const aten *a, const char *name)
{
    const jsonr *size;
    jsonr_each(size, jsonr_get(jsonr_get(a->metas, name), "sizes"))
    {
        const jsonr *number = jsonr_get(size, "as_int");
        if (jsonr_is(number, JSONR_WHOLE) && jsonr_whole(number) == 0)
            return true;
    }
    return false;
}

/* The name of an output: {"as_tensor": {"name": ..}}, or the nth of {"as_tensors": [..]}. */
static const char *output_name(const aten *a, uint32_t nth)
{
    const jsonr *outputs = jsonr_get(a->at->json, "outputs"), *first = jsonr_at(outputs, 0);
    const jsonr *list = jsonr_get(first, "as_tensors");
    if (list)
        return jsonr_get_text(jsonr_at(list, nth), "name");
    return jsonr_get_text(jsonr_get(jsonr_at(outputs, nth), "as_tensor"), "name");
}

bool aten_asks(const aten *a, uint32_t nth)
{
    const char *name = output_name(a, nth);
    return names_get(&a->asked, name);
}

bool aten_put_nth(aten *a, uint32_t nth, const aten_value *v)
{
    const char *name = output_name(a, nth);
    if (!name)
        return true; /* nobody reads it */
    if (a->e->kind != ERR_NONE || !graph_ok(a->program_graph, a->e))
        return false;
    aten_tensor meta;
    const jsonr *described = jsonr_get(a->metas, name);
    if (described && aten_read_meta(described, &meta)) {
        bool same = meta.rank == v->rank;
        for (uint32_t d = 0; same && d < v->rank; d++)
            same = meta.dims[d] == v->dims[d];
        if (!same)
            return aten_fail(a, "its result has another shape than the file says");
    }
    if ((a->value_count & (a->value_count - 1)) == 0)
        a->values = mem_grow(a->values, (a->value_count ? 2 * a->value_count : 1) * sizeof *a->values);
    a->values[a->value_count] = *v;
    names_put(&a->value_of, name, a->value_count++);
    return true;
}

bool aten_put(aten *a, const aten_value *v)
{
    aten_value is = *v;
    if (a->e->kind == ERR_NONE && graph_ok(a->program_graph, a->e))
        aten_recognise(a, &is);
    return aten_put_nth(a, 0, &is);
}
