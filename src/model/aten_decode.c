/* aten_decode: what a decoder's step writes out for one token: RoPE, a row into a cache, attention over a cache. Each is
 * recognised by where every element comes from, and becomes the operator that the graph has for it. */
#include "model/aten_element.h"

#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- positions ------------------------------------------------------------------------------------------ */

/* The input, or the state as an integer, as a node u32 [1]. */
static node position_node(aten *a, node root)
{
    const graph_node *n = graph_at(a->g, root);
    if (n->op == OP_INPUT)
        return root;
    for (uint32_t i = 0; i < a->position_count; i++)
        if (a->positions[i].state == root)
            return a->positions[i].n;
    map_spec m = {.kind = MAP_FUNCTION, .function = UNARY_COPY, .integers = true, .type = DTYPE_U32, .view_count = 1};
    m.views[0].of = root;
    for (int d = 0; d < GRAPH_VIEW_DIMS; d++)
        m.dims[d] = 1;
    node made = graph_map(a->g, &m, shape1(1));
    a->positions = mem_grow(a->positions, (a->position_count + 1) * sizeof *a->positions);
    a->positions[a->position_count++] = (aten_position){root, made};
    return made;
}

/* ---- RoPE ----------------------------------------------------------------------------------------------- */

typedef struct rotation {
    node x, position; /* the latter is its root */
    uint32_t first, heads, size;
    double magnitude;
    float *frequencies; /* (size / 2) */
} rotation;

/* cos or sin of position * frequency, times the magnitude. */
static bool is_turn(const aten *a, element e, unary_kind function, rotation *r, double *frequency)
{
    element angle, parts[GRAPH_MAP_OPERANDS];
    element_sum where;
    double magnitude = e.factor;
    e.factor = 1;
    if (!element_function(a, e, function, &angle) || angle.factor != 1 ||
        (!element_operands(a, angle, MAP_MUL, parts) && !element_product(a, angle, 1, 0, &parts[0], &parts[1])))
        return false;
    int which = element_constant(a, parts[0], frequency) ? 1 : 0;
    if ((which == 0 && !element_constant(a, parts[1], frequency)) || !element_is_sum(a, parts[which], &where) ||
        where.added)
        return false;
    if (!r->position) {
        r->position = where.root;
        r->magnitude = magnitude;
    }
    return r->position == where.root && r->magnitude == magnitude;
}

/* One product of the sum: an element of x and its cos or sin. */
static bool is_turned(const aten *a, element e, unary_kind function, rotation *r, element *x, double *frequency)
{
    element parts[GRAPH_MAP_OPERANDS];
    if (!element_operands(a, e, MAP_MUL, parts))
        return false;
    int turn = is_turn(a, parts[0], function, r, frequency) ? 0 : 1;
    *x = parts[1 - turn];
    return turn == 0 || is_turn(a, parts[1], function, r, frequency);
}

/* Element d of head h: x[d] cos(f) - x[d + half] sin(f), and x[d] cos(f) + x[d - half] sin(f) in the second half. */
static bool is_rotated(const aten *a, node sum, uint32_t i, rotation *r)
{
    element parts[GRAPH_MAP_OPERANDS], own, other;
    uint32_t d = i % r->size, half = r->size / 2;
    double f, g;
    if (!element_operands(a, (element){sum, i, 1}, MAP_ADD, parts))
        return false;
    int first = is_turned(a, parts[0], UNARY_COS, r, &own, &f) ? 0 : 1;
    if ((first == 1 && !is_turned(a, parts[1], UNARY_COS, r, &own, &f)) ||
        !is_turned(a, parts[1 - first], UNARY_SIN, r, &other, &g) || f != g)
        return false;
    if (i == 0) {
        r->x = own.n;
        r->first = own.at;
    }
    if (i < half)
        r->frequencies[i] = (float)f;
    return r->frequencies[d % half] == (float)f && own.n == r->x && own.at == r->first + i && own.factor == 1 &&
           other.n == r->x && other.factor == (d < half ? -1 : 1) &&
           other.at == r->first + (d < half ? i + half : i - half);
}

