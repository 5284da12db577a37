/* aten_views: operators that only look at elements in another way. */
#include "model/aten_internal.h"

#include <string.h>

static bool lower_same(aten *a)
{
    aten_value x;
    return aten_get(a, aten_has(a, "self") ? "self" : "input", &x) && aten_put(a, &x);
}

/* Sizes of which one may be -1. */
static bool lower_reshape(aten *a)
{
    aten_value x, y;
    int64_t sizes[ATEN_MAX_RANK], known = 1;
    uint32_t dims[ATEN_MAX_RANK];
    if (!aten_get(a, "self", &x))
        return false;
    uint32_t rank = aten_ints(a, aten_has(a, "shape") ? "shape" : "size", sizes, ATEN_MAX_RANK);
    for (uint32_t d = 0; d < rank; d++)
        known *= sizes[d] > 0 ? sizes[d] : 1;
    for (uint32_t d = 0; d < rank; d++)
        dims[d] = (uint32_t)(sizes[d] < 0 ? (int64_t)aten_count(&x) / known : sizes[d]);
    return a->e->kind == ERR_NONE && aten_reshaped(a, &x, rank, dims, &y) && aten_put(a, &y);
}

static bool lower_flatten(aten *a)
{
    aten_value x, y;
    uint32_t first, last, dims[ATEN_MAX_RANK], rank = 0;
    if (!aten_get(a, "self", &x) || !aten_dim(a, aten_int(a, "start_dim", 0), x.rank, &first) ||
        !aten_dim(a, aten_int(a, "end_dim", -1), x.rank, &last))
        return false;
    for (uint32_t d = 0; d < x.rank; d++)
        if (d > first && d <= last)
            dims[rank - 1] *= x.dims[d];
        else
            dims[rank++] = x.dims[d];
    if (rank == 0)
        dims[rank++] = 1;
    return aten_reshaped(a, &x, rank, dims, &y) && aten_put(a, &y);
}

static bool lower_unflatten(aten *a)
{
    aten_value x, y;
    int64_t sizes[ATEN_MAX_RANK], known = 1;
    uint32_t dim, dims[ATEN_MAX_RANK], rank = 0;
    if (!aten_get(a, "self", &x) || !aten_dim(a, aten_int(a, "dim", 0), x.rank, &dim))
        return false;
    uint32_t count = aten_ints(a, "sizes", sizes, ATEN_MAX_RANK);
    if (count == 0 || x.rank - 1 + count > ATEN_MAX_RANK)
        return aten_fail(a, "a tensor of %u dimensions: at most %d are supported", x.rank - 1 + count, ATEN_MAX_RANK);
    for (uint32_t i = 0; i < count; i++)
        known *= sizes[i] > 0 ? sizes[i] : 1;
    for (uint32_t d = 0; d < x.rank; d++)
        if (d != dim)
            dims[rank++] = x.dims[d];
        else
            for (uint32_t i = 0; i < count; i++)
                dims[rank++] = (uint32_t)(sizes[i] < 0 ? x.dims[d] / known : sizes[i]);
    return aten_reshaped(a, &x, rank, dims, &y) && aten_put(a, &y);
}

static bool lower_unsqueeze(aten *a)
{
    aten_value x;
    uint32_t dim;
    if (!aten_get(a, "self", &x) || !aten_dim(a, aten_int(a, "dim", 0), x.rank + 1, &dim))
        return false;
    if (x.rank == ATEN_MAX_RANK)
        return aten_fail(a, "more than %d dimensions", ATEN_MAX_RANK);
    x = aten_unsqueezed(&x, dim);
    return aten_put(a, &x);
}

static bool lower_squeeze(aten *a)
{
    aten_value x;
    int64_t dims[ATEN_MAX_RANK];
    uint32_t which = aten_has(a, "dim") ? 0 : UINT32_MAX, dim;
    if (!aten_get(a, "self", &x))
        return false;
    uint32_t count = aten_ints(a, "dim", dims, ATEN_MAX_RANK);
    for (uint32_t i = 0; i < count; i++) {
        if (!aten_dim(a, dims[i], x.rank, &dim))
            return false;
        which |= 1u << dim;
    }
    for (uint32_t d = x.rank; d-- > 0;)
        if (which >> d & 1 && x.dims[d] == 1)
            x = aten_without_dim(&x, d);
    return aten_put(a, &x);
}

static bool lower_permute(aten *a)
{
    aten_value x;
    int64_t dims[ATEN_MAX_RANK];
    uint32_t order[ATEN_MAX_RANK], seen = 0;
    if (!aten_get(a, "self", &x))
        return false;
    if (aten_ints(a, "dims", dims, ATEN_MAX_RANK) != x.rank)
        return aten_fail(a, "an order of other dimensions");
    for (uint32_t d = 0; d < x.rank; d++) {
        if (!aten_dim(a, dims[d], x.rank, &order[d]))
            return false;
        seen |= 1u << order[d];
    }
    if (seen != (1u << x.rank) - 1)
        return aten_fail(a, "a dimension twice");
    x = aten_permuted(&x, order);
    return aten_put(a, &x);
}

