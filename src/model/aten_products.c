/* aten_products: products of matrices, and attention. */
#include "model/aten_internal.h"

#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static aten_value transposed(const aten_value *x)
{
    uint32_t order[ATEN_MAX_RANK];
    for (uint32_t d = 0; d < x->rank; d++)
        order[d] = d;
    order[x->rank - 2] = x->rank - 1;
    order[x->rank - 1] = x->rank - 2;
    return aten_permuted(x, order);
}

static bool lower_matmul(aten *a)
{
    aten_value x, y, out;
    const char *other = aten_has(a, "mat2") ? "mat2" : "other";
    return aten_get(a, "self", &x) && aten_get(a, other, &y) && aten_matmul(a, &x, &y, &out) && aten_put(a, &out);
}

static bool lower_linear(aten *a)
{
    aten_value x, w, bias, out;
    if (!aten_get(a, "input", &x) || !aten_get(a, "weight", &w))
        return false;
    if (w.rank != 2)
        return aten_fail(a, "a weight of %u dimensions", w.rank);
    w = transposed(&w);
    return aten_matmul(a, &x, &w, &out) &&
           (!aten_has(a, "bias") || (aten_get(a, "bias", &bias) && aten_binary(a, MAP_ADD, &out, &bias, &out))) &&
           aten_put(a, &out);
}

/* self * beta + mat1 mat2 * alpha. */
static bool lower_addmm(aten *a)
{
    aten_value added, x, y, out;
    bool batched = strcmp(a->at->op, "baddbmm") == 0;
    double alpha = aten_float(a, "alpha", 1), beta = aten_float(a, "beta", 1);
    return aten_get(a, "self", &added) && aten_get(a, batched ? "batch1" : "mat1", &x) &&
           aten_get(a, batched ? "batch2" : "mat2", &y) && aten_matmul(a, &x, &y, &out) &&
           (alpha == 1 || aten_with_number(a, MAP_MUL, &out, alpha, &out)) &&
           (beta == 1 || aten_with_number(a, MAP_MUL, &added, beta, &added)) &&
           (beta == 0 || aten_binary(a, MAP_ADD, &out, &added, &out)) && aten_put(a, &out);
}

/* [rows, columns], 0 where a column is at most as far on as the row, else far below zero. */
static aten_value causal_mask(aten *a, uint32_t rows, uint32_t columns)
{
    float *mask = mem_floats((uint64_t)rows * columns);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = r + 1; c < columns; c++)
            mask[(size_t)r * columns + c] = ATEN_MINUS_INFINITY;
    return aten_from_floats(a, ATEN_KIND_FLOAT, 2, (uint32_t[]){rows, columns}, mask);
}

/* Is there a row of a constant mask that hides everything? Of a mask that is not known, there may be. */
static bool may_hide_rows(const aten *a, const aten_value *mask)
{
    uint32_t columns = mask->rank ? mask->dims[mask->rank - 1] : 1;
    uint64_t count = aten_count(mask);
    if (!mask->constant)
        return true;
    for (uint64_t row = 0; row < count; row += columns) {
        bool hides = true;
        for (uint32_t c = 0; c < columns && hides; c++) {
            double m = aten_constant_at(a, mask, row + c);
            hides = mask->kind == ATEN_KIND_BOOL ? m == 0 : m == (double)ATEN_MINUS_INFINITY;
        }
        if (hides)
            return true;
    }
    return false;
}

/* The mask of the scores; false in `has` if there is none. */
static bool find_mask(aten *a, const aten_value *scores, aten_value *mask, bool *has)
{
    bool causal = aten_bool(a, "is_causal", false);
    *has = causal || aten_has(a, "attn_mask");
    if (*has && !aten_has(a, "attn_mask"))
        *mask = causal_mask(a, scores->dims[scores->rank - 2], scores->dims[scores->rank - 1]);
    if (!aten_has(a, "attn_mask"))
        return true;
    if (!aten_get(a, "attn_mask", mask))
        return false;
    if (scores->rank == 5 && mask->rank > 2) { /* heads in groups: one mask for all of them */
        if (mask->dims[mask->rank - 3] != 1)
            return aten_fail(a, "a mask for each head and shared keys");
        *mask = aten_unsqueezed(mask, mask->rank - 2);
    }
    return true;
}

