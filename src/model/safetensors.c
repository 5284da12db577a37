/* safetensors: headers and indexes read and checked, and tensors found by name. */
#include "model/safetensors.h"
#include "model/safetensors_test.h"

#include "base/file.h"
#include "base/map.h"
#include "base/str.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* JSON takes many times its length in memory once it is parsed. A tensor takes
 * about a hundred bytes of it, so this is far above any model there is. */
enum { MAX_JSON_BYTES = 16 << 20, MAX_JSON_DEPTH = 8, MAX_SHARDS = 1024 };

static const char single_file[] = "model.safetensors";
static const char index_file[] = "model.safetensors.index.json";

struct safetensors {
    char *path;          /* what was opened, for errors */
    safetensor *tensors; /* (count), sorted by name once everything is read */
    size_t count, room;
    map *maps; /* (map_count), one per file */
    size_t map_count;
};

/* ---- JSON ---------------------------------------------------------------- */

static bool is_printable(const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0))
            return false;
    return true;
}

static bool is_shallow(const char *text, size_t length)
{
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < length; i++) {
        if (in_string && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            in_string = !in_string;
        else if (!in_string && (text[i] == '{' || text[i] == '[') && ++depth > MAX_JSON_DEPTH)
            return false;
        else if (!in_string && (text[i] == '}' || text[i] == ']'))
            depth--;
    }
    return true;
}

/* A JSON object, or NULL and an error that names the file. */
static json_t *parse_object(const char *text, size_t length, const char *file, const char *what, err *e)
{
    if (!is_shallow(text, length)) {
        err_set(e, "%s: %s nests deeper than %d levels", file, what, MAX_JSON_DEPTH);
        return NULL;
    }
    json_error_t why;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    if (!root) {
        err_set(e, "%s: %s is not JSON: %s (line %d, column %d)", file, what,
                is_printable(why.text) ? why.text : "strange characters", why.line, why.column);
        return NULL;
    }
    if (!json_is_object(root)) {
        err_set(e, "%s: %s is not a JSON object", file, what);
        json_decref(root);
        return NULL;
    }
    return root;
}

