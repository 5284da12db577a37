/* aten_index: elements by their numbers, and tensors beside one another. */
#include "model/aten_internal.h"

#include <string.h>

enum { MOST_TENSORS = 64 };

/* Rows of a table: those of a weight lie as the file has them, whatever their type. */
static bool lower_embedding(aten *a)
{
    aten_value table, index, out;
    if (!aten_get(a, "weight", &table) || !aten_get(a, "indices", &index))
        return false;
    if (table.rank != 2 || index.rank >= ATEN_MAX_RANK || index.kind == ATEN_KIND_FLOAT)
        return aten_fail(a, "a table of %u dimensions", table.rank);
    aten_value like = index;
    like.dims[like.rank++] = table.dims[1];
    like = aten_shaped(ATEN_KIND_FLOAT, like.rank, like.dims);
    node matrix = index.constant ? 0 : aten_matrix(a, &table);
    if (matrix) {
        node rows = aten_in_shape(a, &index, shape1((uint32_t)aten_count(&index)));
        out = like;
        out.n = rows ? graph_gather(a->g, matrix, rows) : 0;
        return (out.n || aten_fail(a, "it cannot be computed")) && aten_put(a, &out);
    }
    aten_value x = like;
    x.constant = table.constant;
    x.n = table.n;
    x.offset = table.offset;
    for (uint32_t d = 0; d < index.rank; d++)
        x.strides[d] = 0;
    x.strides[index.rank] = table.strides[1];
    index = aten_unsqueezed(&index, index.rank);
    return aten_take(a, &x, &index, table.strides[0], table.dims[0], &out) && aten_put(a, &out);
}

/* x with dimension `dim` replaced by those of the index, all of which begin at element 0 of it. */
static bool take_at(aten *a, const aten_value *x, uint32_t dim, uint32_t dims_of_x, const aten_value *index,
                    uint32_t stride, uint32_t count, aten_value *out)
{
    aten_value to = {.kind = x->kind, .constant = x->constant, .n = x->n, .offset = x->offset}, at = *index;
    if (x->rank - dims_of_x + index->rank > ATEN_MAX_RANK)
        return aten_fail(a, "more than %d dimensions", ATEN_MAX_RANK);
    for (uint32_t d = 0; d < dim; d++, to.rank++) {
        to.dims[to.rank] = x->dims[d];
        to.strides[to.rank] = x->strides[d];
    }
    for (uint32_t d = 0; d < index->rank; d++, to.rank++)
        to.dims[to.rank] = index->dims[d];
    for (uint32_t d = dim + dims_of_x; d < x->rank; d++, to.rank++) {
        to.dims[to.rank] = x->dims[d];
        to.strides[to.rank] = x->strides[d];
        at = aten_unsqueezed(&at, at.rank);
    }
    return aten_take(a, &to, &at, stride, count, out);
}

/* x[.., i, j, ..]: by tensors of integers, broadcast with each other. Their dimensions stand where those of neighbouring
 * indices did, else first. */
static bool lower_index(aten *a)
{
    aten_value x, index[ATEN_MAX_RANK], sum, part, out;
    uint32_t given, which[ATEN_MAX_RANK], order[ATEN_MAX_RANK], count = 0, at = 0;
    if (!aten_get(a, "self", &x) || !aten_get_list(a, "indices", false, index, ATEN_MAX_RANK, &given))
        return false;
    for (uint32_t i = 0; i < given; i++)
        if (index[i].rank != UINT32_MAX) {
            if (index[i].kind != ATEN_KIND_INT)
                return aten_fail(a, "a mask as an index makes a shape that is not known before it runs");
            which[count++] = i;
        }
    if (count == 0 || which[count - 1] >= x.rank)
        return aten_fail(a, "an index of other dimensions");
    uint32_t first = which[0];
    if (count == 1)
        return take_at(a, &x, first, 1, &index[first], x.strides[first], x.dims[first], &out) && aten_put(a, &out);
    if (which[count - 1] - first + 1 != count) {
        for (uint32_t i = 0; i < count; i++)
            order[at++] = which[i];
        for (uint32_t d = 0, i = 0; d < x.rank; d++)
            if (i < count && which[i] == d)
                i++;
            else
                order[at++] = d;
        x = aten_permuted(&x, order);
        first = 0;
    }
    uint32_t span = 1;
    sum = aten_scalar(a, ATEN_KIND_INT, 0);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t d = first + i;
        if (!aten_from_the_start(a, &index[which[i]], x.dims[d], &part) ||
            !aten_with_number(a, MAP_MUL, &part, x.strides[d], &part) || !aten_binary(a, MAP_ADD, &sum, &part, &sum))
            return false;
        span += (x.dims[d] - 1) * x.strides[d];
    }
    return take_at(a, &x, first, count, &sum, 1, span, &out) && aten_put(a, &out);
}

