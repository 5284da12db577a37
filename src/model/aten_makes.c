/* aten_makes: tensors made of nothing: constants. */
#include "model/aten_internal.h"

#include "base/str.h"

#include <string.h>

aten_value aten_count_up(aten *a, uint32_t count)
{
    float *numbers = mem_floats(count);
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = (float)i;
    return aten_from_floats(a, ATEN_KIND_INT, 1, &count, numbers);
}

/* Of the dtype that is asked for, else of the sort of number. */
static aten_kind kind_of_result(aten *a, const char *number, aten_kind otherwise)
{
    aten_value v;
    if (aten_has(a, "dtype"))
        return aten_kind_of((int)aten_int(a, "dtype", ATEN_F32));
    return number && aten_has(a, number) && aten_get(a, number, &v) ? v.kind : otherwise;
}

static bool lower_arange(aten *a)
{
    enum { MOST = 1 << 24 };
    double start = aten_float(a, "start", 0), end = aten_float(a, "end", 0), step = aten_float(a, "step", 1);
    aten_kind kind = kind_of_result(a, "end", ATEN_KIND_INT);
    double count = step != 0 ? (end - start) / step : 0;
    uint32_t size = count > 0 && count < MOST ? (uint32_t)count + (count > (uint32_t)count) : 0;
    if (!size)
        return aten_fail(a, "from %g to %g by %g", start, end, step);
    float *numbers = mem_floats(size);
    for (uint32_t i = 0; i < size; i++)
        numbers[i] = (float)(start + i * step);
    aten_value v = aten_from_floats(a, kind, 1, &size, numbers);
    return aten_put(a, &v);
}

/* full, zeros, ones, empty, and those like another tensor. */
static bool lower_full(aten *a)
{
    const char *op = a->at->op;
    aten_value like, number, out;
    int64_t sizes[ATEN_MAX_RANK];
    uint32_t rank = 0, dims[ATEN_MAX_RANK];
    bool is_like = strstr(op, "_like") != NULL, is_new = strncmp(op, "new_", 4) == 0;
    if ((is_like || is_new) && !aten_get(a, "self", &like))
        return false;
    if (is_like) {
        rank = like.rank;
        memcpy(dims, like.dims, sizeof dims);
    } else
        rank = aten_ints(a, "size", sizes, ATEN_MAX_RANK);
    for (uint32_t d = 0; !is_like && d < rank; d++) {
        if (sizes[d] < 1 || sizes[d] > 1 << 28)
            return aten_fail(a, "a size of %lld", (long long)sizes[d]);
        dims[d] = (uint32_t)sizes[d];
    }
    aten_kind kind =
        kind_of_result(a, is_like || is_new ? NULL : "fill_value", is_like || is_new ? like.kind : ATEN_KIND_FLOAT);
    number = aten_scalar(a, kind, aten_float(a, aten_has(a, "s") ? "s" : "fill_value", strstr(op, "ones") ? 1 : 0));
    return aten_expanded(a, &number, rank, dims, &out) && aten_put(a, &out);
}

/* The part of a matrix on one side of a diagonal. */
static bool lower_triangle(aten *a)
{
    aten_value x, out;
    bool upper = strcmp(a->at->op, "triu") == 0;
    int64_t diagonal = aten_int(a, "diagonal", 0);
    if (!aten_get(a, "self", &x))
        return false;
    if (x.rank < 2)
        return aten_fail(a, "no matrix");
    uint32_t rows = x.dims[x.rank - 2], columns = x.dims[x.rank - 1];
    float *mask = mem_floats((uint64_t)rows * columns);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < columns; c++)
            mask[(size_t)r * columns + c] = upper ? (int64_t)c - r >= diagonal : (int64_t)c - r <= diagonal;
    aten_value in = aten_from_floats(a, ATEN_KIND_BOOL, 2, (uint32_t[]){rows, columns}, mask);
    aten_value zero = aten_scalar(a, x.kind, 0);
    return aten_choose(a, &in, &x, &zero, &out) && aten_put(a, &out);
}

const aten_operator aten_make_operators[] = {{"arange", lower_arange},
                                             {"full", lower_full},
                                             {"full_like", lower_full},
                                             {"zeros", lower_full},
                                             {"zeros_like", lower_full},
                                             {"ones", lower_full},
                                             {"ones_like", lower_full},
                                             {"empty", lower_full},
                                             {"empty_like", lower_full},
                                             {"new_zeros", lower_full},
                                             {"new_ones", lower_full},
                                             {"new_full", lower_full},
                                             {"new_empty", lower_full},
                                             {"scalar_tensor", lower_full},
                                             {"triu", lower_triangle},
                                             {"tril", lower_triangle},
                                             {0}};
