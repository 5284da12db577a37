/* aten_norms: layer norm, RMSNorm and batch norm. */
#include "model/aten_internal.h"

#include <string.h>

static bool reciprocal_deviation(aten *a, const aten_value *var, double epsilon, aten_value *out)
{
    return aten_with_number(a, MAP_ADD, var, epsilon, out) &&
           aten_map(a, (map_spec){.kind = MAP_RSQRT}, ATEN_KIND_FLOAT, out, 1, out);
}

/* One number for each channel, beside x: the channels are dimension 1. */
static aten_value along_channels(const aten_value *v, const aten_value *x)
{
    aten_value y = *v;
    for (uint32_t d = 2; d < x->rank; d++)
        y = aten_unsqueezed(&y, y.rank);
    return y;
}

/* ---- over the last dimensions --------------------------------------------------------------------------- */

/* A weight for each element of a row as a node [length]; ones if there is none. */
static node row_weight(aten *a, const char *name, uint32_t length, bool ones)
{
    aten_value w;
    if (!aten_has(a, name) && !ones)
        return 0;
    if (!aten_has(a, name)) {
        aten_value one = aten_scalar(a, ATEN_KIND_FLOAT, 1), row;
        return aten_expanded(a, &one, 1, &length, &row) ? aten_in_shape(a, &row, shape1(length)) : 0;
    }
    return aten_get(a, name, &w) ? aten_in_shape(a, &w, shape1(length)) : 0;
}

/* What backward passes want to know: the means, and the reciprocals of the deviations. */
static bool put_statistics(aten *a, const aten_value *x, uint32_t count, float epsilon)
{
    aten_value mean, rest, var;
    uint32_t which = ((1u << count) - 1) << (x->rank - count);
    if (!aten_asks(a, 1) && !aten_asks(a, 2))
        return true;
    return aten_reduce(a, REDUCE_MEAN, x, which, true, &mean) && aten_binary(a, MAP_SUB, x, &mean, &rest) &&
           aten_unary(a, UNARY_SQUARE, &rest, &rest) && aten_reduce(a, REDUCE_MEAN, &rest, which, true, &var) &&
           reciprocal_deviation(a, &var, epsilon, &var) && aten_put_nth(a, 1, &mean) && aten_put_nth(a, 2, &var);
}

static bool lower_norm(aten *a)
{
    aten_value x;
    int64_t sizes[ATEN_MAX_RANK];
    bool rms = strcmp(a->at->op, "rms_norm") == 0;
    if (!aten_get(a, "input", &x))
        return false;
    uint32_t count = aten_ints(a, "normalized_shape", sizes, ATEN_MAX_RANK), length = 1;
    if (count == 0 || count > x.rank)
        return aten_fail(a, "a norm over %u of %u dimensions", count, x.rank);
    for (uint32_t i = 0; i < count; i++)
        length *= x.dims[x.rank - 1 - i];
    node rows = aten_in_shape(a, &x, shape2((uint32_t)(aten_count(&x) / length), length));
    node weight = row_weight(a, "weight", length, true), bias = row_weight(a, "bias", length, false);
    aten_value out = aten_shaped(ATEN_KIND_FLOAT, x.rank, x.dims);
    float epsilon = (float)aten_float(a, "eps", rms ? 1.1920929e-7 : 1e-5);
    if (rows && weight)
        out.n =
            rms ? graph_rmsnorm(a->g, rows, weight, epsilon, 0) : graph_layernorm(a->g, rows, weight, bias, epsilon);
    return (out.n || aten_fail(a, "it cannot be computed")) && aten_put(a, &out) &&
           (rms || put_statistics(a, &x, count, epsilon));
}

/* x with one number for each channel, if they are there. */
static bool with_channels(aten *a, const char *name, map_kind kind, aten_value *x)
{
    aten_value each;
    if (!aten_has(a, name))
        return true;
    if (!aten_get(a, name, &each))
        return false;
    each = along_channels(&each, x);
    return aten_binary(a, kind, x, &each, x);
}

/* Of groups of channels: [n, groups, the rest] without its mean, then by channel. */
static bool lower_group_norm(aten *a)
{
    aten_value x, rows, mean, rest, var;
    int64_t groups = aten_int(a, "group", 1);
    if (!aten_get(a, "input", &x) || x.rank < 2 || groups < 1 || groups > x.dims[1] || x.dims[1] % groups)
        return a->e->kind != ERR_NONE ? false : aten_fail(a, "%lld groups of channels", (long long)groups);
    uint32_t of_rows[] = {x.dims[0], (uint32_t)groups, (uint32_t)(aten_count(&x) / x.dims[0] / groups)};
    if (!aten_reshaped(a, &x, 3, of_rows, &rows) || !aten_reduce(a, REDUCE_MEAN, &rows, 1u << 2, true, &mean) ||
        !aten_binary(a, MAP_SUB, &rows, &mean, &rest) || !aten_unary(a, UNARY_SQUARE, &rest, &var) ||
        !aten_reduce(a, REDUCE_MEAN, &var, 1u << 2, true, &var) ||
        !reciprocal_deviation(a, &var, aten_float(a, "eps", 1e-5), &var) ||
        !aten_binary(a, MAP_MUL, &rest, &var, &rest) || !aten_reshaped(a, &rest, x.rank, x.dims, &rest))
        return false;
    if (!with_channels(a, "weight", MAP_MUL, &rest) || !with_channels(a, "bias", MAP_ADD, &rest))
        return false;
    mean = aten_without_dim(&mean, 2);
    var = aten_without_dim(&var, 2);
    return aten_put(a, &rest) && aten_put_nth(a, 1, &mean) && aten_put_nth(a, 2, &var);
}

