/* graph: builds a graph node by node, infers shapes, and keeps the first mistake. */
#include "graph/graph.h"
#include "base/str.h"
#include "graph/graph_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const graph_op_names[OP_COUNT] = {
    "input",  "weight", "state",    "unary",     "binary",          "reduce", "softmax", "rmsnorm", "layernorm",
    "matmul", "gather", "rope",     "attention", "whole attention", "store",  "slice",   "reshape", "pick",
    "topk",   "route",  "experts",  "mix",       "weigh",           "heads",  "join",    "conv",    "delta",
    "pool",   "map",    "contract", "assign",    "sample"};

struct graph {
    graph_node *nodes; /* [0] is no node */
    uint32_t count, capacity;
    err error;
};

/* ---- shapes -------------------------------------------------------------- */

enum { LAST = GRAPH_MAX_DIMS - 1 };

/* "4x64", without the leading ones. */
static void shape_text(shape s, char out[64])
{
    int first = 0;
    size_t used = 0;
    while (first < LAST && s.dims[first] == 1)
        first++;
    out[0] = 0;
    for (int i = first; i < GRAPH_MAX_DIMS; i++)
        used += (size_t)snprintf(out + used, 64 - used, "%s%u", i > first ? "x" : "", s.dims[i]);
}

/* ---- the graph ----------------------------------------------------------- */

graph *graph_new(void)
{
    graph *g = mem_alloc(sizeof *g);
    g->capacity = 64;
    g->nodes = mem_alloc(g->capacity * sizeof *g->nodes);
    return g;
}

void graph_free(graph *g)
{
    if (!g)
        return;
    for (uint32_t i = 1; i <= g->count; i++)
        free((char *)g->nodes[i].name);
    free(g->nodes);
    free(g);
}

bool graph_ok(const graph *g, err *e)
{
    return g->error.kind == ERR_NONE || err_set_kind(e, g->error.kind, "%s", g->error.text);
}

uint32_t graph_count(const graph *g)
{
    return g->count;
}

const graph_node *graph_at(const graph *g, node n)
{
    return &g->nodes[n <= g->count ? n : 0];
}

node graph_find(const graph *g, const char *name)
{
    for (uint32_t i = 1; i <= g->count; i++)
        if (g->nodes[i].name && strcmp(g->nodes[i].name, name) == 0)
            return i;
    return 0;
}

uint64_t graph_weight_bytes(const graph_node *weight)
{
    return type_bytes(weight->as.weight, shape_count(weight->s));
}

int graph_weight_uses(const graph *g, node weight)
{
    int uses = 0;
    for (node i = 1; i <= g->count; i++) {
        const graph_node *n = &g->nodes[i];
        for (uint32_t k = 0; k < n->operand_count; k++)
            if (n->operands[k] == weight)
                uses |= ((n->op == OP_MATMUL || n->op == OP_EXPERTS) && k == 1) ||
                                ((n->op == OP_GATHER || n->op == OP_HEADS) && k == 0)
                            ? WEIGHT_AS_MATRIX
                            : WEIGHT_AS_FLOATS;
    }
    return uses;
}

node graph_add(graph *g, graph_node n)
{
    if (shape_count(n.s) == 0)
        err_set(&g->error, "graph: %s %s has a dimension of 0", graph_op_names[n.op], n.name ? n.name : "");
    if (n.name) {
        if (graph_find(g, n.name))
            err_set(&g->error, "graph: two nodes are called %s", n.name);
        n.name = mem_dup(n.name);
    }
    if (g->count + 2 > g->capacity) {
        g->capacity *= 2;
        g->nodes = mem_grow(g->nodes, g->capacity * sizeof *g->nodes);
    }
    g->nodes[++g->count] = n;
    return g->count;
}

/* Checks that the operands of a new node exist. After an error they are not checked any more: the graph is already
 * invalid. */
bool graph_set_operands(graph *g, graph_node *n, uint32_t count, ...)
{
    va_list ap;
    va_start(ap, count);
    n->operand_count = count;
    for (uint32_t i = 0; i < count; i++) {
        n->operands[i] = va_arg(ap, node);
        if (n->operands[i] == 0 || n->operands[i] > g->count)
            err_set(&g->error, "graph: %s lacks operand %u", graph_op_names[n->op], i);
    }
    va_end(ap);
    return g->error.kind == ERR_NONE;
}

bool graph_wrong_shapes(graph *g, const graph_node *n, const char *why)
{
    char a[64] = "", b[64] = "";
    shape_text(g->nodes[n->operands[0]].s, a);
    if (n->operand_count > 1)
        shape_text(g->nodes[n->operands[1]].s, b);
    return err_set(&g->error, "graph: %s of %s%s%s: %s", graph_op_names[n->op], a, b[0] ? " and " : "", b, why);
}

