/* aten_ports: looking into a program: its graph and weights, what goes in and comes out; and what lowers an operator. */
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

const aten_operator *aten_find_operator(const char *op)
{
    static const aten_operator *const tables[] = {
        aten_view_operators,  aten_elementwise_operators, aten_reduce_operators, aten_product_operators,
        aten_index_operators, aten_scatter_operators,     aten_window_operators, aten_pool_operators,
        aten_norm_operators,  aten_make_operators};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const aten_operator *o = tables[t]; o->op; o++)
            if (strcmp(o->op, op) == 0)
                return o;
    return NULL;
}