static bool lower_index_select(aten *a)
{
    aten_value x, index, out;
    uint32_t dim;
    return aten_get(a, "self", &x) && aten_get(a, "index", &index) &&
           aten_dim(a, aten_int(a, "dim", 0), x.rank, &dim) &&
           take_at(a, &x, dim, 1, &index, x.strides[dim], x.dims[dim], &out) && aten_put(a, &out);
}

static bool lower_gather(aten *a)
{
    aten_value x, index, out;
    uint32_t dim;
    if (!aten_get(a, "self", &x) || !aten_get(a, "index", &index))
        return false;
    bool is_single = index.rank == 0;
    x = x.rank ? x : aten_unsqueezed(&x, 0);
    index = is_single ? aten_unsqueezed(&index, 0) : index;
    if (!aten_dim(a, aten_int(a, "dim", 0), x.rank, &dim))
        return false;
    if (index.rank != x.rank)
        return aten_fail(a, "an index of %u dimensions for %u", index.rank, x.rank);
    uint32_t stride = x.strides[dim], count = x.dims[dim];
    x.strides[dim] = 0;
    for (uint32_t d = 0; d < x.rank; d++) {
        if (d != dim && index.dims[d] > x.dims[d])
            return aten_fail(a, "an index of %u for %u", index.dims[d], x.dims[d]);
        x.dims[d] = index.dims[d];
    }
    if (!aten_take(a, &x, &index, stride, count, &out))
        return false;
    out = is_single ? aten_without_dim(&out, 0) : out;
    return aten_put(a, &out);
}

/* ---- beside one another --------------------------------------------------------------------------------- */

static bool lower_slice_scatter(aten *a)
{
    aten_value x, source, out;
    uint32_t dim, first[ATEN_MAX_RANK] = {0};
    bool one = strcmp(a->at->op, "select_scatter") == 0;
    if (!aten_get(a, "self", &x) || !aten_get(a, "src", &source) || !aten_dim(a, aten_int(a, "dim", 0), x.rank, &dim))
        return false;
    int64_t start = aten_int(a, one ? "index" : "start", 0);
    start = start < 0 ? start + x.dims[dim] : start;
    if (one)
        source = aten_unsqueezed(&source, dim);
    if (aten_int(a, "step", 1) != 1 || source.rank != x.rank || start < 0 || start + source.dims[dim] > x.dims[dim])
        return aten_fail(a, "this form of it is not supported");
    first[dim] = (uint32_t)start;
    return aten_cast(a, &source, x.kind, &source) && aten_place(a, &source, first, &x, 0, x.dims, &out) &&
           aten_put(a, &out);
}

/* Parts one behind the other along a dimension. */
static bool join(aten *a, aten_value *parts, uint32_t count, uint32_t dim, aten_value *sum)
{
    aten_kind kind = parts[0].kind;
    for (uint32_t i = 1; i < count; i++)
        kind = parts[i].kind < kind ? parts[i].kind : kind;
    for (uint32_t i = 0; i < count; i++)
        if (parts[i].rank != parts[0].rank || !aten_cast(a, &parts[i], kind, &parts[i]))
            return a->e->kind != ERR_NONE ? false : aten_fail(a, "tensors of other dimensions");
    *sum = parts[0];
    for (uint32_t i = 1; i < count; i++) {
        uint32_t first[ATEN_MAX_RANK] = {0}, dims[ATEN_MAX_RANK];
        for (uint32_t d = 0; d < sum->rank; d++) {
            if (d != dim && sum->dims[d] != parts[i].dims[d])
                return aten_fail(a, "sizes %u and %u do not go together", sum->dims[d], parts[i].dims[d]);
            dims[d] = sum->dims[d] + (d == dim ? parts[i].dims[d] : 0);
        }
        aten_value rest = parts[i]; /* behind: it is never read in the box of what is before */
        rest.offset -= sum->dims[dim] * rest.strides[dim];
        if (!aten_place(a, sum, first, &rest, 0, dims, sum))
            return false;
    }
    return true;
}