static bool whole_number(const json_t *value, uint64_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

/* ---- one file ------------------------------------------------------------ */

typedef struct dtype {
    const char *name;
    uint32_t bytes;
    bool readable;
    tensor_type type;
} dtype;

/* Those that cannot be read are here for their sizes only. */
static const dtype dtypes[] = {
    {"F32", 4, true, TYPE_F32}, {"F16", 2, true, TYPE_F16}, {"BF16", 2, true, TYPE_BF16}, {"F64", 8, false, 0},
    {"I64", 8, false, 0},       {"U64", 8, false, 0},       {"C64", 8, false, 0},         {"I32", 4, false, 0},
    {"U32", 4, false, 0},       {"I16", 2, false, 0},       {"U16", 2, false, 0},         {"I8", 1, false, 0},
    {"U8", 1, false, 0},        {"BOOL", 1, false, 0},      {"F8_E4M3", 1, false, 0},     {"F8_E5M2", 1, false, 0},
    {"F8_E8M0", 1, false, 0},
};

static const dtype *find_dtype(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return &dtypes[i];
    return NULL;
}

typedef struct section {
    const char *file;
    const char *data; /* what stands behind the header */
    uint64_t bytes;
} section;

static bool read_shape(const json_t *shape, safetensor *t, uint64_t *weights)
{
    *weights = 1;
    if (!json_is_array(shape) || json_array_size(shape) > SAFETENSORS_MAX_DIMS)
        return false;
    t->dim_count = (uint32_t)json_array_size(shape);
    for (uint32_t i = 0; i < t->dim_count; i++)
        if (!whole_number(json_array_get(shape, i), &t->dims[i]) ||
            __builtin_mul_overflow(*weights, t->dims[i], weights))
            return false;
    return true;
}

/* Everything but the name. */
static bool read_tensor(const section *in, const char *name, const json_t *entry, safetensor *t, err *e)
{
    const char *type_name = json_string_value(json_object_get(entry, "dtype"));
    if (!type_name || !is_printable(type_name))
        return err_set(e, "%s: tensor %s: \"dtype\" must be a name", in->file, name);
    const dtype *known = find_dtype(type_name);

    uint64_t weights;
    if (!read_shape(json_object_get(entry, "shape"), t, &weights))
        return err_set(e, "%s: tensor %s: \"shape\" must be up to %d whole numbers", in->file, name,
                       SAFETENSORS_MAX_DIMS);

    const json_t *place = json_object_get(entry, "data_offsets");
    uint64_t begin, end;
    if (json_array_size(place) != 2 || !whole_number(json_array_get(place, 0), &begin) ||
        !whole_number(json_array_get(place, 1), &end))
        return err_set(e, "%s: tensor %s: \"data_offsets\" must be two whole numbers", in->file, name);
    if (begin > end || end > in->bytes)
        return err_set(e, "%s: tensor %s: its data (%llu to %llu) are not in the file, which has %llu bytes of them",
                       in->file, name, (unsigned long long)begin, (unsigned long long)end,
                       (unsigned long long)in->bytes);

    t->bytes = end - begin;
    t->data = in->data + begin;
    uint64_t needed;
    if (known && (__builtin_mul_overflow(weights, known->bytes, &needed) || needed != t->bytes))
        return err_set(e, "%s: tensor %s: has %llu bytes, but its shape has %llu weights of %s", in->file, name,
                       (unsigned long long)t->bytes, (unsigned long long)weights, type_name);
    t->readable = known && known->readable;
    t->type = known ? known->type : 0;
    t->dtype = known ? known->name : mem_dup(type_name);
    t->name = mem_dup(name);
    return true;
}

static safetensor *add_tensor(safetensors *s)
{
    if (s->count == s->room) {
        s->room = s->room ? s->room * 2 : 64;
        s->tensors = mem_grow(s->tensors, s->room * sizeof *s->tensors);
    }
    safetensor *t = &s->tensors[s->count];
    *t = (safetensor){0};
    return t;
}

static int by_place(const void *a, const void *b)
{
    const safetensor *x = a, *y = b;
    uintptr_t p = (uintptr_t)x->data, q = (uintptr_t)y->data;
    if (p != q)
        return p < q ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes); /* empty ones first */
}

/* The format allows neither gaps nor overlaps. */
static bool check_cover(const section *in, safetensor *tensors, size_t count, err *e)
{
    if (count)
        qsort(tensors, count, sizeof *tensors, by_place);
    uint64_t covered = 0;
    const char *before = NULL;
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = (uint64_t)((const char *)tensors[i].data - in->data);
        if (begin < covered)
            return err_set(e, "%s: tensor %s: its data overlap those of %s", in->file, tensors[i].name, before);
        if (begin > covered)
            return err_set(e, "%s: tensor %s: a gap of %llu bytes before its data", in->file, tensors[i].name,
                           (unsigned long long)(begin - covered));
        covered = begin + tensors[i].bytes;
        before = tensors[i].name;
    }
    if (covered != in->bytes)
        return err_set(e, "%s: %llu bytes at the end belong to no tensor", in->file,
                       (unsigned long long)(in->bytes - covered));
    return true;
}

static bool read_header(safetensors *s, const section *in, const json_t *root, err *e)
{
    size_t first = s->count;
    const char *name;
    json_t *entry;
    json_object_foreach((json_t *)root, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0) {
            if (!json_is_object(entry))
                return err_set(e, "%s: \"__metadata__\" is not a JSON object", in->file);
            continue;
        }
        if (!*name || !is_printable(name))
            return err_set(e, "%s: a tensor's name is empty or has control characters", in->file);
        if (!json_is_object(entry))
            return err_set(e, "%s: tensor %s: is not a JSON object", in->file, name);
        if (!read_tensor(in, name, entry, add_tensor(s), e))
            return false;
        s->count++;
    }
    return check_cover(in, s->count > first ? &s->tensors[first] : NULL, s->count - first, e);
}

