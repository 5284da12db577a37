/* snapshot: copies of recurrent states in a buffer of their own. */
#include "graph/snapshot.h"
#include "base/str.h"
#include "graph/memory.h"

#include <stdlib.h>

typedef struct kept_state {
    gpu_buffer *buffer;
    uint64_t at, bytes, kept_at;
} kept_state;

struct graph_snapshot {
    gpu *g;
    gpu_buffer *kept;
    kept_state *states;
    uint32_t count;
};

static node state_of(const graph_node *n)
{
    return n->op == OP_CONV ? n->operands[2] : n->op == OP_DELTA ? n->operands[4] : 0;
}

bool graph_is_recurrent(const graph *g, node state)
{
    for (node i = 1; i <= graph_count(g); i++)
        if (state_of(graph_at(g, i)) == state)
            return true;
    return false;
}

graph_snapshot *graph_snapshot_new(gpu *g, const graph_run *r)
{
    const graph *of = graph_run_plan(r, 0)->g;
    const memory *m = graph_run_memory(r);
    graph_snapshot *s = mem_alloc(sizeof *s);
    uint64_t bytes = 0;
    s->g = g;
    s->states = mem_alloc((graph_count(of) + 1) * sizeof *s->states);
    for (node i = 1; i <= graph_count(of); i++) {
        node state = state_of(graph_at(of, i));
        if (!state)
            continue;
        kept_state *k = &s->states[s->count++];
        *k = (kept_state){.buffer = memory_states(m, memory_state_arena(m, 0, state)),
                          .at = (uint64_t)memory_at(m, 0, state) * 4,
                          .bytes = dtype_bytes(graph_at(of, state)->type, shape_count(graph_at(of, state)->s)),
                          .kept_at = bytes};
        bytes += k->bytes;
    }
    if (s->count) {
        s->kept = gpu_buffer_new(g, bytes, GPU_USE_STORAGE);
        return s;
    }
    graph_snapshot_free(s);
    return NULL;
}

void graph_snapshot_free(graph_snapshot *s)
{
    if (!s)
        return;
    if (s->kept)
        gpu_buffer_free(s->kept);
    free(s->states);
    free(s);
}

static void copy(graph_snapshot *s, bool back)
{
    gpu_recording *r = gpu_record(s->g, false);
    for (uint32_t i = 0; i < s->count; i++) {
        const kept_state *k = &s->states[i];
        if (back)
            gpu_copy(r, s->kept, k->kept_at, k->buffer, k->at, k->bytes);
        else
            gpu_copy(r, k->buffer, k->at, s->kept, k->kept_at, k->bytes);
    }
    gpu_submit(s->g, gpu_finish(r));
}

void graph_snapshot_keep(graph_snapshot *s)
{
    copy(s, false);
}

void graph_snapshot_bring_back(graph_snapshot *s)
{
    copy(s, true);
}
