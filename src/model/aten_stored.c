/* aten_stored: parameters, buffers and constants as a file has them. */
#include "model/aten_internal.h"

#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* {"as_int": 3}; sizes that are known only at run time are {"as_expr": ..}. */
static bool read_ints(const jsonr *list, uint64_t *out, uint32_t *count)
{
    *count = jsonr_count(list);
    if (!jsonr_is(list, JSONR_LIST) || jsonr_count(list) > ATEN_MAX_RANK)
        return false;
    for (uint32_t i = 0; i < *count; i++) {
        const jsonr *number = jsonr_get(jsonr_at(list, i), "as_int");
        if (!jsonr_is(number, JSONR_WHOLE) || jsonr_whole(number) < 0 || jsonr_whole(number) > UINT32_MAX / 4)
            return false;
        out[i] = (uint64_t)jsonr_whole(number);
    }
    return true;
}

bool aten_read_meta(const jsonr *meta, aten_tensor *out)
{
    uint64_t sizes[ATEN_MAX_RANK], count = 1;
    uint32_t strides;
    const jsonr *offset = jsonr_get(jsonr_get(meta, "storage_offset"), "as_int");
    *out = (aten_tensor){.type = (int)jsonr_whole(jsonr_get(meta, "dtype"))};
    if (!read_ints(jsonr_get(meta, "sizes"), sizes, &out->rank) ||
        !read_ints(jsonr_get(meta, "strides"), out->strides, &strides) || strides != out->rank)
        return false;
    out->offset = jsonr_is(offset, JSONR_WHOLE) && jsonr_whole(offset) > 0 ? (uint64_t)jsonr_whole(offset) : 0;
    for (uint32_t d = 0; d < out->rank; d++) {
        out->dims[d] = (uint32_t)sizes[d];
        count *= sizes[d];
        if (count == 0 || count > UINT32_MAX / 4)
            return false;
    }
    return out->offset <= UINT32_MAX / 4;
}

static double element(const aten_tensor *t, uint64_t i)
{
    const char *at = (const char *)t->data + i * aten_type_bytes(t->type);
    int64_t whole = 0;
    double d;
    switch (t->type) {
    case ATEN_F64: memcpy(&d, at, sizeof d); return d;
    case ATEN_I64: memcpy(&whole, at, 8); return (double)whole;
    case ATEN_I32: {
        int32_t number;
        memcpy(&number, at, sizeof number);
        return number;
    }
    case ATEN_I16: {
        int16_t number;
        memcpy(&number, at, sizeof number);
        return number;
    }
    case ATEN_I8: return *(const int8_t *)at;
    default: return *(const uint8_t *)at;
    }
}

/* A stored tensor as a value. Floats stay where they are, other types become floats. */
bool aten_stored_value(aten *a, const char *name, const aten_tensor *t, aten_value *out)
{
    uint32_t bytes = aten_type_bytes(t->type);
    uint64_t count = bytes ? t->bytes / bytes : 0, last = t->offset;
    *out = (aten_value){.kind = aten_kind_of(t->type), .rank = t->rank, .offset = (uint32_t)t->offset};
    for (uint32_t d = 0; d < t->rank; d++) {
        out->dims[d] = t->dims[d];
        out->strides[d] = (uint32_t)t->strides[d];
        last += (t->dims[d] - 1) * t->strides[d];
    }
    if (!bytes)
        return err_set(a->e, "tensor %.80s: elements of torch's type %d are not supported", name, t->type);
    if (last >= count || count > UINT32_MAX / 4)
        return err_set(a->e, "tensor %.80s is larger than its data", name);
    bool as_it_is = t->type == ATEN_F32 || t->type == ATEN_F16 || t->type == ATEN_BF16;
    tensor_type type = t->type == ATEN_F16 ? TYPE_F16 : t->type == ATEN_BF16 ? TYPE_BF16 : TYPE_F32;
    if (as_it_is && (uintptr_t)t->data % bytes)
        return err_set(a->e, "tensor %.80s is not aligned", name);
    for (uint32_t i = 0; as_it_is && i < a->constant_count; i++)
        if (a->constants[i].data == t->data && a->constants[i].type == type && a->constants[i].count == count) {
            out->constant = i + 1; /* weights that are tied */
            return true;
        }
    float *floats = as_it_is ? NULL : mem_floats(count);
    for (uint64_t i = 0; floats && i < count; i++) {
        double number = element(t, i);
        if (t->type != ATEN_F64 && fabs(number) > 1 << 24) {
            free(floats);
            return err_set(a->e, "tensor %.80s has the integer %.0f: more than 2^24 is not supported", name, number);
        }
        floats[i] = (float)number;
    }
    out->constant = aten_add_constant(a, name, floats ? (const void *)floats : t->data, floats, type, count);
    return true;
}
