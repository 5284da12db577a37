/* aten_map: functions element by element, products and reductions of a program's tensors. What has constants only for
 * operands is computed here, by the CPU's reference. */
#include "model/aten_internal.h"

#include "base/str.h"
#include "graph/cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_FOLDED = 1 << 26, LARGEST_WORK = 1 << 30, LAST = GRAPH_VIEW_DIMS - 1 };

/* ---- constants ------------------------------------------------------------------------------------------ */

static const void *folded_weight(void *user, const char *name, uint64_t first, uint64_t bytes, err *e)
{
    (void)bytes, (void)e;
    const aten *a = user;
    for (uint32_t i = a->weight_count; i-- > 0;)
        if (strcmp(a->weights[i].name, name) == 0)
            return (const char *)a->constants[a->weights[i].constant - 1].data + first;
    return NULL;
}

static bool are_constant(const aten_value *v, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!v[i].constant)
            return false;
    return true;
}

/* What a small graph of constants computes; the graph is freed. `like` has the shape. */
static bool fold(aten *a, graph *small, node n, uint32_t weights_before, const aten_value *like, aten_value *out)
{
    err e = {0};
    uint64_t count = aten_count(like);
    float *result = NULL;
    if (n)
        graph_output(small, "result of folding", n);
    cpu_run *run = n ? cpu_run_new(small, folded_weight, a, &e) : NULL;
    if (!n)
        graph_ok(small, &e);
    if (run && cpu_run_once(run, &e)) {
        result = mem_floats(count);
        const float *floats = cpu_floats(run, "result of folding");
        const uint32_t *words = cpu_words(run, "result of folding");
        for (uint64_t i = 0; i < count; i++)
            result[i] = floats ? floats[i] : (float)(int32_t)words[i];
    }
    cpu_run_free(run);
    graph_free(small);
    while (a->weight_count > weights_before)
        free(a->weights[--a->weight_count].name);
    a->g = a->program_graph;
    if (!result)
        return aten_fail(a, "%s", e.text);
    *out = aten_from_floats(a, like->kind, like->rank, like->dims, result);
    return true;
}

/* Computes one operator: `make` adds its node to the graph. */
typedef node (*maker)(aten *a, const void *spec, const aten_value *operands, shape s);
static bool compute(aten *a, maker make, const void *spec, const aten_value *operands, uint32_t count, uint64_t work,
                    const aten_value *like, aten_value *out)
{
    uint64_t elements = aten_count(like);
    uint32_t last = like->rank ? like->dims[like->rank - 1] : 1, weights_before = a->weight_count;
    shape s = shape2((uint32_t)(elements / last), last);
    if (elements > LARGEST_WORK)
        return aten_fail(a, "a tensor of %llu elements", (unsigned long long)elements);
    bool folds = are_constant(operands, count);
    if (folds && (elements > LARGEST_FOLDED || (a->folded_work += work) > LARGEST_WORK))
        return aten_fail(a,
                         "a constant of %llu elements, after %llu products for constants, is too much to compute here",
                         (unsigned long long)elements, (unsigned long long)(a->folded_work - work));
    if (folds) {
        a->g = graph_new();
        return fold(a, a->g, make(a, spec, operands, s), weights_before, like, out);
    }
    *out = *like;
    out->n = make(a, spec, operands, s);
    err why = {0};
    return out->n != 0 || (graph_ok(a->g, &why) ? aten_fail(a, "it cannot be computed") : aten_fail(a, "%s", why.text));
}

/* ---- functions ------------------------------------------------------------------------------------------ */

static graph_view view_of(aten *a, const aten_value *v)
{
    graph_view view = {.of = aten_root(a, v), .offset = v->offset};
    for (uint32_t d = 0; d < v->rank; d++)
        view.strides[GRAPH_VIEW_DIMS - v->rank + d] = v->strides[d];
    return view;
}

static void set_dims(uint32_t *dims, const aten_value *like)
{
    for (uint32_t d = 0; d < GRAPH_VIEW_DIMS; d++)
        dims[d] = d < GRAPH_VIEW_DIMS - like->rank ? 1 : like->dims[d - (GRAPH_VIEW_DIMS - like->rank)];
}

