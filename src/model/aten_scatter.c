/* aten_scatter: values to the places of a tensor that other tensors number. GPUs run many places at once, so each place
 * looks for the values that are its own: the last one of those that name it, or their sum. Between is a tensor with an
 * element for each pair of a place and a value. */
#include "model/aten_internal.h"

#include <string.h>

enum { MOST_PAIRS = 1 << 26 };

static aten_value swapped(const aten_value *x, uint32_t dim, uint32_t other)
{
    uint32_t order[ATEN_MAX_RANK];
    for (uint32_t d = 0; d < x->rank; d++)
        order[d] = d;
    order[dim] = other;
    order[other] = dim;
    return aten_permuted(x, order);
}

bool aten_from_the_start(aten *a, const aten_value *index, uint32_t count, aten_value *out)
{
    aten_value below, wrapped;
    return aten_with_number(a, MAP_LT, index, 0, &below) && aten_with_number(a, MAP_ADD, index, count, &wrapped) &&
           aten_choose(a, &below, &wrapped, index, out);
}

/* Which place each value goes to: index [.., values] as [.., places, values] of 0 and 1. */
static bool hits_of(aten *a, const aten_value *index, uint32_t places, aten_value *out)
{
    aten_value numbers = aten_count_up(a, places), column = aten_unsqueezed(&numbers, 1), row, from;
    if (aten_count(index) * places > MOST_PAIRS)
        return aten_fail(a, "%llu values to %u places: too many to compare", (unsigned long long)aten_count(index),
                         places);
    if (!aten_from_the_start(a, index, places, &from))
        return false;
    row = aten_unsqueezed(&from, from.rank - 1);
    return aten_binary(a, MAP_EQ, &row, &column, out);
}

/* Of hits [.., places, values], the number of the last value of each place, from 1 on; 0: there is none. */
static bool last_hits(aten *a, const aten_value *hits, aten_value *out)
{
    uint32_t last = hits->rank - 1;
    aten_value numbers = aten_count_up(a, hits->dims[last]), none = aten_scalar(a, ATEN_KIND_INT, 0), floats;
    return aten_with_number(a, MAP_ADD, &numbers, 1, &numbers) && aten_choose(a, hits, &numbers, &none, &floats) &&
           aten_cast(a, &floats, ATEN_KIND_FLOAT, &floats) &&
           aten_reduce(a, REDUCE_MAX, &floats, 1u << last, false, &floats) && aten_cast(a, &floats, ATEN_KIND_INT, out);
}

/* ---- rows that a tensor numbers ------------------------------------------------------------------------- */

/* x [places, ..] with, or plus, the values [n, ..] at the places of index [n]. */
static bool put_rows(aten *a, const aten_value *x, const aten_value *index, const aten_value *values, bool adds,
                     aten_value *out)
{
    aten_value hits, last, found, sum, from = *values, at;
    uint32_t places = x->dims[0], count = index->dims[0], dims[ATEN_MAX_RANK];
    if (!aten_cast(a, &from, x->kind, &from) || !hits_of(a, index, places, &hits))
        return false;
    if (adds) {
        uint32_t flat[] = {count, (uint32_t)(aten_count(&from) / count)};
        return aten_cast(a, &hits, ATEN_KIND_FLOAT, &hits) && aten_cast(a, &from, ATEN_KIND_FLOAT, &from) &&
               aten_reshaped(a, &from, 2, flat, &from) && aten_matmul(a, &hits, &from, &sum) &&
               aten_reshaped(a, &sum, x->rank, x->dims, &sum) && aten_cast(a, &sum, x->kind, &sum) &&
               aten_binary(a, MAP_ADD, x, &sum, out);
    }
    if (!last_hits(a, &hits, &last) || !aten_with_number(a, MAP_SUB, &last, 1, &at) ||
        !aten_with_number(a, MAP_MAX, &at, 0, &at) || !aten_with_number(a, MAP_LT, &last, 1, &found))
        return false;
    uint32_t stride = from.strides[0];
    memcpy(dims, x->dims, sizeof dims);
    from.dims[0] = places;
    from.strides[0] = 0;
    for (uint32_t d = 1; d < x->rank; d++) {
        at = aten_unsqueezed(&at, at.rank);
        found = aten_unsqueezed(&found, found.rank);
    }
    return aten_take(a, &from, &at, stride, count, &from) && aten_choose(a, &found, x, &from, out);
}