/* A constant that is there already, or a new one. */
static aten_value numbers(aten *a, const float *floats, uint32_t count)
{
    aten_value v = aten_shaped(ATEN_KIND_FLOAT, 1, &count);
    for (uint32_t i = 0; i < a->constant_count; i++)
        if (a->constants[i].owned && a->constants[i].count == count &&
            memcmp(a->constants[i].owned, floats, count * sizeof *floats) == 0) {
            v.constant = i + 1;
            return v;
        }
    float *copy = mem_floats(count);
    memcpy(copy, floats, count * sizeof *copy);
    return aten_from_floats(a, ATEN_KIND_FLOAT, 1, &count, copy);
}

static void replace_rotation(aten *a, aten_value *v)
{
    uint32_t count = (uint32_t)aten_count(v);
    rotation r = {.size = v->rank ? v->dims[v->rank - 1] : 1};
    if (r.size < 4 || r.size % 2 || !aten_is_contiguous(v) || v->offset ||
        shape_count(graph_at(a->g, v->n)->s) != count)
        return;
    r.heads = count / r.size;
    r.frequencies = mem_floats(r.size / 2);
    bool found = true;
    for (uint32_t i = 0; i < count && found; i++)
        found = is_rotated(a, v->n, i, &r);
    if (found) {
        aten_value x = aten_shaped(ATEN_KIND_FLOAT, 3, (uint32_t[]){1, r.heads, r.size}),
                   factors = numbers(a, r.frequencies, r.size / 2);
        x.n = r.x;
        x.offset = r.first;
        rope_spec spec = {
            .rotated = r.size, .base = 1, .factors = aten_root(a, &factors), .magnitude = (float)r.magnitude};
        node rows = aten_in_shape(a, &x, shape3(1, r.heads, r.size));
        v->n = graph_rope(a->g, rows, position_node(a, r.position), spec);
    }
    free(r.frequencies);
}

/* ---- a row into a cache --------------------------------------------------------------------------------- */

bool aten_is_cache(const aten_value *v)
{
    return v->rank == 4 && v->dims[0] == 1 && v->strides[3] == 1 && v->strides[1] == v->dims[3] &&
           v->strides[2] == v->dims[1] * v->dims[3] && v->offset == 0;
}

static uint32_t count_names(const jsonr *value, const char *name)
{
    const jsonr *item;
    const char *own = jsonr_get_text(value, "name");
    uint32_t count = own && strcmp(own, name) == 0;
    jsonr_each(item, value) count += count_names(item, name);
    return count;
}

/* Does nobody else read the buffer as it was before this node, and is the node's result what it is changed to? */
static bool is_last_change(aten *a, node state)
{
    const char *self = aten_tensor_name(a, "self"), *buffer = graph_at(a->g, state)->name;
    const char *result = aten_changed_to(a, buffer);
    const jsonr *out = jsonr_get(jsonr_at(jsonr_get(a->at->json, "outputs"), 0), "as_tensor");
    const char *own = jsonr_get_text(out, "name");
    if (!self || !result || !own || strcmp(own, result) != 0)
        return false;
    uint32_t uses = 0;
    for (uint32_t i = 0; i < a->call_count; i++)
        uses += a->calls[i].needed ? count_names(jsonr_get(a->calls[i].json, "inputs"), self) : 0;
    return uses == 1;
}