static node make_map(aten *a, const void *spec, const aten_value *operands, shape s)
{
    map_spec m = *(const map_spec *)spec;
    for (uint32_t i = 0; i < m.view_count; i++)
        m.views[i] = view_of(a, &operands[i]);
    return graph_map(a->g, &m, s);
}

/* An operator of one or two floats that products can take into their epilogue: operands in order, in rows. */
static bool plain_function(aten *a, const map_spec *m, const aten_value *operands, uint32_t count,
                           const aten_value *like, aten_value *out)
{
    static const int kinds[MAP_COUNT] = {
        [MAP_ADD] = 1 + BINARY_ADD, [MAP_SUB] = 1 + BINARY_SUB, [MAP_MUL] = 1 + BINARY_MUL,
        [MAP_DIV] = 1 + BINARY_DIV, [MAP_MAX] = 1 + BINARY_MAX, [MAP_MIN] = 1 + BINARY_MIN};
    const aten_value *x = &operands[0], *y = &operands[1];
    uint32_t last = like->rank ? like->dims[like->rank - 1] : 1;
    *out = *like;
    for (uint32_t i = 0; i < count; i++)
        if ((operands[i].kind != ATEN_KIND_FLOAT && !operands[i].constant) || aten_is_in_state(a, &operands[i]))
            return false; /* constants are floats in any case */
    bool has_all = !x->constant && aten_is_contiguous(x) && x->offset == 0 &&
                   shape_count(graph_at(a->g, x->n)->s) == aten_count(like);
    if (like->kind != ATEN_KIND_FLOAT || !has_all)
        return false;
    if (count == 1 && m->kind == MAP_FUNCTION && m->function != UNARY_SIN && m->function != UNARY_COS) {
        node n = aten_rows(a, x);
        out->n = m->function == UNARY_SCALE ? graph_scale(a->g, n, m->a, m->b) : graph_unary(a->g, m->function, n);
        return true;
    }
    if (count != 2 || !kinds[m->kind])
        return false;
    if (y->constant && a->constants[y->constant - 1].count == 1 && (m->kind == MAP_ADD || m->kind == MAP_MUL)) {
        float number = (float)aten_constant_at(a, y, 0);
        if (!isfinite(number))
            return false;
        out->n = graph_scale(a->g, aten_rows(a, x), m->kind == MAP_MUL ? number : 1, m->kind == MAP_ADD ? number : 0);
        return true;
    }
    bool is_row = y->constant && y->offset == 0 && a->constants[y->constant - 1].count == last && y->rank &&
                  y->strides[y->rank - 1] == 1;
    for (uint32_t d = 0; d + 1 < y->rank; d++)
        is_row = is_row && (y->strides[d] == 0 || y->dims[d] == 1);
    bool is_same = !y->constant && aten_is_contiguous(y) && y->offset == 0 &&
                   shape_count(graph_at(a->g, y->n)->s) == aten_count(like);
    if (!is_row && !is_same)
        return false;
    out->n = graph_binary(a->g, (binary_kind)(kinds[m->kind] - 1), aten_rows(a, x),
                          is_row ? aten_root(a, y) : aten_rows(a, y));
    return true;
}

/* The order in which the largest operand lies in memory, if it has no gaps: the result gets the same, so that a
 * convolution's result stays as it is. */
static void memory_order(const aten_value *operands, uint32_t count, const aten_value *like, uint32_t *order)
{
    for (uint32_t d = 0; d < like->rank; d++)
        order[d] = d;
    for (uint32_t i = 0; i < count; i++) {
        const aten_value *v = &operands[i];
        uint32_t sorted[ATEN_MAX_RANK];
        for (uint32_t d = 0; d < v->rank; d++) {
            uint32_t at = d;
            for (; at > 0 && v->strides[sorted[at - 1]] < v->strides[d]; at--)
                sorted[at] = sorted[at - 1];
            sorted[at] = d;
        }
        aten_value in_order = aten_permuted(v, sorted);
        if (v->constant || !aten_is_contiguous(&in_order))
            continue;
        memcpy(order, sorted, v->rank * sizeof *order);
        return;
    }
}

