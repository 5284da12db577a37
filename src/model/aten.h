/* aten: a program of PyTorch's operators (ATen) as a graph.
 *
 * A program is the JSON that torch.export writes: nodes with ATen names, tensors by name, a signature that says which
 * are parameters, buffers, inputs and outputs. Views become strides. What depends on constants only is computed here.
 * A buffer that the program changes becomes a state. What is not supported is an error that names the node and, if the
 * file has it, the line of Python.                                                                              */
#ifndef SOLO_ATEN_H
#define SOLO_ATEN_H

#include "graph/graph.h"
#include "model/jsonr.h"

enum { ATEN_MAX_RANK = GRAPH_VIEW_DIMS };

/* torch's numbers of element types, as far as they are supported. */
typedef enum {
    ATEN_U8 = 1,
    ATEN_I8 = 2,
    ATEN_I16 = 3,
    ATEN_I32 = 4,
    ATEN_I64 = 5,
    ATEN_F16 = 6,
    ATEN_F32 = 7,
    ATEN_F64 = 8,
    ATEN_BOOL = 12,
    ATEN_BF16 = 13
} aten_type;
/* 0: an unsupported type. */
uint32_t aten_type_bytes(int type);

/* A parameter, buffer or constant as it is stored. */
typedef struct aten_tensor {
    const void *data; /* of its storage */
    uint64_t bytes;
    int type;
    uint32_t rank, dims[ATEN_MAX_RANK];
    uint64_t strides[ATEN_MAX_RANK], offset; /* elements */
} aten_tensor;
/* The data must stay valid as long as the program. */
typedef bool (*aten_source)(void *user, const char *name, aten_tensor *out, err *e);

/* What goes in or comes out: floats, or 32-bit integers (bool: 0 and 1). */
typedef struct aten_port {
    const char *name;
    int type; /* in torch */
    uint32_t rank, dims[ATEN_MAX_RANK];
    uint32_t strides[ATEN_MAX_RANK]; /* of a state: how its elements lie; others lie in order */
    uint64_t count;
    const float *initial; /* of a state: what it begins with, as it lies */
} aten_port;

typedef struct aten_program aten_program;
/* `module` is the "graph_module" of the JSON; needed during this call only. */
aten_program *aten_program_new(const jsonr *module, aten_source source, void *user, err *e);
void aten_program_free(aten_program *p);
const graph *aten_program_graph(const aten_program *p);
/* A graph_weight_source; `program` is the program. */
const void *aten_program_weight(void *program, const char *name, uint64_t first, uint64_t bytes, err *e);
const aten_port *aten_program_inputs(const aten_program *p, uint32_t *count);
const aten_port *aten_program_outputs(const aten_program *p, uint32_t *count);
const aten_port *aten_program_states(const aten_program *p, uint32_t *count);
/* Nodes of the program, and how many of them are needed for an output and not constant. */
uint32_t aten_program_nodes(const aten_program *p, uint32_t *needed);

/* Rank and sizes of a tensor's description in the JSON; false if it is not a plain tensor with known sizes. */
bool aten_read_meta(const jsonr *meta, aten_tensor *out);

#endif