bool aten_store_row(aten *a, const aten_value *x, uint32_t dim, const aten_value *index, const aten_value *source,
                    aten_value *out)
{
    const graph_node *state = x->constant ? NULL : graph_at(a->g, x->n);
    element_sum where;
    if (!state || state->op != OP_STATE || !aten_is_cache(x) || dim != 2 || index->constant || source->constant ||
        aten_count(index) != 1 || source->rank != 4 || source->kind != ATEN_KIND_FLOAT || source->dims[2] != 1 ||
        source->dims[1] != x->dims[1] || source->dims[3] != x->dims[3] ||
        !element_is_sum(a, element_of(a, index->n, index->offset), &where) || where.added || !is_last_change(a, x->n))
        return false;
    aten_value row = aten_shaped(ATEN_KIND_FLOAT, 3, (uint32_t[]){1, x->dims[1], x->dims[3]});
    row.constant = source->constant;
    row.n = source->n;
    row.offset = source->offset;
    row.strides[1] = source->strides[1];
    row.strides[2] = source->strides[3];
    node rows = aten_in_shape(a, &row, shape3(1, x->dims[1], x->dims[3]));
    *out = *x;
    out->n = rows ? graph_store(a->g, x->n, rows, position_node(a, where.root)) : 0;
    return out->n != 0;
}

/* ---- attention ------------------------------------------------------------------------------------------ */

typedef struct attention {
    node sum, keys, values, q, position;
    uint32_t q_first, heads, kv_heads, size, capacity, window; /* window 0: all that came before */
    node scores;                                               /* the softmax's operand */
    double scale;
} attention;

/* The positions at which a condition holds, from low to high. */
typedef struct range {
    int64_t low, high;
} range;
#define FAR (INT64_C(1) << 40)

/* Of a comparison of the position with a constant, or several of them. */
static bool range_of(const aten *a, element e, node *position, range *out)
{
    static const map_kind kinds[] = {MAP_LE, MAP_LT, MAP_AND};
    element parts[GRAPH_MAP_OPERANDS];
    element_sum where;
    double value;
    int kind = 0;
    if (element_constant(a, e, &value)) {
        *out = value != 0 ? (range){-FAR, FAR} : (range){FAR, -FAR};
        return true;
    }
    while (kind < 3 && !element_operands(a, e, kinds[kind], parts))
        kind++;
    if (kind == 3)
        return false;
    if (kinds[kind] == MAP_AND) {
        range second;
        if (!range_of(a, parts[0], position, out) || !range_of(a, parts[1], position, &second))
            return false;
        out->low = second.low > out->low ? second.low : out->low;
        out->high = second.high < out->high ? second.high : out->high;
        return true;
    }
    int known = element_constant(a, parts[0], &value) ? 0 : 1;
    if ((known == 1 && !element_constant(a, parts[1], &value)) || !element_is_sum(a, parts[1 - known], &where) ||
        (*position && *position != where.root))
        return false;
    *position = where.root;
    int64_t limit = (int64_t)value - where.added, strict = kinds[kind] == MAP_LT;
    *out = known == 0 ? (range){limit + strict, FAR} : (range){-FAR, limit - strict};
    return true;
}

/* Is column j seen from position j on, until the window has passed it? */
static bool is_seen(const aten *a, element condition, uint32_t j, attention *t)
{
    range r;
    if (!range_of(a, condition, &t->position, &r) || (r.low != j && !(j == 0 && r.low < 0)))
        return false;
    uint32_t window = r.high >= FAR ? 0 : (uint32_t)(r.high - j + 1);
    if (j == 0)
        t->window = window;
    return window == t->window && (r.high >= FAR || r.high >= j);
}

static bool is_number(const aten *a, element e, double wanted)
{
    double value;
    return element_constant(a, e, &value) && value == wanted;
}

/* The score before the mask: what the softmax is of, column j of head h. */
static bool behind_mask(const aten *a, uint32_t h, uint32_t j, attention *t, element *score)
{
    element parts[GRAPH_MAP_OPERANDS], mask[GRAPH_MAP_OPERANDS], at = element_of(a, t->scores, h * t->capacity + j);
    if (element_operands(a, at, MAP_WHERE, parts)) {
        *score = parts[1];
        return is_number(a, parts[2], (double)ATEN_MINUS_INFINITY) && is_seen(a, parts[0], j, t);
    }
    if (!element_operands(a, at, MAP_ADD, parts))
        return false;
    for (int i = 0; i < 2; i++)
        if (element_operands(a, parts[i], MAP_WHERE, mask)) {
            *score = parts[1 - i];
            return is_number(a, mask[1], 0) && is_number(a, mask[2], (double)ATEN_MINUS_INFINITY) &&
                   is_seen(a, mask[0], j, t);
        }
    return false;
}

