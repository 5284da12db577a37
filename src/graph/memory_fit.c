/* memory_fit: refuses a model that the device has no memory for, before anything is allocated. */
#include "base/str.h"
#include "graph/memory_internal.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    RESERVE_BYTES = 128 << 20, /* for kernels and uploads in flight, beside a large model */
    RESERVE_SHARE = 8,         /* this part of a small one */
};

uint64_t memory_bytes(const memory *m)
{
    return memory_arena_bytes(m->weights, m->weight_arenas) + memory_arena_bytes(m->states, m->state_arenas) +
           m->most_words * 4;
}

static void add_amount(str *out, const char *before, uint64_t bytes)
{
    if (bytes >= 1000000000)
        str_addf(out, "%s%.1f GB", before, (double)bytes / 1e9);
    else if (bytes >= 1000000)
        str_addf(out, "%s%.1f MB", before, (double)bytes / 1e6);
    else
        str_addf(out, "%s%.1f kB", before, (double)bytes / 1e3);
}

/* The length of the KV cache in positions; 0 without attention. */
static uint32_t context_of(const memory *m)
{
    for (uint32_t p = 0; p < m->plan_count; p++)
        for (node i = 1; i <= graph_count(m->plans[p]->g); i++) {
            const graph_node *n = graph_at(m->plans[p]->g, i);
            if (n->op == OP_ATTENTION)
                return graph_at(m->plans[p]->g, n->operands[1])->s.dims[LAST - 2];
        }
    return 0;
}

/* The memory that the model needs and that the device has, for the error message. */
char *memory_describe_need(const memory *m, const gpu_info *info)
{
    str text = {0};
    char states[64] = "states ";
    if (context_of(m))
        snprintf(states, sizeof states, "a context of %u tokens ", context_of(m));
    add_amount(&text, "the model needs ", memory_bytes(m));
    add_amount(&text, " (weights ", memory_arena_bytes(m->weights, m->weight_arenas));
    str_addf(&text, ", %s", states);
    add_amount(&text, "", memory_arena_bytes(m->states, m->state_arenas));
    add_amount(&text, ", activations ", m->most_words * 4);
    str_addf(&text, ")");
    if (info->memory_bytes) {
        str_addf(&text, " and %s has ", info->device);
        add_amount(&text, "", info->memory_free_bytes ? info->memory_free_bytes : info->memory_bytes);
        str_addf(&text, info->memory_free_bytes ? " free" : " in all");
    }
    return text.data;
}

/* Checked before anything is allocated: a driver that runs out of memory half way may stall the whole
 * machine, and its own message says less. */
bool memory_fits(const memory *m, err *e)
{
    const gpu_info *info = gpu_ask_memory(m->g);
    uint64_t room = info->memory_free_bytes ? info->memory_free_bytes : info->memory_bytes, needed = memory_bytes(m);
    uint64_t reserve = needed / RESERVE_SHARE < RESERVE_BYTES ? needed / RESERVE_SHARE : RESERVE_BYTES;
    if (room == 0 || needed + reserve <= room)
        return true;
    char *need = memory_describe_need(m, info);
    err_set(e, "%s: %sa smaller type of weights needs less", need,
            context_of(m) > 1 ? "a shorter context (-c) or " : "");
    free(need);
    return false;
}