/* The softmax of masked scores. A row of which everything is hidden becomes zeros, as in torch. */
static bool weigh_scores(aten *a, aten_value scores, aten_value *weights)
{
    aten_value mask, hidden, low = aten_scalar(a, ATEN_KIND_FLOAT, -INFINITY),
                             zero = aten_scalar(a, ATEN_KIND_FLOAT, 0);
    bool has;
    if (!find_mask(a, &scores, &mask, &has))
        return false;
    bool is_bool = has && mask.kind == ATEN_KIND_BOOL;
    if (has &&
        !(is_bool ? aten_choose(a, &mask, &scores, &low, &scores) : aten_binary(a, MAP_ADD, &scores, &mask, &scores)))
        return false;
    node rows = aten_rows(a, &scores);
    *weights = aten_shaped(ATEN_KIND_FLOAT, scores.rank, scores.dims);
    weights->n = rows ? graph_softmax(a->g, rows, 1) : 0;
    if (!weights->n)
        return a->e->kind != ERR_NONE ? false : aten_fail(a, "it cannot be computed");
    if (!has || !may_hide_rows(a, &mask))
        return true;
    if (is_bool)
        return aten_choose(a, &mask, weights, &zero, weights);
    return aten_binary(a, MAP_EQ, &mask, &low, &hidden) && aten_choose(a, &hidden, &zero, weights, weights);
}

/* softmax(q k^T * scale + mask) v, of several heads; fewer of keys and values, if the program says so. */
static bool lower_attention(aten *a)
{
    aten_value q, k, v, scores, weights, out;
    if (!aten_get(a, "query", &q) || !aten_get(a, "key", &k) || !aten_get(a, "value", &v))
        return false;
    if (q.rank < 2 || q.rank > 4 || q.rank != k.rank || q.rank != v.rank)
        return aten_fail(a, "queries of %u and keys of %u dimensions", q.rank, k.rank);
    if (aten_float(a, "dropout_p", 0) != 0)
        return aten_fail(a, "dropout is not supported");
    double scale = aten_float(a, "scale", 1 / sqrt(q.dims[q.rank - 1]));
    uint32_t heads = q.rank > 2 ? q.dims[q.rank - 3] : 1, kv_heads = q.rank > 2 ? k.dims[k.rank - 3] : 1;
    bool grouped = q.rank == 4 && kv_heads != heads && kv_heads > 1;
    if (grouped) {
        if (heads % kv_heads)
            return aten_fail(a, "%u heads share %u keys", heads, kv_heads);
        uint32_t dims[] = {q.dims[0], kv_heads, heads / kv_heads, q.dims[2], q.dims[3]};
        if (!aten_reshaped(a, &q, 5, dims, &q))
            return false;
        k = aten_unsqueezed(&k, 2);
        v = aten_unsqueezed(&v, 2);
    }
    k = transposed(&k);
    if (!aten_matmul(a, &q, &k, &scores) || !aten_with_number(a, MAP_MUL, &scores, scale, &scores) ||
        !weigh_scores(a, scores, &weights) || !aten_matmul(a, &weights, &v, &out))
        return false;
    if (grouped) {
        uint32_t dims[] = {out.dims[0], heads, out.dims[3], out.dims[4]};
        if (!aten_reshaped(a, &out, 4, dims, &out))
            return false;
    }
    return aten_put(a, &out);
}

const aten_operator aten_product_operators[] = {{"mm", lower_matmul},
                                                {"bmm", lower_matmul},
                                                {"matmul", lower_matmul},
                                                {"linear", lower_linear},
                                                {"addmm", lower_addmm},
                                                {"baddbmm", lower_addmm},
                                                {"scaled_dot_product_attention", lower_attention},
                                                {"_scaled_dot_product_flash_attention_for_cpu", lower_attention},
                                                {0}};
