/* aten_pools: maxima and means of windows, and of parts. */
#include "model/aten_internal.h"

#include "base/str.h"

#include <string.h>

/* What a pool moves over [n, c, h, w]. */
typedef struct pool_spec {
    aten_window w;
    uint32_t places[2], rank;
} pool_spec;

/* Of one dimension, or of one sample only: as [n, c, h, w], and back. */
static aten_value as_four(const aten_value *x, bool line)
{
    aten_value y = line ? aten_unsqueezed(x, x->rank - 1) : *x;
    return y.rank == 3 ? aten_unsqueezed(&y, 0) : y;
}

static aten_value as_before(const aten_value *y, uint32_t rank, bool line)
{
    aten_value x = line ? aten_without_dim(y, 2) : *y;
    return x.rank > rank ? aten_without_dim(&x, 0) : x;
}

static bool is_line(const aten *a)
{
    return strstr(a->at->op, "pool1d") != NULL;
}

/* The window, and how much is around on the far side so that it fits: less than the padding where it does not move over
 * all, more where places are rounded up. */
static bool read_window(aten *a, const aten_value *x, pool_spec *p)
{
    aten_window *w = &p->w;
    uint32_t rank = is_line(a) ? 3 : 4;
    *p = (pool_spec){.rank = rank, .w = {.dilation = {1, 1}}};
    if (!aten_pair(a, "kernel_size", rank, 1, w->size) || !aten_pair(a, "dilation", rank, 1, w->dilation) ||
        !aten_padding(a, rank, w))
        return false;
    bool has_stride = jsonr_count(aten_arg(a, "stride")) > 0;
    if (!aten_pair(a, has_stride ? "stride" : "kernel_size", rank, 1, w->stride))
        return false;
    for (int i = 0; i < 2; i++) {
        uint32_t size = x->dims[2 + i], reach = w->dilation[i] * (w->size[i] - 1) + 1,
                 all = size + w->before[i] + w->after[i];
        if (w->size[i] == 0 || w->stride[i] == 0 || w->dilation[i] == 0 || reach > all)
            return aten_fail(a, "a window that is larger than what it moves over");
        p->places[i] = (all - reach) / w->stride[i] + 1;
        if (aten_bool(a, "ceil_mode", false) && (all - reach) % w->stride[i] &&
            p->places[i] * w->stride[i] < size + w->before[i]) {
            p->places[i]++;
            w->after[i] += (p->places[i] - 1) * w->stride[i] + reach - all;
        }
    }
    return true;
}

/* Of the numbers of elements in each window, for [places, places], the reciprocals. */
static aten_value reciprocals(aten *a, const aten_value *x, const pool_spec *p)
{
    const aten_window *w = &p->w;
    float *out = mem_floats((uint64_t)p->places[0] * p->places[1]);
    uint32_t after[2] = {0, 0};
    bool pads = aten_bool(a, "count_include_pad", true);
    double divisor = aten_float(a, "divisor_override", 0);
    for (int i = 0; i < 2; i++) /* what rounding up adds does not count */
        after[i] = pads ? w->before[i] : 0;
    for (uint32_t y = 0; y < p->places[0]; y++)
        for (uint32_t z = 0; z < p->places[1]; z++) {
            uint32_t at[2] = {y, z};
            double count = 1;
            for (int i = 0; i < 2; i++) {
                int64_t from = (int64_t)at[i] * w->stride[i] - w->before[i], to = from + w->size[i];
                int64_t end = (int64_t)x->dims[2 + i] + after[i];
                from = !pads && from < 0 ? 0 : from;
                count *= (double)((to < end ? to : end) - from);
            }
            out[(size_t)y * p->places[1] + z] = (float)(1 / (divisor != 0 ? divisor : count));
        }
    return aten_from_floats(a, ATEN_KIND_FLOAT, 2, p->places, out);
}

static bool lower_mean_pool(aten *a)
{
    aten_value x, y, all, counts;
    pool_spec p;
    if (!aten_get(a, "self", &x) || x.rank > 4 || x.rank < (is_line(a) ? 2 : 3))
        return a->e->kind != ERR_NONE ? false : aten_fail(a, "a pool over %u dimensions", x.rank);
    all = as_four(&x, is_line(a));
    if (!read_window(a, &all, &p) || !aten_windows(a, &all, &p.w, 0, &y) ||
        !aten_reduce(a, REDUCE_SUM, &y, 3u << 4, false, &y))
        return false;
    counts = reciprocals(a, &all, &p);
    if (!aten_binary(a, MAP_MUL, &y, &counts, &y))
        return false;
    y = as_before(&y, x.rank, is_line(a));
    return aten_put(a, &y);
}

/* ---- the largest ---------------------------------------------------------------------------------------- */

