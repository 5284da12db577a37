/* plan: a step for each operator, and the tensors that a step reads and writes. */
#include "graph/plan.h"
#include "base/str.h"
#include "graph/layout.h"

#include <stdlib.h>
#include <string.h>

enum { LAST = GRAPH_MAX_DIMS - 1 };

static bool is_work(graph_op op)
{
    return op != OP_INPUT && op != OP_WEIGHT && op != OP_STATE && op != OP_RESHAPE;
}

plan *plan_new(const graph *g, uint64_t most_matrix_bytes)
{
    plan *p = mem_alloc(sizeof *p);
    *p = (plan){.g = g, .most_matrix_bytes = most_matrix_bytes, .slots = graph_slots(g)};
    p->steps = mem_alloc((graph_count(g) + 1) * sizeof *p->steps);
    for (node i = 1; i <= graph_count(g); i++) {
        const graph_node *n = graph_at(g, i);
        if (!is_work(n->op) || n->unused)
            continue;
        plan_step *s = &p->steps[p->count++];
        *s = (plan_step){.op = n->op, .at = i};
        if (n->op == OP_MATMUL || n->op == OP_EXPERTS) {
            s->x = n->operands[0];
            s->parts[s->part_count++] = (plan_part){.matmul = i, .result = i};
        }
        if (n->op == OP_ASSIGN)
            s->assigns[s->assign_count++] = i;
    }
    return p;
}

void plan_free(plan *p)
{
    if (p)
        free(p->steps);
    free(p);
}

/* ---- looking ------------------------------------------------------------------ */

node plan_root(const graph *g, node n)
{
    while (graph_at(g, n)->op == OP_RESHAPE)
        n = graph_at(g, n)->operands[0];
    return n;
}

typedef struct node_list {
    const graph *g;
    node *nodes;
    uint32_t count;
} node_list;

static void list(node_list *l, node n)
{
    n = plan_root(l->g, n);
    for (uint32_t i = 0; i < l->count; i++)
        if (l->nodes[i] == n)
            return;
    if (n && l->count < PLAN_MAX_NODES)
        l->nodes[l->count++] = n;
}

static void list_part_reads(const plan *p, node_list *l, const plan_part *part)
{
    const graph *g = p->g;
    node before = part->mix ? part->mix : part->matmul;
    for (uint32_t i = 1; i < graph_at(g, part->matmul)->operand_count; i++)
        list(l, graph_at(g, part->matmul)->operands[i]);
    for (uint32_t i = 1; part->gate_of && i < graph_at(g, part->gate_of)->operand_count; i++)
        list(l, graph_at(g, part->gate_of)->operands[i]);
    for (uint32_t i = 0; i < part->epilogue_count; before = part->epilogue[i++]) {
        plan_operand o;
        if (graph_at(g, part->epilogue[i])->op == OP_BINARY && plan_operand_of(g, part->epilogue[i], before, &o))
            list(l, o.other);
    }
    for (uint32_t i = 1; part->rope && i < graph_at(g, part->rope)->operand_count; i++)
        list(l, graph_at(g, part->rope)->operands[i]);
    if (part->store) {
        list(l, graph_at(g, part->store)->operands[0]);
        list(l, graph_at(g, part->store)->operands[2]);
    }
}

bool plan_is_chain(const plan_step *s)
{
    return s->x && !s->part_count;
}

static void list_operands(const plan *p, node_list *l, node n, uint32_t first)
{
    for (uint32_t i = first; n && i < graph_at(p->g, n)->operand_count; i++)
        list(l, graph_at(p->g, n)->operands[i]);
}

static uint32_t chain_reads(const plan *p, const plan_step *s, node_list *l)
{
    const graph_node *last = graph_at(p->g, s->at);
    list(l, s->x);
    list_operands(p, l, s->norm, 1);
    list_operands(p, l, s->rope, 1);
    plan_operand o;
    if (s->op == OP_STORE) {
        list(l, last->operands[0]);
        list(l, last->operands[2]);
    } else if (s->op == OP_BINARY && plan_operand_of(p->g, s->at, s->norm, &o))
        list(l, o.other);
    return l->count;
}

uint32_t plan_reads(const plan *p, const plan_step *s, node *out)
{
    node_list l = {p->g, out, 0};
    if (plan_is_chain(s))
        return chain_reads(p, s, &l);
    if (s->part_count) {
        list(&l, s->x);
        if (s->norm)
            list(&l, graph_at(p->g, s->norm)->operands[1]);
        for (uint32_t i = 0; i < s->part_count; i++)
            list_part_reads(p, &l, &s->parts[i]);
        return l.count;
    }
    uint32_t count = s->op == OP_ASSIGN ? s->assign_count : 1;
    for (uint32_t i = 0; i < count; i++) {
        const graph_node *n = graph_at(p->g, s->op == OP_ASSIGN ? s->assigns[i] : s->at);
        for (uint32_t k = 0; k < n->operand_count; k++)
            list(&l, n->operands[k]);
    }
    return l.count;
}