bool aten_put_at(aten *a, const aten_value *x, uint32_t dim, const aten_value *index, const aten_value *source,
                 bool adds, aten_value *out)
{
    aten_value to = swapped(x, 0, dim), from = swapped(source, 0, dim), places, hits;
    if (index->rank != 1)
        return aten_fail(a, "an index of %u dimensions", index->rank);
    if (!adds && aten_store_row(a, x, dim, index, source, out))
        return true;
    if (!adds && index->dims[0] == 1) {
        places = aten_count_up(a, x->dims[dim]);
        if (!aten_from_the_start(a, index, x->dims[dim], &hits) || !aten_binary(a, MAP_EQ, &places, &hits, &hits))
            return false;
        for (uint32_t d = 1; d < x->rank; d++)
            hits = aten_unsqueezed(&hits, hits.rank);
        if (!aten_choose(a, &hits, &from, &to, out))
            return false;
    } else if (!put_rows(a, &to, index, &from, adds, out))
        return false;
    *out = swapped(out, 0, dim);
    return true;
}

static bool lower_index_copy(aten *a)
{
    aten_value x, index, source, out;
    uint32_t dim;
    bool adds = strcmp(a->at->op, "index_add") == 0;
    double alpha = aten_float(a, "alpha", 1);
    if (!aten_get(a, "self", &x) || !aten_get(a, "index", &index) || !aten_get(a, "source", &source) ||
        !aten_dim(a, aten_int(a, "dim", 0), x.rank, &dim))
        return false;
    if (x.rank == 0 || source.rank != x.rank || (index.rank == 0 && source.dims[dim] != 1))
        return aten_fail(a, "this form of it is not supported");
    index = index.rank ? index : aten_unsqueezed(&index, 0);
    if (alpha != 1 && !aten_with_number(a, MAP_MUL, &source, alpha, &source))
        return false;
    return aten_put_at(a, &x, dim, &index, &source, adds, &out) && aten_put(a, &out);
}

/* ---- places that several tensors number ----------------------------------------------------------------- */

/* What index_put says: indices of dimensions, of which `count` are there, broadcast to a common shape. */
typedef struct put_spec {
    aten_value index[ATEN_MAX_RANK], shared;
    uint32_t dims[ATEN_MAX_RANK], count;
    bool neighbours;
} put_spec;