bool graph_refuse(graph *g, const char *what, unsigned number)
{
    return err_set(&g->error, "graph: there is no %s %u", what, number);
}

bool graph_refuse_unnamed(graph *g, const char *what)
{
    return err_set_kind(&g->error, ERR_USAGE, "graph: %s has no name", what);
}

static const graph_node *operand(const graph *g, const graph_node *n, int i)
{
    return &g->nodes[n->operands[i]];
}

node graph_add_node(graph *g, graph_node n, const char *wrong)
{
    return g->error.kind == ERR_NONE && (!wrong || graph_wrong_shapes(g, &n, wrong)) ? graph_add(g, n) : 0;
}

/* ---- leaves -------------------------------------------------------------- */

node graph_input(graph *g, const char *name, dtype type, shape s)
{
    return graph_add(g, (graph_node){.op = OP_INPUT, .type = type, .s = s, .name = name});
}

void graph_set_tuning_hint(graph *g, node input, uint32_t word)
{
    if (input && g->nodes[input].op == OP_INPUT)
        g->nodes[input].as.tuning_hint = word;
}

node graph_weight(graph *g, const char *name, tensor_type type, shape s)
{
    const type_info *info = type_find(type);
    if (!info || s.dims[LAST] % info->block_weights != 0)
        err_set(&g->error, "graph: weight %s has rows of %u, which %s cannot hold", name, s.dims[LAST],
                info ? info->name : "an unknown type");
    return graph_add(g, (graph_node){.op = OP_WEIGHT, .type = DTYPE_F32, .s = s, .name = name, .as.weight = type});
}

uint64_t dtype_bytes(dtype type, uint64_t elements)
{
    switch (type) {
    case DTYPE_F16: return elements * 2;
    case DTYPE_Q8_0: return elements / 64 * 68;
    case DTYPE_Q4_0: return elements / 64 * 36;
    default: return elements * 4;
    }
}

node graph_state(graph *g, const char *name, dtype type, shape s)
{
    uint32_t row = s.dims[2] * s.dims[3];
    if (type >= DTYPE_Q8_0 && row % 64)
        err_set(&g->error, "keys and values of %u numbers cannot be quantised in the cache: only whole 64s are", row);
    return graph_add(g, (graph_node){.op = OP_STATE, .type = type, .s = s, .name = name});
}

void graph_output(graph *g, const char *name, node n)
{
    if (n == 0 || n > g->count)
        err_set(&g->error, "graph: output %s is no node", name);
    else if (g->nodes[n].name)
        err_set(&g->error, "graph: output %s is already called %s", name, g->nodes[n].name);
    else
        g->nodes[n].name = mem_dup(name);
}

/* ---- operators ----------------------------------------------------------- */

static node unary(graph *g, unary_kind kind, node x, float a, float b)
{
    graph_node n = {.op = OP_UNARY, .as.unary = {kind, a, b}};
    if (!graph_set_operands(g, &n, 1, x))
        return 0;
    n.s = operand(g, &n, 0)->s;
    return graph_add(g, n);
}

node graph_unary(graph *g, unary_kind kind, node x)
{
    return unary(g, kind, x, 0, 0);
}

node graph_scale(graph *g, node x, float a, float b)
{
    return unary(g, UNARY_SCALE, x, a, b);
}

node graph_softcap(graph *g, node x, float cap)
{
    return unary(g, UNARY_SOFTCAP, x, cap, 0);
}

node graph_binary(graph *g, binary_kind kind, node a, node b)
{
    graph_node n = {.op = OP_BINARY, .as.binary = kind};
    if (!graph_set_operands(g, &n, 2, a, b))
        return 0;
    n.s = operand(g, &n, 0)->s;
    shape other = operand(g, &n, 1)->s;
    for (int i = 0; i < GRAPH_MAX_DIMS; i++)
        if (other.dims[i] != n.s.dims[i] && other.dims[i] != 1)
            return graph_wrong_shapes(g, &n, "the second must fit the first or be 1 there"), 0;
    return graph_add(g, n);
}

node graph_reduce(graph *g, reduce_kind kind, node x)
{
    graph_node n = {.op = OP_REDUCE, .as.reduce = kind, .type = kind == REDUCE_ARGMAX ? DTYPE_U32 : DTYPE_F32};
    if (!graph_set_operands(g, &n, 1, x))
        return 0;
    n.s = operand(g, &n, 0)->s;
    n.s.dims[LAST] = 1;
    return graph_add(g, n);
}

node graph_softmax(graph *g, node x, float scale)
{
    graph_node n = {.op = OP_SOFTMAX, .as.softmax_scale = scale};
    if (!graph_set_operands(g, &n, 1, x))
        return 0;
    n.s = operand(g, &n, 0)->s;
    return graph_add(g, n);
}

