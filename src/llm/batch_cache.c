/* batch_cache: keys and values, and recurrent states, from the cache that prompts are read into to those of the slots, and between them. */
#include "graph/run_state.h"
#include "llm/batch_internal.h"

#include <stdio.h>

bool batch_make_cache(batch *b, err *e)
{
    const graph *g = b->readers[0];
    uint64_t position_bytes = 0, recurrent_bytes = 0;
    b->cached = mem_alloc((graph_count(g) + 1) * sizeof *b->cached);
    for (node i = 1; i <= graph_count(g); i++) {
        const graph_node *n = graph_at(g, i);
        graph_tensor reading, slots;
        char name[48];
        if (n->op != OP_STATE)
            continue;
        snprintf(name, sizeof name, "slot_%s", n->name);
        if (!graph_run_find(b->run, b->reader_programs[0], n->name, &reading, e) ||
            !graph_run_find(b->run, 0, name, &slots, e))
            return false;
        batch_cached *c = &b->cached[b->cached_count++];
        bool is_recurrent = graph_is_recurrent(g, i);
        *c = (batch_cached){reading.buffer,
                            slots.buffer,
                            reading.offset_bytes,
                            slots.offset_bytes,
                            is_recurrent ? reading.bytes : reading.bytes / b->context_tok,
                            is_recurrent};
        *(is_recurrent ? &recurrent_bytes : &position_bytes) += c->row_bytes;
    }
    uint64_t piece_bytes = position_bytes * batch_piece(b);
    b->between = gpu_buffer_new(b->g, piece_bytes > recurrent_bytes ? piece_bytes : recurrent_bytes, GPU_USE_STORAGE);
    b->before = graph_snapshot_new(b->g, b->run);
    return gpu_ok(b->g, e);
}

static gpu_buffer *buffer_of(const batch_cached *c, uint32_t slot)
{
    return slot == BATCH_READING_CACHE ? c->reading : c->slots;
}

static uint64_t offset_of(const batch *b, const batch_cached *c, uint32_t slot, uint32_t position)
{
    if (slot == BATCH_READING_CACHE)
        return c->reading_at + position * c->row_bytes;
    return c->slots_at + ((uint64_t)slot * (c->is_recurrent ? 1 : b->context_tok) + position) * c->row_bytes;
}

/* Up to a piece, or recurrent states. A buffer cannot be copied to itself, so it goes by another. */
static void copy_piece(batch *b, uint32_t from_slot, uint32_t to_slot, uint32_t from, uint32_t count, bool recurrent)
{
    gpu_recording *r = gpu_record(b->g, false);
    for (int half = 0; half < 2; half++) {
        uint64_t at = 0;
        for (const batch_cached *c = b->cached; c < b->cached + b->cached_count; c++) {
            uint64_t bytes = c->is_recurrent == recurrent ? count * c->row_bytes : 0;
            if (bytes == 0)
                continue;
            if (half == 0)
                gpu_copy(r, buffer_of(c, from_slot), offset_of(b, c, from_slot, from), b->between, at, bytes);
            else
                gpu_copy(r, b->between, at, buffer_of(c, to_slot), offset_of(b, c, to_slot, from), bytes);
            at += bytes;
        }
    }
    gpu_submit(b->g, gpu_finish(r));
}

void batch_copy(batch *b, uint32_t from_slot, uint32_t to_slot, uint32_t from, uint32_t end)
{
    for (uint32_t most = batch_piece(b); from < end; from += most)
        copy_piece(b, from_slot, to_slot, from, end - from < most ? end - from : most, false);
}

void batch_copy_recurrent(batch *b, uint32_t slot)
{
    if (b->before)
        copy_piece(b, BATCH_READING_CACHE, slot, 0, 1, true);
}
