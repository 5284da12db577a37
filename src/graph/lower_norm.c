/* Norms as dispatches: their arguments. (Before a product of few rows, RMSNorm is a part of that: lower_matmul.c.) */
#include "graph/lower_internal.h"

void lower_norm(const lowering *c, dispatch_desc *l, const plan_step *s, const graph_node *n)
{
    bool computed = lower_is_computed(c, n->operands[0]);
    l->polls_epoch = l->epoch_only = true;
    if (n->op == OP_LAYERNORM) {
        l->args[LAYERNORM_WEIGHT] = at(c, n->operands[1]);
        l->args[LAYERNORM_EPSILON] = as_word(n->as.layernorm_epsilon);
        l->args[LAYERNORM_BIAS] = n->operand_count > 2 ? at(c, n->operands[2]) + 1 : 0;
        l->args[LAYERNORM_X_COMPUTED] = computed;
        return;
    }
    l->args[RMSNORM_WEIGHT] = at(c, n->operands[1]);
    l->args[RMSNORM_EPSILON] = as_word(n->as.rmsnorm.epsilon);
    l->args[RMSNORM_WEIGHT_OFFSET] = as_word(n->as.rmsnorm.weight_offset);
    l->args[RMSNORM_X_COMPUTED] = computed;
    if (lower_is_halves(c, s->at))
        kernel_set_constant(&l->kernel, CONSTANT_HALVES, 1);
}
