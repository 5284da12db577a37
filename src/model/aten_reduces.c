/* aten_reduces: numbers of several elements: sums, means, maxima, softmax, norms. */
#include "model/aten_internal.h"

#include "base/str.h"

#include <math.h>
#include <string.h>

/* The dimensions that an argument names, as bits; all of them if it names none. */
static bool which_dims(aten *a, const char *name, uint32_t rank, uint32_t *which)
{
    int64_t dims[ATEN_MAX_RANK];
    uint32_t count = aten_ints(a, name, dims, ATEN_MAX_RANK), dim;
    *which = count ? 0 : (1u << rank) - 1;
    for (uint32_t i = 0; i < count; i++) {
        if (!aten_dim(a, dims[i], rank, &dim))
            return false;
        *which |= rank ? 1u << dim : 0;
    }
    return a->e->kind == ERR_NONE;
}

/* Over no dimension at all a number is its own sum. */
static bool reduce(aten *a, reduce_kind kind, const aten_value *x, uint32_t which, bool keep, aten_value *out)
{
    aten_value number = *x;
    if (x->rank)
        return aten_reduce(a, kind, x, which, keep, out);
    if (kind == REDUCE_ARGMAX)
        number = aten_scalar(a, ATEN_KIND_INT, 0);
    *out = number;
    return true;
}

static bool lower_sum(aten *a)
{
    aten_value x, out;
    uint32_t which;
    reduce_kind kind = strcmp(a->at->op, "mean") == 0 ? REDUCE_MEAN : REDUCE_SUM;
    if (!aten_get(a, "self", &x) || !which_dims(a, "dim", x.rank, &which))
        return false;
    aten_kind result = aten_has(a, "dtype")        ? aten_kind_of((int)aten_int(a, "dtype", ATEN_F32))
                       : x.kind == ATEN_KIND_FLOAT ? ATEN_KIND_FLOAT
                                                   : ATEN_KIND_INT;
    return aten_cast(a, &x, ATEN_KIND_FLOAT, &x) && reduce(a, kind, &x, which, aten_bool(a, "keepdim", false), &out) &&
           aten_cast(a, &out, result, &out) && aten_put(a, &out);
}

/* The largest, or the smallest: that is the largest of the negated ones. */
static bool extreme(aten *a, const aten_value *x, bool smallest, reduce_kind kind, uint32_t which, bool keep,
                    aten_value *out)
{
    aten_value floats;
    if (!aten_cast(a, x, ATEN_KIND_FLOAT, &floats) || (smallest && !aten_unary(a, UNARY_NEG, &floats, &floats)) ||
        !reduce(a, kind, &floats, which, keep, out))
        return false;
    if (kind == REDUCE_ARGMAX)
        return true;
    return (!smallest || aten_unary(a, UNARY_NEG, out, out)) && aten_cast(a, out, x->kind, out);
}

static bool lower_extreme(aten *a)
{
    aten_value x, out, other;
    uint32_t which;
    const char *op = a->at->op;
    bool keep = aten_bool(a, "keepdim", false), smallest = strcmp(op, "amin") == 0 || strcmp(op, "min") == 0;
    if (aten_has(a, "other")) { /* of two tensors */
        return aten_get(a, "self", &x) && aten_get(a, "other", &other) &&
               aten_binary(a, smallest ? MAP_MIN : MAP_MAX, &x, &other, &out) && aten_put(a, &out);
    }
    if (!aten_get(a, "self", &x) || !which_dims(a, "dim", x.rank, &which) ||
        !extreme(a, &x, smallest, REDUCE_MAX, which, keep, &out) || !aten_put(a, &out))
        return false;
    bool has_places = aten_has(a, "dim") && op[0] == 'm';
    return !has_places || (extreme(a, &x, smallest, REDUCE_ARGMAX, which, keep, &out) && aten_put_nth(a, 1, &out));
}

static bool lower_argmax(aten *a)
{
    aten_value x, out;
    uint32_t which;
    return aten_get(a, "self", &x) && which_dims(a, "dim", x.rank, &which) &&
           extreme(a, &x, strcmp(a->at->op, "argmin") == 0, REDUCE_ARGMAX, which, aten_bool(a, "keepdim", false),
                   &out) &&
           aten_put(a, &out);
}

static bool lower_any(aten *a)
{
    aten_value x, out;
    uint32_t which;
    return aten_get(a, "self", &x) && which_dims(a, "dim", x.rank, &which) && aten_cast(a, &x, ATEN_KIND_BOOL, &x) &&
           extreme(a, &x, strcmp(a->at->op, "all") == 0, REDUCE_MAX, which, aten_bool(a, "keepdim", false), &out) &&
           aten_put(a, &out);
}