/* Adds the tensors of one file. */
static bool read_file(safetensors *s, const char *file, const void *bytes, size_t length, err *e)
{
    const unsigned char *p = bytes;
    if (length < 8)
        return err_set(e, "%s: too short to be a safetensors file (%zu bytes)", file, length);
    uint64_t header = 0;
    for (int i = 7; i >= 0; i--)
        header = header << 8 | p[i];
    if (header > length - 8)
        return err_set(e, "%s: not a safetensors file, or cut off: a header of %llu bytes in a file of %zu", file,
                       (unsigned long long)header, length);
    if (header > MAX_JSON_BYTES)
        return err_set(e, "%s: a header of %llu bytes is larger than %d", file, (unsigned long long)header,
                       MAX_JSON_BYTES);
    const char *text = (const char *)p + 8;
    json_t *root = parse_object(text, (size_t)header, file, "the header", e);
    if (!root)
        return false;
    section in = {file, text + header, length - 8 - header};
    bool ok = read_header(s, &in, root, e);
    json_decref(root);
    return ok;
}

/* ---- names --------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const safetensor *)a)->name, ((const safetensor *)b)->name);
}

/* Inside one file the JSON parser sees to it; two shards may still both have one. */
static bool sort_names(safetensors *s, err *e)
{
    if (s->count)
        qsort(s->tensors, s->count, sizeof *s->tensors, by_name);
    for (size_t i = 1; i < s->count; i++)
        if (strcmp(s->tensors[i - 1].name, s->tensors[i].name) == 0)
            return err_set(e, "%s: tensor %s: is in two files", s->path, s->tensors[i].name);
    return true;
}

static const safetensor *look_up(const safetensors *s, const char *name)
{
    safetensor key = {.name = name};
    return s->count ? bsearch(&key, s->tensors, s->count, sizeof key, by_name) : NULL;
}

/* ---- folders ------------------------------------------------------------- */