/* Does the condition hold only for rows of which everything is hidden? There are none: a position sees itself. */
static bool is_never(const aten *a, element e, uint32_t h, const attention *t)
{
    element parts[GRAPH_MAP_OPERANDS], row;
    if (!element_not(a, e, &e) || !element_operands(a, e, MAP_NE, parts) || !is_number(a, parts[1], 0))
        return false;
    const graph_node *n = graph_at(a->g, parts[0].n);
    if (n->op != OP_REDUCE || n->as.reduce != REDUCE_MAX || parts[0].at != h)
        return false;
    for (uint32_t j = 0; j<t->capacity; j += t->capacity> 1 ? t->capacity - 1 : 1) {
        row = element_of(a, n->operands[0], h * t->capacity + j);
        element score = element_of(a, t->scores, h * t->capacity + j);
        if (!element_not(a, row, &row) || !element_operands(a, row, MAP_EQ, parts) || parts[0].n != score.n ||
            parts[0].at != score.at || !is_number(a, parts[1], (double)ATEN_MINUS_INFINITY))
            return false;
    }
    return true;
}

/* Is it the softmax's element (h, j), or 0 where a condition holds that never does or hides what is hidden anyway? */
static bool is_weight(const aten *a, element e, uint32_t h, uint32_t j, attention *t)
{
    element parts[GRAPH_MAP_OPERANDS];
    bool chosen = element_operands(a, e, MAP_WHERE, parts), otherwise = chosen && is_number(a, parts[2], 0);
    element weight = !chosen ? e : otherwise ? parts[1] : parts[2];
    const graph_node *n = weight.n ? graph_at(a->g, weight.n) : NULL;
    if (!n || n->op != OP_SOFTMAX || n->as.softmax_scale != 1 || n->s.dims[GRAPH_MAX_DIMS - 1] != t->capacity ||
        weight.factor != 1 || weight.at != h * t->capacity + j)
        return false;
    t->scores = n->operands[0];
    return !chosen ||
           (otherwise ? is_seen(a, parts[0], j, t) : is_number(a, parts[1], 0) && is_never(a, parts[0], h, t));
}

/* Element (h, j, d) of the keys or values that are stored: heads share them in groups. */
static bool is_stored(const attention *t, element e, node stored, uint32_t h, uint32_t j, uint32_t d)
{
    return e.n == stored && e.at == (j * t->kv_heads + h / (t->heads / t->kv_heads)) * t->size + d;
}

static bool is_attention_at(const aten *a, uint32_t h, uint32_t j, uint32_t d, attention *t)
{
    element weight, value, score, q, key;
    return element_product(a, (element){t->sum, h * t->size + d, 1}, t->capacity, j, &weight, &value) &&
           value.factor == 1 && is_stored(t, value, t->values, h, j, d) && is_weight(a, weight, h, j, t) &&
           behind_mask(a, h, j, t, &score) && score.factor == 1 && element_product(a, score, t->size, d, &q, &key) &&
           is_stored(t, key, t->keys, h, j, d) && q.n == t->q && q.at == t->q_first + h * t->size + d &&
           q.factor * key.factor == t->scale;
}