static bool lower_transpose(aten *a)
{
    aten_value x;
    uint32_t first = 0, second = 1, order[ATEN_MAX_RANK];
    bool t = strcmp(a->at->op, "t") == 0;
    if (!aten_get(a, "self", &x))
        return false;
    if (!t &&
        (!aten_dim(a, aten_int(a, "dim0", 0), x.rank, &first) || !aten_dim(a, aten_int(a, "dim1", 1), x.rank, &second)))
        return false;
    for (uint32_t d = 0; d < x.rank; d++)
        order[d] = d;
    if (x.rank > 1) {
        order[first] = second;
        order[second] = first;
    }
    x = aten_permuted(&x, order);
    return aten_put(a, &x);
}

static bool lower_expand(aten *a)
{
    aten_value x, y;
    int64_t sizes[ATEN_MAX_RANK];
    uint32_t dims[ATEN_MAX_RANK];
    if (!aten_get(a, "self", &x))
        return false;
    uint32_t rank = aten_ints(a, "size", sizes, ATEN_MAX_RANK);
    for (uint32_t d = 0; d < rank; d++)
        dims[d] = sizes[d] >= 0 ? (uint32_t)sizes[d] : rank - d <= x.rank ? x.dims[x.rank - (rank - d)] : 1;
    return aten_expanded(a, &x, rank, dims, &y) && aten_put(a, &y);
}

static bool lower_as_other(aten *a)
{
    aten_value x, other, y;
    return aten_get(a, "self", &x) && aten_get(a, "other", &other) &&
           (strcmp(a->at->op, "expand_as") == 0 ? aten_expanded(a, &x, other.rank, other.dims, &y)
                                                : aten_reshaped(a, &x, other.rank, other.dims, &y)) &&
           aten_put(a, &y);
}

/* From `start` on every step-th of dimension dim, before `end`. */
static bool cut(aten *a, aten_value *x, uint32_t dim, int64_t start, int64_t end, int64_t step)
{
    int64_t size = x->dims[dim];
    start = start < 0 ? (start + size < 0 ? 0 : start + size) : start;
    end = end < 0 ? end + size : end > size ? size : end;
    if (step < 1 || start >= end)
        return aten_fail(a, "a slice without elements");
    x->offset += (uint32_t)start * x->strides[dim];
    x->dims[dim] = (uint32_t)((end - start + step - 1) / step);
    x->strides[dim] *= (uint32_t)step;
    return true;
}

static bool lower_slice(aten *a)
{
    aten_value x;
    uint32_t dim;
    return aten_get(a, "self", &x) && aten_dim(a, aten_int(a, "dim", 0), x.rank, &dim) &&
           cut(a, &x, dim, aten_int(a, "start", 0), aten_int(a, "end", INT64_MAX), aten_int(a, "step", 1)) &&
           aten_put(a, &x);
}

static bool lower_narrow(aten *a)
{
    aten_value x;
    uint32_t dim;
    int64_t start = aten_int(a, "start", 0);
    return aten_get(a, "self", &x) && aten_dim(a, aten_int(a, "dim", 0), x.rank, &dim) &&
           cut(a, &x, dim, start, start + aten_int(a, "length", 0), 1) && aten_put(a, &x);
}

static bool lower_select(aten *a)
{
    aten_value x;
    uint32_t dim, at;
    if (!aten_get(a, "self", &x) || !aten_dim(a, aten_int(a, "dim", 0), x.rank, &dim))
        return false;
    if (x.rank == 0)
        return aten_fail(a, "it has no dimensions");
    if (!aten_dim(a, aten_int(a, "index", 0), x.dims[dim], &at))
        return false;
    x.offset += at * x.strides[dim];
    x = aten_without_dim(&x, dim);
    return aten_put(a, &x);
}

static bool lower_unbind(aten *a)
{
    aten_value x;
    uint32_t dim;
    if (!aten_get(a, "self", &x) || !aten_dim(a, aten_int(a, "dim", 0), x.rank, &dim))
        return false;
    for (uint32_t i = 0; i < x.dims[dim]; i++) {
        aten_value y = x;
        y.offset += i * x.strides[dim];
        y = aten_without_dim(&y, dim);
        if (!aten_put_nth(a, i, &y))
            return false;
    }
    return true;
}