static bool read_indices(aten *a, const aten_value *x, put_spec *p)
{
    aten_value given[ATEN_MAX_RANK];
    uint32_t count;
    *p = (put_spec){.neighbours = true};
    if (!aten_get_list(a, "indices", false, given, ATEN_MAX_RANK, &count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (given[i].rank == UINT32_MAX)
            continue;
        if (i >= x->rank)
            return aten_fail(a, "more indices than dimensions");
        p->neighbours = p->neighbours && (p->count == 0 || p->dims[p->count - 1] == i - 1);
        p->index[p->count] = given[i];
        p->dims[p->count++] = i;
    }
    return p->count || aten_fail(a, "an index of other dimensions");
}

/* A mask of the first dimensions, and one value: it is chosen where the mask holds. */
static bool put_where(aten *a, const aten_value *x, put_spec *p, const aten_value *values, bool adds)
{
    aten_value mask = p->index[0], out = *values, sum;
    if (p->count != 1 || aten_count(values) != 1 || p->dims[0] + mask.rank > x->rank)
        return aten_fail(a, "a mask as an index and values for its elements have a number that is not known before "
                            "it runs: torch.where has not");
    for (uint32_t d = p->dims[0] + mask.rank; d < x->rank; d++)
        mask = aten_unsqueezed(&mask, mask.rank);
    while (out.rank)
        out = aten_without_dim(&out, 0);
    if (adds && (!aten_binary(a, MAP_ADD, x, &out, &sum)))
        return false;
    return aten_cast(a, adds ? &sum : &out, x->kind, &out) && aten_choose(a, &mask, &out, x, &out) && aten_put(a, &out);
}

/* The dimensions with an index first, the others behind. */
static aten_value with_first(const aten_value *x, const put_spec *p)
{
    uint32_t order[ATEN_MAX_RANK], at = 0;
    for (uint32_t i = 0; i < p->count; i++)
        order[at++] = p->dims[i];
    for (uint32_t d = 0, i = 0; d < x->rank; d++)
        if (i < p->count && p->dims[i] == d)
            i++;
        else
            order[at++] = d;
    return aten_permuted(x, order);
}

static aten_value back_again(const aten_value *moved, const put_spec *p)
{
    uint32_t order[ATEN_MAX_RANK], at = p->count;
    for (uint32_t d = 0, i = 0; d < moved->rank; d++)
        if (i < p->count && p->dims[i] == d)
            order[d] = i++;
        else
            order[d] = at++;
    return aten_permuted(moved, order);
}

/* One number for the place of each value, among the dimensions with an index: [values]. */
static bool join_indices(aten *a, const aten_value *moved, put_spec *p, aten_value *out)
{
    aten_value sum = aten_scalar(a, ATEN_KIND_INT, 0), one;
    uint32_t stride = 1;
    for (uint32_t i = p->count; i-- > 0; stride *= moved->dims[i])
        if (!aten_from_the_start(a, &p->index[i], moved->dims[i], &one) ||
            !aten_with_number(a, MAP_MUL, &one, stride, &one) || !aten_binary(a, MAP_ADD, &sum, &one, &sum))
            return false;
    p->shared = sum;
    return aten_reshaped(a, &sum, 1, (uint32_t[]){(uint32_t)aten_count(&sum)}, out);
}

/* The values as [values, the other dimensions]. Those of the indices stand where neighbouring indices do, else first. */
static bool arrange_values(aten *a, const aten_value *moved, const put_spec *p, const aten_value *values,
                           aten_value *out)
{
    uint32_t rest = moved->rank - p->count, before = p->neighbours ? p->dims[0] : 0, shared = p->shared.rank;
    uint32_t dims[ATEN_MAX_RANK], order[ATEN_MAX_RANK], at = 0, flat[2];
    if (rest + shared > ATEN_MAX_RANK)
        return aten_fail(a, "more than %d dimensions", ATEN_MAX_RANK);
    for (uint32_t d = 0; d < rest + shared; d++) {
        bool of_index = d >= before && d < before + shared;
        dims[d] = of_index ? p->shared.dims[d - before] : moved->dims[p->count + (d < before ? d : d - shared)];
        order[of_index ? d - before : shared + at] = d;
        at += !of_index;
    }
    if (!aten_expanded(a, values, rest + shared, dims, out))
        return false;
    *out = aten_permuted(out, order);
    flat[0] = (uint32_t)aten_count(&p->shared);
    flat[1] = (uint32_t)(aten_count(out) / flat[0]);
    return aten_reshaped(a, out, 2, flat, out);
}

static bool lower_index_put(aten *a)
{
    aten_value x, values, moved, rows, index, out;
    put_spec p;
    bool adds = aten_bool(a, "accumulate", false);
    if (!aten_get(a, "self", &x) || !aten_get(a, "values", &values) || !read_indices(a, &x, &p))
        return false;
    for (uint32_t i = 0; i < p.count; i++)
        if (p.index[i].kind != ATEN_KIND_INT)
            return put_where(a, &x, &p, &values, adds);
    if (p.count == 1 && p.index[0].rank == 1) {
        aten_value like = x;
        like.dims[p.dims[0]] = p.index[0].dims[0];
        return aten_expanded(a, &values, like.rank, like.dims, &values) && aten_cast(a, &values, x.kind, &values) &&
               aten_put_at(a, &x, p.dims[0], &p.index[0], &values, adds, &out) && aten_put(a, &out);
    }
    moved = with_first(&x, &p);
    uint32_t places = 1, flat[2];
    for (uint32_t i = 0; i < p.count; i++)
        places *= moved.dims[i];
    flat[0] = places;
    flat[1] = (uint32_t)(aten_count(&x) / places);
    if (!aten_reshaped(a, &moved, 2, flat, &rows) || !join_indices(a, &moved, &p, &index) ||
        !arrange_values(a, &moved, &p, &values, &values) || !put_rows(a, &rows, &index, &values, adds, &out) ||
        !aten_reshaped(a, &out, moved.rank, moved.dims, &out))
        return false;
    out = back_again(&out, &p);
    return aten_put(a, &out);
}

/* ---- scatter: an index for each element of the source --------------------------------------------------- */

typedef enum { PUT_LAST, PUT_SUM, PUT_MAX, PUT_MIN } put_kind;

static bool kind_of_scatter(aten *a, put_kind *out)
{
    const char *how = aten_text(a, "reduce");
    *out = strcmp(a->at->op, "scatter_add") == 0 ? PUT_SUM : PUT_LAST;
    if (!how)
        return true;
    *out = strcmp(how, "sum") == 0 || strcmp(how, "add") == 0 ? PUT_SUM : strcmp(how, "amax") == 0 ? PUT_MAX : PUT_MIN;
    return (aten_bool(a, "include_self", true) && (*out != PUT_MIN || strcmp(how, "amin") == 0)) ||
           aten_fail(a, "the reduction %s is not supported", how);
}

/* box [.., places] with the source [.., values] at index [.., values]. */
static bool scatter_last(aten *a, const aten_value *box, const aten_value *index, const aten_value *source,
                         aten_value *out)
{
    uint32_t last = box->rank - 1, stride = source->strides[last], count = source->dims[last];
    aten_value hits, which, at, none, from = *source;
    if (!hits_of(a, index, box->dims[last], &hits) || !last_hits(a, &hits, &which) ||
        !aten_with_number(a, MAP_SUB, &which, 1, &at) || !aten_with_number(a, MAP_MAX, &at, 0, &at) ||
        !aten_with_number(a, MAP_LT, &which, 1, &none))
        return false;
    from.dims[last] = box->dims[last];
    from.strides[last] = 0;
    return aten_take(a, &from, &at, stride, count, &from) && aten_choose(a, &none, box, &from, out);
}

static bool scatter_reduced(aten *a, const aten_value *box, const aten_value *index, const aten_value *source,
                            put_kind kind, aten_value *out)
{
    static const map_kind joins[] = {[PUT_SUM] = MAP_ADD, [PUT_MAX] = MAP_MAX, [PUT_MIN] = MAP_MIN};
    uint32_t last = box->rank - 1;
    aten_value hits, all, from = aten_unsqueezed(source, last),
                          outside = aten_scalar(a, ATEN_KIND_FLOAT, kind == PUT_SUM ? 0 : ATEN_MINUS_INFINITY);
    if (!aten_cast(a, &from, ATEN_KIND_FLOAT, &from) || !hits_of(a, index, box->dims[last], &hits) ||
        (kind == PUT_MIN && !aten_unary(a, UNARY_NEG, &from, &from)) || !aten_choose(a, &hits, &from, &outside, &all) ||
        !aten_reduce(a, kind == PUT_SUM ? REDUCE_SUM : REDUCE_MAX, &all, 1u << (last + 1), false, &all) ||
        (kind == PUT_MIN && !aten_unary(a, UNARY_NEG, &all, &all)))
        return false;
    return aten_cast(a, &all, box->kind, &all) && aten_binary(a, joins[kind], box, &all, out);
}

static bool lower_scatter(aten *a)
{
    aten_value x, index, source, box, out;
    uint32_t dim, first[ATEN_MAX_RANK] = {0};
    put_kind kind;
    if (!aten_get(a, "self", &x) || !aten_get(a, "index", &index) || !kind_of_scatter(a, &kind) ||
        !aten_get(a, aten_has(a, "src") ? "src" : "value", &source) ||
        !aten_dim(a, aten_int(a, "dim", 0), x.rank, &dim) || !aten_cast(a, &source, x.kind, &source))
        return false;
    bool fits = x.rank && x.rank < ATEN_MAX_RANK && index.rank == x.rank && (!source.rank || source.rank == x.rank);
    for (uint32_t d = 0; fits && d < x.rank; d++)
        fits = (d == dim || index.dims[d] <= x.dims[d]) && (!source.rank || index.dims[d] <= source.dims[d]);
    if (!fits)
        return aten_fail(a, "this form of it is not supported");
    for (uint32_t d = 0; source.rank && d < x.rank; d++)
        source.dims[d] = index.dims[d];
    if (!aten_expanded(a, &source, x.rank, index.dims, &source))
        return false;
    box = x; /* what the index reaches */
    for (uint32_t d = 0; d < x.rank; d++)
        box.dims[d] = d == dim ? x.dims[d] : index.dims[d];
    aten_value part = swapped(&box, dim, x.rank - 1);
    index = swapped(&index, dim, x.rank - 1);
    source = swapped(&source, dim, x.rank - 1);
    if (!(kind == PUT_LAST ? scatter_last(a, &part, &index, &source, &out)
                           : scatter_reduced(a, &part, &index, &source, kind, &out)))
        return false;
    out = swapped(&out, dim, x.rank - 1);
    return (aten_count(&box) == aten_count(&x) || aten_place(a, &out, first, &x, 0, x.dims, &out)) && aten_put(a, &out);
}

/* The sums of gradients of each row of a table. */
static bool lower_embedding_backward(aten *a)
{
    aten_value grad, index, hits, used, out;
    int64_t rows = aten_int(a, "num_weights", 0), padding = aten_int(a, "padding_idx", -1);
    if (!aten_get(a, "grad_output", &grad) || !aten_get(a, "indices", &index))
        return false;
    if (rows < 1 || rows > 1 << 28 || aten_bool(a, "scale_grad_by_freq", false) || grad.rank != index.rank + 1)
        return aten_fail(a, "this form of it is not supported");
    uint32_t count = (uint32_t)aten_count(&index), flat[] = {count, grad.dims[grad.rank - 1]};
    if (!aten_reshaped(a, &index, 1, &count, &index) || !aten_reshaped(a, &grad, 2, flat, &grad) ||
        !hits_of(a, &index, (uint32_t)rows, &hits))
        return false;
    if (padding >= 0 &&
        (!aten_with_number(a, MAP_NE, &index, (double)padding, &used) || !aten_binary(a, MAP_AND, &hits, &used, &hits)))
        return false;
    return aten_cast(a, &hits, ATEN_KIND_FLOAT, &hits) && aten_matmul(a, &hits, &grad, &out) && aten_put(a, &out);
}

const aten_operator aten_scatter_operators[] = {{"index_copy", lower_index_copy},
                                                {"index_add", lower_index_copy},
                                                {"index_put", lower_index_put},
                                                {"scatter", lower_scatter},
                                                {"scatter_add", lower_scatter},
                                                {"scatter_reduce", lower_scatter},
                                                {"embedding_dense_backward", lower_embedding_backward},
                                                {0}};
