/* A mixture of experts as dispatches: the choice, products with chosen matrices, weighted sums. */
#include "graph/lower_internal.h"

enum {
    LAST = LOWER_LAST_DIM,
    THREADS = 64, /* as in op_experts.wgsl */
    TEAM = 32,
    TILE_ROWS = 64, /* as in op_experts_rows.wgsl */
};

void lower_route(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    l->args[ROUTE_SLOTS] = n->s.dims[LAST] / 2;
    l->args[ROUTE_OF_ALL_SCORES] = n->as.route == ROUTE_OF_ALL;
    l->args[ROUTE_X_COMPUTED] = lower_is_computed(c, n->operands[0]);
    if (c->t->specialize && c->form->threads)
        kernel_set_constant(&l->kernel, CONSTANT_SHARED_X_WORDS, c->t->x_floats);
    l->polls_epoch = l->epoch_only = true;
}

void lower_mix(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    l->args[ARG_COUNT] = (uint32_t)shape_count(n->s);
    l->args[MIX_ROUTES] = at(c, n->operands[1]);
    l->args[MIX_SLOTS] = node_at(c, n->operands[0])->s.dims[2];
    l->args[MIX_LENGTH] = n->s.dims[LAST];
    l->polls_epoch = l->epoch_only = true;
}

/* Products with the matrices that are chosen, in the terms of all their kernels. */
typedef struct chosen {
    const plan_part *part;
    const graph_node *first, *second; /* products; the second of gated ones, or NULL */
    tensor_type type;
    uint32_t x_rows, slots, count; /* rows with routes; routes of each; matrices */
    uint32_t rows, length;         /* of a matrix */
    uint32_t weight, up_weight;    /* places */
    uint32_t bias, up_bias;        /* 0, or 1 + the place */
    uint32_t act;
    uint32_t added; /* 0, or 1 + the place */
    bool own_x, clamped, added_computed;
} chosen;

static bool find_matrix(const lowering *c, const graph_node *product, uint32_t *arena, uint32_t *place, err *e)
{
    const memory_matrix *matrix = memory_matrix_of(c->m, c->which, product->operands[1]);
    const char *name = node_at(c, product->operands[1])->name;
    if (matrix->piece_count != 1)
        return err_set(e, "weight %s is larger than what the device binds at once", name);
    if (*arena != UINT32_MAX && matrix->pieces[0].arena != *arena)
        return err_set(e, "weight %s does not lie beside the others of its step", name);
    *arena = matrix->pieces[0].arena;
    *place = matrix->pieces[0].at;
    return true;
}

static uint32_t bias_of(const lowering *c, const graph_node *product)
{
    return product->operand_count > 3 ? at(c, product->operands[3]) + 1 : 0;
}

static bool find_chosen(const lowering *c, const plan_step *s, chosen *x, uint32_t *arena, err *e)
{
    const plan_part *part = &s->parts[0];
    const graph_node *first = node_at(c, part->matmul), *w = node_at(c, first->operands[1]);
    *x = (chosen){.part = part,
                  .first = first,
                  .second = part->gate_of ? node_at(c, part->gate_of) : NULL,
                  .type = w->as.weight,
                  .x_rows = first->s.dims[1],
                  .slots = first->s.dims[2],
                  .count = first->as.expert_count,
                  .rows = first->s.dims[LAST],
                  .length = w->s.dims[LAST],
                  .bias = bias_of(c, first)};
    x->own_x = x->slots > 1 && shape_count(node_at(c, s->x)->s) == (uint64_t)x->x_rows * x->slots * x->length;
    *arena = UINT32_MAX;
    if (!find_matrix(c, first, arena, &x->weight, e))
        return false;
    if (x->second) {
        if (!find_matrix(c, x->second, arena, &x->up_weight, e))
            return false;
        x->up_bias = bias_of(c, x->second);
        x->clamped = node_at(c, part->result)->as.binary == BINARY_CLAMPED_GLU;
        x->act = part->act ? node_at(c, part->act)->as.unary.kind : UNARY_COPY;
    }
    plan_operand o;
    if (part->epilogue_count && plan_operand_of(c->p->g, part->epilogue[0], part->mix, &o)) {
        x->added = at(c, o.other) + 1;
        x->added_computed = lower_is_computed(c, o.other);
    }
    return true;
}

