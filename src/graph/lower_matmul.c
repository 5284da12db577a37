/* Matrix products as dispatches: the arguments of a product, of its parts and of their epilogues; rows of a matrix. */
#include "graph/layout.h"
#include "graph/lower_internal.h"

enum { LAST = LOWER_LAST_DIM };

static void lower_epilogue(const lowering *c, uint32_t *args, const plan_part *part, uint32_t first_row)
{
    node before = part->matmul;
    args[PART_STEP_COUNT] = part->epilogue_count;
    for (uint32_t i = 0; i < part->epilogue_count; before = part->epilogue[i++]) {
        const graph_node *n = node_at(c, part->epilogue[i]);
        uint32_t *step = args + PART_STEPS + STEP_SIZE * i;
        plan_operand o = {0};
        if (n->op == OP_UNARY) {
            step[STEP_KIND] = n->as.unary.kind;
            step[STEP_A] = as_word(n->as.unary.a);
            step[STEP_B] = as_word(n->as.unary.b);
        } else if (plan_operand_of(c->p->g, part->epilogue[i], before, &o)) {
            step[STEP_KIND] = STEP_BINARY + n->as.binary;
            step[STEP_OPERAND] = at(c, o.other) + first_row;
            step[STEP_OPERAND_FLAGS] = o.per_row | (o.per_row && lower_is_computed(c, o.other)) << 1;
            step[STEP_OPERAND_FIRST] = o.first;
        }
    }
}

static void lower_rope_epilogue(const lowering *c, uint32_t *args, const graph_node *n)
{
    const rope_spec *spec = &n->as.rope;
    args[PART_FORM] = spec->interleaved ? FORM_ROPE_INTERLEAVED : FORM_ROPE_HALF;
    args[PART_POSITION] = at(c, n->operands[1]);
    args[PART_HEAD_SIZE] = n->s.dims[3];
    args[PART_LOG2_RATIO] = rope_log2_ratio(spec, args[PART_HEAD_SIZE]);
    args[PART_MAGNITUDE] = as_word(spec->magnitude > 0 ? spec->magnitude : 1);
    args[PART_FACTORS] = n->operand_count > 2 ? at(c, n->operands[2]) + 1 : 0;
}

static void lower_part(const lowering *c, dispatch_desc *l, const plan_part *part, const memory_piece *piece,
                       uint32_t *args)
{
    const graph_node *product = node_at(c, part->matmul);
    uint32_t columns = product->s.dims[LAST];
    args[PART_ROW4S] = lower_row4s_of(part, piece->rows);
    args[PART_ROWS] = piece->rows;
    args[PART_WEIGHT] = piece->at;
    args[PART_OUT] = at(c, part->result) + piece->first;
    args[PART_OUT_STRIDE] = columns;
    if (part->gate_of) {
        args[PART_GATE_WEIGHT] = memory_matrix_of(c->m, c->which, node_at(c, part->gate_of)->operands[1])->pieces[0].at;
        args[PART_FORM] = FORM_GATED;
        args[PART_STEP_COUNT] = 1; /* the function of the first product */
        args[PART_STEPS + STEP_KIND] = part->act ? node_at(c, part->act)->as.unary.kind : UNARY_COPY;
    } else
        lower_epilogue(c, args, part, piece->first);
    if (part->rope)
        lower_rope_epilogue(c, args, node_at(c, part->rope));
    if (part->store) {
        const graph_node *n = node_at(c, part->store);
        args[PART_DESTINATION] = n->type == DTYPE_F16 ? DESTINATION_STATE_F16 : DESTINATION_STATE_F32;
        args[PART_POSITION] = at(c, n->operands[2]);
        args[PART_STATE_ROWS] = n->s.dims[1];
        if (c->form->threads && memory_row_at(c->m, c->which, part->store))
            args[PART_ROW_COPY] = memory_row_at(c->m, c->which, part->store) + piece->first;
        l->state_arena = memory_state_arena(c->m, c->which, n->operands[0]);
    }
}

static const memory_matrix *matrix_of(const lowering *c, const plan_part *part)
{
    return memory_matrix_of(c->m, c->which, node_at(c, part->matmul)->operands[1]);
}

/* A dispatch binds one buffer of weights and one of states: does part `k` need only these? */
static bool lies_beside(const lowering *c, const dispatch_desc *l, const plan_step *s, uint32_t k, err *e)
{
    const plan_part *part = &s->parts[k];
    if (part->gate_of) {
        node other = node_at(c, part->gate_of)->operands[1];
        const memory_matrix *matrix = memory_matrix_of(c->m, c->which, other);
        if (matrix->piece_count != 1 || matrix->pieces[0].arena != l->weight_arena)
            return err_set(e, "weight %s does not lie beside the others of its step", node_at(c, other)->name);
    }
    for (uint32_t before = 0; part->store && before < k; before++)
        if (s->parts[before].store && memory_state_arena(c->m, c->which, part->store) !=
                                          memory_state_arena(c->m, c->which, s->parts[before].store))
            return err_set(e, "state %s does not lie beside the others of its step",
                           node_at(c, node_at(c, part->store)->operands[0])->name);
    return true;
}