/* What the first element says, which all others have to agree with. */
static bool begin_attention(const aten *a, const aten_value *v, attention *t)
{
    element weight, value, score, q, key;
    const graph_node *sum = graph_at(a->g, v->n);
    if (sum->op != OP_CONTRACT || !aten_is_contiguous(v) || v->offset || shape_count(sum->s) != aten_count(v))
        return false;
    *t = (attention){.sum = v->n, .capacity = sum->as.contract.k};
    if (!element_product(a, (element){t->sum, 0, 1}, t->capacity, 0, &weight, &value))
        return false;
    const graph_node *stored = graph_at(a->g, value.n);
    t->kv_heads = stored->s.dims[2];
    t->size = stored->s.dims[3];
    if (stored->op != OP_STORE || stored->s.dims[1] != t->capacity || aten_count(v) % t->size)
        return false;
    t->values = value.n;
    t->heads = (uint32_t)aten_count(v) / t->size;
    if (t->heads % t->kv_heads || !is_weight(a, weight, 0, 0, t) || !behind_mask(a, 0, 0, t, &score) ||
        !element_product(a, score, t->size, 0, &q, &key) || graph_at(a->g, key.n)->op != OP_STORE)
        return false;
    t->keys = key.n;
    t->q = q.n;
    t->q_first = q.at;
    t->scale = q.factor * key.factor;
    return memcmp(&graph_at(a->g, t->keys)->s, &stored->s, sizeof stored->s) == 0;
}

/* Places are sums of strides, so what is in order at the ends of a row is in order between them; conditions are not. */
static bool is_attention(const aten *a, attention *t)
{
    uint32_t columns[] = {0, 1, t->capacity - 1}, elements[] = {0, 1, t->size - 1};
    element score;
    for (uint32_t h = 0; h < t->heads; h++)
        for (int j = 0; j < 3; j++)
            for (int d = 0; d < 3; d++)
                if (!is_attention_at(a, h, columns[j], elements[d], t))
                    return false;
    for (uint32_t j = 0; j < t->capacity; j++)
        if (!behind_mask(a, 0, j, t, &score))
            return false;
    return true;
}

static void replace_attention(aten *a, aten_value *v)
{
    attention t;
    if (!begin_attention(a, v, &t) || t.capacity < 2 || t.size < 2 || !is_attention(a, &t))
        return;
    const graph_node *keys = graph_at(a->g, t.keys), *values = graph_at(a->g, t.values);
    node position = position_node(a, t.position);
    if (keys->operands[2] != position || values->operands[2] != position)
        return;
    aten_value q = aten_shaped(ATEN_KIND_FLOAT, 3, (uint32_t[]){1, t.heads, t.size});
    q.n = t.q;
    q.offset = t.q_first;
    node rows = aten_in_shape(a, &q, shape3(1, t.heads, t.size));
    attention_spec spec = {.scale = (float)t.scale, .window = t.window};
    v->n = graph_attention(a->g, rows, t.keys, t.values, position, spec);
}

/* ---- silu ------------------------------------------------------------------------------------------------ */

static node behind_shapes(const aten *a, node n)
{
    while (graph_at(a->g, n)->op == OP_RESHAPE)
        n = graph_at(a->g, n)->operands[0];
    return n;
}

/* x * sigmoid(x), in either order. */
static void replace_silu(aten *a, aten_value *v)
{
    const graph_node *n = graph_at(a->g, v->n);
    for (int i = 0; i < 2; i++) {
        node x = n->operands[i];
        const graph_node *f = graph_at(a->g, behind_shapes(a, n->operands[1 - i]));
        if (f->op == OP_UNARY && f->as.unary.kind == UNARY_SIGMOID &&
            behind_shapes(a, f->operands[0]) == behind_shapes(a, x)) {
            v->n = graph_unary(a->g, UNARY_SILU, x);
            return;
        }
    }
}

/* ---- all of them ---------------------------------------------------------------------------------------- */

void aten_recognise(aten *a, aten_value *v)
{
    if (v->constant || v->kind != ATEN_KIND_FLOAT || a->g != a->program_graph)
        return;
    const graph_node *n = graph_at(a->g, v->n);
    if ((n->op == OP_BINARY && n->as.binary == BINARY_ADD) || (n->op == OP_MAP && n->as.map.kind == MAP_ADD))
        replace_rotation(a, v);
    else if (n->op == OP_BINARY && n->as.binary == BINARY_MUL)
        replace_silu(a, v);
    else if (n->op == OP_CONTRACT)
        replace_attention(a, v);
}