node graph_rmsnorm(graph *g, node x, node weight, float epsilon, float weight_offset)
{
    graph_node n = {.op = OP_RMSNORM, .as.rmsnorm = {epsilon, weight_offset}};
    if (!graph_set_operands(g, &n, 2, x, weight))
        return 0;
    n.s = operand(g, &n, 0)->s;
    if (!shape_same(operand(g, &n, 1)->s, shape1(n.s.dims[LAST])))
        return graph_wrong_shapes(g, &n, "a weight for each element of a row is needed"), 0;
    return graph_add(g, n);
}

node graph_layernorm(graph *g, node x, node weight, node bias, float epsilon)
{
    graph_node n = {.op = OP_LAYERNORM, .as.layernorm_epsilon = epsilon};
    if (!graph_set_operands(g, &n, bias ? 3 : 2, x, weight, bias))
        return 0;
    n.s = operand(g, &n, 0)->s;
    shape row = shape1(n.s.dims[LAST]);
    if (!shape_same(operand(g, &n, 1)->s, row) || (bias && !shape_same(operand(g, &n, 2)->s, row)))
        return graph_wrong_shapes(g, &n, "a weight and a bias for each element of a row are needed"), 0;
    return graph_add(g, n);
}

node graph_matmul(graph *g, node x, node weight)
{
    graph_node n = {.op = OP_MATMUL};
    if (!graph_set_operands(g, &n, 2, x, weight))
        return 0;
    shape w = operand(g, &n, 1)->s;
    n.s = operand(g, &n, 0)->s;
    if (operand(g, &n, 1)->op != OP_WEIGHT)
        return graph_wrong_shapes(g, &n, "the second must be a weight"), 0;
    if (w.dims[0] != 1 || w.dims[1] != 1 || w.dims[LAST] != n.s.dims[LAST])
        return graph_wrong_shapes(g, &n, "rows of both must be of one length"), 0;
    n.s.dims[LAST] = w.dims[LAST - 1];
    return graph_add(g, n);
}

/* One integer, known only at run time: the position of row 0. */
bool graph_is_position(const graph *g, node n)
{
    return g->nodes[n].type == DTYPE_U32 && shape_count(g->nodes[n].s) == 1;
}

/* That, or one for each of several rows. */
static bool is_position_of(const graph *g, node n, uint32_t rows)
{
    return graph_is_position(g, n) || (g->nodes[n].type == DTYPE_U32 && shape_same(g->nodes[n].s, shape1(rows)));
}

/* The parts of a state: one for each row that has a position of its own. */
static bool has_parts(const graph *g, const graph_node *state, node position)
{
    return state->s.dims[0] == shape_count(g->nodes[position].s);
}

/* Rows of a weight: those that a list names, or `count` of them from a position on. */
static node gather(graph *g, node weight, node rows, uint32_t count, bool consecutive)
{
    graph_node n = {.op = OP_GATHER, .as.gather_consecutive = consecutive};
    if (!graph_set_operands(g, &n, 2, weight, rows))
        return 0;
    shape w = operand(g, &n, 0)->s;
    const graph_node *r = operand(g, &n, 1);
    if (operand(g, &n, 0)->op != OP_WEIGHT || w.dims[0] != 1 || w.dims[1] != 1)
        return graph_wrong_shapes(g, &n, "rows are taken from a weight"), 0;
    if (consecutive ? !graph_is_position(g, rows) : r->type != DTYPE_U32 || !shape_same(r->s, shape1(r->s.dims[LAST])))
        return graph_wrong_shapes(g, &n, "the rows must be integers"), 0;
    n.s = shape2(consecutive ? count : r->s.dims[LAST], w.dims[LAST]);
    return graph_add(g, n);
}

node graph_gather(graph *g, node weight, node rows)
{
    return gather(g, weight, rows, 0, false);
}

node graph_gather_from(graph *g, node weight, node first, uint32_t count)
{
    return gather(g, weight, first, count, true);
}

node graph_rope(graph *g, node x, node position, rope_spec spec)
{
    graph_node n = {.op = OP_ROPE, .as.rope = spec};
    if (!graph_set_operands(g, &n, spec.factors ? 3 : 2, x, position, spec.factors))
        return 0;
    n.s = operand(g, &n, 0)->s;
    if (n.s.dims[0] != 1 || !is_position_of(g, position, n.s.dims[1]) || spec.rotated % 2 ||
        spec.rotated > n.s.dims[LAST])
        return graph_wrong_shapes(g, &n, "rows of heads, a position and an even part of a head are needed"), 0;
    uint32_t rows = spec.rotated ? graph_rope_factor_rows(g, &n) : 0;
    if (spec.factors && (!rows || shape_count(operand(g, &n, 2)->s) != (uint64_t)rows * (spec.rotated / 2)))
        return graph_wrong_shapes(g, &n, "a factor for each pair is needed"), 0;
    return graph_add(g, n);
}

