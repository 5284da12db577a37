/* pt2: finds the files of a .pt2 archive, and the tensors in them. */
#include "model/pt2.h"

#include "base/map.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A value of a tree takes more room than it has text; in a page there are 4 GB for everything. */
enum { MOST_ENTRIES = 1 << 20, MOST_JSON_BYTES = sizeof(size_t) > 4 ? 256 << 20 : 64 << 20 };

typedef struct entry {
    const uint8_t *path, *data; /* below the archive's own folder */
    uint32_t path_length;
    uint64_t bytes;
} entry;

struct pt2 {
    map file;
    bool is_mapped;
    const uint8_t *bytes;
    size_t length;
    entry *entries; /* by their paths */
    uint32_t count;
    jsonr *weights, *constants; /* "config": name -> where it is and what it looks like */
    aten_program *program;
};

bool pt2_is_path(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".pt2") == 0;
}

/* ---- the archive ---------------------------------------------------------------------------------------- */

static uint64_t number(const uint8_t *at, int bytes)
{
    uint64_t n = 0;
    for (int i = bytes - 1; i >= 0; i--)
        n = n << 8 | at[i];
    return n;
}

enum { LOCAL_BYTES = 30, CENTRAL_BYTES = 46, END_BYTES = 22, LOCATOR_BYTES = 20, END64_BYTES = 56, SMALL = 0xffff };
static const uint64_t LARGE = 0xffffffff; /* the real number is in the part for large archives */

/* Where the list of files is. */
static bool find_directory(const pt2 *p, uint64_t *at, uint64_t *bytes, uint64_t *count)
{
    if (p->length < END_BYTES)
        return false;
    for (size_t back = 0; back <= SMALL && p->length >= END_BYTES + back; back++) {
        size_t end = p->length - END_BYTES - back;
        const uint8_t *e = p->bytes + end;
        if (number(e, 4) != 0x06054b50)
            continue;
        *count = number(e + 10, 2);
        *bytes = number(e + 12, 4);
        *at = number(e + 16, 4);
        const uint8_t *l = e - LOCATOR_BYTES;
        if (end >= LOCATOR_BYTES && number(l, 4) == 0x07064b50) {
            uint64_t place = number(l + 8, 8);
            if (place > p->length || p->length - place < END64_BYTES || number(p->bytes + place, 4) != 0x06064b50)
                return false;
            *count = number(p->bytes + place + 32, 8);
            *bytes = number(p->bytes + place + 40, 8);
            *at = number(p->bytes + place + 48, 8);
        }
        return *at <= p->length && *bytes <= p->length - *at && *count <= MOST_ENTRIES;
    }
    return false;
}

/* Sizes of a large file are in an extra field, in this order, those that are missing. */
static void read_large(const uint8_t *extra, uint32_t length, uint64_t *size, uint64_t *packed, uint64_t *at)
{
    for (uint32_t i = 0; i + 4 <= length;) {
        uint32_t kind = (uint32_t)number(extra + i, 2), bytes = (uint32_t)number(extra + i + 2, 2);
        if (bytes > length - i - 4)
            return;
        if (kind == 1) {
            uint64_t *missing[] = {size, packed, at};
            uint32_t from = i + 4, end = from + bytes;
            for (int k = 0; k < 3; k++)
                if (*missing[k] == LARGE && from + 8 <= end) {
                    *missing[k] = number(extra + from, 8);
                    from += 8;
                }
        }
        i += 4 + bytes;
    }
}

static int compare_paths(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    uint32_t shorter = x->path_length < y->path_length ? x->path_length : y->path_length;
    int order = shorter ? memcmp(x->path, y->path, shorter) : 0;
    return order ? order : (x->path_length > y->path_length) - (x->path_length < y->path_length);
}

static void add_entry(pt2 *p, const uint8_t *name, uint32_t length, const uint8_t *data, uint64_t bytes)
{
    const uint8_t *slash = memchr(name, '/', length);
    if (slash)
        p->entries[p->count++] = (entry){slash + 1, data, (uint32_t)(name + length - slash - 1), bytes};
}

static bool sort_entries(pt2 *p, err *e)
{
    qsort(p->entries, p->count, sizeof *p->entries, compare_paths);
    for (uint32_t i = 1; i < p->count; i++)
        if (compare_paths(&p->entries[i - 1], &p->entries[i]) == 0)
            return err_set(e, "it has two files %.*s",
                           (int)(p->entries[i].path_length < 80 ? p->entries[i].path_length : 80),
                           (const char *)p->entries[i].path);
    return true;
}

