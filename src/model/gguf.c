#include "model/gguf.h"
#include "base/map.h"
#include "base/str.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file: "GGUF", version, number of tensors, number of keys; the keys with
 * their values; the tensors' names, shapes, types and places; padding; data. All
 * little-endian. A text is its length in 8 bytes and its bytes. */

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
    MAX_KEY_BYTES = 65535, /* both as the format has it */
    MAX_NAME_BYTES = 64,
    DEFAULT_ALIGNMENT = 32,
    MIN_TEXT_BYTES = 8,
    MIN_KEY_BYTES = 8 + 1 + 4 + 1,            /* a key of one letter, its type, one byte */
    MIN_TENSOR_BYTES = 8 + 1 + 4 + 8 + 4 + 8, /* a name of one letter, one dimension */
    SHOWN_BYTES = 96                          /* of a key or a name, in an error */
};

/* A key and its value. Where it is a text or an array, `item` is the type of one
 * item, `bytes` the first item, and `starts[i]` where text i of an array begins
 * (its length) behind `bytes`. */
typedef struct gguf_value {
    gguf_text key;
    value_type type, item;
    const uint8_t *bytes;
    size_t count;
    size_t *starts;
} gguf_value;

struct gguf {
    char *name;
    map file; /* where gguf_open mapped one */
    uint32_t version;
    gguf_value *values;
    size_t value_count;
    const gguf_value **by_key; /* sorted */
    gguf_tensor *tensors;
    size_t tensor_count;
    const gguf_tensor **by_name; /* sorted */
};

/* ---- texts ----------------------------------------------------------------- */

/* Of a text whose bytes were checked: as much as an error has room for. */
static int shown(gguf_text t)
{
    size_t n = t.length;
    if (n > SHOWN_BYTES) {
        n = SHOWN_BYTES;
        while (n && ((uint8_t)t.data[n] & 0xc0) == 0x80)
            n--;
    }
    return (int)n;
}

/* Bytes of the UTF-8 character at p, or 0 where there is none: neither a longer
 * form of a shorter one, nor half of a surrogate pair, nor past U+10FFFF. */
