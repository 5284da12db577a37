/* cpu_map: functions and sums of products of tensors that are read through strides, on the CPU. */
#include "graph/cpu_internal.h"

#include <math.h>

/* The coordinates of element i. */
static void find_coordinates(const uint32_t *dims, uint64_t i, uint32_t *at)
{
    for (int d = GRAPH_VIEW_DIMS - 1; d >= 0; d--) {
        at[d] = (uint32_t)(i % dims[d]);
        i /= dims[d];
    }
}

static uint32_t place_of(const graph_view *v, const uint32_t *at)
{
    uint32_t place = v->offset;
    for (int d = 0; d < GRAPH_VIEW_DIMS; d++)
        place += at[d] * v->strides[d];
    return place;
}

/* A number, of which a function takes one or the other. */
typedef struct number {
    float f;
    int32_t i;
} number;

static int32_t to_integer(float f)
{
    return f >= 2147483648.0f ? INT32_MAX : f > -2147483648.0f ? (int32_t)f : f == f ? INT32_MIN : 0;
}

static bool number_at(const graph *g, const map_spec *m, const cpu_result *values, uint32_t which, uint32_t place,
                      number *out, err *e)
{
    const graph_node *n = graph_at(g, m->views[which].of);
    if (place >= shape_count(n->s))
        return err_set(e, "cpu: element %u of %llu is out of range", place, (unsigned long long)shape_count(n->s));
    if (n->type == DTYPE_U32) {
        out->i = (int32_t)values[m->views[which].of].u[place];
        out->f = (float)out->i;
    } else {
        out->f = values[m->views[which].of].f[place];
        out->i = to_integer(out->f);
    }
    return true;
}

static double sign_of(double x)
{
    return (x > 0) - (x < 0);
}

static float of_floats(const map_spec *m, float x, float y)
{
    switch (m->kind) {
    case MAP_RSQRT: return (float)(1 / sqrt(x));
    case MAP_ERF: return (float)erf(x);
    case MAP_FLOOR: return floorf(x);
    case MAP_CEIL: return ceilf(x);
    case MAP_ROUND: return rintf(x);
    case MAP_SIGN: return (float)sign_of(x);
    case MAP_NOT: return x == 0;
    case MAP_ADD: return x + y;
    case MAP_SUB: return x - y;
    case MAP_MUL: return x * y;
    case MAP_DIV: return x / y;
    case MAP_REMAINDER: return (float)(x - y * floor((double)x / y));
    case MAP_MAX: return x > y ? x : y;
    case MAP_MIN: return x < y ? x : y;
    case MAP_POW: return powf(x, y);
    case MAP_EQ: return x == y;
    case MAP_NE: return x != y;
    case MAP_LT: return x < y;
    case MAP_LE: return x <= y;
    case MAP_AND: return x != 0 && y != 0;
    case MAP_OR: return x != 0 || y != 0;
    case MAP_XOR: return (x != 0) != (y != 0);
    default: return cpu_unary(m->function, x, m->a, m->b);
    }
}

static int64_t quotient(int64_t x, int64_t y)
{
    return y == 0 ? 0 : x / y - (x % y != 0 && (x < 0) != (y < 0));
}

static int64_t of_integers(const map_spec *m, int64_t x, int64_t y)
{
    switch (m->kind) {
    case MAP_SIGN: return (int64_t)sign_of((double)x);
    case MAP_NOT: return x == 0;
    case MAP_ADD: return x + y;
    case MAP_SUB: return x - y;
    case MAP_MUL: return x * y;
    case MAP_DIV: return quotient(x, y);
    case MAP_REMAINDER: return x - y * quotient(x, y);
    case MAP_MAX: return x > y ? x : y;
    case MAP_MIN: return x < y ? x : y;
    case MAP_EQ: return x == y;
    case MAP_NE: return x != y;
    case MAP_LT: return x < y;
    case MAP_LE: return x <= y;
    case MAP_AND: return x & y;
    case MAP_OR: return x | y;
    case MAP_XOR: return x ^ y;
    default:
        return m->function == UNARY_NEG      ? -x
               : m->function == UNARY_ABS    ? (x < 0 ? -x : x)
               : m->function == UNARY_SQUARE ? x * x
                                             : x;
    }
}

static bool is_in_box(const map_spec *m, const uint32_t *at)
{
    for (int d = 0; d < GRAPH_VIEW_DIMS; d++)
        if (at[d] < m->first[d] || at[d] >= m->end[d])
            return false;
    return true;
}

/* Element `at` of the result: operands one after the other, only those that count. */
static bool element_of(const graph *g, const map_spec *m, const cpu_result *values, const uint32_t *at, number *out,
                       err *e)
{
    number x = {0}, y = {0};
    const graph_view *v = m->views;
    if (m->kind == MAP_PLACE) {
        bool inside = is_in_box(m, at);
        *out = (number){m->a, to_integer(m->a)};
        return (!inside && m->view_count < 2) || number_at(g, m, values, !inside, place_of(&v[!inside], at), out, e);
    }
    if (m->kind == MAP_TAKE) {
        if (!number_at(g, m, values, 1, place_of(&v[1], at), &y, e))
            return false;
        int64_t count = m->take_count, wanted = y.i < 0 ? y.i + count : y.i;
        wanted = wanted < 0 ? 0 : wanted < count ? wanted : count - 1;
        return number_at(g, m, values, 0, place_of(&v[0], at) + (uint32_t)wanted * m->take_stride, out, e);
    }
    if (!number_at(g, m, values, 0, place_of(&v[0], at), &x, e))
        return false;
    if (m->kind == MAP_WHERE) {
        uint32_t which = (m->integers ? x.i != 0 : x.f != 0) ? 1 : 2;
        return number_at(g, m, values, which, place_of(&v[which], at), out, e);
    }
    if (m->view_count > 1 && !number_at(g, m, values, 1, place_of(&v[1], at), &y, e))
        return false;
    if (m->integers)
        out->i = (int32_t)(uint32_t)of_integers(m, x.i, y.i);
    else
        out->f = of_floats(m, x.f, y.f);
    return true;
}

bool cpu_map(const graph *g, const graph_node *n, const cpu_result *values, cpu_result out, err *e)
{
    const map_spec *m = &n->as.map;
    for (uint64_t i = 0; i < shape_count(n->s); i++) {
        uint32_t at[GRAPH_VIEW_DIMS];
        number result = {0};
        find_coordinates(m->dims, i, at);
        if (!element_of(g, m, values, at, &result, e))
            return false;
        if (n->type == DTYPE_U32)
            out.u[i] = (uint32_t)(m->integers ? result.i : to_integer(result.f));
        else
            out.f[i] = m->integers ? (float)result.i : result.f;
    }
    return true;
}

void cpu_contract(const graph_node *n, const float *x, const float *y, float *out)
{
    const contract_spec *c = &n->as.contract;
    for (uint64_t i = 0; i < shape_count(n->s); i++) {
        uint32_t at[GRAPH_VIEW_DIMS];
        find_coordinates(c->dims, i, at);
        uint32_t from_x = place_of(&c->x, at), from_y = place_of(&c->y, at);
        double sum = 0;
        for (uint32_t k = 0; k < c->k; k++)
            sum += (double)x[from_x + k * c->x_stride] * y[from_y + k * c->y_stride];
        out[i] = (float)sum;
    }
}
