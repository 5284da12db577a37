/* Operators whose state goes from row to row as dispatches: a short convolution, and the gated delta rule. */
#include "graph/lower_internal.h"

enum { LAST = LOWER_LAST_DIM, CONV_THREADS = 64, DELTA_THREADS = 128 /* as in the files of the kernels */ };

/* 1 + the place of an operand that may not be there. */
static uint32_t optional(const lowering *c, const graph_node *n, uint32_t i)
{
    return i < n->operand_count ? at(c, n->operands[i]) + 1 : 0;
}

static uint32_t groups_of(const lowering *c, uint32_t columns, uint32_t threads)
{
    uint32_t each = c->form->threads ? c->form->threads : threads; /* a megakernel has threads of its own */
    return (columns + each - 1) / each;
}

/* Texts that have rows in a run. */
static uint32_t texts_of(const lowering *c, const graph_node *n)
{
    return c->p->slots ? n->s.dims[LAST - 1] : 1;
}

static void lower_conv(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    l->kernel.name = "op_conv";
    l->args[ARG_GROUPS] = texts_of(c, n) * groups_of(c, n->s.dims[LAST], CONV_THREADS);
    l->args[CONV_WEIGHT] = at(c, n->operands[1]);
    l->args[CONV_STATE] = at(c, n->operands[2]);
    l->args[CONV_POSITION] = at(c, n->operands[3]);
    l->args[CONV_LAST] = optional(c, n, 4);
    l->args[CONV_ROWS] = n->s.dims[LAST - 1];
    l->args[CONV_COLUMNS] = n->s.dims[LAST];
    l->args[CONV_WIDTH] = node_at(c, n->operands[1])->s.dims[LAST];
    l->args[CONV_X_COMPUTED] = lower_is_computed(c, n->operands[0]);
    l->state_arena = memory_state_arena(c->m, c->which, n->operands[2]);
}

static void lower_delta(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    const delta_spec *d = &n->as.delta;
    l->kernel.name = "op_delta";
    l->args[ARG_GROUPS] = texts_of(c, n) * d->heads * groups_of(c, d->value_size, DELTA_THREADS);
    l->args[DELTA_ALPHA] = at(c, n->operands[1]);
    l->args[DELTA_BETA] = at(c, n->operands[2]);
    l->args[DELTA_RATE] = at(c, n->operands[3]);
    l->args[DELTA_STATE] = at(c, n->operands[4]);
    l->args[DELTA_POSITION] = at(c, n->operands[5]);
    l->args[DELTA_LAST] = optional(c, n, 6);
    l->args[DELTA_ROWS] = n->s.dims[LAST - 1];
    l->args[DELTA_HEADS] = d->heads;
    l->args[DELTA_KEY_HEADS] = d->key_heads;
    l->args[DELTA_KEY_SIZE] = d->key_size;
    l->args[DELTA_VALUE_SIZE] = d->value_size;
    l->args[DELTA_TILED] = d->tiled;
    l->args[DELTA_X_COMPUTED] = lower_is_computed(c, n->operands[0]);
    l->args[DELTA_ALPHA_COMPUTED] = lower_is_computed(c, n->operands[1]);
    l->args[DELTA_BETA_COMPUTED] = lower_is_computed(c, n->operands[2]);
    l->state_arena = memory_state_arena(c->m, c->which, n->operands[4]);
}

uint32_t lower_recurrent(const lowering *c, dispatch_desc *l, const plan_step *s)
{
    const graph_node *n = node_at(c, s->at);
    *l = (dispatch_desc){.polls_epoch = true, .epoch_only = true}; /* the state is each thread's own */
    l->args[ARG_OUT] = at(c, s->at);
    l->args[ARG_X] = at(c, n->operands[0]);
    (s->op == OP_CONV ? lower_conv : lower_delta)(c, l, n);
    return 1;
}
