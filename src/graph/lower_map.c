/* Functions and sums of products of tensors that are read through strides, as dispatches. */
#include "graph/lower_internal.h"

static uint32_t form_of(const lowering *c, node n)
{
    const graph_node *of = node_at(c, plan_root(c->p->g, n));
    if (of->op == OP_STATE || of->op == OP_STORE)
        return MAP_FORM_STATE;
    return of->type == DTYPE_U32 ? MAP_FORM_WORDS : lower_is_computed(c, n) ? MAP_FORM_COMPUTED : MAP_FORM_FLOATS;
}

/* Neighbouring dimensions of which all operands read on without a gap become one: dividing takes long. */
static void join_dimensions(map_spec *m)
{
    uint32_t to = GRAPH_VIEW_DIMS - 1; /* the last that is complete so far */
    for (uint32_t d = to; d-- > 0;) {
        bool joins = m->kind != MAP_PLACE;
        for (uint32_t i = 0; i < m->view_count; i++)
            joins = joins && (m->dims[d] == 1 || m->views[i].strides[d] == m->dims[to] * m->views[i].strides[to]);
        if (joins) {
            m->dims[to] *= m->dims[d];
            continue;
        }
        to--;
        m->dims[to] = m->dims[d];
        for (uint32_t i = 0; i < m->view_count; i++)
            m->views[i].strides[to] = m->views[i].strides[d];
    }
    while (to > 0)
        m->dims[--to] = 1;
}

void lower_map(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    static const uint32_t records[GRAPH_MAP_OPERANDS] = {MAP_OP_X, MAP_OP_Y, MAP_OP_Z};
    map_spec m = n->as.map;
    join_dimensions(&m);
    l->args[MAP_OP_COUNT] = (uint32_t)shape_count(n->s);
    l->args[MAP_OP_KIND] = m.kind;
    l->args[MAP_OP_FUNCTION] = m.function;
    l->args[MAP_OP_A] = as_word(m.a);
    l->args[MAP_OP_B] = as_word(m.b);
    l->args[MAP_OP_INTEGERS] = m.integers;
    l->args[MAP_OP_WORDS] = n->type == DTYPE_U32;
    l->args[MAP_OP_TAKE_STRIDE] = m.take_stride;
    l->args[MAP_OP_TAKE_COUNT] = m.take_count;
    l->polls_epoch = l->epoch_only = n->type != DTYPE_U32;
    for (uint32_t d = 0; d < GRAPH_VIEW_DIMS; d++) {
        l->args[MAP_OP_DIMS + d] = m.dims[d];
        l->args[MAP_OP_FIRST + d] = m.first[d];
        l->args[MAP_OP_END + d] = m.end[d];
        for (uint32_t i = 0; i < m.view_count; i++)
            l->args[records[i] + MAP_OPERAND_STRIDES + d] = m.views[i].strides[d];
    }
    for (uint32_t i = 0; i < m.view_count; i++) {
        uint32_t form = form_of(c, m.views[i].of);
        l->args[records[i] + MAP_OPERAND_AT] = at(c, m.views[i].of) + m.views[i].offset;
        l->args[records[i] + MAP_OPERAND_FORM] = form;
        if (form == MAP_FORM_WORDS && lower_is_computed(c, m.views[i].of))
            l->polls_epoch = l->epoch_only = false;
        if (form == MAP_FORM_STATE) {
            l->epoch_only = false; /* another step may write it */
            l->state_arena = memory_state_arena(c->m, c->which, plan_root(c->p->g, m.views[i].of));
        }
    }
}

void lower_contract(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    const contract_spec *m = &n->as.contract;
    l->args[ARG_X] = at(c, m->x.of) + m->x.offset;
    l->args[CONTRACT_Y] = at(c, m->y.of) + m->y.offset;
    l->args[CONTRACT_COUNT] = (uint32_t)shape_count(n->s);
    l->args[CONTRACT_K] = m->k;
    l->args[CONTRACT_X_STRIDE] = m->x_stride;
    l->args[CONTRACT_Y_STRIDE] = m->y_stride;
    l->args[CONTRACT_X_COMPUTED] = lower_is_computed(c, m->x.of);
    l->args[CONTRACT_Y_COMPUTED] = lower_is_computed(c, m->y.of);
    for (uint32_t d = 0; d < GRAPH_VIEW_DIMS; d++) {
        l->args[CONTRACT_DIMS + d] = m->dims[d];
        l->args[CONTRACT_X_STRIDES + d] = m->x.strides[d];
        l->args[CONTRACT_Y_STRIDES + d] = m->y.strides[d];
    }
    l->polls_epoch = l->epoch_only = true;
}
