/* generation_recurrent: models whose states go from token to token (conv, delta).
 *
 * A KV cache can be cut back to any position: what lies beyond is written anew. A recurrent state cannot: it is that of
 * all tokens it has taken in. So a generation knows how many that are (`absorbed`); where it needs the state of fewer, it
 * takes the snapshot, if that is of the same text, or begins at position 0, where states count as zeros, and feeds the
 * rest again. Snapshots are taken before tokens that are made on trial, and where a text is continued after a rewind:
 * a chat comes back to about there with its next message. */
#include "llm/generation_internal.h"

#include <stdlib.h>
#include <string.h>

/* The GPU counts the tokens as it goes; a dispatch of many ends early at a stop token. */
void generation_see_absorbed(generation *n)
{
    err unused = {0};
    bool timed_out = false;
    if (!n->snapshot || n->absorbed != ABSORBED_ON_GPU)
        return;
    n->absorbed = ABSORBED_UNKNOWN;
    megakernel *mega = graph_run_megakernel(n->run, generation_program(n, 0));
    if (!gpu_wait(n->g, &unused) || (mega && !megakernel_timed_out(mega, &timed_out, &unused)))
        return;
    if (timed_out)
        generation_fall_back(n, GENERATION_TIMED_OUT);
    else if (!graph_run_get(n->run, n->position_place, 0, 1, &n->absorbed, &unused))
        n->absorbed = ABSORBED_UNKNOWN;
}

void generation_keep_snapshot(generation *n)
{
    if (!n->snapshot || n->absorbed != n->position)
        return;
    graph_snapshot_keep(n->snapshot);
    n->kept_tok = n->position;
}

void generation_bring_back(generation *n)
{
    if (!n->snapshot)
        return;
    graph_snapshot_bring_back(n->snapshot);
    n->absorbed = n->kept_tok;
}

bool generation_mend(generation *n, uint32_t position, err *e)
{
    if (!n->snapshot || n->absorbed == ABSORBED_ON_GPU || n->absorbed == position)
        return true;
    uint32_t whole = n->position, fed = n->absorbed;
    if (fed > position) {
        fed = n->kept_tok <= position ? n->kept_tok : 0;
        if (fed)
            generation_bring_back(n);
    }
    n->absorbed = fed;
    generation_forget_beyond(n, position);
    if (fed < position) {
        uint32_t count = position - fed, *text = mem_alloc(count * sizeof *text);
        memcpy(text, n->said + fed, count * sizeof *text);
        n->position = fed;
        bool taken = generation_take_in(n, text, count, n->level < LEVEL_OPS ? n->level : LEVEL_OPS);
        n->position = whole;
        free(text);
        return gpu_ok(n->g, e) && taken;
    }
    return gpu_ok(n->g, e);
}
