/* memory: makes and frees a model's buffers, clears them, and answers where a node's elements lie. */
#include "graph/memory_internal.h"

#include "base/str.h"
#include "graph/layout.h"

#include <stdlib.h>

enum { ZEROS_BYTES = 1 << 20 }; /* size of the buffer that others are cleared from */

static void make_buffers(memory *m, arena *arenas, uint32_t *count)
{
    if (*count == 0)
        *count = 1; /* there must be something to bind */
    for (uint32_t i = 0; i < *count; i++)
        arenas[i].buffer =
            gpu_buffer_new(m->g, arenas[i].bytes ? arenas[i].bytes : LAYOUT_ALIGN_BYTES, GPU_USE_STORAGE);
}

memory *memory_new(gpu *g, plan *const *plans, uint32_t count, err *e)
{
    memory *m = mem_alloc(sizeof *m);
    *m = (memory){.g = g, .plans = plans, .plan_count = count};
    m->limit = gpu_get_info(g)->max_storage_binding_bytes;
    if (m->limit > gpu_get_info(g)->max_buffer_bytes)
        m->limit = gpu_get_info(g)->max_buffer_bytes;
    if (m->limit > (uint64_t)UINT32_MAX)
        m->limit = UINT32_MAX;
    m->limit = m->limit / LAYOUT_ALIGN_BYTES * LAYOUT_ALIGN_BYTES;
    m->places = mem_alloc(count * sizeof *m->places);
    memory_collect_names(m);
    if (memory_place_arenas(m, e) && memory_place_activations(m, e) && memory_fits(m, e)) {
        make_buffers(m, m->weights, &m->weight_arenas);
        make_buffers(m, m->states, &m->state_arenas);
        m->activations = gpu_buffer_new(g, m->most_words ? m->most_words * 4 : 4, GPU_USE_STORAGE);
        m->zeros = gpu_buffer_new(g, ZEROS_BYTES, GPU_USE_STORAGE);
        if (gpu_ok(g, e))
            return m;
        char *need = memory_describe_need(m, gpu_get_info(g));
        err_context(e, "%s", need);
        free(need);
    }
    memory_free(m);
    return NULL;
}

void memory_free(memory *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->weight_arenas; i++)
        gpu_buffer_free(m->weights[i].buffer);
    for (uint32_t i = 0; i < m->state_arenas; i++)
        gpu_buffer_free(m->states[i].buffer);
    gpu_buffer_free(m->activations);
    gpu_buffer_free(m->zeros);
    for (uint32_t p = 0; p < m->plan_count; p++) {
        free(m->places[p].at);
        free(m->places[p].named_at);
        free(m->places[p].sums_at);
    }
    free(m->places);
    free(m->names);
    free(m->by_name);
    free(m);
}

gpu_buffer *memory_activations(const memory *m)
{
    return m->activations;
}

gpu_buffer *memory_weights(const memory *m, uint32_t arena)
{
    return m->weights[arena].buffer;
}

gpu_buffer *memory_states(const memory *m, uint32_t arena)
{
    return m->states[arena].buffer;
}

/* Copies zeros on the device: in a browser, sending zeros from the host would take longer. */
static void clear(const memory *m, gpu_recording *r, gpu_buffer *b, uint64_t at, uint64_t end)
{
    for (uint64_t most = gpu_buffer_bytes(m->zeros); at < end; at += most)
        gpu_copy(r, m->zeros, 0, b, at, end - at < most ? end - at : most);
}

void memory_clear_states(const memory *m)
{
    gpu_recording *r = gpu_record(m->g, false);
    for (uint32_t i = 0; i < m->state_arenas; i++)
        clear(m, r, m->states[i].buffer, 0, gpu_buffer_bytes(m->states[i].buffer));
    gpu_submit(m->g, gpu_finish(r));
}

void memory_clear_made(const memory *m, uint32_t which_plan)
{
    const graph *g = m->plans[which_plan]->g;
    gpu_recording *r = gpu_record(m->g, false);
    clear(m, r, m->activations, m->kept_words * 4, m->places[which_plan].end * 4);
    for (node i = 1; i <= graph_count(g); i++) {
        const named *w = memory_named(m, which_plan, i);
        graph_op op = graph_at(g, i)->op;
        if (w && w->at != NO_PLACE && op != OP_INPUT && op != OP_WEIGHT && op != OP_STATE && op != OP_RESHAPE)
            clear(m, r, m->activations, w->at * 4ull, (w->at + memory_activation_words(shape_count(w->what->s))) * 4);
    }
    gpu_submit(m->g, gpu_finish(r));
}

uint32_t memory_at(const memory *m, uint32_t which_plan, node n)
{
    const graph *g = m->plans[which_plan]->g;
    n = plan_root(g, n);
    if (graph_at(g, n)->op == OP_STORE)
        n = graph_at(g, n)->operands[0];
    if (graph_at(g, n)->op == OP_ASSIGN || graph_at(g, n)->op == OP_SAMPLE)
        n = graph_at(g, n)->operands[1];
    const named *w = memory_named(m, which_plan, n);
    return w ? w->at : m->places[which_plan].at[n];
}

uint32_t memory_state_arena(const memory *m, uint32_t which_plan, node n)
{
    const graph *g = m->plans[which_plan]->g;
    if (graph_at(g, n)->op == OP_STORE)
        n = graph_at(g, n)->operands[0];
    return memory_named(m, which_plan, n)->arena;
}

uint32_t memory_row_at(const memory *m, uint32_t which_plan, node store)
{
    node n = plan_root(m->plans[which_plan]->g, store);
    uint32_t at = m->places[which_plan].at[n];
    return graph_at(m->plans[which_plan]->g, n)->op == OP_STORE && at != NO_PLACE ? at : 0;
}

uint32_t memory_sums_at(const memory *m, uint32_t which_plan, node product)
{
    return m->places[which_plan].sums_at[product];
}

uint32_t memory_scratch_at(const memory *m, uint32_t which_plan)
{
    return m->places[which_plan].scratch;
}

const memory_matrix *memory_matrix_of(const memory *m, uint32_t which_plan, node weight)
{
    return &memory_named(m, which_plan, weight)->matrix;
}

/* States have arenas of their own, whatever their names. */
static bool is_state(const graph *g, node n)
{
    graph_op op = graph_at(g, plan_root(g, n))->op;
    return op == OP_STORE || op == OP_STATE;
}

bool memory_find(const memory *m, const char *name, uint32_t *word, uint64_t *words)
{
    const named *w = memory_find_named(m, name);
    if (!w || w->what->op == OP_WEIGHT || w->what->op == OP_STATE)
        return false;
    *words = shape_count(w->what->s);
    *word = NO_PLACE;
    for (uint32_t p = 0; *word == NO_PLACE && p < m->plan_count; p++) {
        node n = graph_find(m->plans[p]->g, name);
        if (n && !is_state(m->plans[p]->g, n))
            *word = memory_at(m, p, n);
    }
    return *word != NO_PLACE;
}
