/* Norms as dispatches, and chains that begin with one. (Before a product of few rows, RMSNorm is a part of that:
 * lower_matmul.c.) */
#include "graph/lower_internal.h"

enum { LAST = LOWER_LAST_DIM, MOST_ELEMENTS = 8 /* of a row that a thread reads at once */ };

static uint32_t row_share(uint32_t length)
{
    return as_word(1.0f / (float)length);
}

void lower_norm(const lowering *c, dispatch_desc *l, node norm)
{
    const graph_node *n = node_at(c, norm), *x = node_at(c, n->operands[0]);
    bool computed = lower_is_computed(c, n->operands[0]), is_rms = n->op == OP_RMSNORM;
    uint32_t length = x->s.dims[LAST], threads = c->t->row_threads;
    *l = (dispatch_desc){.kernel.name = is_rms ? "op_rmsnorm" : "op_layernorm"};
    lower_with_subgroups(c, l);
    if (c->t->specialize)
        kernel_set_constant(&l->kernel, CONSTANT_THREADS, threads);
    if (c->t->compile_fast && c->t->subgroup && !c->form->threads)
        kernel_set_constant(&l->kernel, CONSTANT_THREADS, c->t->subgroup); /* more would wait for each other */
    l->args[ARG_GROUPS] = (uint32_t)(shape_count(x->s) / length);
    l->args[ARG_OUT] = at(c, norm);
    l->args[ARG_X] = at(c, n->operands[0]);
    l->args[ARG_LENGTH] = length;
    l->polls_epoch = l->epoch_only = true;
    if (!is_rms) {
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
    l->args[RMSNORM_SHARE] = row_share(length);
    uint32_t each = (length + threads - 1) / threads;
    if (c->t->specialize && each > 1)
        kernel_set_constant(&l->kernel, CONSTANT_ELEMENTS, each < MOST_ELEMENTS ? each : MOST_ELEMENTS);
    if (lower_is_halves(c, norm))
        kernel_set_constant(&l->kernel, CONSTANT_HALVES, 1);
}

static void lower_head_norm(const lowering *c, dispatch_desc *l, const graph_node *norm)
{
    l->args[HEAD_NORM_WEIGHT] = at(c, norm->operands[1]) + 1;
    l->args[HEAD_NORM_EPSILON] = as_word(norm->as.rmsnorm.epsilon);
    l->args[HEAD_NORM_OFFSET] = as_word(norm->as.rmsnorm.weight_offset);
    l->args[HEAD_NORM_SHARE] = row_share(l->args[HEAD_SIZE]);
}

static void lower_head_rope(const lowering *c, dispatch_desc *l, const graph_node *rope)
{
    const rope_spec *spec = &rope->as.rope;
    l->args[HEAD_POSITION] = at(c, rope->operands[1]);
    l->args[HEAD_ROTATED] = spec->rotated;
    l->args[HEAD_INTERLEAVED] = spec->interleaved;
    l->args[HEAD_LOG2_RATIO] = rope_log2_ratio(spec, spec->rotated);
    l->args[HEAD_MAGNITUDE] = as_word(spec->magnitude > 0 ? spec->magnitude : 1);
    l->args[HEAD_FACTORS] = rope->operand_count > 2 ? at(c, rope->operands[2]) + 1 : 0;
}

/* Returns whether all that it writes has epoch bits. */
static bool lower_head_store(const lowering *c, dispatch_desc *l, node store)
{
    const graph_node *n = node_at(c, store);
    l->args[HEAD_POSITION] = at(c, n->operands[2]);
    l->args[HEAD_STATE_ROWS] = n->s.dims[1];
    l->args[HEAD_CACHE] = lower_cache(n->type);
    l->args[HEAD_ROW_COPY] = c->form->threads ? memory_row_at(c->m, c->which, store) : 0;
    l->state_arena = memory_state_arena(c->m, c->which, n->operands[0]);
    return l->args[HEAD_ROW_COPY] > 0;
}

static void lower_heads_in_turn(const lowering *c, dispatch_desc *l, const plan_step *s)
{
    const graph_node *n = node_at(c, s->at), *made = s->op == OP_STORE ? node_at(c, n->operands[1]) : n;
    *l = (dispatch_desc){.kernel.name = "head_row", .polls_epoch = true, .epoch_only = true};
    lower_with_subgroups(c, l);
    if (c->t->specialize && c->form->threads)
        kernel_set_constant(&l->kernel, CONSTANT_SHARED_X_WORDS, c->t->x_floats);
    l->args[ARG_OUT] = at(c, s->at);
    l->args[ARG_X] = at(c, s->x);
    l->args[HEAD_X_COMPUTED] = lower_is_computed(c, s->x);
    l->args[HEAD_SIZE] = n->s.dims[LAST];
    l->args[ARG_GROUPS] = (uint32_t)(shape_count(made->s) / n->s.dims[LAST]);
    l->args[HEAD_COUNT] = n->s.dims[2];
    if (s->norm)
        lower_head_norm(c, l, node_at(c, s->norm));
    if (s->rope)
        lower_head_rope(c, l, node_at(c, s->rope));
    if (s->op == OP_STORE)
        l->epoch_only = lower_head_store(c, l, s->at);
}

void lower_chain(const lowering *c, dispatch_desc *l, const plan_step *s)
{
    plan_operand o;
    if (s->op != OP_BINARY || !plan_operand_of(c->p->g, s->at, s->norm, &o)) {
        lower_heads_in_turn(c, l, s);
        return;
    }
    lower_norm(c, l, s->norm);
    l->args[ARG_OUT] = at(c, s->at);
    l->args[RMSNORM_ADDED] = at(c, o.other) + 1;
    l->args[RMSNORM_ADDED_COMPUTED] = lower_is_computed(c, o.other);
}
