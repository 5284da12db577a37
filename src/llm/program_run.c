/* program_run: makes a run of a program, and gives its states the values they begin with. */
#include "llm/program_run.h"

#include "base/rng.h"
#include "base/str.h"
#include "graph/run_state.h"

#include <string.h>

bool program_run_begin(gpu *g, graph_run *r, const aten_program *p, err *e)
{
    uint32_t count;
    const aten_port *states = aten_program_states(p, &count);
    graph_tensor t;
    for (uint32_t i = 0; i < count; i++)
        if (!graph_run_find(r, 0, states[i].name, &t, e) || !graph_tensor_write(g, &t, states[i].initial, e))
            return false;
    return true;
}

graph_run *program_run_new(gpu *g, aten_program *p, fusion_level level, err *e)
{
    graph_use use = {.g = aten_program_graph(p), .level = level};
    graph_run *r = graph_run_new(g, &use, 1, aten_program_weight, p, e);
    if (r && graph_run_possible(r, 0, e) && program_run_begin(g, r, p, e))
        return r;
    graph_run_free(r);
    return NULL;
}

void program_run_fill(const aten_port *port, uint64_t seed, uint32_t *words)
{
    enum { SMALL = 8 };
    rng r = rng_seed(seed + str_hash(STR_HASH_BEGIN, port->name, strlen(port->name)));
    bool floats = port->type == ATEN_F32 || port->type == ATEN_F16 || port->type == ATEN_F64 || port->type == ATEN_BF16;
    for (uint64_t i = 0; i < port->count; i++) {
        float f = (float)(rng_unit(&r) * 2 - 1);
        if (floats)
            memcpy(&words[i], &f, sizeof f);
        else
            words[i] = rng_below(&r, port->type == ATEN_BOOL ? 2 : SMALL);
    }
}
