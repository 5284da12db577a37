/* aten_ports: looking into a program: its graph and weights, what goes in and comes out. */
#include "model/aten_internal.h"

#include <string.h>

const graph *aten_program_graph(const aten_program *p)
{
    return p->a.program_graph;
}

const void *aten_program_weight(void *program, const char *name, uint64_t first, uint64_t bytes, err *e)
{
    const aten *a = &((aten_program *)program)->a;
    (void)bytes;
    for (uint32_t i = 0; i < a->weight_count; i++)
        if (strcmp(a->weights[i].name, name) == 0)
            return (const char *)a->constants[a->weights[i].constant - 1].data + first;
    err_set(e, "there is no weight %s", name);
    return NULL;
}

const aten_port *aten_program_inputs(const aten_program *p, uint32_t *count)
{
    *count = p->input_count;
    return p->inputs;
}

const aten_port *aten_program_outputs(const aten_program *p, uint32_t *count)
{
    *count = p->output_count;
    return p->outputs;
}

const aten_port *aten_program_states(const aten_program *p, uint32_t *count)
{
    *count = p->state_count;
    return p->states;
}

uint32_t aten_program_nodes(const aten_program *p, uint32_t *needed)
{
    *needed = p->needed;
    return p->a.call_count;
}