/* The mean of squares of what is left without the mean; less `correction` of the count. */
static bool lower_var(aten *a)
{
    aten_value x, mean, out;
    uint32_t which;
    bool keep = aten_bool(a, "keepdim", false);
    if (!aten_get(a, "self", &x) || !which_dims(a, "dim", x.rank, &which))
        return false;
    double count = 1,
           less = aten_has(a, "correction") ? aten_float(a, "correction", 1) : aten_bool(a, "unbiased", true);
    for (uint32_t d = 0; d < x.rank; d++)
        count *= which >> d & 1 ? x.dims[d] : 1;
    bool ok = reduce(a, REDUCE_MEAN, &x, which, true, &mean) && aten_binary(a, MAP_SUB, &x, &mean, &x) &&
              aten_unary(a, UNARY_SQUARE, &x, &x) && reduce(a, REDUCE_SUM, &x, which, keep, &out) &&
              aten_with_number(a, MAP_MUL, &out, 1 / (count - less), &out);
    if (ok && strncmp(a->at->op, "std", 3) == 0)
        ok = aten_unary(a, UNARY_SQRT, &out, &out);
    if (!ok || !aten_put(a, &out) || !strstr(a->at->op, "_mean"))
        return ok && a->e->kind == ERR_NONE;
    return aten_reshaped(a, &mean, out.rank, out.dims, &mean) && aten_put_nth(a, 1, &mean);
}

/* ---- along a dimension -------------------------------------------------------------------------------------- */

/* Brings dimension dim to the end, and back. */
static aten_value with_last(const aten_value *x, uint32_t dim)
{
    uint32_t order[ATEN_MAX_RANK];
    for (uint32_t d = 0; d < x->rank; d++)
        order[d] = d;
    if (x->rank) {
        order[dim] = x->rank - 1;
        order[x->rank - 1] = dim;
    }
    return aten_permuted(x, order);
}

static bool softmax_last(aten *a, const aten_value *x, aten_value *out)
{
    node rows = aten_rows(a, x);
    *out = aten_shaped(ATEN_KIND_FLOAT, x->rank, x->dims);
    out->n = rows ? graph_softmax(a->g, rows, 1) : 0;
    return out->n != 0;
}

static bool lower_softmax(aten *a)
{
    aten_value x, out, most, sum;
    uint32_t dim;
    if (!aten_get(a, "self", &x) || !aten_dim(a, aten_int(a, "dim", -1), x.rank, &dim) ||
        !aten_cast(a, &x, ATEN_KIND_FLOAT, &x))
        return false;
    x = with_last(&x, dim);
    bool ok;
    if (strstr(a->at->op, "log"))
        ok = aten_reduce_last(a, REDUCE_MAX, &x, &most) && aten_binary(a, MAP_SUB, &x, &most, &x) &&
             aten_unary(a, UNARY_EXP, &x, &out) && aten_reduce_last(a, REDUCE_SUM, &out, &sum) &&
             aten_unary(a, UNARY_LOG, &sum, &sum) && aten_binary(a, MAP_SUB, &x, &sum, &out);
    else
        ok = softmax_last(a, &x, &out);
    if (!ok)
        return false;
    out = with_last(&out, dim);
    return aten_put(a, &out);
}

/* Sums of all before and itself: a product with a triangle of ones. */
static bool lower_cumsum(aten *a)
{
    enum { MOST = 2048 };
    aten_value x, out;
    uint32_t dim;
    if (!aten_get(a, "self", &x) || !aten_dim(a, aten_int(a, "dim", 0), x.rank, &dim))
        return false;
    aten_kind kind = x.kind == ATEN_KIND_FLOAT ? ATEN_KIND_FLOAT : ATEN_KIND_INT;
    uint32_t size = x.rank ? x.dims[dim] : 1;
    if (x.rank == 0)
        return aten_put(a, &x);
    if (size > MOST)
        return aten_fail(a, "a cumulative sum of %u elements: at most %d are supported", size, MOST);
    float *ones = mem_floats((uint64_t)size * size);
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t k = i; k < size; k++)
            ones[(size_t)i * size + k] = 1;
    aten_value triangle = aten_from_floats(a, ATEN_KIND_FLOAT, 2, (uint32_t[]){size, size}, ones);
    x = with_last(&x, dim);
    if (!aten_cast(a, &x, ATEN_KIND_FLOAT, &x) || !aten_matmul(a, &x, &triangle, &out) ||
        !aten_cast(a, &out, kind, &out))
        return false;
    out = with_last(&out, dim);
    return aten_put(a, &out);
}

const aten_operator aten_reduce_operators[] = {{"sum", lower_sum},
                                               {"mean", lower_sum},
                                               {"amax", lower_extreme},
                                               {"amin", lower_extreme},
                                               {"max", lower_extreme},
                                               {"min", lower_extreme},
                                               {"argmax", lower_argmax},
                                               {"argmin", lower_argmax},
                                               {"any", lower_any},
                                               {"all", lower_any},
                                               {"var", lower_var},
                                               {"std", lower_var},
                                               {"var_mean", lower_var},
                                               {"std_mean", lower_var},
                                               {"softmax", lower_softmax},
                                               {"_softmax", lower_softmax},
                                               {"log_softmax", lower_softmax},
                                               {"_log_softmax", lower_softmax},
                                               {"cumsum", lower_cumsum},
                                               {0}};