/* Is what a step reads made by one that has the same routes? Then these are known before the step begins. */
static bool routes_are_old(const lowering *c, const plan_step *s, const chosen *x)
{
    for (const plan_step *before = c->p->steps; x->own_x && before < s; before++)
        if (before->op == OP_EXPERTS && plan_root(c->p->g, before->parts[0].result) == plan_root(c->p->g, s->x))
            return node_at(c, before->parts[0].matmul)->operands[2] == x->first->operands[2];
    return false;
}

/* By matmul_row.wgsl, which has one x for all routes, or an x for each, or all these one after the other as one x whose
 * products are added up. False if that is not possible. */
static bool by_row(const lowering *c, dispatch_desc *l, const plan_step *s, const chosen *x)
{
    const layout *lies = layout_of(x->type);
    bool mixes = x->part->mix != 0, gated = x->second != NULL;
    uint32_t each = gated ? x->rows / 2 : x->rows / 4, length = mixes ? x->length * x->slots : x->length;
    if (x->x_rows != 1 || x->rows % (gated ? 2 : 4) || (mixes && x->length % lies->chunk_weights))
        return false;
    dispatch_desc row = *l;
    uint32_t *part = lower_part_args(&row, 0);
    row.args[MATMUL_LENGTH] = length;
    row.args[MATMUL_X] = at(c, s->x);
    row.args[MATMUL_X_COMPUTED] = lower_is_computed(c, s->x);
    lower_norm_of_x(c, &row, s);
    row.args[MATMUL_PART_COUNT] = 1;
    row.args[MATMUL_CHUNK_VEC4S] = lies->chunk_weights / 4;
    row.args[MATMUL_FOUR] = 4;
    row.args[MATMUL_X_ROWS] = 1;
    part[PART_ROW4S] = part[PART_END] = mixes ? each : each * x->slots;
    part[PART_ROWS] = part[PART_OUT_STRIDE] = mixes ? x->rows : x->rows * x->slots;
    part[PART_WEIGHT] = x->weight;
    part[PART_OUT] = at(c, x->part->result);
    if (gated) {
        part[PART_GATE_WEIGHT] = x->up_weight;
        part[PART_FORM] = FORM_GATED;
        part[PART_STEP_COUNT] = 1;
        part[PART_STEPS + STEP_KIND] = x->act;
    } else if (x->added) {
        part[PART_STEP_COUNT] = 1;
        part[PART_STEPS + STEP_KIND] = STEP_BINARY + BINARY_ADD;
        part[PART_STEPS + STEP_OPERAND] = x->added - 1;
        part[PART_STEPS + STEP_OPERAND_FLAGS] = 1 | x->added_computed << 1;
    }
    row.args[CHOSEN_ROUTES] = at(c, x->first->operands[2]);
    row.args[CHOSEN_COUNT] = x->count;
    row.args[CHOSEN_ROWS] = x->rows;
    row.args[CHOSEN_BIAS] = x->bias;
    row.args[CHOSEN_UP_BIAS] = x->up_bias;
    row.args[CHOSEN_CLAMPED] = x->clamped;
    row.kernel = (kernel_variant){.type = type_find(x->type)->name};
    kernel_set_constant(&row.kernel, CONSTANT_DENSE, 0);
    kernel_set_constant(&row.kernel, CONSTANT_EXPERTS, 1);
    kernel_set_constant(&row.kernel, CONSTANT_SLOTS, x->slots);
    kernel_set_constant(&row.kernel, CONSTANT_MIXES, mixes);
    kernel_set_constant(&row.kernel, CONSTANT_OWN_X, x->own_x && !mixes);
    kernel_set_constant(&row.kernel, CONSTANT_LATE, !routes_are_old(c, s, x));
    uint32_t chunks = layout_chunks(x->type, x->length) * (mixes ? x->slots : 1);
    if (!lower_experts_row(c, &row, x->own_x && !mixes ? each : part[PART_ROW4S], chunks, lies))
        return false;
    if (x->own_x && !mixes) {
        row.args[ARG_GROUPS] *= x->slots;
        row.single_pass = false;
    }
    *l = row;
    return true;
}

