/* gguf_metadata: the keys of a GGUF file and their values: reading, checking and looking them up. */
#include "base/str.h"
#include "model/gguf_internal.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum {
    VALUE_U8,
    VALUE_I8,
    VALUE_U16,
    VALUE_I16,
    VALUE_U32,
    VALUE_I32,
    VALUE_F32,
    VALUE_BOOL,
    VALUE_TEXT,
    VALUE_ARRAY,
    VALUE_U64,
    VALUE_I64,
    VALUE_F64,
    VALUE_TYPES
} value_type;

static const struct {
    const char *name;
    uint32_t bytes; /* 0: as long as it says */
} value_types[VALUE_TYPES] = {
    [VALUE_U8] = {"u8", 1},     [VALUE_I8] = {"i8", 1},       [VALUE_U16] = {"u16", 2}, [VALUE_I16] = {"i16", 2},
    [VALUE_U32] = {"u32", 4},   [VALUE_I32] = {"i32", 4},     [VALUE_F32] = {"f32", 4}, [VALUE_BOOL] = {"bool", 1},
    [VALUE_TEXT] = {"text", 0}, [VALUE_ARRAY] = {"array", 0}, [VALUE_U64] = {"u64", 8}, [VALUE_I64] = {"i64", 8},
    [VALUE_F64] = {"f64", 8},
};

enum {
    MAX_KEY_BYTES = 65535, /* as the format has it */
    MIN_TEXT_BYTES = 8
};

/* A key and its value. Where it is a text or an array, `item` is the type of one
 * item, `bytes` the first item, and `starts[i]` where text i of an array begins
 * (its length) behind `bytes`. */
struct gguf_value {
    gguf_text key;
    value_type type, item;
    const uint8_t *bytes;
    size_t count;
    size_t *starts;
};

/* ---- reading --------------------------------------------------------------- */

static bool check_bools(gguf_reader *r, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] > 1)
            return gguf_reader_fail(r, "a bool is %d, neither 0 nor 1", bytes[i]);
    return true;
}

static bool read_texts(gguf_reader *r, gguf_value *v)
{
    v->starts = mem_alloc(v->count * sizeof v->starts[0]); /* no more than the lengths that are known to be there */
    r->rest += (uint64_t)v->count * MIN_TEXT_BYTES;
    for (size_t i = 0; i < v->count; i++) {
        r->rest -= MIN_TEXT_BYTES;
        v->starts[i] = (size_t)(r->bytes + r->at - v->bytes);
        gguf_text t;
        if (!gguf_reader_text(r, &t))
            return false;
    }
    return true;
}

static bool read_array(gguf_reader *r, gguf_value *v)
{
    uint32_t item;
    uint64_t count;
    if (!gguf_reader_u32(r, &item) || !gguf_reader_u64(r, &count))
        return false;
    if (item == VALUE_ARRAY)
        return gguf_reader_fail(r, "an array of arrays, which is not supported");
    if (item >= VALUE_TYPES)
        return gguf_reader_fail(r, "an array of an unknown type of value (%" PRIu32 ")", item);
    uint32_t item_bytes = item == VALUE_TEXT ? MIN_TEXT_BYTES : value_types[item].bytes;
    if (count > (r->file_bytes - r->at) / item_bytes)
        return gguf_reader_fail(r, "claims %" PRIu64 " items, but the file has only %" PRIu64 " bytes left", count,
                                r->file_bytes - r->at);
    if (!gguf_reader_need(r, count * item_bytes))
        return false;
    v->item = item;
    v->count = (size_t)count;
    v->bytes = r->bytes + r->at;
    if (item == VALUE_TEXT)
        return read_texts(r, v);
    r->at += v->count * item_bytes;
    return item != VALUE_BOOL || check_bools(r, v->bytes, v->count);
}

static bool read_value(gguf_reader *r, gguf_value *v)
{
    uint32_t type;
    if (!gguf_reader_u32(r, &type))
        return false;
    if (type >= VALUE_TYPES)
        return gguf_reader_fail(r, "unknown type of value (%" PRIu32 ")", type);
    v->type = v->item = type;
    if (type == VALUE_ARRAY)
        return read_array(r, v);
    if (type == VALUE_TEXT) {
        gguf_text t;
        if (!gguf_reader_text(r, &t))
            return false;
        if (!gguf_is_utf8(t))
            return gguf_reader_fail(r, "the text is not UTF-8");
        v->bytes = (const uint8_t *)t.data;
        v->count = t.length;
        return true;
    }
    if (!gguf_reader_need(r, value_types[type].bytes))
        return false;
    v->bytes = r->bytes + r->at;
    v->count = 1;
    r->at += value_types[type].bytes;
    return type != VALUE_BOOL || check_bools(r, v->bytes, 1);
}

