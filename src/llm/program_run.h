/* program_run: a program of PyTorch on a device. */
#ifndef SOLO_LLM_PROGRAM_RUN_H
#define SOLO_LLM_PROGRAM_RUN_H

#include "graph/run.h"
#include "model/aten.h"

/* At a level; its states have the values that the program's buffers have. An error if the level is not possible. */
graph_run *program_run_new(gpu *g, aten_program *p, fusion_level level, err *e);
/* States begin anew. */
bool program_run_begin(gpu *g, graph_run *r, const aten_program *p, err *e);
/* Random words for an input: floats from -1 to 1, small integers. */
void program_run_fill(const aten_port *port, uint64_t seed, uint32_t *words);

#endif