static char *join(const char *folder, const char *name)
{
    str path = {0};
    size_t n = strlen(folder);
    str_addf(&path, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", name);
    return path.data;
}

static bool open_file(safetensors *s, const char *path, err *e)
{
    map m;
    if (!map_open(&m, path, e))
        return false;
    s->maps = mem_grow(s->maps, (s->map_count + 1) * sizeof m);
    s->maps[s->map_count++] = m;
    return read_file(s, path, m.bytes, m.length, e);
}

/* A shard lies beside its index: its name is a name, not a way somewhere else. */
static bool is_shard_name(const char *name)
{
    return *name && is_printable(name) && !strpbrk(name, "/\\") && strcmp(name, ".") != 0 && !strstr(name, "..") &&
           strlen(name) < 256;
}

/* `shards` collects each shard's name and the number it was opened as. */
static bool open_shards(safetensors *s, const char *folder, const char *file, const json_t *weights, json_t *shards,
                        err *e)
{
    const char *tensor;
    json_t *value;
    json_object_foreach((json_t *)weights, tensor, value)
    {
        const char *shard = json_string_value(value);
        if (!is_printable(tensor))
            return err_set(e, "%s: a tensor's name has control characters", file);
        if (!shard || !is_shard_name(shard))
            return err_set(e, "%s: tensor %s: \"weight_map\" must name a file in this folder", file, tensor);
        if (json_object_get(shards, shard))
            continue;
        if (s->map_count == MAX_SHARDS)
            return err_set(e, "%s: more than %d files", file, MAX_SHARDS);
        json_object_set_new(shards, shard, json_integer((json_int_t)s->map_count));
        char *path = join(folder, shard);
        bool ok = open_file(s, path, e);
        free(path);
        if (!ok)
            return false;
    }
    return true;
}

/* Is every tensor in the shard that the index says? */
static bool check_index(const safetensors *s, const char *file, const json_t *weights, const json_t *shards, err *e)
{
    const char *tensor;
    json_t *value;
    json_object_foreach((json_t *)weights, tensor, value)
    {
        const char *shard = json_string_value(value);
        const map *m = &s->maps[json_integer_value(json_object_get(shards, shard))];
        const safetensor *t = look_up(s, tensor);
        uintptr_t start = (uintptr_t)m->bytes;
        if (!t || (uintptr_t)t->data < start || (uintptr_t)t->data > start + m->length)
            return err_set(e, "%s: tensor %s: is not in %s", file, tensor, shard);
    }
    return true;
}

static bool read_index(safetensors *s, const char *folder, const char *file, const json_t *root, err *e)
{
    const json_t *weights = json_object_get(root, "weight_map");
    if (!json_is_object(weights) || json_object_size(weights) == 0)
        return err_set(e, "%s: \"weight_map\" must say which tensor is in which file", file);
    json_t *shards = json_object();
    bool ok = open_shards(s, folder, file, weights, shards, e) && sort_names(s, e) &&
              check_index(s, file, weights, shards, e);
    json_decref(shards);
    return ok;
}

static bool open_index(safetensors *s, const char *folder, const char *file, err *e)
{
    size_t length;
    err why = {0};
    char *text = file_read_plain(file, MAX_JSON_BYTES, &length, &why);
    if (!text)
        return err_set(e, "%s", why.text);
    json_t *root = parse_object(text, length, file, "the index", e);
    free(text);
    if (!root)
        return false;
    bool ok = read_index(s, folder, file, root, e);
    json_decref(root);
    return ok;
}

static bool open_folder(safetensors *s, const char *folder, err *e)
{
    char *single = join(folder, single_file), *index = join(folder, index_file);
    bool ok;
    if (file_exists(single))
        ok = open_file(s, single, e) && sort_names(s, e);
    else if (file_exists(index))
        ok = open_index(s, folder, index, e);
    else
        ok = err_set(e, "%s: neither %s nor %s is in this folder", folder, single_file, index_file);
    free(single);
    free(index);
    return ok;
}

/* ---- the interface ------------------------------------------------------- */

static safetensors *begin(const char *path)
{
    safetensors *s = mem_alloc(sizeof *s);
    s->path = mem_dup(path);
    return s;
}

static safetensors *finish(safetensors *s, bool ok)
{
    if (ok)
        return s;
    safetensors_close(s);
    return NULL;
}

safetensors *safetensors_open(const char *path, err *e)
{
    safetensors *s = begin(path);
    struct stat info;
    if (stat(path, &info) != 0)
        return finish(s, err_set(e, "%s: %s", path, strerror(errno)));
    if (S_ISDIR(info.st_mode))
        return finish(s, open_folder(s, path, e));
    return finish(s, open_file(s, path, e) && sort_names(s, e));
}

safetensors *safetensors_read(const void *bytes, size_t length, const char *name, err *e)
{
    safetensors *s = begin(name);
    return finish(s, read_file(s, name, bytes, length, e) && sort_names(s, e));
}

safetensors *safetensors_of(const safetensor *tensors, size_t count, const char *name, err *e)
{
    safetensors *s = begin(name);
    for (size_t i = 0; i < count; i++) {
        safetensor *t = add_tensor(s);
        *t = tensors[i];
        t->name = mem_dup(tensors[i].name);
        s->count++;
    }
    return finish(s, sort_names(s, e));
}

void safetensors_close(safetensors *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++) {
        free((char *)s->tensors[i].name);
        if (!find_dtype(s->tensors[i].dtype)) /* a name of the file's own */
            free((char *)s->tensors[i].dtype);
    }
    for (size_t i = 0; i < s->map_count; i++)
        map_close(&s->maps[i]);
    free(s->tensors);
    free(s->maps);
    free(s->path);
    free(s);
}

size_t safetensors_count(const safetensors *s)
{
    return s->count;
}

const safetensor *safetensors_at(const safetensors *s, size_t i)
{
    return &s->tensors[i];
}

bool safetensors_has(const safetensors *s, const char *name)
{
    return look_up(s, name) != NULL;
}

const safetensor *safetensors_any(const safetensors *s, const char *name)
{
    return look_up(s, name);
}

const safetensor *safetensors_find(const safetensors *s, const char *name, err *e)
{
    const safetensor *t = look_up(s, name);
    if (!t) {
        err_set(e, "%s: tensor %s: missing", s->path, name);
        return NULL;
    }
    if (!t->readable) {
        err_set(e, "%s: tensor %s: is of type %s; only F32, F16 and BF16 can be read", s->path, name, t->dtype);
        return NULL;
    }
    return t;
}