/* split, split_with_sizes, chunk. */
static bool lower_split(aten *a)
{
    enum { MOST_PIECES = 64 };
    aten_value x;
    int64_t sizes[MOST_PIECES];
    uint32_t dim, count = 0, start = 0;
    if (!aten_get(a, "self", &x) || !aten_dim(a, aten_int(a, "dim", 0), x.rank, &dim))
        return false;
    bool listed = jsonr_is(aten_arg(a, "split_sizes"), JSONR_LIST) || jsonr_is(aten_arg(a, "split_size"), JSONR_LIST);
    int64_t size = x.dims[dim], chunks = aten_int(a, "chunks", 1);
    if (listed)
        count = aten_ints(a, aten_has(a, "split_sizes") ? "split_sizes" : "split_size", sizes, MOST_PIECES);
    else
        size = aten_has(a, "chunks") && chunks > 0 ? (size + chunks - 1) / chunks : aten_int(a, "split_size", size);
    if (!listed && size < 1)
        return aten_fail(a, "pieces of %lld", (long long)size);
    for (uint32_t i = 0; start < x.dims[dim] && (!listed || i < count); i++) {
        aten_value y = x;
        uint32_t left = x.dims[dim] - start;
        int64_t here = listed ? sizes[i] : size < left ? size : left;
        if (here > left || !cut(a, &y, dim, start, start + here, 1) || !aten_put_nth(a, i, &y))
            return a->e->kind != ERR_NONE ? false : aten_fail(a, "pieces that are larger than the whole");
        start += (uint32_t)here;
    }
    return true;
}

static bool lower_flip(aten *a)
{
    aten_value x;
    int64_t dims[ATEN_MAX_RANK];
    uint32_t dim;
    if (!aten_get(a, "self", &x))
        return false;
    uint32_t count = aten_ints(a, "dims", dims, ATEN_MAX_RANK);
    for (uint32_t i = 0; i < count; i++) {
        if (!aten_dim(a, dims[i], x.rank, &dim))
            return false;
        x.offset += (x.dims[dim] - 1) * x.strides[dim];
        x.strides[dim] = 0u - x.strides[dim];
    }
    return aten_put(a, &x);
}

/* Elements of x in their order, counted by strides of the program's own. */
static bool lower_as_strided(aten *a)
{
    aten_value x, y;
    int64_t sizes[ATEN_MAX_RANK], strides[ATEN_MAX_RANK], offset = aten_int(a, "storage_offset", 0), last = offset;
    if (!aten_get(a, "self", &x) || !aten_contiguous(a, &x, &y))
        return false;
    uint32_t rank = aten_ints(a, "size", sizes, ATEN_MAX_RANK);
    int64_t count = (int64_t)aten_count(&y);
    if (aten_ints(a, "stride", strides, ATEN_MAX_RANK) != rank || offset < 0 || offset >= count)
        return aten_fail(a, "strides of another tensor");
    for (uint32_t d = 0; d < rank; d++) {
        int64_t stride = sizes[d] > 1 ? strides[d] : 0;
        if (sizes[d] < 1 || sizes[d] > UINT32_MAX || stride < 0 ||
            (stride && sizes[d] - 1 > (count - 1 - last) / stride))
            return aten_fail(a, "%lld elements %lld apart in a tensor of %lld", (long long)sizes[d], (long long)stride,
                             (long long)count);
        last += (sizes[d] - 1) * stride;
        y.dims[d] = (uint32_t)sizes[d];
        y.strides[d] = (uint32_t)stride;
    }
    y.rank = rank;
    y.offset += (uint32_t)offset;
    return a->e->kind == ERR_NONE && aten_put(a, &y);
}

/* Another element type; the device and the layout in memory do not matter. */
static bool lower_cast(aten *a)
{
    aten_value x, y, other;
    if (!aten_get(a, "self", &x))
        return false;
    aten_kind kind = aten_has(a, "dtype") ? aten_kind_of((int)aten_int(a, "dtype", ATEN_F32)) : x.kind;
    if (aten_has(a, "other") && aten_get(a, "other", &other))
        kind = other.kind;
    return aten_cast(a, &x, kind, &y) && aten_put(a, &y);
}

const aten_operator aten_view_operators[] = {{"alias", lower_same},
                                             {"detach", lower_same},
                                             {"clone", lower_same},
                                             {"contiguous", lower_same},
                                             {"dropout", lower_same},
                                             {"lift_fresh_copy", lower_same},
                                             {"view", lower_reshape},
                                             {"reshape", lower_reshape},
                                             {"_unsafe_view", lower_reshape},
                                             {"flatten", lower_flatten},
                                             {"unflatten", lower_unflatten},
                                             {"unsqueeze", lower_unsqueeze},
                                             {"squeeze", lower_squeeze},
                                             {"permute", lower_permute},
                                             {"transpose", lower_transpose},
                                             {"t", lower_transpose},
                                             {"expand", lower_expand},
                                             {"expand_as", lower_as_other},
                                             {"view_as", lower_as_other},
                                             {"reshape_as", lower_as_other},
                                             {"slice", lower_slice},
                                             {"narrow", lower_narrow},
                                             {"select", lower_select},
                                             {"unbind", lower_unbind},
                                             {"split", lower_split},
                                             {"split_with_sizes", lower_split},
                                             {"chunk", lower_split},
                                             {"flip", lower_flip},
                                             {"as_strided", lower_as_strided},
                                             {"to", lower_cast},
                                             {"_to_copy", lower_cast},
                                             {"type_as", lower_cast},
                                             {0}};
