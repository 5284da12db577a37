/* memory_arenas: the places of weights and states in a few buffers, each as large as the device binds. */
#include "graph/layout.h"
#include "graph/memory_internal.h"

uint64_t memory_arena_bytes(const arena *arenas, uint32_t count)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += arenas[i].bytes;
    return bytes;
}

static bool new_arena(arena *arenas, uint32_t *count, uint64_t bytes, uint64_t limit, err *e)
{
    if (*count && arenas[*count - 1].bytes + bytes <= limit)
        return true;
    if (*count == MAX_ARENAS)
        return err_set(e, "the model does not fit %d buffers of %llu bytes, the most that this device binds",
                       MAX_ARENAS, (unsigned long long)limit);
    (*count)++;
    return true;
}

static bool place_piece(memory *m, named *w, uint32_t first, uint32_t rows, err *e)
{
    const graph_node *n = w->what;
    uint64_t bytes = layout_bytes(n->as.weight, rows, n->s.dims[LAST]);
    if (w->matrix.piece_count == MEMORY_MAX_PIECES)
        return err_set(e, "weight %s has %llu bytes, more than %d times the %llu that this device binds", w->name,
                       (unsigned long long)layout_bytes(n->as.weight, n->s.dims[LAST - 1], n->s.dims[LAST]),
                       MEMORY_MAX_PIECES, (unsigned long long)m->limit);
    if (!new_arena(m->weights, &m->weight_arenas, bytes, m->limit, e))
        return false;
    arena *a = &m->weights[m->weight_arenas - 1];
    w->matrix.pieces[w->matrix.piece_count++] =
        (memory_piece){m->weight_arenas - 1, (uint32_t)(a->bytes / 4), first, rows};
    a->bytes += bytes;
    return true;
}

/* Each piece has as many rows as fit, a multiple of 64, so that pieces begin at whole words. */
static bool place_matrix(memory *m, named *w, err *e)
{
    const graph_node *n = w->what;
    uint32_t rows = (uint32_t)(shape_count(n->s) / n->s.dims[LAST]), columns = n->s.dims[LAST];
    uint64_t row_bytes = layout_bytes(n->as.weight, 64, columns) / 64 + 1;
    uint32_t most = m->limit / row_bytes > rows ? rows : (uint32_t)(m->limit / row_bytes) / 64 * 64;
    if (layout_bytes(n->as.weight, rows, columns) <= m->limit)
        most = rows;
    if (most == 0)
        return err_set(e, "a row of weight %s alone is larger than the %llu bytes that this device binds", w->name,
                       (unsigned long long)m->limit);
    for (uint32_t first = 0; first < rows; first += most)
        if (!place_piece(m, w, first, rows - first < most ? rows - first : most, e))
            return false;
    return true;
}

/* The matrices of a step lie in one arena. */
static bool place_matrices(memory *m, uint32_t p, const plan_step *s, uint32_t at_least, err *e)
{
    node nodes[PLAN_MAX_NODES];
    uint32_t count = plan_matrices(m->plans[p], s, nodes);
    uint64_t bytes = 0;
    if (count < at_least)
        return true;
    for (uint32_t i = 0; i < count; i++) {
        const named *w = memory_named(m, p, nodes[i]);
        if (!w->is_matrix)
            bytes += layout_bytes(w->what->as.weight, (uint32_t)(shape_count(w->what->s) / w->what->s.dims[LAST]),
                                  w->what->s.dims[LAST]);
    }
    if (count > 1 && bytes <= m->limit && !new_arena(m->weights, &m->weight_arenas, bytes, m->limit, e))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        named *w = memory_named(m, p, nodes[i]);
        if (w->is_matrix)
            continue;
        w->is_matrix = true;
        if (!place_matrix(m, w, e))
            return false;
    }
    return true;
}

static uint32_t states_of(const plan *p, const plan_step *s, node *out)
{
    node nodes[PLAN_MAX_NODES];
    uint32_t count = plan_reads(p, s, nodes), states = 0;
    for (uint32_t i = 0; i < count; i++) {
        const graph_node *n = graph_at(p->g, nodes[i]);
        node state = n->op == OP_STORE ? n->operands[0] : n->op == OP_STATE ? nodes[i] : 0;
        if (state)
            out[states++] = state;
    }
    return states;
}

static uint64_t state_bytes(const graph_node *n)
{
    uint64_t bytes = shape_count(n->s) * (n->type == DTYPE_F16 ? 2 : 4);
    return (bytes + LAYOUT_ALIGN_BYTES - 1) / LAYOUT_ALIGN_BYTES * LAYOUT_ALIGN_BYTES;
}

/* The states of a step lie in one arena. */
static bool place_states(memory *m, uint32_t p, const plan_step *s, uint32_t at_least, err *e)
{
    node nodes[PLAN_MAX_NODES];
    uint32_t count = states_of(m->plans[p], s, nodes);
    uint64_t bytes = 0;
    if (count < at_least)
        return true;
    for (uint32_t i = 0; i < count; i++)
        if (memory_named(m, p, nodes[i])->arena == NO_PLACE)
            bytes += state_bytes(graph_at(m->plans[p]->g, nodes[i]));
    if (bytes > m->limit)
        return err_set(e, "states of %llu bytes, and this device binds %llu: a shorter context needs less",
                       (unsigned long long)bytes, (unsigned long long)m->limit);
    if (bytes && !new_arena(m->states, &m->state_arenas, bytes, m->limit, e))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        named *state = memory_named(m, p, nodes[i]);
        if (state->arena != NO_PLACE)
            continue;
        arena *a = &m->states[m->state_arenas - 1];
        state->arena = m->state_arenas - 1;
        state->at = (uint32_t)(a->bytes / 4);
        a->bytes += state_bytes(state->what);
    }
    return true;
}

/* Steps with several matrices or states come first, since these must share an arena. */
bool memory_place_arenas(memory *m, err *e)
{
    for (uint32_t at_least = 2; at_least > 0; at_least--)
        for (uint32_t p = 0; p < m->plan_count; p++)
            for (uint32_t i = 0; i < m->plans[p]->count; i++)
                if (!place_matrices(m, p, &m->plans[p]->steps[i], at_least, e) ||
                    !place_states(m, p, &m->plans[p]->steps[i], at_least, e))
                    return false;
    return true;
}
