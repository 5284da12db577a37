/* aten_windows: convolutions and pools. The elements under each place of a window are a view with two dimensions more;
 * a convolution is the product of these with its weight. */
#include "model/aten_internal.h"

#include <math.h>
#include <string.h>

typedef struct window {
    uint32_t size[2], stride[2], before[2], after[2], dilation[2];
} window;

/* One number for both directions, or two; in one dimension only the second counts. */
static bool pair(aten *a, const char *name, uint32_t rank, uint32_t otherwise, uint32_t out[2])
{
    int64_t numbers[2] = {otherwise, otherwise};
    uint32_t count = aten_ints(a, name, numbers, 2);
    if (a->e->kind != ERR_NONE)
        return false;
    if (count == 0 || count == 1)
        numbers[count ? 1 : 0] = numbers[0];
    for (int i = 0; i < 2; i++) {
        if (numbers[i] < 0 || numbers[i] > 1 << 20)
            return aten_fail(a, "%s of %lld", name, (long long)numbers[i]);
        out[i] = (uint32_t)numbers[i];
    }
    if (rank == 3)
        out[0] = otherwise;
    return true;
}

/* [.., h, w] with something around it, as [.., places, places, window, window]: 2 leading dimensions. */
static bool windows(aten *a, const aten_value *x, const window *w, double outside, aten_value *out)
{
    aten_value padded = *x;
    uint32_t first[ATEN_MAX_RANK] = {0}, dims[ATEN_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    for (int i = 0; i < 2; i++) {
        first[2 + i] = w->before[i];
        dims[2 + i] += w->before[i] + w->after[i];
    }
    bool pads = w->before[0] || w->before[1] || w->after[0] || w->after[1];
    if (pads && !aten_place(a, x, first, NULL, outside, dims, &padded))
        return false;
    *out = padded;
    out->rank = 6;
    for (int i = 0; i < 2; i++) {
        uint32_t reach = w->dilation[i] * (w->size[i] - 1) + 1;
        if (w->size[i] == 0 || w->stride[i] == 0 || w->dilation[i] == 0 || reach > padded.dims[2 + i])
            return aten_fail(a, "a window that is larger than what it moves over");
        out->dims[2 + i] = (padded.dims[2 + i] - reach) / w->stride[i] + 1;
        out->strides[2 + i] = w->stride[i] * padded.strides[2 + i];
        out->dims[4 + i] = w->size[i];
        out->strides[4 + i] = w->dilation[i] * padded.strides[2 + i];
    }
    return true;
}

static bool set_padding(aten *a, uint32_t rank, window *w)
{
    const char *named = aten_text(a, "padding");
    if (named && strcmp(named, "same") == 0)
        for (int i = 0; i < 2; i++) {
            uint32_t all = w->dilation[i] * (w->size[i] - 1);
            w->before[i] = all / 2;
            w->after[i] = all - all / 2;
        }
    else if (!named && (!pair(a, "padding", rank, 0, w->before) || !pair(a, "padding", rank, 0, w->after)))
        return false;
    return true;
}

/* The product of [rows, c * kh * kw] with the weight [o, c * kh * kw], or of each group of both. */
static bool multiply(aten *a, const aten_value *columns, const aten_value *weight, uint32_t groups, aten_value *out)
{
    uint32_t outputs = weight->dims[0], length = weight->dims[1] * weight->dims[2] * weight->dims[3];
    uint32_t rows = columns->dims[0] * columns->dims[1] * columns->dims[2];
    uint32_t flat[] = {rows, length}, matrix[] = {outputs, length};
    aten_value x, w;
    if (groups == 1) {
        if (!aten_reshaped(a, columns, 2, flat, &x) || !aten_reshaped(a, weight, 2, matrix, &w))
            return false;
        w = aten_permuted(&w, (uint32_t[]){1, 0});
        return aten_matmul(a, &x, &w, out);
    }
    uint32_t by_group[] = {rows, groups, 1, length}, matrices[] = {1, groups, outputs / groups, length};
    uint32_t all[] = {rows, outputs};
    if (!aten_reshaped(a, columns, 4, by_group, &x) || !aten_reshaped(a, weight, 4, matrices, &w))
        return false;
    w = aten_permuted(&w, (uint32_t[]){0, 1, 3, 2});
    return aten_matmul(a, &x, &w, out) && aten_reshaped(a, out, 2, all, out);
}

static bool lower_conv(aten *a)
{
    aten_value x, weight, bias, y;
    window w = {0};
    if (!aten_get(a, "input", &x) || !aten_get(a, "weight", &weight))
        return false;
    if (aten_bool(a, "transposed", false) || (x.rank != 3 && x.rank != 4) || weight.rank != x.rank)
        return aten_fail(a, "only convolutions of one or two dimensions are supported, none that are transposed");
    uint32_t rank = x.rank;
    if (rank == 3) {
        x = aten_unsqueezed(&x, 2);
        weight = aten_unsqueezed(&weight, 2);
    }
    w.size[0] = weight.dims[2];
    w.size[1] = weight.dims[3];
    int64_t groups = aten_int(a, "groups", 1);
    if (groups < 1 || groups > x.dims[1] || x.dims[1] != weight.dims[1] * groups || weight.dims[0] % groups)
        return aten_fail(a, "%lld groups of %u channels", (long long)groups, x.dims[1]);
    if (!pair(a, "stride", rank, 1, w.stride) || !pair(a, "dilation", rank, 1, w.dilation) ||
        !set_padding(a, rank, &w) || !windows(a, &x, &w, 0, &y))
        return false;
    uint32_t dims[] = {y.dims[0], y.dims[2], y.dims[3], weight.dims[0]};
    y = aten_permuted(&y, (uint32_t[]){0, 2, 3, 1, 4, 5});
    if (!multiply(a, &y, &weight, (uint32_t)groups, &y))
        return false;
    if (aten_has(a, "bias") && (!aten_get(a, "bias", &bias) || !aten_binary(a, MAP_ADD, &y, &bias, &y)))
        return false;
    if (!aten_reshaped(a, &y, 4, dims, &y))
        return false;
    y = aten_permuted(&y, (uint32_t[]){0, 3, 1, 2});
    if (rank == 3)
        y = aten_without_dim(&y, 2);
    return aten_put(a, &y);
}

static bool lower_pool(aten *a)
{
    aten_value x, y;
    window w = {.dilation = {1, 1}};
    bool largest = strncmp(a->at->op, "max", 3) == 0;
    if (!aten_get(a, "self", &x))
        return false;
    if (x.rank != 4)
        return aten_fail(a, "a pool over %u dimensions", x.rank);
    if (!pair(a, "kernel_size", 4, 1, w.size) || !pair(a, "dilation", 4, 1, w.dilation) || !set_padding(a, 4, &w))
        return false;
    bool has_stride = json_array_size(aten_arg(a, "stride")) > 0;
    if (has_stride ? !pair(a, "stride", 4, 1, w.stride) : !pair(a, "kernel_size", 4, 1, w.stride))
        return false;
    bool pads = w.before[0] || w.before[1];
    if (aten_bool(a, "ceil_mode", false) || (!largest && pads && !aten_bool(a, "count_include_pad", true)) ||
        aten_has(a, "divisor_override"))
        return aten_fail(a, "this form of it is not supported");
    return windows(a, &x, &w, largest ? ATEN_MINUS_INFINITY : 0, &y) &&
           aten_reduce(a, largest ? REDUCE_MAX : REDUCE_MEAN, &y, 3u << 4, false, &y) && aten_put(a, &y);
}

/* Windows that fit without a remainder. */
static bool lower_adaptive_pool(aten *a)
{
    aten_value x;
    int64_t sizes[2];
    uint32_t dims[ATEN_MAX_RANK], which = 0, count = 0;
    if (!aten_get(a, "self", &x))
        return false;
    uint32_t given = aten_ints(a, "output_size", sizes, 2);
    if (!given || given >= x.rank || x.rank + given > ATEN_MAX_RANK)
        return aten_fail(a, "a pool over %u dimensions", x.rank);
    for (uint32_t d = 0; d < x.rank; d++) {
        bool pooled = d >= x.rank - given;
        int64_t size = pooled ? sizes[d - (x.rank - given)] : x.dims[d];
        if (size < 1 || x.dims[d] % size)
            return aten_fail(a, "%u elements become %lld: only windows of one size are supported", x.dims[d],
                             (long long)size);
        dims[count++] = (uint32_t)size;
        if (pooled) {
            which |= 1u << count;
            dims[count++] = x.dims[d] / (uint32_t)size;
        }
    }
    return aten_reshaped(a, &x, count, dims, &x) && aten_reduce(a, REDUCE_MEAN, &x, which, false, &x) &&
           aten_put(a, &x);
}

const aten_operator aten_window_operators[] = {{"conv1d", lower_conv},
                                               {"conv2d", lower_conv},
                                               {"convolution", lower_conv},
                                               {"max_pool2d", lower_pool},
                                               {"max_pool2d_with_indices", lower_pool},
                                               {"avg_pool2d", lower_pool},
                                               {"adaptive_avg_pool2d", lower_adaptive_pool},
                                               {"_adaptive_avg_pool2d", lower_adaptive_pool},
                                               {"adaptive_avg_pool1d", lower_adaptive_pool},
                                               {0}};
