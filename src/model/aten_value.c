/* aten_value: tensors of a program: elements of a node or a constant, through strides. */
#include "model/aten_internal.h"

#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_COUNT = 1 << 30 };

uint64_t aten_count(const aten_value *v)
{
    uint64_t count = 1;
    for (uint32_t d = 0; d < v->rank; d++)
        count *= v->dims[d];
    return count;
}

aten_value aten_shaped(aten_kind kind, uint32_t rank, const uint32_t *dims)
{
    aten_value v = {.kind = kind, .rank = rank};
    uint32_t stride = 1;
    for (uint32_t d = rank; d-- > 0;) {
        v.dims[d] = dims[d];
        v.strides[d] = stride;
        stride *= dims[d];
    }
    return v;
}

bool aten_is_contiguous(const aten_value *v)
{
    uint32_t stride = 1;
    for (uint32_t d = v->rank; d-- > 0; stride *= v->dims[d])
        if (v->dims[d] != 1 && v->strides[d] != stride)
            return false;
    return true;
}

/* ---- constants ------------------------------------------------------------------------------------------ */

uint32_t aten_add_constant(aten *a, const char *name, const void *data, float *owned, tensor_type type, uint64_t count)
{
    if ((a->constant_count & (a->constant_count - 1)) == 0)
        a->constants = mem_grow(a->constants, (a->constant_count ? 2 * a->constant_count : 1) * sizeof *a->constants);
    a->constants[a->constant_count++] = (aten_constant){name ? mem_dup(name) : NULL, data, owned, type, count};
    return a->constant_count;
}

aten_value aten_from_floats(aten *a, aten_kind kind, uint32_t rank, const uint32_t *dims, float *floats)
{
    aten_value v = aten_shaped(kind, rank, dims);
    v.constant = aten_add_constant(a, NULL, floats, floats, TYPE_F32, aten_count(&v));
    return v;
}

aten_value aten_scalar(aten *a, aten_kind kind, double number)
{
    /* GPUs need not know infinity; what is this large does the same in a mask. */
    float f = isinf(number) ? (number < 0 ? ATEN_MINUS_INFINITY : -ATEN_MINUS_INFINITY) : (float)number;
    aten_value v = {.kind = kind};
    for (uint32_t i = 0; i < a->constant_count && !v.constant; i++)
        if (a->constants[i].count == 1 && a->constants[i].owned && memcmp(a->constants[i].owned, &f, sizeof f) == 0)
            v.constant = i + 1;
    if (!v.constant) {
        float *floats = mem_alloc(sizeof *floats);
        *floats = f;
        v = aten_from_floats(a, kind, 0, NULL, floats);
    }
    return v;
}

double aten_constant_at(const aten *a, const aten_value *v, uint64_t i)
{
    const aten_constant *c = &a->constants[v->constant - 1];
    uint32_t at = v->offset;
    for (uint32_t d = v->rank; d-- > 0; i /= v->dims[d])
        at += (uint32_t)(i % v->dims[d]) * v->strides[d];
    float f = 0;
    if (at < c->count)
        type_to_f32(c->type, (const char *)c->data + at * type_bytes(c->type, 1), &f, 1);
    return f;
}

/* A name that no node has yet. */
static char *free_name(aten *a, const char *wanted)
{
    str name = {0};
    str_add(&name, wanted);
    for (uint32_t i = 2; graph_find(a->g, name.data); i++) {
        name.length = 0;
        str_addf(&name, "%s (%u)", wanted, i);
    }
    return name.data;
}

static node weight_node(aten *a, uint32_t constant, shape s)
{
    const aten_constant *c = &a->constants[constant - 1];
    for (uint32_t i = 0; a->g == a->program_graph && i < a->weight_count; i++)
        if (a->weights[i].constant == constant && memcmp(&a->weights[i].s, &s, sizeof s) == 0 && a->weights[i].n)
            return a->weights[i].n;
    char number[32];
    snprintf(number, sizeof number, "constant %u", constant);
    char *name = free_name(a, c->name ? c->name : number);
    node n = graph_weight(a->g, name, c->type, s);
    if ((a->weight_count & (a->weight_count - 1)) == 0)
        a->weights = mem_grow(a->weights, (a->weight_count ? 2 * a->weight_count : 1) * sizeof *a->weights);
    a->weights[a->weight_count++] = (aten_weight){name, constant, s, a->g == a->program_graph ? n : 0};
    return n;
}

node aten_root(aten *a, const aten_value *v)
{
    return v->constant ? weight_node(a, v->constant, shape1((uint32_t)a->constants[v->constant - 1].count)) : v->n;
}

node aten_matrix(aten *a, const aten_value *v)
{
    if (!v->constant || v->rank != 2 || !aten_is_contiguous(v) || v->offset ||
        aten_count(v) != a->constants[v->constant - 1].count)
        return 0;
    return weight_node(a, v->constant, shape2(v->dims[0], v->dims[1]));
}

bool aten_is_in_state(const aten *a, const aten_value *v)
{
    return !v->constant && (graph_at(a->g, v->n)->op == OP_STATE || graph_at(a->g, v->n)->op == OP_STORE);
}

/* ---- in order ------------------------------------------------------------------------------------------- */

