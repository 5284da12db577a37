/* run_state: inputs, outputs and states of a run by name, where they lie on the GPU. */
#ifndef SOLO_GRAPH_RUN_STATE_H
#define SOLO_GRAPH_RUN_STATE_H

#include "graph/run.h"

typedef struct graph_tensor {
    gpu_buffer *buffer;
    uint64_t offset_bytes, bytes; /* `bytes` may be no multiple of 4 in a state of halves; what lies there is */
    bool is_input, is_state;      /* neither: an output */
} graph_tensor;

/* False with an error if there is none of that name, or nothing uses it. */
bool graph_run_find(const graph_run *r, uint32_t which, const char *name, graph_tensor *out, err *e);

/* All elements, after the runs submitted so far, and for those that follow. */
bool graph_tensor_read(gpu *g, const graph_tensor *t, void *elements, err *e);
/* The same of many, copied together on the device, into a buffer that is kept for the next time, so that there is one
 * wait. Some of them may have been read when it fails. */
bool graph_tensors_read(gpu *g, const graph_tensor *tensors, void *const *elements, uint32_t count, gpu_buffer **kept,
                        err *e);
bool graph_tensor_write(gpu *g, const graph_tensor *t, const void *elements, err *e);

#endif
