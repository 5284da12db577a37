/* graph_choice: what ends a run: the choice of a token, and integers for the next run. */
#include "graph/graph_internal.h"
#include "graph/sample.h"

enum { LAST = GRAPH_MAX_DIMS - 1 };

static const graph_node *operand(const graph *g, const graph_node *n, uint32_t i)
{
    return graph_at(g, n->operands[i]);
}

node graph_assign(graph *g, node target, node value, assign_spec spec)
{
    graph_node n = {.op = OP_ASSIGN, .type = DTYPE_U32, .as.assign = spec};
    node also = spec.more ? spec.more : spec.index;
    if (!graph_set_operands(g, &n, 2 + (also != 0) + (spec.more && spec.index), value, target, also, spec.index))
        return 0;
    const graph_node *from = operand(g, &n, 0), *to = operand(g, &n, 1);
    n.s = to->s;
    bool fits = spec.index ? shape_count(from->s) == 1 && graph_is_position(g, spec.index)
                           : shape_count(from->s) <= shape_count(to->s);
    if (!fits || to->op != OP_INPUT || to->type != DTYPE_U32 || from->type != DTYPE_U32 ||
        (spec.more && !graph_is_position(g, spec.more)))
        return graph_wrong_shapes(g, &n, "integers that fit an input of integers are needed"), 0;
    return graph_add(g, n);
}

node graph_sample(graph *g, node target, node logits, node settings, node so_far, node history)
{
    graph_node n = {.op = OP_SAMPLE, .type = DTYPE_U32};
    if (!graph_set_operands(g, &n, 5, logits, target, settings, so_far, history))
        return 0;
    const graph_node *x = operand(g, &n, 0), *to = operand(g, &n, 1), *words = operand(g, &n, 2),
                     *ring = operand(g, &n, 4);
    n.s = to->s;
    if (x->type != DTYPE_F32 || shape_count(x->s) != x->s.dims[LAST] || x->s.dims[LAST] > SAMPLE_MAX_VOCAB ||
        to->op != OP_INPUT || to->type != DTYPE_U32 || words->type != DTYPE_U32 ||
        shape_count(words->s) != SAMPLE_WORDS || !graph_is_position(g, so_far) || ring->op != OP_INPUT ||
        ring->type != DTYPE_U32)
        return graph_wrong_shapes(g, &n, "a row of logits and inputs of integers are needed"), 0;
    return graph_add(g, n);
}

node graph_sample_rows(graph *g, node tokens, node logits, node settings, node positions, node history, node control,
                       node steering)
{
    graph_node n = {.op = OP_SAMPLE, .type = DTYPE_U32};
    if (!graph_set_operands(g, &n, steering ? 7 : 6, logits, tokens, settings, positions, history, control, steering))
        return 0;
    const graph_node *x = operand(g, &n, 0), *to = operand(g, &n, 1);
    uint32_t rows = x->s.dims[LAST - 1], vocab = x->s.dims[LAST];
    uint32_t words[] = {rows, rows * SAMPLE_WORDS,         rows,
                        0,    rows * SAMPLE_CONTROL_WORDS, rows * sample_steering_words(vocab)};
    bool fits = x->type == DTYPE_F32 && shape_count(x->s) == (uint64_t)rows * vocab && vocab <= SAMPLE_MAX_VOCAB &&
                shape_count(operand(g, &n, 4)->s) % rows == 0;
    n.s = to->s;
    for (uint32_t i = 1; fits && i < n.operand_count; i++) {
        const graph_node *input = operand(g, &n, i);
        fits = input->op == OP_INPUT && input->type == DTYPE_U32 &&
               (!words[i - 1] || shape_count(input->s) == words[i - 1]);
    }
    if (!fits)
        return graph_wrong_shapes(g, &n, "rows of logits and inputs of integers for each are needed"), 0;
    return graph_add(g, n);
}

/* The operand that says where a row is, if the operator has one. */
static node position_of(const graph_node *n)
{
    return n->op == OP_ROPE                            ? n->operands[1]
           : n->op == OP_STORE                         ? n->operands[2]
           : n->op == OP_ATTENTION || n->op == OP_CONV ? n->operands[3]
           : n->op == OP_DELTA                         ? n->operands[5]
                                                       : 0;
}

uint32_t graph_slots(const graph *g)
{
    for (node i = 1; i <= graph_count(g); i++) {
        node position = position_of(graph_at(g, i));
        if (position && shape_count(graph_at(g, position)->s) > 1)
            return (uint32_t)shape_count(graph_at(g, position)->s);
    }
    return 0;
}
