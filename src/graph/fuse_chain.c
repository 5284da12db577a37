/* Chains: a norm that stands behind a product, with what comes after it. Heads of q and k are normed, rotated, and written
 * into the cache (Qwen3, Gemma 3); what attention and feed-forward make is normed before it is added (Gemma, OLMo 2). */
#include "graph/fuse_internal.h"

enum { LAST = GRAPH_MAX_DIMS - 1, MOST_HEAD = 1024 /* elements that kernels/graph/head_row.wgsl has room for */ };

static node position_of(const plan *p, node n)
{
    const graph_node *at = graph_at(p->g, n);
    return plan_root(p->g, at->operands[at->op == OP_STORE ? 2 : 1]);
}

/* Heads of this size, whose elements are read in pairs. */
static bool are_heads(const plan *p, node n, uint32_t size)
{
    return size % 2 == 0 && size <= MOST_HEAD && graph_at(p->g, n)->s.dims[LAST] == size;
}

/* Is step b what comes next for the heads that step a makes? */
static bool goes_on(const plan *p, const plan_step *a, const plan_step *b)
{
    const graph_node *n = graph_at(p->g, b->at);
    const graph_node *rope = a->op == OP_ROPE ? graph_at(p->g, a->at) : b->op == OP_ROPE ? n : NULL;
    if (b->x || !are_heads(p, a->at, n->s.dims[LAST]) || (rope && graph_rope_factor_rows(p->g, rope) > 1))
        return false;
    if (b->op == OP_ROPE)
        return a->op == OP_RMSNORM && plan_root(p->g, n->operands[0]) == a->at;
    /* A quantised state needs 32 elements at once; and a chain has one position. */
    return b->op == OP_STORE && n->type < DTYPE_Q8_0 && plan_root(p->g, n->operands[1]) == a->at &&
           (a->op != OP_ROPE || position_of(p, a->at) == position_of(p, b->at));
}

static bool is_residual(const plan *p, const plan_step *a, const plan_step *b)
{
    plan_operand o;
    return b->op == OP_BINARY && !b->x && graph_at(p->g, b->at)->as.binary == BINARY_ADD &&
           plan_operand_of(p->g, b->at, a->at, &o) && o.per_row;
}

bool fuse_chain(fusing *f)
{
    plan *p = f->p;
    for (uint32_t i = 0; i < p->count; i++) {
        const plan_step a = p->steps[i];
        bool is_norm = a.op == OP_RMSNORM, is_rope = a.op == OP_ROPE;
        uint32_t reader = is_norm || is_rope ? fuse_only_reader(f, a.at) : NO_STEP;
        if (reader == NO_STEP || !fuse_may_wait(p, i, reader))
            continue;
        plan_step *b = &p->steps[reader];
        if (!goes_on(p, &a, b) && !(is_norm && is_residual(p, &a, b)))
            continue;
        b->x = a.x ? a.x : graph_at(p->g, a.at)->operands[0];
        b->norm = is_norm ? a.at : a.norm;
        b->rope = is_rope ? a.at : b->op == OP_ROPE ? b->at : 0;
        fuse_drop(p, i);
        return true;
    }
    return false;
}