uint32_t graph_rope_factor_rows(const graph *g, const graph_node *rope)
{
    return rope->operand_count > 2 ? (uint32_t)(shape_count(operand(g, rope, 2)->s) / (rope->as.rope.rotated / 2)) : 0;
}

node graph_store(graph *g, node state, node x, node position)
{
    graph_node n = {.op = OP_STORE};
    if (!graph_set_operands(g, &n, 3, state, x, position))
        return 0;
    const graph_node *s = operand(g, &n, 0), *rows = operand(g, &n, 1);
    n.s = s->s;
    n.type = s->type;
    if (s->op != OP_STATE || !has_parts(g, s, position) || rows->s.dims[0] != 1 || s->s.dims[2] != rows->s.dims[2] ||
        s->s.dims[3] != rows->s.dims[3] || rows->s.dims[1] > s->s.dims[0] * s->s.dims[1] ||
        !is_position_of(g, position, rows->s.dims[1]))
        return graph_wrong_shapes(g, &n, "rows that fit a state, and a position, are needed"), 0;
    return graph_add(g, n);
}

node graph_attention(graph *g, node q, node keys, node values, node position, attention_spec spec)
{
    graph_node n = {.op = spec.whole ? OP_ATTENTION_WHOLE : OP_ATTENTION, .as.attention = spec};
    if (!graph_set_operands(g, &n, spec.sinks ? 5 : 4, q, keys, values, position, spec.sinks))
        return 0;
    shape s = operand(g, &n, 0)->s, k = operand(g, &n, 1)->s;
    uint32_t value_size = spec.value_size ? spec.value_size : s.dims[3];
    if (!shape_same(k, operand(g, &n, 2)->s) || s.dims[0] != 1 || k.dims[3] != s.dims[3] ||
        s.dims[2] % k.dims[2] != 0 || !is_position_of(g, position, s.dims[1]) || value_size > s.dims[3] ||
        (!spec.whole && !has_parts(g, operand(g, &n, 1), position)))
        return graph_wrong_shapes(g, &n, "heads must be a multiple of the stored ones, and of their size"), 0;
    if ((spec.sinks || spec.value_size) && spec.whole)
        return graph_wrong_shapes(g, &n, "sinks and parts of values are not supported without a cache"), 0;
    if (spec.sinks && !shape_same(operand(g, &n, 4)->s, shape1(s.dims[2])))
        return graph_wrong_shapes(g, &n, "a sink for each head is needed"), 0;
    n.s = shape2(s.dims[1], s.dims[2] * value_size);
    return graph_add(g, n);
}

node graph_slice(graph *g, node x, uint32_t start, uint32_t count)
{
    graph_node n = {.op = OP_SLICE, .as.slice_start = start};
    if (!graph_set_operands(g, &n, 1, x))
        return 0;
    n.s = operand(g, &n, 0)->s;
    n.type = operand(g, &n, 0)->type;
    if (start > n.s.dims[LAST] || count > n.s.dims[LAST] - start)
        return graph_wrong_shapes(g, &n, "the slice ends beyond the row"), 0;
    n.s.dims[LAST] = count;
    return graph_add(g, n);
}

node graph_reshape(graph *g, node x, shape s)
{
    graph_node n = {.op = OP_RESHAPE, .s = s};
    if (!graph_set_operands(g, &n, 1, x))
        return 0;
    n.type = operand(g, &n, 0)->type;
    if (shape_count(s) != shape_count(operand(g, &n, 0)->s))
        return graph_wrong_shapes(g, &n, "the new shape holds another number of elements"), 0;
    return graph_add(g, n);
}

node graph_pick(graph *g, node x, node rows)
{
    graph_node n = {.op = OP_PICK};
    if (!graph_set_operands(g, &n, 2, x, rows))
        return 0;
    const graph_node *from = operand(g, &n, 0), *r = operand(g, &n, 1);
    if (from->s.dims[0] != 1 || from->s.dims[1] != 1 || r->type != DTYPE_U32 ||
        !shape_same(r->s, shape1(r->s.dims[LAST])))
        return graph_wrong_shapes(g, &n, "rows and a list of integers are needed"), 0;
    n.type = from->type;
    n.s = shape2(r->s.dims[LAST], from->s.dims[LAST]);
    return graph_add(g, n);
}

node graph_topk(graph *g, node x, uint32_t count)
{
    graph_node n = {.op = OP_TOPK, .type = DTYPE_U32};
    if (!graph_set_operands(g, &n, 1, x))
        return 0;
    n.s = operand(g, &n, 0)->s;
    if (count > n.s.dims[LAST])
        return graph_wrong_shapes(g, &n, "a row has not that many"), 0;
    n.s.dims[LAST] = count;
    return graph_add(g, n);
}