/* first + place * step + number * dilation, for the places of one direction: the coordinate of an element. */
static bool coordinate(aten *a, const pool_spec *p, int i, const aten_value *number, aten_value *out)
{
    float *first = mem_floats(p->places[i]);
    for (uint32_t k = 0; k < p->places[i]; k++)
        first[k] = (float)((int64_t)k * p->w.stride[i] - p->w.before[i]);
    aten_value place = aten_from_floats(a, ATEN_KIND_INT, 1, &p->places[i], first), scaled;
    if (i == 0)
        place = aten_unsqueezed(&place, 1);
    return aten_with_number(a, MAP_MUL, number, p->w.dilation[i], &scaled) &&
           aten_binary(a, MAP_ADD, &scaled, &place, out);
}

/* Where the largest of each window is: row * width + column. */
static bool where_largest(aten *a, const aten_value *x, const pool_spec *p, const aten_value *windows, aten_value *out)
{
    aten_value at, row, column;
    return aten_reduce(a, REDUCE_ARGMAX, windows, 3u << 4, false, &at) &&
           aten_with_number(a, MAP_DIV, &at, p->w.size[1], &row) &&
           aten_with_number(a, MAP_REMAINDER, &at, p->w.size[1], &column) && coordinate(a, p, 0, &row, &row) &&
           coordinate(a, p, 1, &column, &column) && aten_with_number(a, MAP_MUL, &row, x->dims[3], &row) &&
           aten_binary(a, MAP_ADD, &row, &column, out);
}

static bool lower_max_pool(aten *a)
{
    aten_value x, y, all, at;
    pool_spec p;
    if (!aten_get(a, "self", &x) || x.rank > 4 || x.rank < (is_line(a) ? 2 : 3))
        return a->e->kind != ERR_NONE ? false : aten_fail(a, "a pool over %u dimensions", x.rank);
    all = as_four(&x, is_line(a));
    if (!read_window(a, &all, &p) || !aten_windows(a, &all, &p.w, ATEN_MINUS_INFINITY, &y))
        return false;
    if (aten_asks(a, 1)) {
        if (!where_largest(a, &all, &p, &y, &at))
            return false;
        at = as_before(&at, x.rank, is_line(a));
        if (!aten_put_nth(a, 1, &at))
            return false;
    }
    if (!aten_reduce(a, REDUCE_MAX, &y, 3u << 4, false, &y))
        return false;
    y = as_before(&y, x.rank, is_line(a));
    return aten_put(a, &y);
}

/* Each gradient goes to where the largest was: each element sums those of the places that name it. */
static bool lower_max_pool_backward(aten *a)
{
    aten_value x, grad, at, own, sum, zero = aten_scalar(a, ATEN_KIND_FLOAT, 0);
    pool_spec p;
    if (!aten_get(a, "self", &x) || !aten_get(a, "grad_output", &grad) || !aten_get(a, "indices", &at))
        return false;
    if (x.rank != 4 || !read_window(a, &x, &p))
        return a->e->kind != ERR_NONE ? false : aten_fail(a, "a pool over %u dimensions", x.rank);
    uint32_t places = p.places[0] * p.places[1], size = x.dims[2] * x.dims[3];
    if ((uint64_t)x.dims[0] * x.dims[1] * places * size > 1 << 26)
        return aten_fail(a, "a pool of %u places and %u elements: too many to compare", places, size);
    uint32_t flat[] = {x.dims[0], x.dims[1], 1, places};
    own = aten_count_up(a, size);
    own = aten_unsqueezed(&own, 1);
    return aten_reshaped(a, &grad, 4, flat, &grad) && aten_reshaped(a, &at, 4, flat, &at) &&
           aten_binary(a, MAP_EQ, &at, &own, &at) && aten_choose(a, &at, &grad, &zero, &sum) &&
           aten_reduce(a, REDUCE_SUM, &sum, 1u << 3, false, &sum) && aten_reshaped(a, &sum, 4, x.dims, &sum) &&
           aten_put(a, &sum);
}

/* ---- so many parts, whatever the size ------------------------------------------------------------------- */

/* Part i of `size` elements begins at this one; it ends where the next would, rounded up. */
static uint32_t part_begin(uint32_t i, uint32_t size, uint32_t parts)
{
    return (uint32_t)((uint64_t)i * size / parts);
}

static uint32_t part_end(uint32_t i, uint32_t size, uint32_t parts)
{
    return (uint32_t)((((uint64_t)i + 1) * size + parts - 1) / parts);
}

/* The means of parts of the last dimension: a product with a matrix of weights. */
static bool mean_parts(aten *a, const aten_value *x, uint32_t parts, aten_value *out)
{
    uint32_t size = x->dims[x->rank - 1];
    float *weights = mem_floats((uint64_t)size * parts);
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t from = part_begin(i, size, parts), to = part_end(i, size, parts);
        for (uint32_t k = from; k < to; k++)
            weights[(size_t)k * parts + i] = 1.0f / (float)(to - from);
    }
    aten_value matrix = aten_from_floats(a, ATEN_KIND_FLOAT, 2, (uint32_t[]){size, parts}, weights);
    return aten_matmul(a, x, &matrix, out);
}