uint32_t plan_writes(const plan *p, const plan_step *s, node *out)
{
    node_list l = {p->g, out, 0};
    for (uint32_t i = 0; i < s->part_count; i++)
        list(&l, s->parts[i].result);
    for (uint32_t i = 0; i < s->assign_count; i++)
        list(&l, s->assigns[i]);
    if (!s->part_count && !s->assign_count)
        list(&l, s->at);
    return l.count;
}

uint32_t plan_matrices(const plan *p, const plan_step *s, node *out)
{
    node_list l = {p->g, out, 0};
    if (s->op == OP_GATHER || s->op == OP_HEADS)
        list(&l, graph_at(p->g, s->at)->operands[0]);
    for (uint32_t i = 0; i < s->part_count; i++) {
        list(&l, graph_at(p->g, s->parts[i].matmul)->operands[1]);
        if (s->parts[i].gate_of)
            list(&l, graph_at(p->g, s->parts[i].gate_of)->operands[1]);
    }
    return l.count;
}

uint32_t plan_nodes(const plan *p, const plan_step *s, node *out)
{
    node_list l = {p->g, out, 0};
    if (s->norm)
        list(&l, s->norm);
    if (s->rope)
        list(&l, s->rope);
    for (uint32_t i = 0; i < s->part_count; i++) {
        const plan_part *part = &s->parts[i];
        node others[] = {part->matmul, part->gate_of, part->act, part->mix};
        for (int k = 0; k < 4; k++)
            if (others[k])
                list(&l, others[k]);
        for (uint32_t k = 0; k < part->epilogue_count; k++)
            list(&l, part->epilogue[k]);
        if (part->rope)
            list(&l, part->rope);
        list(&l, part->result); /* the store, or the product of a gate; else it is there already */
    }
    for (uint32_t i = 0; i < s->assign_count; i++)
        list(&l, s->assigns[i]);
    if (!s->part_count && !s->assign_count)
        list(&l, s->at);
    return l.count;
}

uint32_t plan_rows(const plan *p, const plan_step *s)
{
    shape x = graph_at(p->g, s->x)->s;
    return (uint32_t)(shape_count(x) / x.dims[LAST]);
}

bool plan_has_many_rows(const plan *p, uint32_t rows)
{
    return rows >= PLAN_TILED_ROWS && !p->slots;
}

/* Attention over a long context with few rows is split, so that all multiprocessors have work. */
uint32_t plan_splits(const plan *p, const plan_step *s)
{
    enum {
        WORTH_SPLITTING = 128, /* positions: so many are a part, or more */
        BUSY_WORKGROUPS = 128, /* so many keep a large GPU busy */
    };
    const graph_node *n = graph_at(p->g, s->at);
    const graph_node *q = graph_at(p->g, n->operands[0]), *keys = graph_at(p->g, n->operands[1]);
    uint32_t heads = q->s.dims[1] * q->s.dims[2], seen = keys->s.dims[1];
    if (n->as.attention.window && n->as.attention.window < seen)
        seen = n->as.attention.window;
    uint32_t splits = BUSY_WORKGROUPS / heads, useful = (seen + WORTH_SPLITTING - 1) / WORTH_SPLITTING;
    if (n->as.attention.value_size || p->unsplit || p->slots || seen < WORTH_SPLITTING || splits < 2)
        return 1;
    splits = splits > useful ? useful : splits;
    return splits > PLAN_MAX_SPLITS ? PLAN_MAX_SPLITS : splits;
}