/* By op_experts.wgsl, or op_experts_rows.wgsl for many rows. */
static void by_routes(const lowering *c, dispatch_desc *l, const plan_step *s, const chosen *x)
{
    bool many = c->t->specialize && c->t->blocks && !c->form->threads && !c->p->slots && !s->norm && !x->part->mix &&
                x->x_rows >= PLAN_TILED_ROWS;
    *l = (dispatch_desc){.kernel.name = many ? "op_experts_rows" : "op_experts", .weight_arena = l->weight_arena};
    l->kernel.type = lower_weight_type(c, x->type, x->length);
    l->args[ARG_OUT] = at(c, x->part->result);
    l->args[ARG_X] = at(c, s->x);
    l->args[EXPERTS_LENGTH] = x->length;
    l->args[EXPERTS_ROWS] = x->rows;
    l->args[EXPERTS_ROUTES] = at(c, x->first->operands[2]);
    l->args[EXPERTS_COUNT] = x->count;
    l->args[EXPERTS_SLOTS] = x->slots;
    l->args[EXPERTS_WEIGHT] = x->weight;
    l->args[EXPERTS_UP_WEIGHT] = x->up_weight;
    l->args[EXPERTS_FORM] = x->second ? EXPERTS_GATED : x->part->mix ? EXPERTS_MIXED : EXPERTS_PLAIN;
    l->args[EXPERTS_ACT] = x->clamped ? (uint32_t)EXPERTS_CLAMPED_GLU : x->act;
    l->args[EXPERTS_BIAS] = x->bias;
    l->args[EXPERTS_UP_BIAS] = x->up_bias;
    l->args[EXPERTS_X_OWN] = x->own_x;
    l->args[EXPERTS_X_COMPUTED] = lower_is_computed(c, s->x);
    l->args[EXPERTS_ADDED] = x->added;
    l->args[EXPERTS_ADDED_COMPUTED] = x->added_computed;
    l->args[EXPERTS_X_ROWS] = x->x_rows;
    if (s->norm) {
        const graph_node *norm = node_at(c, s->norm);
        l->args[EXPERTS_NORM_WEIGHT] = at(c, norm->operands[1]) + 1;
        l->args[EXPERTS_NORM_EPSILON] = as_word(norm->as.rmsnorm.epsilon);
        l->args[EXPERTS_NORM_OFFSET] = as_word(norm->as.rmsnorm.weight_offset);
    }
    if (many) {
        uint32_t each = x->second ? TILE_ROWS / 2 : TILE_ROWS;
        l->args[ARG_GROUPS] = x->count * ((x->rows + each - 1) / each);
        return;
    }
    /* A team has four rows. In a megakernel, workgroups have its threads. */
    uint32_t at_once = (c->form->threads ? c->form->threads : THREADS) / TEAM * 4;
    lower_with_subgroups(c, l);
    l->args[ARG_GROUPS] = x->x_rows * (x->part->mix ? 1 : x->slots) * ((x->rows + at_once - 1) / at_once);
    l->polls_epoch = l->epoch_only = true;
}

uint32_t lower_experts(const lowering *c, dispatch_desc *l, const plan_step *s, err *e)
{
    chosen x;
    *l = (dispatch_desc){0};
    if (!find_chosen(c, s, &x, &l->weight_arena, e))
        return 0;
    if (!by_row(c, l, s, &x))
        by_routes(c, l, s, &x);
    return 1;
}