static bool broadcast_all(aten *a, const aten_value *operands, uint32_t count, aten_value *to, aten_value *like)
{
    uint32_t rank = 0, dims[ATEN_MAX_RANK];
    for (uint32_t i = 0; i < count; i++)
        rank = operands[i].rank > rank ? operands[i].rank : rank;
    if (rank > ATEN_MAX_RANK)
        return aten_fail(a, "more than %d dimensions", ATEN_MAX_RANK);
    for (uint32_t d = 0; d < rank; d++) {
        dims[d] = 1;
        for (uint32_t i = 0; i < count; i++)
            if (d >= rank - operands[i].rank && operands[i].dims[d - (rank - operands[i].rank)] != 1)
                dims[d] = operands[i].dims[d - (rank - operands[i].rank)];
    }
    for (uint32_t i = 0; i < count; i++)
        if (!aten_expanded(a, &operands[i], rank, dims, &to[i]))
            return false;
    *like = aten_shaped(like->kind, rank, dims);
    return true;
}

bool aten_map(aten *a, map_spec spec, aten_kind kind, const aten_value *operands, uint32_t count, aten_value *out)
{
    aten_value to[GRAPH_MAP_OPERANDS], like = {.kind = kind};
    uint32_t order[ATEN_MAX_RANK], back[ATEN_MAX_RANK];
    if (a->e->kind != ERR_NONE || !broadcast_all(a, operands, count, to, &like))
        return false;
    bool is_copy = spec.kind == MAP_FUNCTION && spec.function == UNARY_COPY;
    bool either = spec.kind == MAP_ADD || spec.kind == MAP_MUL || spec.kind == MAP_MAX || spec.kind == MAP_MIN;
    if (either && to[0].constant && !to[1].constant) { /* what products take has the constant second */
        aten_value first = to[0];
        to[0] = to[1];
        to[1] = first;
    }
    memory_order(to, is_copy ? 0 : count, &like, order);
    for (uint32_t i = 0; i < count; i++)
        to[i] = aten_permuted(&to[i], order);
    for (uint32_t d = 0; d < like.rank; d++)
        back[order[d]] = d;
    aten_value moved = aten_permuted(&like, order);
    like = aten_shaped(kind, moved.rank, moved.dims);
    spec.view_count = count;
    spec.type = kind == ATEN_KIND_FLOAT ? DTYPE_F32 : DTYPE_U32;
    set_dims(spec.dims, &like);
    if (are_constant(to, count) || !plain_function(a, &spec, to, count, &like, out))
        if (!compute(a, make_map, &spec, to, count, 0, &like, out))
            return false;
    *out = aten_permuted(out, back);
    return graph_ok(a->program_graph, a->e);
}

bool aten_unary(aten *a, unary_kind function, const aten_value *x, aten_value *out)
{
    map_spec m = {.kind = MAP_FUNCTION, .function = function};
    bool integers = x->kind != ATEN_KIND_FLOAT && (function <= UNARY_SQUARE);
    m.integers = integers;
    return aten_map(a, m, integers ? x->kind : ATEN_KIND_FLOAT, x, 1, out);
}

/* Integers with integers, unless the quotient is asked for. */
bool aten_binary(aten *a, map_kind kind, const aten_value *x, const aten_value *y, aten_value *out)
{
    bool compares = kind >= MAP_EQ && kind <= MAP_XOR;
    map_spec m = {.kind = kind, .integers = x->kind != ATEN_KIND_FLOAT && y->kind != ATEN_KIND_FLOAT};
    aten_kind result = !m.integers ? ATEN_KIND_FLOAT : ATEN_KIND_INT;
    if (compares)
        result =
            kind >= MAP_AND && (x->kind == ATEN_KIND_INT || y->kind == ATEN_KIND_INT) ? ATEN_KIND_INT : ATEN_KIND_BOOL;
    return aten_map(a, m, result, (aten_value[]){*x, *y}, 2, out);
}

bool aten_with_number(aten *a, map_kind kind, const aten_value *x, double y, aten_value *out)
{
    aten_value number = aten_scalar(a, x->kind == ATEN_KIND_FLOAT ? ATEN_KIND_FLOAT : ATEN_KIND_INT, y);
    return aten_binary(a, kind, x, &number, out);
}