static bool same_shape(shape a, shape b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

bool plan_operand_of(const graph *g, node binary, node before, plan_operand *o)
{
    const graph_node *n = graph_at(g, binary);
    bool is[2] = {plan_root(g, n->operands[0]) == before, plan_root(g, n->operands[1]) == before};
    if (n->op != OP_BINARY || n->as.binary == BINARY_CLAMPED_GLU || is[0] == is[1])
        return false;
    shape left = graph_at(g, n->operands[0])->s, right = graph_at(g, n->operands[1])->s;
    o->other = n->operands[is[0]];
    o->first = is[1];
    o->per_row = same_shape(left, right);
    return o->per_row || (is[0] && same_shape(right, shape1(left.dims[LAST])));
}

/* ---- costs -------------------------------------------------------------------- */

static uint64_t matrix_bytes(const graph_node *w)
{
    return layout_bytes(w->as.weight, (uint32_t)(shape_count(w->s) / w->s.dims[LAST]), w->s.dims[LAST]);
}

/* Attention reads what is stored up to here; a store writes its rows. */
static void add_state_cost(const plan *p, const plan_step *s, uint32_t depth, plan_cost *c)
{
    const graph_node *n = graph_at(p->g, s->at);
    if (s->op == OP_ATTENTION) {
        const graph_node *keys = graph_at(p->g, n->operands[1]), *q = graph_at(p->g, n->operands[0]);
        uint64_t seen = depth + q->s.dims[1], width = (uint64_t)keys->s.dims[2] * keys->s.dims[3];
        if (n->as.attention.window && seen > n->as.attention.window)
            seen = n->as.attention.window;
        bool shared = n->as.attention.value_size > 0; /* values are part of the keys */
        c->state_bytes += dtype_bytes(keys->type, (shared ? 1 : 2) * seen * width);
        c->flops += 4 * seen * shape_count(q->s);
    }
    if (s->op == OP_CONV || s->op == OP_DELTA) { /* read and written */
        uint64_t state = shape_count(graph_at(p->g, n->operands[s->op == OP_CONV ? 2 : 4])->s);
        c->state_bytes += 8 * state;
        c->flops += n->s.dims[LAST - 1] * (s->op == OP_CONV ? 2 * n->s.dims[LAST] : 7 * state);
    }
    if (s->op == OP_ATTENTION_WHOLE) {
        const graph_node *q = graph_at(p->g, n->operands[0]);
        uint64_t seen = q->s.dims[1];
        if (n->as.attention.window && seen > 2ull * n->as.attention.window)
            seen = 2ull * n->as.attention.window;
        c->flops += 4 * seen * shape_count(q->s);
    }
    if (s->op == OP_STORE)
        c->state_bytes += dtype_bytes(n->type, shape_count(graph_at(p->g, n->operands[1])->s));
    for (uint32_t i = 0; i < s->part_count; i++)
        if (s->parts[i].store)
            c->state_bytes += dtype_bytes(graph_at(p->g, s->parts[i].store)->type,
                                          shape_count(graph_at(p->g, s->parts[i].matmul)->s));
}

/* Elements that an operator reads, where this measures its work better than its output does. */
static uint64_t elements_looked_at(const plan *p, const plan_step *s)
{
    const graph_node *n = graph_at(p->g, s->at);
    if (s->op == OP_REDUCE || s->op == OP_TOPK || s->op == OP_ROUTE || s->op == OP_SAMPLE)
        return shape_count(graph_at(p->g, n->operands[0])->s);
    return shape_count(s->op == OP_STORE ? graph_at(p->g, n->operands[1])->s : n->s);
}

/* Rows of chosen matrices that are multiplied. */
static uint64_t expert_rows(const plan *p, const plan_step *s)
{
    return shape_count(graph_at(p->g, s->parts[0].matmul)->s);
}

plan_cost plan_cost_of(const plan *p, const plan_step *s, uint32_t depth)
{
    plan_cost c = {0};
    node nodes[PLAN_MAX_NODES];
    uint32_t count = plan_reads(p, s, nodes);
    for (uint32_t i = 0; i < count; i++) {
        const graph_node *n = graph_at(p->g, nodes[i]);
        if (n->op == OP_WEIGHT && s->op == OP_GATHER)
            c.weight_bytes += matrix_bytes(n) / n->s.dims[LAST - 1] * graph_at(p->g, s->at)->s.dims[LAST - 1];
        else if (n->op == OP_WEIGHT && s->op == OP_EXPERTS && graph_weight_uses(p->g, nodes[i]) & WEIGHT_AS_MATRIX)
            c.weight_bytes += matrix_bytes(n) / n->s.dims[LAST - 1] * expert_rows(p, s); /* the chosen ones */
        else if (n->op == OP_WEIGHT)
            c.weight_bytes +=
                graph_weight_uses(p->g, nodes[i]) & WEIGHT_AS_MATRIX ? matrix_bytes(n) : shape_count(n->s) * 4;
        else if ((s->op == OP_PICK || s->op == OP_SLICE) && i == 0)
            c.activation_bytes += shape_count(graph_at(p->g, s->at)->s) * 4;
        else if (n->op != OP_STATE && n->op != OP_STORE)
            c.activation_bytes += shape_count(n->s) * 4;
    }
    count = plan_writes(p, s, nodes);
    for (uint32_t i = 0; i < count; i++)
        if (graph_at(p->g, nodes[i])->op != OP_STORE)
            c.activation_bytes += shape_count(graph_at(p->g, nodes[i])->s) * 4;
    add_state_cost(p, s, depth, &c);
    count = s->op == OP_MATMUL ? plan_matrices(p, s, nodes) : 0;
    for (uint32_t i = 0; i < count; i++)
        c.flops += 2 * shape_count(graph_at(p->g, nodes[i])->s) * plan_rows(p, s);
    if (s->op == OP_EXPERTS)
        c.flops = 2 * expert_rows(p, s) * graph_at(p->g, s->x)->s.dims[LAST] * (s->parts[0].gate_of ? 2 : 1);
    if (s->op == OP_HEADS)
        c.flops = 2 * shape_count(graph_at(p->g, s->at)->s) *
                  graph_at(p->g, graph_at(p->g, s->at)->operands[0])->s.dims[LAST];
    if (c.flops == 0)
        c.flops = elements_looked_at(p, s);
    return c;
}
