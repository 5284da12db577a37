/* A mixture of experts as dispatches: elements by their places, products with chosen matrices, weighted sums. */
#include "graph/lower_internal.h"

enum { LAST = LOWER_LAST_DIM, THREADS = 64, TEAM = 32 /* as in op_experts.wgsl */ };

static void lower_take(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    l->args[ARG_COUNT] = (uint32_t)shape_count(n->s);
    l->args[TAKE_IDS] = at(c, n->operands[1]);
    l->args[TAKE_SLOTS] = n->s.dims[LAST];
    l->args[TAKE_ROW_LENGTH] = node_at(c, n->operands[0])->s.dims[LAST];
}

static void lower_mix(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    l->args[ARG_COUNT] = (uint32_t)shape_count(n->s);
    l->args[MIX_WEIGHTS] = at(c, n->operands[1]);
    l->args[MIX_SLOTS] = node_at(c, n->operands[0])->s.dims[2];
    l->args[MIX_LENGTH] = n->s.dims[LAST];
}

uint32_t lower_experts(const lowering *c, dispatch_desc *l, const graph_node *n, err *e)
{
    if (n->op == OP_TAKE)
        return lower_take(c, l, n), 1;
    if (n->op == OP_MIX)
        return lower_mix(c, l, n), 1;
    const graph_node *w = node_at(c, n->operands[0]), *x = node_at(c, n->operands[1]);
    const memory_matrix *matrix = memory_matrix_of(c->m, c->which, n->operands[0]);
    uint32_t slots = n->s.dims[2], all = n->s.dims[1] * slots, k = w->s.dims[LAST];
    if (matrix->piece_count != 1)
        return err_set(e, "weight %s is larger than what the device binds at once", w->name), 0;
    lower_with_subgroups(c, l);
    l->kernel.type = lower_weight_type(c, w->as.weight, k);
    l->weight_arena = matrix->pieces[0].arena;
    /* A team has a row4. In a megakernel, workgroups have its threads. */
    uint32_t at_once = (c->form->threads ? c->form->threads : THREADS) / TEAM * 4;
    l->args[ARG_GROUPS] = all * ((n->s.dims[LAST] + at_once - 1) / at_once);
    l->args[ARG_X] = at(c, n->operands[1]);
    l->args[EXPERTS_LENGTH] = k;
    l->args[EXPERTS_ROWS] = n->s.dims[LAST];
    l->args[EXPERTS_IDS] = at(c, n->operands[2]);
    l->args[EXPERTS_COUNT] = n->as.expert_count;
    l->args[EXPERTS_X_SLOTS] = shape_count(x->s) / k == all ? 1 : slots;
    l->args[EXPERTS_WEIGHT] = matrix->pieces[0].at;
    return 1;
}
