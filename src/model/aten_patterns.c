/* aten_patterns: several nodes that are one operator of the graph: models write RMSNorm out. */
#include "model/aten_internal.h"

#include <string.h>

/* The call that makes a tensor, if it is of this operator. */
static const aten_call *made_by(const aten *a, const char *name, const char *op)
{
    const uint32_t *number = names_get(&a->call_of, name);
    const aten_call *c = number ? &a->calls[*number] : NULL;
    return c && strcmp(c->op, op) == 0 ? c : NULL;
}

static bool is_float(int32_t type)
{
    return type == ATEN_F32 || type == ATEN_F16 || type == ATEN_BF16;
}

/* The tensor behind copies and casts of floats, all of which are computed as f32. */
static const char *behind_copies(aten *a, const char *name)
{
    static const char *const copies[] = {"_to_copy", "to", "clone", "alias"};
    aten_tensor meta;
    for (bool found = true; found && name;) {
        found = false;
        for (int i = 0; i < 4 && !found; i++) {
            const aten_call *c = made_by(a, name, copies[i]);
            if (c && aten_read_meta(jsonr_get(a->metas, name), &meta) && is_float(meta.type)) {
                a->at = c;
                name = aten_tensor_name(a, "self");
                found = true;
            }
        }
    }
    return name;
}

/* Is it 1 / sqrt(mean(x^2) + epsilon) over the last dimension? */
static bool is_rms_of(aten *a, const char *name, const char *x, double *epsilon)
{
    int64_t dims[2], power = 0;
    aten_tensor meta;
    const aten_call *c = made_by(a, name, "rsqrt");
    a->at = c;
    c = c ? made_by(a, aten_tensor_name(a, "self"), "add") : NULL;
    a->at = c;
    const char *mean = c ? aten_tensor_name(a, "self") : NULL;
    if (!mean || aten_has(a, "alpha") || !jsonr_is(aten_arg(a, "other"), JSONR_REAL))
        return false;
    *epsilon = jsonr_number(aten_arg(a, "other"));
    a->at = c = made_by(a, mean, "mean");
    if (!c || !aten_bool(a, "keepdim", false) || aten_ints(a, "dim", dims, 2) != 1 ||
        !aten_read_meta(jsonr_get(a->metas, x), &meta) || meta.type != ATEN_F32 || meta.rank < 1 ||
        (dims[0] != -1 && dims[0] != meta.rank - 1))
        return false;
    a->at = c = made_by(a, aten_tensor_name(a, "self"), "pow");
    const char *squared = c ? aten_tensor_name(a, "self") : NULL;
    const jsonr *exponent = c ? aten_arg(a, "exponent") : NULL;
    power = jsonr_is_number(exponent) && jsonr_number(exponent) == 2 ? 2 : 0;
    return squared && power == 2 && strcmp(squared, x) == 0;
}

/* weight * (x * rms), the factors in any order. */
static bool match_norm(aten *a, const aten_call *call, aten_norm *out)
{
    aten_tensor weight, x;
    for (int way = 0; way < 4; way++) {
        a->at = call;
        const char *first = aten_tensor_name(a, way & 1 ? "other" : "self");
        const char *second = aten_tensor_name(a, way & 1 ? "self" : "other");
        const aten_call *scaled = made_by(a, behind_copies(a, second), "mul");
        a->at = scaled;
        const char *of = scaled ? aten_tensor_name(a, way & 2 ? "other" : "self") : NULL;
        const char *rms = scaled ? aten_tensor_name(a, way & 2 ? "self" : "other") : NULL;
        bool changes = names_get(&a->rebound, of); /* it may be another one by now */
        if (!first || !of || changes || !rms || !is_rms_of(a, rms, of, &out->epsilon) ||
            !aten_read_meta(jsonr_get(a->metas, first), &weight) || !aten_read_meta(jsonr_get(a->metas, of), &x) ||
            !is_float(weight.type) || weight.rank != 1 || weight.dims[0] != x.dims[x.rank - 1])
            continue;
        out->x = of;
        out->weight = first;
        return true;
    }
    return false;
}

bool aten_find_norm(aten *a, aten_call *call)
{
    const aten_call *before = a->at;
    bool found = strcmp(call->op, "mul") == 0 && match_norm(a, call, &call->norm);
    if (!found)
        call->norm = (aten_norm){0};
    a->at = before;
    return found;
}

bool aten_lower_norm(aten *a)
{
    const aten_norm *norm = &a->at->norm;
    aten_value x, weight;
    if (!aten_find_value(a, norm->x, &x) || !aten_find_value(a, norm->weight, &weight))
        return false;
    node rows = aten_rows(a, &x), w = aten_in_shape(a, &weight, shape1(weight.dims[0]));
    aten_value out = aten_shaped(ATEN_KIND_FLOAT, x.rank, x.dims);
    out.n = rows && w ? graph_rmsnorm(a->g, rows, w, (float)norm->epsilon, 0) : 0;
    return (out.n || aten_fail(a, "it cannot be computed")) && aten_put(a, &out);
}