/* ---- over all but the channels -------------------------------------------------------------------------- */

static bool scale_and_shift(aten *a, aten_value *scale, aten_value *shift, bool *shifts)
{
    aten_value weight;
    if (aten_has(a, "weight") && (!aten_get(a, "weight", &weight) || !aten_binary(a, MAP_MUL, scale, &weight, scale)))
        return false;
    *shifts = aten_has(a, "bias");
    if (!*shifts)
        return true;
    return aten_get(a, "bias", shift);
}

/* x * w / sqrt(var + eps) + (b - mean * w / sqrt(var + eps)): constants, one for each channel. */
static bool by_running_statistics(aten *a, const aten_value *x)
{
    aten_value mean, scale, shift, bias, y;
    bool shifts;
    if (!aten_get(a, "running_mean", &mean) || !aten_get(a, "running_var", &scale) ||
        !reciprocal_deviation(a, &scale, aten_float(a, "eps", 1e-5), &scale) ||
        !scale_and_shift(a, &scale, &bias, &shifts))
        return false;
    if (!aten_binary(a, MAP_MUL, &mean, &scale, &shift) || !aten_unary(a, UNARY_NEG, &shift, &shift) ||
        (shifts && !aten_binary(a, MAP_ADD, &shift, &bias, &shift)))
        return false;
    scale = along_channels(&scale, x);
    shift = along_channels(&shift, x);
    return aten_binary(a, MAP_MUL, x, &scale, &y) && aten_binary(a, MAP_ADD, &y, &shift, &y) && aten_put(a, &y);
}

/* before + (now * factor - before) * momentum, as the nth result. */
static bool put_running(aten *a, uint32_t nth, const char *name, const aten_value *now, double factor)
{
    aten_value before, part;
    double momentum = aten_float(a, "momentum", 0.1);
    if (!aten_asks(a, nth))
        return true;
    return aten_get(a, name, &before) && aten_with_number(a, MAP_MUL, now, factor * momentum, &part) &&
           aten_with_number(a, MAP_MUL, &before, 1 - momentum, &before) &&
           aten_binary(a, MAP_ADD, &before, &part, &before) && aten_put_nth(a, nth, &before);
}

/* By the batch's own mean and variance; results are also these and what becomes of the running ones. */
static bool by_own_statistics(aten *a, const aten_value *x, bool functional)
{
    aten_value mean, rest, var, scale, shift, y;
    bool shifts;
    uint32_t dims = ((1u << x->rank) - 1) & ~2u, channels[] = {x->dims[1]},
             reserved = strstr(a->at->op, "update") != NULL;
    double count = (double)(aten_count(x) / x->dims[1]);
    if (!aten_reduce(a, REDUCE_MEAN, x, dims, true, &mean) || !aten_binary(a, MAP_SUB, x, &mean, &rest) ||
        !aten_unary(a, UNARY_SQUARE, &rest, &var) || !aten_reduce(a, REDUCE_MEAN, &var, dims, false, &var) ||
        !aten_reshaped(a, &mean, 1, channels, &mean) ||
        !reciprocal_deviation(a, &var, aten_float(a, "eps", 1e-5), &scale) || !aten_put_nth(a, 1, &mean) ||
        !aten_put_nth(a, 2, &scale) || !scale_and_shift(a, &scale, &shift, &shifts))
        return false;
    scale = along_channels(&scale, x);
    if (!aten_binary(a, MAP_MUL, &rest, &scale, &y))
        return false;
    if (shifts) {
        shift = along_channels(&shift, x);
        if (!aten_binary(a, MAP_ADD, &y, &shift, &y))
            return false;
    }
    return aten_put(a, &y) &&
           (!functional || (put_running(a, 3 + reserved, "running_mean", &mean, 1) &&
                            put_running(a, 4 + reserved, "running_var", &var, count > 1 ? count / (count - 1) : 1)));
}

static bool lower_batch_norm(aten *a)
{
    aten_value x;
    bool functional = strstr(a->at->op, "functional") != NULL, updates = strstr(a->at->op, "update") != NULL;
    bool training = aten_bool(a, "training", updates);
    if (!aten_get(a, "input", &x) || x.rank < 2)
        return a->e->kind != ERR_NONE ? false : aten_fail(a, "it has no channels");
    if (!training)
        return by_running_statistics(a, &x);
    if (!functional && aten_has(a, "running_mean"))
        return aten_fail(a, "it changes its statistics while it is trained: export with run_decompositions()");
    return by_own_statistics(a, &x, functional);
}

const aten_operator aten_norm_operators[] = {{"layer_norm", lower_norm},
                                             {"native_layer_norm", lower_norm},
                                             {"rms_norm", lower_norm},
                                             {"native_group_norm", lower_group_norm},
                                             {"batch_norm", lower_batch_norm},
                                             {"_native_batch_norm_legit", lower_batch_norm},
                                             {"_native_batch_norm_legit_functional", lower_batch_norm},
                                             {"_native_batch_norm_legit_no_training", lower_batch_norm},
                                             {"_batch_norm_with_update_functional", lower_batch_norm},
                                             {0}};
