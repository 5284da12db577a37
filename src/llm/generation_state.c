/* generation_state: takes the text so far, with its keys and values and recurrent states, out of a generation, and puts it into another one. */
#include "base/str.h"
#include "graph/run_state.h"
#include "llm/generation_internal.h"
#include "llm/generation_state.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that a state has for so many tokens: its first rows; all of it where its rows are no positions. */
static uint64_t bytes_for(const generation *n, node at, uint32_t tokens)
{
    const graph_node *state = graph_at(n->graphs[0], at);
    uint64_t all = shape_count(state->s), row = all / state->s.dims[1];
    uint64_t bytes = dtype_bytes(state->type, graph_is_recurrent(n->graphs[0], at) ? all : row * tokens);
    return (bytes + 3) / 4 * 4;
}

uint64_t generation_state_bytes(const generation *n, uint32_t tokens)
{
    uint64_t bytes = 0;
    for (node i = 1; i <= graph_count(n->graphs[0]); i++)
        if (graph_at(n->graphs[0], i)->op == OP_STATE)
            bytes += bytes_for(n, i, tokens);
    return bytes;
}

bool generation_save(generation *n, str *out, err *e)
{
    generation_sync(n);
    generation_complete_rows(n);
    bool ok = generation_mend(n, n->position, e);
    for (node i = 1; ok && i <= graph_count(n->graphs[0]); i++) {
        const graph_node *state = graph_at(n->graphs[0], i);
        graph_tensor t;
        if (state->op != OP_STATE)
            continue;
        uint64_t bytes = bytes_for(n, i, n->position);
        ok = graph_run_find(n->run, generation_program(n, 0), state->name, &t, e);
        if (!ok || !bytes)
            continue;
        char *words = mem_alloc(bytes);
        ok = gpu_read_now(n->g, t.buffer, t.offset_bytes, words, bytes, e);
        str_add_bytes(out, words, bytes);
        free(words);
    }
    return ok;
}

bool generation_restore(generation *n, const uint32_t *tokens, uint32_t count, const char *states, err *e)
{
    generation_rewind(n, 0);
    generation_forget_beyond(n, 0);
    for (node i = 1; i <= graph_count(n->graphs[0]); i++) {
        const graph_node *state = graph_at(n->graphs[0], i);
        graph_tensor t;
        if (state->op != OP_STATE)
            continue;
        uint64_t bytes = bytes_for(n, i, count);
        if (!graph_run_find(n->run, generation_program(n, 0), state->name, &t, e))
            return false;
        if (bytes)
            gpu_write(n->g, t.buffer, t.offset_bytes, states, bytes);
        states += bytes;
    }
    n->is_long = n->angles[0] && count > n->short_tok;
    generation_put_angles(n);
    if (count)
        graph_run_put(n->run, n->history, tokens, count);
    memcpy(n->said, tokens, count * sizeof *tokens);
    n->position = n->asked = n->written = n->absorbed = count;
    generation_keep_snapshot(n);
    return gpu_ok(n->g, e);
}