static int value_order(const void *a, const void *b)
{
    return gguf_text_order((*(const gguf_value *const *)a)->key, (*(const gguf_value *const *)b)->key);
}

bool gguf_read_values(gguf_reader *r, gguf *g, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        r->rest -= GGUF_MIN_KEY_BYTES;
        g->values = gguf_with_room(g->values, g->value_count, sizeof g->values[0]);
        gguf_value *v = &g->values[g->value_count++];
        *v = (gguf_value){0};
        if (!gguf_reader_name(r, "key", (size_t)i, MAX_KEY_BYTES, &v->key) || !read_value(r, v))
            return false;
    }
    g->by_key = mem_alloc(g->value_count * sizeof g->by_key[0]);
    for (size_t i = 0; i < g->value_count; i++)
        g->by_key[i] = &g->values[i];
    qsort(g->by_key, g->value_count, sizeof g->by_key[0], value_order);
    for (size_t i = 1; i < g->value_count; i++)
        if (value_order(&g->by_key[i - 1], &g->by_key[i]) == 0) {
            gguf_text key = g->by_key[i]->key;
            return err_set(r->e, "%s: key '%.*s': is there twice", r->name, gguf_shown(key), key.data);
        }
    return true;
}

void gguf_free_values(gguf *g)
{
    for (size_t i = 0; i < g->value_count; i++)
        free(g->values[i].starts);
    free(g->values);
    free(g->by_key);
}

/* ---- looking up ------------------------------------------------------------ */

static int key_is(const void *key, const void *item)
{
    return gguf_text_order(*(const gguf_text *)key, (*(const gguf_value *const *)item)->key);
}

static const gguf_value *find_value(const gguf *g, const char *key)
{
    gguf_text text = {key, strlen(key)};
    const gguf_value **found = bsearch(&text, g->by_key, g->value_count, sizeof g->by_key[0], key_is);
    return found ? *found : NULL;
}

static const gguf_value *find_or_fail(const gguf *g, const char *key, err *e)
{
    const gguf_value *v = find_value(g, key);
    if (!v)
        err_set(e, "%s: key '%s': is missing", g->name, key);
    return v;
}

static bool wrong_type(const gguf *g, const gguf_value *v, const char *expected, err *e)
{
    bool array = v->type == VALUE_ARRAY;
    return err_set(e, "%s: key '%.*s': is %s%s, not %s", g->name, gguf_shown(v->key), v->key.data,
                   array ? "an array of " : "", value_types[v->item].name, expected);
}

static int64_t signed_item(const uint8_t *p, uint32_t bytes)
{
    uint64_t raw = gguf_load(p, bytes), sign = (uint64_t)1 << (8 * bytes - 1);
    return (int64_t)((raw ^ sign) - sign); /* extends the sign */
}

static double float_item(const uint8_t *p, value_type type)
{
    uint64_t raw = gguf_load(p, value_types[type].bytes);
    if (type == VALUE_F64) {
        double d;
        memcpy(&d, &raw, sizeof d);
        return d;
    }
    uint32_t low = (uint32_t)raw;
    float f;
    memcpy(&f, &low, sizeof f);
    return (double)f;
}

static bool is_signed(value_type type)
{
    return type == VALUE_I8 || type == VALUE_I16 || type == VALUE_I32 || type == VALUE_I64;
}

static bool is_float(value_type type)
{
    return type == VALUE_F32 || type == VALUE_F64;
}

bool gguf_has(const gguf *g, const char *key)
{
    return find_value(g, key) != NULL;
}

bool gguf_get_u32(const gguf *g, const char *key, uint32_t *value, err *e)
{
    const gguf_value *v = find_or_fail(g, key, e);
    if (!v)
        return false;
    if (v->type == VALUE_TEXT || v->type == VALUE_ARRAY || v->type == VALUE_BOOL || is_float(v->type))
        return wrong_type(g, v, "a whole number", e);
    uint32_t bytes = value_types[v->type].bytes;
    if (is_signed(v->type)) {
        int64_t number = signed_item(v->bytes, bytes);
        if (number < 0 || number > UINT32_MAX)
            return err_set(e, "%s: key '%s': %" PRId64 " is not between 0 and %" PRIu32, g->name, key, number,
                           UINT32_MAX);
        *value = (uint32_t)number;
        return true;
    }
    uint64_t number = gguf_load(v->bytes, bytes);
    if (number > UINT32_MAX)
        return err_set(e, "%s: key '%s': %" PRIu64 " is larger than %" PRIu32, g->name, key, number, UINT32_MAX);
    *value = (uint32_t)number;
    return true;
}