bool aten_cast(aten *a, const aten_value *x, aten_kind kind, aten_value *out)
{
    *out = *x;
    if (x->kind == kind || (x->kind == ATEN_KIND_BOOL && kind == ATEN_KIND_INT)) {
        out->kind = kind;
        return true;
    }
    if (kind == ATEN_KIND_BOOL) {
        aten_value zero = aten_scalar(a, x->kind, 0);
        return aten_binary(a, MAP_NE, x, &zero, out);
    }
    map_spec m = {.kind = MAP_FUNCTION, .function = UNARY_COPY, .integers = x->kind != ATEN_KIND_FLOAT};
    return aten_map(a, m, kind, x, 1, out);
}

bool aten_place(aten *a, const aten_value *x, const uint32_t *first, const aten_value *rest, double outside,
                const uint32_t *dims, aten_value *out)
{
    aten_value operands[2] = {*x}, like = aten_shaped(x->kind, x->rank, dims);
    map_spec m = {.kind = MAP_PLACE, .a = (float)outside, .integers = x->kind != ATEN_KIND_FLOAT};
    m.type = m.integers ? DTYPE_U32 : DTYPE_F32;
    m.view_count = rest ? 2 : 1;
    for (uint32_t d = 0; d < GRAPH_VIEW_DIMS; d++)
        m.end[d] = 1;
    for (uint32_t d = 0; d < x->rank; d++) {
        m.first[GRAPH_VIEW_DIMS - x->rank + d] = first[d];
        m.end[GRAPH_VIEW_DIMS - x->rank + d] = first[d] + x->dims[d];
        operands[0].offset -= first[d] * x->strides[d];
    }
    if (rest)
        operands[1] = *rest;
    set_dims(m.dims, &like);
    return compute(a, make_map, &m, operands, m.view_count, 0, &like, out);
}

bool aten_take(aten *a, const aten_value *x, const aten_value *index, uint32_t stride, uint32_t count, aten_value *out)
{
    aten_value like = aten_shaped(x->kind, x->rank, x->dims), operands[2] = {*x};
    map_spec m = {.kind = MAP_TAKE, .view_count = 2, .integers = x->kind != ATEN_KIND_FLOAT};
    m.type = m.integers ? DTYPE_U32 : DTYPE_F32;
    m.take_stride = stride;
    m.take_count = count;
    set_dims(m.dims, &like);
    return aten_expanded(a, index, x->rank, x->dims, &operands[1]) &&
           compute(a, make_map, &m, operands, 2, 0, &like, out);
}

/* ---- products ------------------------------------------------------------------------------------------- */

static node make_contract(aten *a, const void *spec, const aten_value *operands, shape s)
{
    contract_spec c = *(const contract_spec *)spec;
    c.x.of = aten_root(a, &operands[0]);
    c.y.of = aten_root(a, &operands[1]);
    return graph_contract(a->g, &c, s);
}

/* Through strides nothing but a map reaches into a state, and a contraction takes floats. */
static bool is_plain(aten *a, const aten_value *v)
{
    return v->constant || (v->kind == ATEN_KIND_FLOAT && !aten_is_in_state(a, v));
}

static bool ready(aten *a, const aten_value *v, aten_value *out)
{
    *out = *v;
    return is_plain(a, v) || (aten_cast(a, v, ATEN_KIND_FLOAT, out) && aten_contiguous(a, out, out));
}

/* [.., k] and a constant [k, n]: the product with a weight. False if it is none. */
static bool by_weight(aten *a, const aten_value *x, const aten_value *y, const aten_value *like, aten_value *out,
                      bool *done)
{
    *done = y->constant && y->rank == 2 && !x->constant;
    if (!*done)
        return true;
    aten_value transposed = aten_permuted(y, (uint32_t[]){1, 0}), lies;
    if (!aten_contiguous(a, &transposed, &lies))
        return false;
    node w = aten_matrix(a, &lies), rows = aten_rows(a, x);
    *out = *like;
    out->n = w && rows ? graph_matmul(a->g, rows, w) : 0;
    return out->n || aten_fail(a, "it cannot be computed");
}

