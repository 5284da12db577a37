/* The public API's graphs of PyTorch's programs. */
#include "api/graph.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof((solo_tensor){0}.dims) == sizeof((aten_tensor){0}.dims), "the same rank");

static solo_graph *graph_of(pt2 *file, aten_program *program)
{
    if (!program)
        return NULL;
    solo_graph *g = mem_alloc(sizeof *g);
    *g = (solo_graph){.g = (graph *)aten_program_graph(program), .file = file, .program = program};
    return g;
}

solo_graph *solo_graph_open(const char *path, solo_error *to)
{
    err e = {0};
    if (!api_is_here(path, to))
        return NULL;
    pt2 *file = pt2_open(path, &e);
    api_result(to, &e, file != NULL);
    return file ? graph_of(file, pt2_program(file)) : NULL;
}

typedef struct tensor_list {
    const solo_tensor *tensors;
    uint32_t count;
} tensor_list;

static bool find_tensor(void *user, const char *name, aten_tensor *out, err *e)
{
    const tensor_list *list = user;
    for (uint32_t i = 0; i < list->count; i++) {
        const solo_tensor *t = &list->tensors[i];
        if (strcmp(t->name, name) != 0)
            continue;
        if (t->rank > ATEN_MAX_RANK)
            return err_set_kind(e, ERR_USAGE, "tensor %.80s has %u dimensions: at most %d are supported", name, t->rank,
                                ATEN_MAX_RANK);
        *out = (aten_tensor){.data = t->data, .bytes = t->bytes, .type = t->type, .rank = t->rank, .offset = t->offset};
        memcpy(out->dims, t->dims, sizeof out->dims);
        memcpy(out->strides, t->strides, sizeof out->strides);
        return true;
    }
    return err_set_kind(e, ERR_USAGE, "there is no tensor %.80s", name);
}

static bool are_named(const tensor_list *list, err *e)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (!list->tensors[i].name)
            return err_set_kind(e, ERR_USAGE, "tensor %u has no name", i);
    return true;
}

solo_graph *solo_graph_from_torch(const char *text, const solo_tensor *tensors, uint32_t count, solo_error *to)
{
    err e = {0};
    tensor_list list = {tensors, count};
    if (!api_is_here(text, to) || (count && !api_is_here(tensors, to)) || !api_result(to, &e, are_named(&list, &e)))
        return NULL;
    jsonr *json = jsonr_read(text, strlen(text), &e);
    if (!json) {
        e.kind = ERR_USAGE;
        err_context(&e, "the program");
    }
    aten_program *program = json ? aten_program_new(json, find_tensor, &list, &e) : NULL;
    jsonr_free(json);
    api_result(to, &e, program != NULL);
    return graph_of(NULL, program);
}

bool solo_graph_port(const solo_graph *g, solo_port kind, uint32_t i, solo_tensor *out)
{
    uint32_t count = 0;
    if (!g || !g->program || (unsigned)kind > SOLO_PORT_STATE)
        return false;
    const aten_port *ports = kind == SOLO_PORT_INPUT    ? aten_program_inputs(g->program, &count)
                             : kind == SOLO_PORT_OUTPUT ? aten_program_outputs(g->program, &count)
                                                        : aten_program_states(g->program, &count);
    if (i >= count)
        return false;
    const aten_port *p = &ports[i];
    uint64_t elements = kind == SOLO_PORT_STATE ? p->count + p->count % 2 : p->count;
    *out = (solo_tensor){.name = p->name, .type = p->type, .rank = p->rank, .bytes = 4 * elements};
    memcpy(out->dims, p->dims, sizeof out->dims);
    for (uint32_t d = 0; d < p->rank; d++)
        out->strides[d] = p->strides[d];
    return true;
}
