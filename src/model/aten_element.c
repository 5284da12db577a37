/* aten_element: elements of nodes, followed through what only moves them. */
#include "model/aten_element.h"

enum { MOST_STEPS = 64, DIMS = GRAPH_VIEW_DIMS };

/* The coordinates of element `at`. */
static void coordinates(const uint32_t *dims, uint32_t at, uint32_t out[DIMS])
{
    for (int d = DIMS; d-- > 0; at /= dims[d])
        out[d] = at % dims[d];
}

static element through(const graph_view *v, const uint32_t c[DIMS], double factor)
{
    element e = {v->of, v->offset, factor};
    for (int d = 0; d < DIMS; d++)
        e.at += c[d] * v->strides[d];
    return e;
}

/* The factor of a function that is one; 0: it is none. */
static double factor_of(unary_kind function, float a, float b)
{
    return function == UNARY_COPY                 ? 1
           : function == UNARY_NEG                ? -1
           : function == UNARY_SCALE && b == 0.0f ? (double)a
                                                  : 0;
}

/* One step back; false if something is computed here. */
static bool step_back(const aten *a, element *e)
{
    const graph_node *n = graph_at(a->g, e->n);
    uint32_t c[DIMS];
    if (n->op == OP_RESHAPE) {
        e->n = n->operands[0];
        return true;
    }
    if (n->op == OP_UNARY) {
        double factor = factor_of(n->as.unary.kind, n->as.unary.a, n->as.unary.b);
        *e = factor ? (element){n->operands[0], e->at, e->factor * factor} : *e;
        return factor != 0;
    }
    if (n->op != OP_MAP)
        return false;
    const map_spec *m = &n->as.map;
    coordinates(m->dims, e->at, c);
    if (m->kind == MAP_FUNCTION) {
        double factor = factor_of(m->function, m->a, m->b);
        bool rounds = n->type == DTYPE_U32 && graph_at(a->g, m->views[0].of)->type == DTYPE_F32 && !m->integers;
        if (!factor || rounds)
            return false;
        *e = through(&m->views[0], c, e->factor * factor);
        return true;
    }
    if (m->kind != MAP_PLACE)
        return false;
    bool inside = true;
    for (int d = 0; d < DIMS; d++)
        inside = inside && c[d] >= m->first[d] && c[d] < m->end[d];
    if (!inside && m->view_count < 2)
        return false;
    *e = through(&m->views[inside ? 0 : 1], c, e->factor);
    return true;
}

element element_behind(const aten *a, element e)
{
    for (int i = 0; i < MOST_STEPS && e.n && step_back(a, &e); i++)
        ;
    return e;
}

element element_of(const aten *a, node n, uint32_t at)
{
    return element_behind(a, (element){n, at, 1});
}

/* The operands of a plain operator: the second may have a row for all rows. */
static bool of_binary(const aten *a, const graph_node *n, uint32_t at, binary_kind kind, element out[2])
{
    if (n->op != OP_BINARY || n->as.binary != kind)
        return false;
    uint64_t count = shape_count(n->s), second = shape_count(graph_at(a->g, n->operands[1])->s);
    if (second != count && second != n->s.dims[GRAPH_MAX_DIMS - 1] && second != 1)
        return false;
    out[0] = element_of(a, n->operands[0], at);
    out[1] = element_of(a, n->operands[1], (uint32_t)(at % second));
    return true;
}

bool element_operands(const aten *a, element e, map_kind kind, element out[GRAPH_MAP_OPERANDS])
{
    if (!e.n || e.factor != 1)
        return false;
    const graph_node *n = graph_at(a->g, e.n);
    if ((kind == MAP_ADD && of_binary(a, n, e.at, BINARY_ADD, out)) ||
        (kind == MAP_MUL && of_binary(a, n, e.at, BINARY_MUL, out)))
        return true;
    if (n->op != OP_MAP || n->as.map.kind != kind)
        return false;
    uint32_t c[DIMS];
    coordinates(n->as.map.dims, e.at, c);
    for (uint32_t i = 0; i < n->as.map.view_count; i++)
        out[i] = element_behind(a, through(&n->as.map.views[i], c, 1));
    return true;
}

static bool of_map(const aten *a, element e, map_kind kind, unary_kind function, element *out)
{
    const graph_node *n = e.n ? graph_at(a->g, e.n) : NULL;
    if (!n || n->op != OP_MAP || n->as.map.kind != kind || (kind == MAP_FUNCTION && n->as.map.function != function))
        return false;
    uint32_t c[DIMS];
    coordinates(n->as.map.dims, e.at, c);
    *out = element_behind(a, through(&n->as.map.views[0], c, 1));
    return true;
}

bool element_function(const aten *a, element e, unary_kind function, element *out)
{
    return of_map(a, e, MAP_FUNCTION, function, out);
}

bool element_not(const aten *a, element e, element *out)
{
    return of_map(a, e, MAP_NOT, UNARY_COPY, out);
}

bool element_product(const aten *a, element e, uint32_t steps, uint32_t k, element *x, element *y)
{
    const graph_node *n = e.n ? graph_at(a->g, e.n) : NULL;
    if (!n || n->op != OP_CONTRACT || n->as.contract.k != steps)
        return false;
    const contract_spec *m = &n->as.contract;
    uint32_t c[DIMS];
    coordinates(m->dims, e.at, c);
    *x = through(&m->x, c, 1);
    *y = through(&m->y, c, 1);
    x->at += k * m->x_stride;
    y->at += k * m->y_stride;
    *x = element_behind(a, *x);
    *y = element_behind(a, *y);
    return true;
}

bool element_constant(const aten *a, element e, double *value)
{
    if (!e.n || graph_at(a->g, e.n)->op != OP_WEIGHT)
        return false;
    for (uint32_t i = 0; i < a->weight_count; i++) {
        if (a->weights[i].n != e.n)
            continue;
        uint64_t count = a->constants[a->weights[i].constant - 1].count;
        aten_value v = {.constant = a->weights[i].constant, .rank = 1, .dims = {(uint32_t)count}, .strides = {1}};
        *value = e.factor * aten_constant_at(a, &v, e.at);
        return true;
    }
    return false;
}

bool element_is_sum(const aten *a, element e, element_sum *out)
{
    element operands[GRAPH_MAP_OPERANDS];
    double value;
    *out = (element_sum){0};
    for (int i = 0; i < MOST_STEPS && e.n && e.factor == 1; i++) {
        const graph_node *n = graph_at(a->g, e.n);
        if ((n->op == OP_INPUT && n->type == DTYPE_U32 && shape_count(n->s) == 1) ||
            (n->op == OP_STATE && shape_count(n->s) == 2 && e.at == 0)) { /* a state has an even number */
            out->root = e.n;
            return true;
        }
        bool adds = element_operands(a, e, MAP_ADD, operands);
        if (!adds && !element_operands(a, e, MAP_SUB, operands))
            return false;
        int which = element_constant(a, operands[1], &value) ? 0 : 1;
        if (which == 1 && (!adds || !element_constant(a, operands[0], &value)))
            return false;
        out->added += (int64_t)(adds ? value : -value);
        e = operands[which];
    }
    return false;
}