static size_t character_bytes(const uint8_t *p, size_t left)
{
    uint8_t first = p[0];
    if (first < 0x80)
        return 1;
    size_t n = first >= 0xc2 && first <= 0xdf   ? 2
               : first >= 0xe0 && first <= 0xef ? 3
               : first >= 0xf0 && first <= 0xf4 ? 4
                                                : 0;
    if (!n || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((first == 0xe0 && p[1] < 0xa0) || (first == 0xed && p[1] > 0x9f) || (first == 0xf0 && p[1] < 0x90) ||
        (first == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

static bool is_utf8(gguf_text t)
{
    const uint8_t *p = (const uint8_t *)t.data;
    for (size_t i = 0, n; i < t.length; i += n)
        if (!(n = character_bytes(p + i, t.length - i)))
            return false;
    return true;
}

static bool has_control_characters(gguf_text t)
{
    for (size_t i = 0; i < t.length; i++)
        if ((uint8_t)t.data[i] < 0x20 || t.data[i] == 0x7f)
            return true;
    return false;
}

static int text_order(gguf_text a, gguf_text b)
{
    int order = memcmp(a.data, b.data, a.length < b.length ? a.length : b.length);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

/* ---- reading --------------------------------------------------------------- */

typedef struct reader {
    const uint8_t *bytes;
    size_t at, available;
    uint64_t file_bytes;
    uint64_t rest; /* bytes that must follow what is being read, at the least */
    const char *name;
    char where[SHOWN_BYTES + 64]; /* the key or tensor that is being read */
    uint64_t *wanted;
    err *e;
} reader;

static bool fail(reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool fail(reader *r, const char *fmt, ...)
{
    char what[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return err_set(r->e, "%s: %s: %s", r->name, r->where, what);
}

/* Are there n bytes more, and what must follow them? */
static bool need(reader *r, uint64_t n)
{
    uint64_t left = r->file_bytes - r->at;
    if (n > left || r->rest > left - n)
        return fail(r,
                    "needs %" PRIu64 " bytes, and what follows %" PRIu64 " at the least, but the file has only %" PRIu64
                    " left",
                    n, r->rest, left);
    uint64_t here = r->available - r->at;
    if (n + r->rest > here) {
        uint64_t wanted = r->at + n + r->rest;
        if (r->wanted)
            *r->wanted = wanted;
        return fail(r,
                    "the header is longer than the first %zu bytes of the file: at least %" PRIu64 " more are needed",
                    r->available, wanted - r->available);
    }
    return true;
}

static uint64_t load(const uint8_t *p, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)p[i] << 8 * i;
    return value;
}

static bool read_u32(reader *r, uint32_t *value)
{
    if (!need(r, 4))
        return false;
    *value = (uint32_t)load(r->bytes + r->at, 4);
    r->at += 4;
    return true;
}

static bool read_u64(reader *r, uint64_t *value)
{
    if (!need(r, 8))
        return false;
    *value = load(r->bytes + r->at, 8);
    r->at += 8;
    return true;
}

static bool read_text(reader *r, gguf_text *t)
{
    uint64_t length;
    if (!read_u64(r, &length) || !need(r, length))
        return false;
    *t = (gguf_text){(const char *)r->bytes + r->at, (size_t)length};
    r->at += (size_t)length;
    return true;
}

/* A key or a tensor's name. From here on, errors name it. */
static bool read_name(reader *r, const char *what, size_t index, size_t limit_bytes, gguf_text *name)
{
    snprintf(r->where, sizeof r->where, "%s %zu", what, index);
    if (!read_text(r, name))
        return false;
    if (name->length == 0)
        return fail(r, "has no name");
    if (name->length > limit_bytes)
        return fail(r, "its name has %zu bytes, more than the %zu that are allowed", name->length, limit_bytes);
    if (!is_utf8(*name) || has_control_characters(*name))
        return fail(r, "its name is not plain UTF-8 text");
    snprintf(r->where, sizeof r->where, "%s '%.*s'", what, shown(*name), name->data);
    return true;
}

/* ---- keys ------------------------------------------------------------------ */

static bool check_bools(reader *r, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] > 1)
            return fail(r, "a bool is %d, neither 0 nor 1", bytes[i]);
    return true;
}

static bool read_texts(reader *r, gguf_value *v)
{
    v->starts = mem_alloc(v->count * sizeof v->starts[0]); /* no more than the lengths that are known to be there */
    r->rest += (uint64_t)v->count * MIN_TEXT_BYTES;
    for (size_t i = 0; i < v->count; i++) {
        r->rest -= MIN_TEXT_BYTES;
        v->starts[i] = (size_t)(r->bytes + r->at - v->bytes);
        gguf_text t;
        if (!read_text(r, &t))
            return false;
    }
    return true;
}

static bool read_array(reader *r, gguf_value *v)
{
    uint32_t item;
    uint64_t count;
    if (!read_u32(r, &item) || !read_u64(r, &count))
        return false;
    if (item == VALUE_ARRAY)
        return fail(r, "an array of arrays, which is not supported");
    if (item >= VALUE_TYPES)
        return fail(r, "an array of an unknown type of value (%" PRIu32 ")", item);
    uint32_t item_bytes = item == VALUE_TEXT ? MIN_TEXT_BYTES : value_types[item].bytes;
    if (count > (r->file_bytes - r->at) / item_bytes)
        return fail(r, "claims %" PRIu64 " items, but the file has only %" PRIu64 " bytes left", count,
                    r->file_bytes - r->at);
    if (!need(r, count * item_bytes))
        return false;
    v->item = item;
    v->count = (size_t)count;
    v->bytes = r->bytes + r->at;
    if (item == VALUE_TEXT)
        return read_texts(r, v);
    r->at += v->count * item_bytes;
    return item != VALUE_BOOL || check_bools(r, v->bytes, v->count);
}

static bool read_value(reader *r, gguf_value *v)
{
    uint32_t type;
    if (!read_u32(r, &type))
        return false;
    if (type >= VALUE_TYPES)
        return fail(r, "unknown type of value (%" PRIu32 ")", type);
    v->type = v->item = type;
    if (type == VALUE_ARRAY)
        return read_array(r, v);
    if (type == VALUE_TEXT) {
        gguf_text t;
        if (!read_text(r, &t))
            return false;
        if (!is_utf8(t))
            return fail(r, "the text is not UTF-8");
        v->bytes = (const uint8_t *)t.data;
        v->count = t.length;
        return true;
    }
    if (!need(r, value_types[type].bytes))
        return false;
    v->bytes = r->bytes + r->at;
    v->count = 1;
    r->at += value_types[type].bytes;
    return type != VALUE_BOOL || check_bools(r, v->bytes, 1);
}

static int value_order(const void *a, const void *b)
{
    return text_order((*(const gguf_value *const *)a)->key, (*(const gguf_value *const *)b)->key);
}

/* Room for one more in a list that doubles: what is taken follows what was read. */
static void *with_room(void *list, size_t count, size_t item_bytes)
{
    bool full = count == 0 || (count >= 16 && (count & (count - 1)) == 0);
    return full ? mem_grow(list, (count ? 2 * count : 16) * item_bytes) : list;
}

static bool read_values(reader *r, gguf *g, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        r->rest -= MIN_KEY_BYTES;
        g->values = with_room(g->values, g->value_count, sizeof g->values[0]);
        gguf_value *v = &g->values[g->value_count++];
        *v = (gguf_value){0};
        if (!read_name(r, "key", (size_t)i, MAX_KEY_BYTES, &v->key) || !read_value(r, v))
            return false;
    }
    g->by_key = mem_alloc(g->value_count * sizeof g->by_key[0]);
    for (size_t i = 0; i < g->value_count; i++)
        g->by_key[i] = &g->values[i];
    qsort(g->by_key, g->value_count, sizeof g->by_key[0], value_order);
    for (size_t i = 1; i < g->value_count; i++)
        if (value_order(&g->by_key[i - 1], &g->by_key[i]) == 0) {
            gguf_text key = g->by_key[i]->key;
            return err_set(r->e, "%s: key '%.*s': is there twice", r->name, shown(key), key.data);
        }
    return true;
}

/* ---- tensors --------------------------------------------------------------- */

static bool read_shape(reader *r, gguf_tensor *t, uint64_t *weights)
{
    if (!read_u32(r, &t->dim_count))
        return false;
    if (t->dim_count < 1 || t->dim_count > GGUF_MAX_DIMS)
        return fail(r, "has %" PRIu32 " dimensions; 1 to %d are possible", t->dim_count, GGUF_MAX_DIMS);
    *weights = 1;
    for (uint32_t i = 0; i < GGUF_MAX_DIMS; i++) {
        t->dims[i] = 1;
        if (i >= t->dim_count)
            continue;
        if (!read_u64(r, &t->dims[i]))
            return false;
        if (t->dims[i] == 0)
            return fail(r, "dimension %" PRIu32 " is 0", i);
        if (t->dims[i] > (uint64_t)INT64_MAX / *weights)
            return fail(r, "dimension %" PRIu32 " is %" PRIu64 ", which makes it larger than any file", i, t->dims[i]);
        *weights *= t->dims[i];
    }
    return true;
}

/* `offset` is as the file has it: behind where the data begins. */
static bool read_tensor(reader *r, gguf_tensor *t, uint32_t alignment)
{
    uint64_t weights = 0;
    uint32_t type = 0;
    if (!read_shape(r, t, &weights) || !read_u32(r, &type) || !read_u64(r, &t->offset))
        return false;
    const type_info *info = type_find(type);
    if (!info)
        return fail(r, "type %" PRIu32 " is not supported", type);
    t->type = type;
    if (t->dims[0] % info->block_weights)
        return fail(r, "rows of %" PRIu64 " weights cannot be %s, which comes in blocks of %" PRIu32, t->dims[0],
                    info->name, info->block_weights);
    if (weights / info->block_weights > r->file_bytes / info->block_bytes)
        return fail(r, "%" PRIu64 " weights of type %s are more than the whole file of %" PRIu64 " bytes holds",
                    weights, info->name, r->file_bytes);
    t->bytes = type_bytes(t->type, weights);
    if (t->offset % alignment)
        return fail(r, "its offset %" PRIu64 " is not a multiple of the alignment %" PRIu32, t->offset, alignment);
    return true;
}

static int name_order(const void *a, const void *b)
{
    return text_order((*(const gguf_tensor *const *)a)->name, (*(const gguf_tensor *const *)b)->name);
}

static int offset_order(const void *a, const void *b)
{
    const gguf_tensor *x = *(const gguf_tensor *const *)a, *y = *(const gguf_tensor *const *)b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* From offsets behind the beginning of the data to places in the file. */
static bool place_tensors(reader *r, gguf *g, uint64_t data_at)
{
    for (size_t i = 0; i < g->tensor_count; i++) {
        gguf_tensor *t = &g->tensors[i];
        uint64_t room = data_at < r->file_bytes ? r->file_bytes - data_at : 0;
        if (t->offset > room || t->bytes > room - t->offset)
            return err_set(r->e,
                           "%s: tensor '%.*s': %" PRIu64 " bytes at %" PRIu64 " + %" PRIu64
                           " reach past the end of the file (%" PRIu64 " bytes)",
                           r->name, shown(t->name), t->name.data, t->bytes, data_at, t->offset, r->file_bytes);
        t->offset += data_at;
        if (t->offset + t->bytes <= r->available)
            t->data = r->bytes + t->offset;
    }
    return true;
}

static const gguf_tensor **sorted_tensors(const gguf *g, int (*order)(const void *, const void *))
{
    const gguf_tensor **sorted = mem_alloc(g->tensor_count * sizeof sorted[0]);
    for (size_t i = 0; i < g->tensor_count; i++)
        sorted[i] = &g->tensors[i];
    qsort(sorted, g->tensor_count, sizeof sorted[0], order);
    return sorted;
}

static bool check_names(reader *r, const gguf_tensor *const *by_name, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        gguf_text name = by_name[i]->name;
        if (text_order(by_name[i - 1]->name, name) == 0)
            return err_set(r->e, "%s: tensor '%.*s': is there twice", r->name, shown(name), name.data);
    }
    return true;
}

static bool check_overlaps(reader *r, const gguf_tensor *const *by_offset, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const gguf_tensor *a = by_offset[i - 1], *b = by_offset[i];
        if (a->bytes > b->offset - a->offset)
            return err_set(r->e, "%s: tensor '%.*s': overlaps tensor '%.*s'", r->name, shown(b->name), b->name.data,
                           shown(a->name), a->name.data);
    }
    return true;
}

static bool read_tensors(reader *r, gguf *g, uint64_t count, uint32_t alignment)
{
    for (uint64_t i = 0; i < count; i++) {
        r->rest -= MIN_TENSOR_BYTES;
        g->tensors = with_room(g->tensors, g->tensor_count, sizeof g->tensors[0]);
        gguf_tensor *t = &g->tensors[g->tensor_count++];
        *t = (gguf_tensor){0};
        if (!read_name(r, "tensor", (size_t)i, MAX_NAME_BYTES, &t->name) || !read_tensor(r, t, alignment))
            return false;
    }
    if (!place_tensors(r, g, ((uint64_t)r->at + alignment - 1) / alignment * alignment))
        return false;
    g->by_name = sorted_tensors(g, name_order);
    const gguf_tensor **by_offset = sorted_tensors(g, offset_order);
    bool ok = check_names(r, g->by_name, g->tensor_count) && check_overlaps(r, by_offset, g->tensor_count);
    free(by_offset);
    return ok;
}

/* ---- the whole ------------------------------------------------------------- */

static bool read_alignment(reader *r, const gguf *g, uint32_t *alignment)
{
    *alignment = DEFAULT_ALIGNMENT;
    if (!gguf_has(g, "general.alignment"))
        return true;
    if (!gguf_get_u32(g, "general.alignment", alignment, r->e))
        return false;
    if (*alignment < 8 || (*alignment & (*alignment - 1)))
        return err_set(r->e, "%s: key 'general.alignment': %" PRIu32 " is not a power of two of at least 8", r->name,
                       *alignment);
    return true;
}

static bool read_version(reader *r, gguf *g)
{
    size_t magic = r->available < 4 ? r->available : 4;
    if (magic && memcmp(r->bytes, "GGUF", magic) != 0)
        return err_set(r->e, "%s: not a GGUF file", r->name);
    if (!need(r, 24))
        return false;
    r->at = 4;
    if (!read_u32(r, &g->version))
        return false;
    if (g->version && (g->version & 0xffff) == 0)
        return err_set(r->e, "%s: a big-endian GGUF file, which is not supported", r->name);
    if (g->version != 2 && g->version != 3)
        return err_set(r->e, "%s: GGUF version %" PRIu32 " is not supported (2 and 3 are)", r->name, g->version);
    return true;
}

static bool read_all(reader *r, gguf *g)
{
    uint64_t tensors, values;
    uint32_t alignment;
    snprintf(r->where, sizeof r->where, "the beginning");
    if (!read_version(r, g) || !read_u64(r, &tensors) || !read_u64(r, &values))
        return false;
    uint64_t left = r->file_bytes - r->at;
    if (values > left / MIN_KEY_BYTES || tensors > (left - values * MIN_KEY_BYTES) / MIN_TENSOR_BYTES)
        return err_set(
            r->e, "%s: claims %" PRIu64 " tensors and %" PRIu64 " keys, more than a file of %" PRIu64 " bytes holds",
            r->name, tensors, values, r->file_bytes);
    r->rest = values * MIN_KEY_BYTES + tensors * MIN_TENSOR_BYTES;
    if (!need(r, 0) || !read_values(r, g, values) || !read_alignment(r, g, &alignment))
        return false;
    return read_tensors(r, g, tensors, alignment);
}

gguf *gguf_read(const void *bytes, size_t available, uint64_t file_bytes, const char *name, uint64_t *wanted, err *e)
{
    if (wanted)
        *wanted = 0;
    reader r = {
        .bytes = bytes,
        .available = available < file_bytes ? available : (size_t)file_bytes,
        .file_bytes = file_bytes,
        .name = name,
        .wanted = wanted,
        .e = e,
    };
    gguf *g = mem_alloc(sizeof *g);
    g->name = mem_dup(name);
    if (!read_all(&r, g)) {
        gguf_close(g);
        return NULL;
    }
    return g;
}

gguf *gguf_open(const char *path, err *e)
{
    map file;
    if (!map_open(&file, path, e))
        return NULL;
    gguf *g = gguf_read(file.bytes, file.length, file.length, path, NULL, e);
    if (g)
        g->file = file;
    else
        map_close(&file);
    return g;
}

void gguf_close(gguf *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->value_count; i++)
        free(g->values[i].starts);
    free(g->values);
    free(g->by_key);
    free(g->tensors);
    free(g->by_name);
    free(g->name);
    map_close(&g->file);
    free(g);
}

uint32_t gguf_version(const gguf *g)
{
    return g->version;
}

size_t gguf_tensor_count(const gguf *g)
{
    return g->tensor_count;
}

const gguf_tensor *gguf_tensor_at(const gguf *g, size_t i)
{
    return i < g->tensor_count ? &g->tensors[i] : NULL;
}

static int name_is(const void *name, const void *item)
{
    return text_order(*(const gguf_text *)name, (*(const gguf_tensor *const *)item)->name);
}

const gguf_tensor *gguf_find_tensor(const gguf *g, const char *name)
{
    gguf_text text = {name, strlen(name)};
    const gguf_tensor **found = bsearch(&text, g->by_name, g->tensor_count, sizeof g->by_name[0], name_is);
    return found ? *found : NULL;
}

/* ---- looking up values ----------------------------------------------------- */

static int key_is(const void *key, const void *item)
{
    return text_order(*(const gguf_text *)key, (*(const gguf_value *const *)item)->key);
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
    return err_set(e, "%s: key '%.*s': is %s%s, not %s", g->name, shown(v->key), v->key.data,
                   array ? "an array of " : "", value_types[v->item].name, expected);
}

static int64_t signed_item(const uint8_t *p, uint32_t bytes)
{
    uint64_t raw = load(p, bytes), sign = (uint64_t)1 << (8 * bytes - 1);
    return (int64_t)((raw ^ sign) - sign); /* extends the sign */
}

static double float_item(const uint8_t *p, value_type type)
{
    uint64_t raw = load(p, value_types[type].bytes);
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
    uint64_t number = load(v->bytes, bytes);
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

static bool get_array(const gguf *g, const char *key, bool texts, gguf_array *array, err *e)
{
    const gguf_value *v = find_or_fail(g, key, e);
    if (!v)
        return false;
    if (v->type != VALUE_ARRAY || (v->item == VALUE_TEXT) != texts)
        return wrong_type(g, v, texts ? "an array of texts" : "an array of numbers", e);
    *array = (gguf_array){v->count, v};
    return true;
}

bool gguf_get_texts(const gguf *g, const char *key, gguf_array *array, err *e)
{
    return get_array(g, key, true, array, e);
}

bool gguf_get_numbers(const gguf *g, const char *key, gguf_array *array, err *e)
{
    return get_array(g, key, false, array, e);
}

gguf_text gguf_array_text(const gguf_array *array, size_t i)
{
    const gguf_value *v = array->value;
    if (i >= array->count || v->item != VALUE_TEXT)
        return (gguf_text){"", 0};
    const uint8_t *p = v->bytes + v->starts[i];
    return (gguf_text){(const char *)p + 8, (size_t)load(p, 8)};
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
    uint64_t number = load(p, bytes);
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
    return is_signed(v->item) ? (double)signed_item(p, bytes) : (double)load(p, bytes);
}

size_t gguf_key_count(const gguf *g)
{
    return g->value_count;
}

gguf_text gguf_key_at(const gguf *g, size_t i)
{
    return i < g->value_count ? g->values[i].key : (gguf_text){"", 0};
}
