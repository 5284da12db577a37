/* aten_windows: convolutions. The elements under each place of a window are a view with two dimensions more; a convolution
 * is the product of these with its weight. */
#include "model/aten_internal.h"

#include <string.h>

typedef aten_window window;

bool aten_pair(aten *a, const char *name, uint32_t rank, uint32_t otherwise, uint32_t out[2])
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

bool aten_windows(aten *a, const aten_value *x, const window *w, double outside, aten_value *out)
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

bool aten_padding(aten *a, uint32_t rank, window *w)
{
    const char *named = aten_text(a, "padding");
    if (named && strcmp(named, "same") == 0)
        for (int i = 0; i < 2; i++) {
            uint32_t all = w->dilation[i] * (w->size[i] - 1);
            w->before[i] = all / 2;
            w->after[i] = all - all / 2;
        }
    else if (!named && (!aten_pair(a, "padding", rank, 0, w->before) || !aten_pair(a, "padding", rank, 0, w->after)))
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

/* Zeros between neighbours along dim, so that they are `stride` apart. */
static bool spread(aten *a, const aten_value *x, uint32_t dim, uint32_t stride, aten_value *out)
{
    uint32_t dims[ATEN_MAX_RANK], none[ATEN_MAX_RANK] = {0}, size = x->dims[dim];
    aten_value apart = aten_unsqueezed(x, dim + 1);
    *out = *x;
    if (stride == 1 || size == 1)
        return true;
    memcpy(dims, apart.dims, sizeof dims);
    dims[dim + 1] = stride;
    if (!aten_place(a, &apart, none, NULL, 0, dims, &apart))
        return false;
    memcpy(dims, x->dims, sizeof dims);
    dims[dim] = size * stride;
    if (!aten_reshaped(a, &apart, x->rank, dims, out))
        return false;
    out->dims[dim] = (size - 1) * stride + 1;
    return true;
}

static void turn_around(aten_value *x, uint32_t dim)
{
    x->offset += (x->dims[dim] - 1) * x->strides[dim];
    x->strides[dim] = 0u - x->strides[dim];
}

/* A transposed convolution as a plain one: elements a stride apart, the kernel [in, out / groups, kh, kw] turned around,
 * inputs and outputs exchanged. */
static bool transposed(aten *a, aten_value *x, aten_value *weight, window *w, uint32_t rank, uint32_t groups)
{
    uint32_t more[2], in = weight->dims[0], out = weight->dims[1];
    uint32_t split[] = {groups, in / groups, out, w->size[0], w->size[1]},
             dims[] = {groups * out, in / groups, w->size[0], w->size[1]};
    if (!aten_pair(a, "output_padding", rank, 0, more))
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t reach = w->dilation[i] * (w->size[i] - 1);
        if (w->before[i] > reach || more[i] >= (w->stride[i] > w->dilation[i] ? w->stride[i] : w->dilation[i]))
            return aten_fail(a, "a padding of %u and %u for a window of %u", w->before[i], more[i], w->size[i]);
        if (w->stride[i] == 0 || w->stride[i] > 1 << 16 || !spread(a, x, 2 + i, w->stride[i], x))
            return a->e->kind != ERR_NONE ? false : aten_fail(a, "a stride of %u", w->stride[i]);
        w->after[i] = reach - w->before[i] + more[i];
        w->before[i] = reach - w->before[i];
        w->stride[i] = 1;
        turn_around(weight, 2 + i);
    }
    if (!aten_reshaped(a, weight, 5, split, weight))
        return false;
    *weight = aten_permuted(weight, (uint32_t[]){0, 2, 1, 3, 4});
    return aten_reshaped(a, weight, 4, dims, weight);
}

static bool lower_conv(aten *a)
{
    aten_value x, weight, bias, y;
    window w = {0};
    if (!aten_get(a, "input", &x) || !aten_get(a, "weight", &weight))
        return false;
    if ((x.rank != 3 && x.rank != 4) || weight.rank != x.rank)
        return aten_fail(a, "only convolutions of one or two dimensions are supported");
    bool is_transposed = aten_bool(a, "transposed", strncmp(a->at->op, "conv_transpose", 14) == 0);
    uint32_t rank = x.rank;
    if (rank == 3) {
        x = aten_unsqueezed(&x, 2);
        weight = aten_unsqueezed(&weight, 2);
    }
    w.size[0] = weight.dims[2];
    w.size[1] = weight.dims[3];
    int64_t groups = aten_int(a, "groups", 1);
    if (groups < 1 || groups > x.dims[1] || weight.dims[0] % groups ||
        x.dims[1] != (is_transposed ? weight.dims[0] : weight.dims[1] * groups))
        return aten_fail(a, "%lld groups of %u channels", (long long)groups, x.dims[1]);
    if (!aten_pair(a, "stride", rank, 1, w.stride) || !aten_pair(a, "dilation", rank, 1, w.dilation) ||
        !aten_padding(a, rank, &w) || (is_transposed && !transposed(a, &x, &weight, &w, rank, (uint32_t)groups)) ||
        !aten_windows(a, &x, &w, 0, &y))
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

const aten_operator aten_window_operators[] = {{"conv1d", lower_conv},           {"conv2d", lower_conv},
                                               {"conv_transpose1d", lower_conv}, {"conv_transpose2d", lower_conv},
                                               {"convolution", lower_conv},      {0}};
