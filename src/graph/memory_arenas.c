/* memory_arenas: the places of weights and states in a few buffers, each as large as the device binds. */
#include "base/str.h"
#include "graph/layout.h"
#include "graph/memory_internal.h"

#include <stdlib.h>

uint64_t memory_arena_bytes(const arena *arenas, uint32_t count)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += arenas[i].bytes;
    return bytes;
}

static bool add_arena(uint32_t *count, uint64_t limit, err *e)
{
    if (*count == MAX_ARENAS)
        return err_set(e, "the model does not fit %d buffers of %llu bytes, the most that this device binds",
                       MAX_ARENAS, (unsigned long long)limit);
    (*count)++;
    return true;
}

/* Room for states in the last arena. */
static bool new_arena(arena *arenas, uint32_t *count, uint64_t bytes, uint64_t limit, err *e)
{
    return (*count && arenas[*count - 1].bytes + bytes <= limit) || add_arena(count, limit, e);
}

/* Steps whose matrices have the same types and shapes: those that a megakernel runs by one kernel in every layer. The
 * kernel reads one arena, so they share one where they fit. */
typedef struct alike {
    uint64_t key, bytes, left; /* of all their matrices, and of those without a place */
    uint32_t steps, arena;
} alike;

typedef struct placing {
    memory *m;
    alike *groups;
    uint32_t count;
} placing;

static uint64_t bytes_of(const graph_node *n)
{
    return layout_bytes(n->as.weight, (uint32_t)(shape_count(n->s) / n->s.dims[LAST]), n->s.dims[LAST]);
}

static alike *group_of(const placing *c, uint32_t p, const plan_step *s)
{
    node nodes[PLAN_MAX_NODES];
    uint32_t count = plan_matrices(c->m->plans[p], s, nodes), g = 0;
    uint64_t key = str_hash(STR_HASH_BEGIN, (const char *)&s->op, sizeof s->op);
    for (uint32_t i = 0; i < count; i++) {
        const graph_node *n = memory_named(c->m, p, nodes[i])->what;
        key = str_hash(key, (const char *)&n->as.weight, sizeof n->as.weight);
        key = str_hash(key, (const char *)&n->s, sizeof n->s);
    }
    while (c->groups[g].steps && c->groups[g].key != key)
        g++;
    c->groups[g].key = key;
    return &c->groups[g];
}

/* The first plan has every matrix that the others have. */
static void count_alike(placing *c)
{
    const plan *first = c->m->plans[0];
    c->groups = mem_alloc((first->count + 1) * sizeof *c->groups);
    for (uint32_t i = 0; i < first->count; i++) {
        node nodes[PLAN_MAX_NODES];
        uint32_t count = plan_matrices(first, &first->steps[i], nodes);
        alike *g = count ? group_of(c, 0, &first->steps[i]) : NULL;
        for (uint32_t k = 0; k < count; k++)
            g->bytes += bytes_of(memory_named(c->m, 0, nodes[k])->what);
        if (g) {
            g->steps++;
            g->left = g->bytes;
            g->arena = NO_PLACE;
        }
    }
}

/* What fits one arena lies in one: room for all its steps is reserved when the first of them comes. */
static bool is_together(const placing *c, const alike *g)
{
    return g && g->steps > 1 && g->bytes <= c->m->limit;
}

static bool has_room(const memory *m, uint32_t i, uint64_t bytes)
{
    return m->weights[i].bytes + m->weights[i].reserved + bytes <= m->limit;
}

/* The arena for `bytes` of a step. A group that is larger than an arena fills one after the other, and looks for one with
 * much room before, so that few kernels are needed for its steps. */
static bool choose_arena(placing *c, alike *g, uint64_t bytes, uint32_t *into, err *e)
{
    memory *m = c->m;
    bool together = is_together(c, g), alone = !g || g->steps == 1;
    if (!alone && g->arena != NO_PLACE && (together || has_room(m, g->arena, bytes))) {
        *into = g->arena;
        return true;
    }
    uint64_t room = alone ? bytes : together || g->left < m->limit / 2 ? g->left : m->limit / 2;
    uint32_t i = alone && m->weight_arenas ? m->weight_arenas - 1 : 0;
    while (i < m->weight_arenas && !has_room(m, i, room > bytes ? room : bytes))
        i++;
    if (i == m->weight_arenas && !add_arena(&m->weight_arenas, m->limit, e))
        return false;
    if (together)
        m->weights[i].reserved += g->bytes;
    if (g)
        g->arena = i;
    *into = i;
    return true;
}

static bool place_piece(placing *c, named *w, uint32_t first, uint32_t rows, uint32_t into, err *e)
{
    memory *m = c->m;
    const graph_node *n = w->what;
    uint64_t bytes = layout_bytes(n->as.weight, rows, n->s.dims[LAST]);
    if (w->matrix.piece_count == MEMORY_MAX_PIECES)
        return err_set(e, "weight %s has %llu bytes, more than %d times the %llu that this device binds", w->name,
                       (unsigned long long)layout_bytes(n->as.weight, n->s.dims[LAST - 1], n->s.dims[LAST]),
                       MEMORY_MAX_PIECES, (unsigned long long)m->limit);
    if (m->weights[into].bytes + bytes > m->limit && !choose_arena(c, NULL, bytes, &into, e))
        return false;
    arena *a = &m->weights[into];
    w->matrix.pieces[w->matrix.piece_count++] = (memory_piece){into, (uint32_t)(a->bytes / 4), first, rows};
    a->bytes += bytes;
    return true;
}

/* Each piece has as many rows as fit, a multiple of 64, so that pieces begin at whole words. */
static bool place_matrix(placing *c, named *w, uint32_t into, err *e)
{
    memory *m = c->m;
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
        if (!place_piece(c, w, first, rows - first < most ? rows - first : most, into, e))
            return false;
    return true;
}

/* The matrices of a step lie in one arena. */
static bool place_matrices(placing *c, uint32_t p, const plan_step *s, uint32_t at_least, err *e)
{
    memory *m = c->m;
    node nodes[PLAN_MAX_NODES];
    uint32_t count = plan_matrices(m->plans[p], s, nodes), into = 0;
    uint64_t bytes = 0, all = 0;
    if (count < at_least)
        return true;
    for (uint32_t i = 0; i < count; i++) {
        const named *w = memory_named(m, p, nodes[i]);
        bytes += w->is_matrix ? 0 : bytes_of(w->what);
        all += bytes_of(w->what);
    }
    alike *g = p == 0 && count ? group_of(c, p, s) : NULL;
    if (bytes && !choose_arena(c, g, bytes <= m->limit ? bytes : 1, &into, e))
        return false;
    if (bytes && is_together(c, g))
        m->weights[into].reserved -= all;
    if (bytes && g)
        g->left -= all;
    for (uint32_t i = 0; i < count; i++) {
        named *w = memory_named(m, p, nodes[i]);
        if (w->is_matrix)
            continue;
        w->is_matrix = true;
        if (!place_matrix(c, w, into, e))
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
    uint64_t bytes = dtype_bytes(n->type, shape_count(n->s));
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
    placing c = {.m = m};
    bool ok = true;
    if (m->plan_count)
        count_alike(&c);
    for (uint32_t at_least = 2; at_least > 0; at_least--)
        for (uint32_t p = 0; p < m->plan_count; p++)
            for (uint32_t i = 0; ok && i < m->plans[p]->count; i++)
                ok = place_matrices(&c, p, &m->plans[p]->steps[i], at_least, e) &&
                     place_states(m, p, &m->plans[p]->steps[i], at_least, e);
    free(c.groups);
    return ok;
}