void lower_norm_of_x(const lowering *c, dispatch_desc *l, const plan_step *s)
{
    if (!s->norm)
        return;
    const graph_node *norm = node_at(c, s->norm);
    l->args[MATMUL_X_FORM] = X_NORMED;
    l->args[MATMUL_NORM_WEIGHT] = at(c, norm->operands[1]);
    l->args[MATMUL_NORM_EPSILON] = as_word(norm->as.rmsnorm.epsilon);
    l->args[MATMUL_NORM_OFFSET] = as_word(norm->as.rmsnorm.weight_offset);
}

/* One dispatch for all parts if each is in one piece; else a dispatch for each piece of the only part. */
uint32_t lower_matmul(const lowering *c, dispatch_desc *l, const plan_step *s, err *e)
{
    const graph_node *w = node_at(c, node_at(c, s->parts[0].matmul)->operands[1]);
    const memory_matrix *first_matrix = matrix_of(c, &s->parts[0]);
    uint32_t pieces = first_matrix->piece_count, k = w->s.dims[LAST];
    dispatch_desc common = {.kernel.type = type_find(w->as.weight)->name};
    common.args[MATMUL_LENGTH] = k;
    common.args[MATMUL_X] = at(c, s->x);
    common.args[MATMUL_X_COMPUTED] = lower_is_computed(c, s->x);
    lower_norm_of_x(c, &common, s);
    if (s->combines_splits) {
        const plan_step *attention = s - 1; /* PASS_COMBINE has checked that */
        common.args[MATMUL_X] = at(c, attention->at);
        common.args[MATMUL_X_FORM] = X_SPLITS;
        common.args[MATMUL_HEAD_SIZE] = node_at(c, node_at(c, attention->at)->operands[0])->s.dims[LAST];
        common.args[MATMUL_SPLITS] = plan_splits(c->p, attention);
    }
    common.args[MATMUL_PART_COUNT] = s->part_count;
    common.args[MATMUL_CHUNK_VEC4S] = layout_of(w->as.weight)->chunk_weights / 4;
    common.args[MATMUL_FOUR] = 4;
    for (uint32_t i = 0; i < pieces; i++) {
        l[i] = common;
        l[i].weight_arena = first_matrix->pieces[i].arena;
        for (uint32_t p = 0; p < s->part_count; p++) {
            const memory_matrix *matrix = matrix_of(c, &s->parts[p]);
            if (matrix->piece_count != 1 && s->part_count > 1)
                return err_set(e, "weight %s does not lie in one piece beside the others of its step", w->name), 0;
            if (matrix->pieces[i].arena != l[i].weight_arena)
                return err_set(e, "weight %s does not lie beside the others of its step", w->name), 0;
            if (!lies_beside(c, &l[i], s, p, e))
                return 0;
            lower_part(c, &l[i], &s->parts[p], &matrix->pieces[i], lower_part_args(&l[i], p));
        }
        lower_matmul_grid(c, &l[i], s, layout_chunks(w->as.weight, k), layout_of(w->as.weight));
    }
    return pieces + (pieces == 1 ? lower_slots_combine(c, l, s) : 0);
}

/* A dispatch for each piece of the matrix. */
uint32_t lower_gather(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    const graph_node *w = node_at(c, n->operands[0]);
    const memory_matrix *matrix = memory_matrix_of(c->m, c->which, n->operands[0]);
    dispatch_desc first = *l;
    first.polls_epoch = first.epoch_only = true;
    first.kernel.type = lower_weight_type(c, w->as.weight, n->s.dims[LAST]);
    for (uint32_t i = 0; i < matrix->piece_count; i++) {
        const memory_piece *piece = &matrix->pieces[i];
        l[i] = first;
        l[i].weight_arena = piece->arena;
        l[i].args[ARG_GROUPS] = n->s.dims[LAST - 1];
        l[i].args[GATHER_ROWS] = at(c, n->operands[1]);
        l[i].args[GATHER_LENGTH] = n->s.dims[LAST];
        l[i].args[GATHER_LAST_ROW] = w->s.dims[LAST - 1] - 1;
        l[i].args[GATHER_WEIGHT] = piece->at;
        l[i].args[GATHER_PIECE_ROWS] = piece->rows;
        l[i].args[GATHER_PIECE_FIRST] = piece->first;
        l[i].args[GATHER_CONSECUTIVE] = n->as.gather_consecutive;
    }
    return matrix->piece_count;
}