bool gguf_get_f32(const gguf *g, const char *key, float *value, err *e)
{
    const gguf_value *v = find_or_fail(g, key, e);
    if (!v)
        return false;
    if (!is_float(v->type))
        return wrong_type(g, v, "f32 or f64", e);
    double number = float_item(v->bytes, v->type);
    if (isfinite(number) && fabs(number) > (double)FLT_MAX)
        return err_set(e, "%s: key '%s': %g does not fit f32", g->name, key, number);
    *value = (float)number;
    return true;
}

bool gguf_get_bool(const gguf *g, const char *key, bool *value, err *e)
{
    const gguf_value *v = find_or_fail(g, key, e);
    if (!v)
        return false;
    if (v->type != VALUE_BOOL)
        return wrong_type(g, v, "bool", e);
    *value = v->bytes[0] != 0;
    return true;
}

bool gguf_get_text(const gguf *g, const char *key, gguf_text *value, err *e)
{
    const gguf_value *v = find_or_fail(g, key, e);
    if (!v)
        return false;
    if (v->type != VALUE_TEXT)
        return wrong_type(g, v, "text", e);
    *value = (gguf_text){(const char *)v->bytes, v->count};
    return true;
}

typedef enum { ITEMS_TEXTS, ITEMS_NUMBERS, ITEMS_WHOLE, ITEMS_REAL } item_kinds;

static bool is_item_of(value_type item, item_kinds kinds)
{
    bool text = item == VALUE_TEXT, real = is_float(item);
    return kinds == ITEMS_TEXTS     ? text
           : kinds == ITEMS_NUMBERS ? !text
           : kinds == ITEMS_REAL    ? real
                                    : !text && !real && item != VALUE_BOOL;
}

static bool get_array(const gguf *g, const char *key, item_kinds kinds, gguf_array *array, err *e)
{
    static const char *const words[] = {"texts", "numbers", "whole numbers", "f32 or f64"};
    const gguf_value *v = find_or_fail(g, key, e);
    if (!v)
        return false;
    if (v->type != VALUE_ARRAY || !is_item_of(v->item, kinds)) {
        char expected[40];
        snprintf(expected, sizeof expected, "an array of %s", words[kinds]);
        return wrong_type(g, v, expected, e);
    }
    *array = (gguf_array){v->count, v};
    return true;
}

bool gguf_get_texts(const gguf *g, const char *key, gguf_array *array, err *e)
{
    return get_array(g, key, ITEMS_TEXTS, array, e);
}

bool gguf_get_numbers(const gguf *g, const char *key, gguf_array *array, err *e)
{
    return get_array(g, key, ITEMS_NUMBERS, array, e);
}

bool gguf_get_whole_numbers(const gguf *g, const char *key, gguf_array *array, err *e)
{
    return get_array(g, key, ITEMS_WHOLE, array, e);
}

bool gguf_get_reals(const gguf *g, const char *key, gguf_array *array, err *e)
{
    return get_array(g, key, ITEMS_REAL, array, e);
}

gguf_text gguf_array_text(const gguf_array *array, size_t i)
{
    const gguf_value *v = array->value;
    if (i >= array->count || v->item != VALUE_TEXT)
        return (gguf_text){"", 0};
    const uint8_t *p = v->bytes + v->starts[i];
    return (gguf_text){(const char *)p + 8, (size_t)gguf_load(p, 8)};
}

int64_t gguf_array_int(const gguf_array *array, size_t i)
{
    const gguf_value *v = array->value;
    if (i >= array->count || v->item == VALUE_TEXT)
        return 0;
    uint32_t bytes = value_types[v->item].bytes;
    const uint8_t *p = v->bytes + i * bytes;
    if (is_float(v->item)) {
        double number = float_item(p, v->item);
        if (isnan(number))
            return 0;
        return number >= 0x1p63 ? INT64_MAX : number < -0x1p63 ? INT64_MIN : (int64_t)number;
    }
    if (is_signed(v->item))
        return signed_item(p, bytes);
    uint64_t number = gguf_load(p, bytes);
    return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

double gguf_array_float(const gguf_array *array, size_t i)
{
    const gguf_value *v = array->value;
    if (i >= array->count || v->item == VALUE_TEXT)
        return 0;
    uint32_t bytes = value_types[v->item].bytes;
    const uint8_t *p = v->bytes + i * bytes;
    if (is_float(v->item))
        return float_item(p, v->item);
    return is_signed(v->item) ? (double)signed_item(p, bytes) : (double)gguf_load(p, bytes);
}

size_t gguf_key_count(const gguf *g)
{
    return g->value_count;
}

gguf_text gguf_key_at(const gguf *g, size_t i)
{
    return i < g->value_count ? g->values[i].key : (gguf_text){"", 0};
}