/* The largest of parts of the last dimension: each as long as the longest, its last element several times. */
static bool largest_parts(aten *a, const aten_value *x, uint32_t parts, aten_value *out)
{
    uint32_t last = x->rank - 1, size = x->dims[last], longest = 0, stride = x->strides[last];
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t length = part_end(i, size, parts) - part_begin(i, size, parts);
        longest = length > longest ? length : longest;
    }
    float *places = mem_floats((uint64_t)parts * longest);
    for (uint32_t i = 0; i < parts; i++)
        for (uint32_t k = 0; k < longest; k++) {
            uint32_t at = part_begin(i, size, parts) + k, end = part_end(i, size, parts);
            places[(size_t)i * longest + k] = (float)(at < end ? at : end - 1);
        }
    aten_value index = aten_from_floats(a, ATEN_KIND_INT, 2, (uint32_t[]){parts, longest}, places), from = *x;
    if (x->rank == ATEN_MAX_RANK)
        return aten_fail(a, "more than %d dimensions", ATEN_MAX_RANK);
    from = aten_unsqueezed(&from, x->rank);
    from.dims[last] = parts;
    from.dims[last + 1] = longest;
    from.strides[last] = from.strides[last + 1] = 0;
    return aten_take(a, &from, &index, stride, size, &from) &&
           aten_reduce(a, REDUCE_MAX, &from, 1u << (last + 1), false, out);
}

static aten_value with_last(const aten_value *x, uint32_t dim)
{
    uint32_t order[ATEN_MAX_RANK];
    for (uint32_t d = 0; d < x->rank; d++)
        order[d] = d;
    order[dim] = x->rank - 1;
    order[x->rank - 1] = dim;
    return aten_permuted(x, order);
}

/* Parts of one size are a view. */
static bool equal_parts(aten *a, const aten_value *x, const int64_t *sizes, uint32_t given, bool largest,
                        aten_value *out)
{
    uint32_t dims[ATEN_MAX_RANK], which = 0, count = 0;
    for (uint32_t d = 0; d < x->rank; d++) {
        bool pooled = d >= x->rank - given;
        uint32_t parts = pooled ? (uint32_t)sizes[d - (x->rank - given)] : x->dims[d];
        dims[count++] = parts;
        if (pooled) {
            which |= 1u << count;
            dims[count++] = x->dims[d] / parts;
        }
    }
    return aten_reshaped(a, x, count, dims, out) &&
           aten_reduce(a, largest ? REDUCE_MAX : REDUCE_MEAN, out, which, false, out);
}

static bool lower_adaptive_pool(aten *a)
{
    aten_value x;
    int64_t sizes[2];
    bool largest = strstr(a->at->op, "max") != NULL, equal = true;
    if (!aten_get(a, "self", &x))
        return false;
    uint32_t given = aten_ints(a, "output_size", sizes, 2);
    if (!given || given >= x.rank || x.rank + given > ATEN_MAX_RANK)
        return aten_fail(a, "a pool over %u dimensions", x.rank);
    if (largest && aten_asks(a, 1))
        return aten_fail(a, "where the largest are is not supported");
    for (uint32_t i = 0; i < given; i++) {
        uint32_t size = x.dims[x.rank - given + i];
        if (sizes[i] < 1 || sizes[i] > 1 << 20)
            return aten_fail(a, "%u elements become %lld", size, (long long)sizes[i]);
        equal = equal && size % sizes[i] == 0;
    }
    if (equal)
        return equal_parts(a, &x, sizes, given, largest, &x) && aten_put(a, &x);
    for (uint32_t i = 0; i < given; i++) {
        uint32_t dim = x.rank - given + i;
        x = with_last(&x, dim);
        if (!(largest ? largest_parts : mean_parts)(a, &x, (uint32_t)sizes[i], &x))
            return false;
        x = with_last(&x, dim);
    }
    return aten_put(a, &x);
}

const aten_operator aten_pool_operators[] = {{"max_pool1d", lower_max_pool},
                                             {"max_pool2d", lower_max_pool},
                                             {"max_pool2d_with_indices", lower_max_pool},
                                             {"max_pool2d_with_indices_backward", lower_max_pool_backward},
                                             {"avg_pool1d", lower_mean_pool},
                                             {"avg_pool2d", lower_mean_pool},
                                             {"adaptive_avg_pool1d", lower_adaptive_pool},
                                             {"adaptive_avg_pool2d", lower_adaptive_pool},
                                             {"_adaptive_avg_pool2d", lower_adaptive_pool},
                                             {"adaptive_max_pool1d", lower_adaptive_pool},
                                             {"adaptive_max_pool2d", lower_adaptive_pool},
                                             {0}};
