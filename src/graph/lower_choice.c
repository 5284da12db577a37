/* What ends a run as dispatches: the choice of a token, and integers for the next run. */
#include "graph/lower_internal.h"
#include "graph/sample.h"

enum { LAST = LOWER_LAST_DIM, SAMPLE_THREADS = 256 /* as in op_sample.wgsl */ };

void lower_assigns(const lowering *c, dispatch_desc *l, const plan_step *s)
{
    bool indexed = false, more = false;
    memset(l->args, 0, sizeof l->args); /* it has several results and operands */
    l->args[ARG_GROUPS] = 1;
    l->args[ASSIGN_COUNT] = s->assign_count;
    l->polls_epoch = true;
    for (uint32_t i = 0; i < s->assign_count; i++) {
        const graph_node *n = node_at(c, s->assigns[i]);
        const assign_spec *spec = &n->as.assign;
        uint32_t *copy = l->args + ASSIGN_COPIES + COPY_SIZE * i;
        copy[COPY_TO] = at(c, n->operands[1]);
        copy[COPY_FROM] = at(c, n->operands[0]);
        copy[COPY_COUNT] = (uint32_t)shape_count(node_at(c, n->operands[0])->s);
        copy[COPY_ADDED] = spec->added;
        copy[COPY_MORE] = spec->more ? at(c, spec->more) + 1 : 0;
        copy[COPY_INDEX] = spec->index ? at(c, spec->index) + 1 : 0;
        copy[COPY_BOUND] = (uint32_t)shape_count(n->s);
        indexed |= spec->index != 0;
        more |= spec->more != 0;
    }
    if (c->t->compile_fast) {
        l->kernel.name = "op_assign_single_thread";
        kernel_set_constant(&l->kernel, CONSTANT_COPIES, s->assign_count);
        kernel_set_constant(&l->kernel, CONSTANT_INDEXED, indexed);
        kernel_set_constant(&l->kernel, CONSTANT_MORE, more);
    }
}

/* The same kernels for rows that are texts of their own. */
static void lower_sample_rows(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    const graph_node *logits = node_at(c, n->operands[0]);
    uint32_t rows = logits->s.dims[LAST - 1], history = l[1].args[SAMPLE_HISTORY_TOK] / rows;
    l[0].kernel.name = "op_sample_scan_rows";
    l[1].kernel.name = c->t->compile_fast ? "op_sample_rows_single_thread" : "op_sample_rows";
    l[0].args[SAMPLE_ROW_GROUPS] = l[0].args[ARG_GROUPS];
    for (int half = 0; half < 2; half++) {
        l[half].args[ARG_GROUPS] *= rows;
        l[half].args[SAMPLE_POSITION_PLUS] = 1;
        l[half].args[SAMPLE_HISTORY_TOK] = history;
        l[half].args[SAMPLE_CAPACITY] = history - 1;
        l[half].args[SAMPLE_CONTROL] = at(c, n->operands[5]);
        l[half].args[SAMPLE_STEERING] = n->operand_count > 6 ? at(c, n->operands[6]) + 1 : 0;
        l[half].args[SAMPLE_ROW_SCRATCH] = sample_scratch_words(logits->s.dims[LAST]);
    }
}

uint32_t lower_sample(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    sample_places places = {.out = at(c, n->operands[1]),
                            .logits = at(c, n->operands[0]),
                            .vocab = node_at(c, n->operands[0])->s.dims[LAST],
                            .settings = at(c, n->operands[2]),
                            .position = at(c, n->operands[3]),
                            .history = at(c, n->operands[4]),
                            .history_tok = (uint32_t)shape_count(node_at(c, n->operands[4])->s),
                            .append = 1,
                            .scratch = memory_scratch_at(c->m, c->which)};
    l[0] = (dispatch_desc){.kernel.name = "op_sample_scan", .polls_epoch = true};
    l[1] = (dispatch_desc){.kernel.name = "op_sample", .polls_epoch = true};
    sample_arguments(&places, c->form->threads ? c->form->threads : SAMPLE_THREADS, l[0].args, l[1].args);
    l[0].args[SAMPLE_LOGITS_COMPUTED] = lower_is_computed(c, n->operands[0]);
    if (c->t->compile_fast) { /* one thread, and one kernel that compiles fast */
        l[1].kernel.name = "op_sample_single_thread";
        if (n->operand_count > 5)
            lower_sample_rows(c, l, n);
        l[0] = l[1];
        return 1;
    }
    if (n->operand_count > 5)
        lower_sample_rows(c, l, n);
    for (int half = 0; half < 2 && c->t->specialize && c->form->threads; half++)
        kernel_set_constant(&l[half].kernel, CONSTANT_SHARED_X_WORDS, c->t->x_floats);
    return 2;
}