bool aten_matmul(aten *a, const aten_value *left, const aten_value *right, aten_value *out)
{
    aten_value x, y, like = {.kind = ATEN_KIND_FLOAT};
    bool done;
    if (!ready(a, left, &x) || !ready(a, right, &y))
        return false;
    bool vector_x = x.rank == 1, vector_y = y.rank == 1;
    if (vector_x)
        x = aten_unsqueezed(&x, 0);
    if (vector_y)
        y = aten_unsqueezed(&y, 1);
    if (x.rank < 2 || y.rank < 2 || x.dims[x.rank - 1] != y.dims[y.rank - 2])
        return aten_fail(a, "matrices that do not go together");
    uint32_t k = x.dims[x.rank - 1], x_step = x.strides[x.rank - 1], y_step = y.strides[y.rank - 2];
    /* Both as sums over k: x without its last dimension and y without its last but one, each broadcast. */
    aten_value rows = x, columns = y;
    rows.dims[x.rank - 1] = 1;
    rows.strides[x.rank - 1] = 0;
    columns.dims[y.rank - 2] = 1;
    columns.strides[y.rank - 2] = 0;
    aten_value to[2];
    if (!broadcast_all(a, (aten_value[]){rows, columns}, 2, to, &like) || !by_weight(a, &x, &y, &like, out, &done))
        return false;
    contract_spec c = {.k = k, .x_stride = x_step, .y_stride = y_step};
    set_dims(c.dims, &like);
    graph_view views[2];
    for (int i = 0; i < 2; i++) {
        views[i] = (graph_view){.offset = to[i].offset};
        for (uint32_t d = 0; d < like.rank; d++)
            views[i].strides[GRAPH_VIEW_DIMS - like.rank + d] = to[i].strides[d];
    }
    c.x = views[0];
    c.y = views[1];
    if (!done && !compute(a, make_contract, &c, to, 2, aten_count(&like) * k, &like, out))
        return false;
    if (vector_y)
        *out = aten_without_dim(out, out->rank - 1);
    if (vector_x)
        *out = aten_without_dim(out, out->rank - (vector_y ? 1 : 2));
    return true;
}

/* ---- reductions ----------------------------------------------------------------------------------------- */

static node make_reduce(aten *a, const void *kind, const aten_value *operands, shape s)
{
    node rows = aten_rows(a, &operands[0]);
    node n = rows ? graph_reduce(a->g, *(const reduce_kind *)kind, rows) : 0;
    return n ? graph_reshape(a->g, n, s) : 0;
}

bool aten_reduce_last(aten *a, reduce_kind kind, const aten_value *x, aten_value *out)
{
    aten_value lies, like = *x;
    if (!aten_contiguous(a, x, &lies))
        return false;
    if (like.rank)
        like.dims[like.rank - 1] = 1;
    like = aten_shaped(kind == REDUCE_ARGMAX ? ATEN_KIND_INT : ATEN_KIND_FLOAT, like.rank, like.dims);
    return compute(a, make_reduce, &kind, &lies, 1, aten_count(x), &like, out);
}

bool aten_reduce(aten *a, reduce_kind kind, const aten_value *x, uint32_t which, bool keep, aten_value *out)
{
    uint32_t order[ATEN_MAX_RANK], kept[ATEN_MAX_RANK + 1], result[ATEN_MAX_RANK], count = 0, many = 1, rank = 0;
    aten_value flat;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t d = 0; d < x->rank; d++)
            if ((which >> d & 1) == (uint32_t)pass)
                order[count++] = d;
    count = 0;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (which >> d & 1)
            many *= x->dims[d];
        else
            kept[count++] = x->dims[d];
        if (keep || !(which >> d & 1))
            result[rank++] = which >> d & 1 ? 1 : x->dims[d];
    }
    if (count == ATEN_MAX_RANK) /* nothing is reduced */
        return aten_fail(a, "it has no dimensions");
    kept[count] = many;
    aten_value transposed = aten_permuted(x, order);
    return aten_reshaped(a, &transposed, count + 1, kept, &flat) && aten_reduce_last(a, kind, &flat, &flat) &&
           aten_reshaped(a, &flat, rank, result, out);
}
