/* What runs over a whole text at once, as dispatches: attention without a cache, and pooling. */
#include "graph/lower_internal.h"

void lower_attention_whole(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    const graph_node *q = node_at(c, n->operands[0]), *k = node_at(c, n->operands[1]);
    const attention_spec *spec = &n->as.attention;
    l->args[ARG_GROUPS] = q->s.dims[1] * q->s.dims[2];
    l->args[WHOLE_HEAD_SIZE] = q->s.dims[3];
    l->args[WHOLE_HEADS] = q->s.dims[2];
    l->args[WHOLE_KV_HEADS] = k->s.dims[2];
    l->args[WHOLE_LAST] = at(c, n->operands[3]);
    l->args[WHOLE_SCALE] = as_word(spec->scale);
    l->args[WHOLE_SOFTCAP] = as_word(spec->softcap);
    l->args[WHOLE_WINDOW] = spec->window;
    l->args[WHOLE_KEYS] = at(c, n->operands[1]);
    l->args[WHOLE_VALUES] = at(c, n->operands[2]);
    l->args[WHOLE_ROWS] = k->s.dims[1];
    l->args[WHOLE_CAUSAL] = spec->causal;
}

void lower_pool(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    l->args[ARG_COUNT] = n->s.dims[LOWER_LAST_DIM];
    l->args[POOL_WEIGHTS] = at(c, n->operands[1]);
    l->args[POOL_ROWS] = node_at(c, n->operands[0])->s.dims[LOWER_LAST_DIM - 1];
}