bool aten_contiguous(aten *a, const aten_value *v, aten_value *out)
{
    bool bare = v->constant || !aten_is_in_state(a, v); /* only strides reach into a state */
    uint64_t all = v->constant ? a->constants[v->constant - 1].count : shape_count(graph_at(a->g, v->n)->s);
    *out = *v;
    if (bare && aten_is_contiguous(v) && v->offset == 0 && aten_count(v) == all)
        return true;
    map_spec copy = {.kind = MAP_FUNCTION, .function = UNARY_COPY};
    return aten_map(a, copy, v->kind, v, 1, out);
}

node aten_in_shape(aten *a, const aten_value *v, shape s)
{
    aten_value c;
    if (!aten_contiguous(a, v, &c))
        return 0;
    node n = aten_root(a, &c);
    bool same = n && memcmp(&graph_at(a->g, n)->s, &s, sizeof s) == 0;
    return n && !same ? graph_reshape(a->g, n, s) : n;
}

node aten_rows(aten *a, const aten_value *v)
{
    uint32_t last = v->rank ? v->dims[v->rank - 1] : 1;
    return aten_in_shape(a, v, shape2((uint32_t)(aten_count(v) / last), last));
}

/* ---- views ---------------------------------------------------------------------------------------------- */

aten_value aten_permuted(const aten_value *v, const uint32_t *order)
{
    aten_value out = *v;
    for (uint32_t d = 0; d < v->rank; d++) {
        out.dims[d] = v->dims[order[d]];
        out.strides[d] = v->strides[order[d]];
    }
    return out;
}

bool aten_expanded(aten *a, const aten_value *of, uint32_t rank, const uint32_t *dims, aten_value *out)
{
    const aten_value copy = *of, *v = &copy; /* `out` may be the same */
    *out = (aten_value){.kind = v->kind, .constant = v->constant, .n = v->n, .offset = v->offset, .rank = rank};
    if (rank < v->rank)
        return aten_fail(a, "a tensor of %u dimensions as one of %u", v->rank, rank);
    for (uint32_t d = 0; d < rank; d++) {
        bool own = d >= rank - v->rank;
        uint32_t size = own ? v->dims[d - (rank - v->rank)] : 1;
        if (size != dims[d] && size != 1)
            return aten_fail(a, "sizes %u and %u do not go together", size, dims[d]);
        out->dims[d] = dims[d];
        out->strides[d] = own && size == dims[d] ? v->strides[d - (rank - v->rank)] : 0;
    }
    return true;
}

/* Strides of other dimensions for the same elements, where there are such. */
static bool restride(const aten_value *v, uint32_t rank, const uint32_t *dims, uint32_t *strides)
{
    uint64_t runs[ATEN_MAX_RANK]; /* of dimensions that follow each other without a gap */
    uint32_t steps[ATEN_MAX_RANK], run = 0, stride = 1;
    for (uint32_t d = 0; d < v->rank; d++) {
        if (v->dims[d] == 1)
            continue;
        if (run && steps[run - 1] == v->dims[d] * v->strides[d])
            runs[run - 1] *= v->dims[d];
        else
            runs[run++] = v->dims[d];
        steps[run - 1] = v->strides[d];
    }
    uint64_t left = 1; /* of the run that is being cut up */
    for (uint32_t d = rank; d-- > 0;) {
        if (left == 1 && dims[d] > 1) {
            if (run-- == 0)
                return false;
            left = runs[run];
            stride = steps[run];
        }
        strides[d] = stride;
        if (left % dims[d])
            return false;
        left /= dims[d];
        stride *= dims[d];
    }
    return true;
}

bool aten_reshaped(aten *a, const aten_value *v, uint32_t rank, const uint32_t *dims, aten_value *out)
{
    aten_value to = aten_shaped(v->kind, rank, dims);
    if (aten_count(&to) != aten_count(v) || aten_count(&to) > LARGEST_COUNT)
        return aten_fail(a, "%llu elements cannot become %llu", (unsigned long long)aten_count(v),
                         (unsigned long long)aten_count(&to));
    aten_value from = *v;
    if (!restride(v, rank, dims, to.strides)) {
        if (!aten_contiguous(a, v, &from))
            return false;
        to = aten_shaped(v->kind, rank, dims);
    }
    to.constant = from.constant;
    to.n = from.n;
    to.offset = from.offset;
    *out = to;
    return true;
}

aten_value aten_unsqueezed(const aten_value *v, uint32_t dim)
{
    aten_value out = *v;
    if (v->rank >= ATEN_MAX_RANK) {
        out.rank = ATEN_MAX_RANK + 1;
        return out;
    }
    out.rank++;
    for (uint32_t d = v->rank; d > dim; d--) {
        out.dims[d] = v->dims[d - 1];
        out.strides[d] = v->strides[d - 1];
    }
    out.dims[dim] = 1;
    out.strides[dim] = 0;
    return out;
}

aten_value aten_without_dim(const aten_value *v, uint32_t dim)
{
    aten_value out = *v;
    out.rank--;
    for (uint32_t d = dim; d < out.rank; d++) {
        out.dims[d] = v->dims[d + 1];
        out.strides[d] = v->strides[d + 1];
    }
    return out;
}
