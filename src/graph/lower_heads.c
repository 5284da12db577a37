/* What latent attention and a router of groups need as dispatches. */
#include "graph/lower_internal.h"

enum { LAST = LOWER_LAST_DIM, THREADS = 64, TEAM = 32 /* as in op_heads.wgsl */ };

void lower_topk(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    l->args[TOPK_COUNT] = n->s.dims[LAST];
    l->args[TOPK_GROUP_SIZE] = 1; /* a megakernel's text divides by it, whether it counts or not */
    if (n->operand_count < 2)
        return;
    l->args[TOPK_GROUPS] = at(c, n->operands[1]) + 1;
    l->args[TOPK_GROUPS_USED] = node_at(c, n->operands[1])->s.dims[LAST];
    l->args[TOPK_GROUP_SIZE] = node_at(c, n->operands[0])->s.dims[LAST] / n->as.topk_groups;
}

void lower_join(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    l->args[JOIN_COUNT] = (uint32_t)shape_count(n->s);
    l->args[JOIN_Y] = at(c, n->operands[1]);
    l->args[JOIN_X_LENGTH] = node_at(c, n->operands[0])->s.dims[LAST];
    l->args[JOIN_Y_LENGTH] = node_at(c, n->operands[1])->s.dims[LAST];
    l->args[JOIN_X_COMPUTED] = lower_is_computed(c, n->operands[0]);
    l->args[JOIN_Y_COMPUTED] = lower_is_computed(c, n->operands[1]);
    l->polls_epoch = l->epoch_only = true;
}

void lower_weigh(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    uint32_t slots = n->s.dims[LAST] / 2;
    l->args[ARG_GROUPS] = (n->s.dims[LAST - 1] * slots + THREADS - 1) / THREADS;
    l->args[WEIGH_COUNT] = n->s.dims[LAST - 1] * slots;
    l->args[WEIGH_PLACES] = at(c, n->operands[1]);
    l->args[WEIGH_SLOTS] = slots;
    l->args[WEIGH_ROW_LENGTH] = node_at(c, n->operands[0])->s.dims[LAST];
    l->args[WEIGH_NORMED] = n->as.weigh.normed;
    l->args[WEIGH_SCALE] = as_word(n->as.weigh.scale);
}

uint32_t lower_heads(const lowering *c, dispatch_desc *l, const graph_node *n, err *e)
{
    const graph_node *w = node_at(c, n->operands[0]);
    const memory_matrix *matrix = memory_matrix_of(c->m, c->which, n->operands[0]);
    uint32_t heads = n->s.dims[2], k = w->s.dims[LAST];
    if (matrix->piece_count != 1)
        return err_set(e, "weight %s is larger than what the device binds at once", w->name), 0;
    lower_with_subgroups(c, l);
    l->kernel.type = lower_weight_type(c, w->as.weight, k);
    l->weight_arena = matrix->pieces[0].arena;
    /* A team has a row4. In a megakernel, workgroups have its threads. */
    uint32_t at_once = (c->form->threads ? c->form->threads : THREADS) / TEAM * 4;
    l->args[ARG_GROUPS] = n->s.dims[1] * heads * ((n->s.dims[LAST] + at_once - 1) / at_once);
    l->args[ARG_X] = at(c, n->operands[1]);
    l->args[HEADS_LENGTH] = k;
    l->args[HEADS_ROWS] = n->s.dims[LAST];
    l->args[HEADS_COUNT] = heads;
    l->args[HEADS_WEIGHT] = matrix->pieces[0].at;
    l->args[HEADS_X_COMPUTED] = lower_is_computed(c, n->operands[1]);
    l->polls_epoch = l->epoch_only = true;
    return 1;
}