static bool lower_cat(aten *a)
{
    aten_value parts[MOST_TENSORS], sum;
    uint32_t count, dim;
    bool stacks = strcmp(a->at->op, "stack") == 0;
    if (!aten_get_list(a, "tensors", true, parts, MOST_TENSORS, &count))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (parts[i].rank == UINT32_MAX || parts[i].rank + stacks > ATEN_MAX_RANK)
            return aten_fail(a, "a tensor that is missing, or more than %d dimensions", ATEN_MAX_RANK);
    if (!aten_dim(a, aten_int(a, "dim", 0), parts[0].rank + stacks, &dim))
        return false;
    for (uint32_t i = 0; stacks && i < count; i++)
        parts[i] = aten_unsqueezed(&parts[i], dim < parts[i].rank ? dim : parts[i].rank);
    return join(a, parts, count, dim, &sum) && aten_put(a, &sum);
}

/* Each element less the one before it. */
static bool lower_diff(aten *a)
{
    aten_value parts[3], x, before;
    uint32_t count = 0, dim;
    if (aten_int(a, "n", 1) != 1)
        return aten_fail(a, "only differences of neighbours are supported");
    if (aten_has(a, "prepend") && !aten_get(a, "prepend", &parts[count++]))
        return false;
    if (!aten_get(a, "self", &parts[count++]) || (aten_has(a, "append") && !aten_get(a, "append", &parts[count++])))
        return false;
    if (!aten_dim(a, aten_int(a, "dim", -1), parts[0].rank, &dim) || !join(a, parts, count, dim, &x))
        return false;
    if (x.dims[dim] < 2)
        return aten_fail(a, "a difference of one element");
    x.dims[dim]--;
    before = x;
    x.offset += x.strides[dim];
    return aten_binary(a, MAP_SUB, &x, &before, &x) && aten_put(a, &x);
}

static bool lower_pad(aten *a)
{
    aten_value x, out;
    int64_t pads[2 * ATEN_MAX_RANK];
    uint32_t first[ATEN_MAX_RANK] = {0}, dims[ATEN_MAX_RANK];
    const char *mode = aten_text(a, "mode");
    if (!aten_get(a, "self", &x))
        return false;
    uint32_t count = aten_ints(a, "pad", pads, 2 * ATEN_MAX_RANK);
    if (count % 2 || count / 2 > x.rank || (mode && strcmp(mode, "constant") != 0))
        return aten_fail(a, "this form of it is not supported");
    memcpy(dims, x.dims, sizeof dims);
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t d = x.rank - 1 - i;
        if (pads[2 * i] < 0 || pads[2 * i + 1] < 0 || pads[2 * i] + pads[2 * i + 1] > 1 << 24)
            return aten_fail(a, "padding below zero is not supported");
        first[d] = (uint32_t)pads[2 * i];
        dims[d] += (uint32_t)(pads[2 * i] + pads[2 * i + 1]);
    }
    return aten_place(a, &x, first, NULL, aten_float(a, "value", 0), dims, &out) && aten_put(a, &out);
}

/* Each dimension several times: one more that is broadcast, before it. */
static bool lower_repeat(aten *a)
{
    aten_value x;
    int64_t times[ATEN_MAX_RANK];
    if (!aten_get(a, "self", &x))
        return false;
    uint32_t rank = aten_ints(a, "repeats", times, ATEN_MAX_RANK), dims[ATEN_MAX_RANK];
    if (rank < x.rank)
        return aten_fail(a, "fewer repeats than dimensions");
    while (x.rank < rank)
        x = aten_unsqueezed(&x, 0);
    for (uint32_t d = 0; d < rank; d++) {
        if (times[d] == 1)
            continue;
        if (times[d] < 1 || times[d] > 1 << 24 || x.rank == ATEN_MAX_RANK)
            return aten_fail(a, "this form of it is not supported");
        aten_value more = aten_unsqueezed(&x, d);
        more.dims[d] = (uint32_t)times[d];
        memcpy(dims, x.dims, sizeof dims);
        dims[d] *= (uint32_t)times[d];
        if (!aten_reshaped(a, &more, x.rank, dims, &x))
            return false;
    }
    return aten_put(a, &x);
}

const aten_operator aten_index_operators[] = {{"embedding", lower_embedding},
                                              {"index", lower_index},
                                              {"index_select", lower_index_select},
                                              {"gather", lower_gather},
                                              {"slice_scatter", lower_slice_scatter},
                                              {"select_scatter", lower_slice_scatter},
                                              {"cat", lower_cat},
                                              {"stack", lower_cat},
                                              {"diff", lower_diff},
                                              {"pad", lower_pad},
                                              {"constant_pad_nd", lower_pad},
                                              {"repeat", lower_repeat},
                                              {0}};
