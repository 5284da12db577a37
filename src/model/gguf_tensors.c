/* gguf_tensors: the list of a GGUF file's tensors: reading, checking and finding them. */
#include "base/str.h"
#include "model/gguf_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME_BYTES = 64 }; /* as the format has it */

static bool read_shape(gguf_reader *r, gguf_tensor *t, uint64_t *weights)
{
    if (!gguf_reader_u32(r, &t->dim_count))
        return false;
    if (t->dim_count < 1 || t->dim_count > GGUF_MAX_DIMS)
        return gguf_reader_fail(r, "has %" PRIu32 " dimensions; 1 to %d are possible", t->dim_count, GGUF_MAX_DIMS);
    *weights = 1;
    for (uint32_t i = 0; i < GGUF_MAX_DIMS; i++) {
        t->dims[i] = 1;
        if (i >= t->dim_count)
            continue;
        if (!gguf_reader_u64(r, &t->dims[i]))
            return false;
        if (t->dims[i] == 0)
            return gguf_reader_fail(r, "dimension %" PRIu32 " is 0", i);
        if (t->dims[i] > (uint64_t)INT64_MAX / *weights)
            return gguf_reader_fail(r, "dimension %" PRIu32 " is %" PRIu64 ", which makes it larger than any file", i,
                                    t->dims[i]);
        *weights *= t->dims[i];
    }
    return true;
}

/* `offset` is as the file has it: behind where the data begins. */
static bool read_tensor(gguf_reader *r, gguf_tensor *t, uint32_t alignment)
{
    uint64_t weights = 0;
    uint32_t type = 0;
    if (!read_shape(r, t, &weights) || !gguf_reader_u32(r, &type) || !gguf_reader_u64(r, &t->offset))
        return false;
    const type_info *info = type_find(type);
    if (!info)
        return gguf_reader_fail(r, "type %" PRIu32 " %s", type, type_reason(type));
    t->type = type;
    if (t->dims[0] % info->block_weights)
        return gguf_reader_fail(r, "rows of %" PRIu64 " weights cannot be %s, which comes in blocks of %" PRIu32,
                                t->dims[0], info->name, info->block_weights);
    if (weights / info->block_weights > r->file_bytes / info->block_bytes)
        return gguf_reader_fail(
            r, "%" PRIu64 " weights of type %s are more than the whole file of %" PRIu64 " bytes holds", weights,
            info->name, r->file_bytes);
    t->bytes = type_bytes(t->type, weights);
    if (t->offset % alignment)
        return gguf_reader_fail(r, "its offset %" PRIu64 " is not a multiple of the alignment %" PRIu32, t->offset,
                                alignment);
    return true;
}

static int name_order(const void *a, const void *b)
{
    return gguf_text_order((*(const gguf_tensor *const *)a)->name, (*(const gguf_tensor *const *)b)->name);
}

static int offset_order(const void *a, const void *b)
{
    const gguf_tensor *x = *(const gguf_tensor *const *)a, *y = *(const gguf_tensor *const *)b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* From offsets behind the beginning of the data to places in the file. */
static bool place_tensors(gguf_reader *r, gguf *g, uint64_t data_at)
{
    for (size_t i = 0; i < g->tensor_count; i++) {
        gguf_tensor *t = &g->tensors[i];
        uint64_t room = data_at < r->file_bytes ? r->file_bytes - data_at : 0;
        if (t->offset > room || t->bytes > room - t->offset)
            return err_set(r->e,
                           "%s: tensor '%.*s': %" PRIu64 " bytes at %" PRIu64 " + %" PRIu64
                           " reach past the end of the file (%" PRIu64 " bytes)",
                           r->name, gguf_shown(t->name), t->name.data, t->bytes, data_at, t->offset, r->file_bytes);
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

static bool check_names(const char *file, const gguf_tensor *const *by_name, size_t count, err *e)
{
    for (size_t i = 1; i < count; i++) {
        gguf_text name = by_name[i]->name;
        if (gguf_text_order(by_name[i - 1]->name, name) == 0)
            return err_set(e, "%s: tensor '%.*s': is there twice", file, gguf_shown(name), name.data);
    }
    return true;
}

static bool check_overlaps(gguf_reader *r, const gguf_tensor *const *by_offset, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const gguf_tensor *a = by_offset[i - 1], *b = by_offset[i];
        if (a->bytes > b->offset - a->offset)
            return err_set(r->e, "%s: tensor '%.*s': overlaps tensor '%.*s'", r->name, gguf_shown(b->name),
                           b->name.data, gguf_shown(a->name), a->name.data);
    }
    return true;
}

bool gguf_read_tensors(gguf_reader *r, gguf *g, uint64_t count, uint32_t alignment)
{
    for (uint64_t i = 0; i < count; i++) {
        r->rest -= GGUF_MIN_TENSOR_BYTES;
        g->tensors = gguf_with_room(g->tensors, g->tensor_count, sizeof g->tensors[0]);
        gguf_tensor *t = &g->tensors[g->tensor_count++];
        *t = (gguf_tensor){0};
        if (!gguf_reader_name(r, "tensor", (size_t)i, MAX_NAME_BYTES, &t->name) || !read_tensor(r, t, alignment))
            return false;
    }
    if (!place_tensors(r, g, ((uint64_t)r->at + alignment - 1) / alignment * alignment))
        return false;
    g->by_name = sorted_tensors(g, name_order);
    const gguf_tensor **by_offset = sorted_tensors(g, offset_order);
    bool ok = check_names(r->name, g->by_name, g->tensor_count, r->e) && check_overlaps(r, by_offset, g->tensor_count);
    free(by_offset);
    return ok;
}

bool gguf_adopt_tensors(gguf *g, gguf *const *parts, size_t count, err *e)
{
    size_t total = g->tensor_count;
    for (size_t i = 0; i < count; i++)
        total += parts[i]->tensor_count;
    g->tensors = mem_grow(g->tensors, (total ? total : 1) * sizeof *g->tensors);
    for (size_t i = 0; i < count; i++) {
        if (parts[i]->tensor_count)
            memcpy(&g->tensors[g->tensor_count], parts[i]->tensors, parts[i]->tensor_count * sizeof *g->tensors);
        g->tensor_count += parts[i]->tensor_count;
    }
    free(g->by_name);
    g->by_name = sorted_tensors(g, name_order);
    return check_names(g->name, g->by_name, g->tensor_count, e);
}

/* ---- finding --------------------------------------------------------------- */

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
    return gguf_text_order(*(const gguf_text *)name, (*(const gguf_tensor *const *)item)->name);
}

const gguf_tensor *gguf_find_tensor(const gguf *g, const char *name)
{
    gguf_text text = {name, strlen(name)};
    const gguf_tensor **found = bsearch(&text, g->by_name, g->tensor_count, sizeof g->by_name[0], name_is);
    return found ? *found : NULL;
}