static bool read_directory(pt2 *p, err *e)
{
    uint64_t at, bytes, count;
    if (!find_directory(p, &at, &bytes, &count))
        return err_set(e, "it is no .pt2 archive, or it is cut");
    p->entries = mem_alloc((count + 1) * sizeof *p->entries);
    const uint8_t *c = p->bytes + at, *end = c + bytes;
    for (uint64_t i = 0; i < count; i++) {
        if (end - c < CENTRAL_BYTES || number(c, 4) != 0x02014b50)
            return err_set(e, "the list of its files is cut");
        uint64_t packed = number(c + 20, 4), size = number(c + 24, 4), local = number(c + 42, 4);
        uint32_t name = (uint32_t)number(c + 28, 2), extra = (uint32_t)number(c + 30, 2);
        uint64_t skip = CENTRAL_BYTES + name + extra + number(c + 32, 2);
        if ((uint64_t)(end - c) < skip)
            return err_set(e, "the list of its files is cut");
        read_large(c + CENTRAL_BYTES + name, extra, &size, &packed, &local);
        if (number(c + 10, 2) != 0 || packed != size || number(c + 8, 2) & 1)
            return err_set(e, "%.*s is compressed: torch.export.save does not do that", (int)(name < 80 ? name : 80),
                           (const char *)c + CENTRAL_BYTES);
        if (local > p->length || p->length - local < LOCAL_BYTES || number(p->bytes + local, 4) != 0x04034b50)
            return err_set(e, "one of its files lies outside of it");
        uint64_t data = local + LOCAL_BYTES + number(p->bytes + local + 26, 2) + number(p->bytes + local + 28, 2);
        if (data > p->length || size > p->length - data)
            return err_set(e, "one of its files lies outside of it");
        add_entry(p, c + CENTRAL_BYTES, name, p->bytes + data, size);
        c += skip;
    }
    return sort_entries(p, e);
}

static const entry *find_entry(const pt2 *p, const char *path)
{
    entry wanted = {.path = (const uint8_t *)path, .path_length = (uint32_t)strlen(path)};
    return bsearch(&wanted, p->entries, p->count, sizeof *p->entries, compare_paths);
}

/* ---- JSON ----------------------------------------------------------------------------------------------- */

static jsonr *read_json(const pt2 *p, const char *path, err *e)
{
    const entry *f = find_entry(p, path);
    if (!f) {
        err_set(e, "it has no %s: torch.export.save of torch 2.8 and later writes that", path);
        return NULL;
    }
    if (f->bytes > MOST_JSON_BYTES) {
        err_set(e, "%s is larger than any program", path);
        return NULL;
    }
    jsonr *json = jsonr_read((const char *)f->data, (size_t)f->bytes, e);
    if (!json)
        err_context(e, "%s", path);
    if (json && !jsonr_is(json, JSONR_OBJECT)) {
        err_set(e, "%s is no object", path);
        jsonr_free(json);
        return NULL;
    }
    return json;
}

static bool find_tensor(void *user, const char *name, aten_tensor *out, err *e)
{
    const pt2 *p = user;
    const jsonr *in[2] = {p->weights, p->constants};
    for (int i = 0; i < 2; i++) {
        const jsonr *found = jsonr_get(jsonr_get(in[i], "config"), name);
        const char *path = jsonr_get_text(found, "path_name");
        if (!found || !path)
            continue;
        if (jsonr_is_true(jsonr_get(found, "use_pickle")))
            return err_set(e, "tensor %.80s is pickled: only plain tensors are supported", name);
        char full[256];
        snprintf(full, sizeof full, "data/%s/%.200s", i ? "constants" : "weights", path);
        const entry *f = find_entry(p, full);
        if (!aten_read_meta(jsonr_get(found, "tensor_meta"), out))
            return err_set(e, "tensor %.80s has a shape that is not supported", name);
        if (!f)
            return err_set(e, "tensor %.80s: there is no %.200s", name, full);
        out->data = f->data;
        out->bytes = f->bytes;
        return true;
    }
    return err_set(e, "there is no tensor %.80s", name);
}

static bool read_program(pt2 *p, err *e)
{
    const entry *order = NULL;
    if (!read_directory(p, e))
        return false;
    order = find_entry(p, "byteorder");
    if (order && (order->bytes < 6 || memcmp(order->data, "little", 6) != 0))
        return err_set(e, "its numbers have the other byte order");
    jsonr *model = read_json(p, "models/model.json", e);
    p->weights = model ? read_json(p, "data/weights/model_weights_config.json", e) : NULL;
    p->constants = p->weights ? read_json(p, "data/constants/model_constants_config.json", e) : NULL;
    const jsonr *major = jsonr_get(jsonr_get(model, "schema_version"), "major");
    if (p->constants && (!jsonr_is(major, JSONR_WHOLE) || jsonr_whole(major) != 8))
        err_set(e, "its schema has version %lld: 8 is supported", (long long)jsonr_whole(major));
    else if (p->constants)
        p->program = aten_program_new(jsonr_get(model, "graph_module"), find_tensor, p, e);
    jsonr_free(model);
    return p->program != NULL;
}

pt2 *pt2_from_bytes(const void *bytes, size_t length, const char *name, err *e)
{
    pt2 *p = mem_alloc(sizeof *p);
    p->bytes = bytes;
    p->length = length;
    if (read_program(p, e))
        return p;
    err_context(e, "%s", name);
    pt2_free(p);
    return NULL;
}

pt2 *pt2_open(const char *path, err *e)
{
    map file;
    if (!map_open(&file, path, e))
        return NULL;
    pt2 *p = pt2_from_bytes(file.bytes, file.length, path, e);
    if (!p) {
        map_close(&file);
        return NULL;
    }
    p->file = file;
    p->is_mapped = true;
    return p;
}

void pt2_free(pt2 *p)
{
    if (!p)
        return;
    aten_program_free(p->program);
    jsonr_free(p->weights);
    jsonr_free(p->constants);
    free(p->entries);
    if (p->is_mapped)
        map_close(&p->file);
    free(p);
}

aten_program *pt2_program(const pt2 *p)
{
    return p->program;
}
