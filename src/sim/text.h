/* text: the WGSL of a simulation's kernels. The file comes first, line for line, so that a compiler's line
 * numbers are those of the file; kernels/sim_runtime and the functions between the two follow.            */
#ifndef SOLO_SIM_TEXT_H
#define SOLO_SIM_TEXT_H

#include "sim/sim.h"
#include "sim/source.h"

typedef enum {
    SIM_TEXT_FUSED,       /* solo_all: a thread for each individual goes through all steps */
    SIM_TEXT_EACH,        /* solo_first, solo_each, solo_last: a dispatch for each step */
    SIM_TEXT_COUPLED,     /* solo_all with a barrier over all threads after every step */
    SIM_TEXT_GENERATIONS, /* solo_all: many generations; solo_evolve: the genes of the next one */
} sim_text_form;

typedef struct sim_text_choice {
    sim_text_form form;
    uint32_t threads; /* of a workgroup */
    bool single;      /* one workgroup only: no atomics, no grid barrier */
    bool traces;      /* individuals leave traces */
    bool own_genes;   /* the loop over steps inlines them: faster on GPUs, slow to compile on software devices */
    uint32_t data_rows, data_columns;
} sim_text_choice;

/* The device keeps the best scores of this many generations. */
enum { SIM_HISTORY = 65536 };

/* To be freed. */
char *sim_text(const sim_source *s, const sim_text_choice *c);

/* The CUDA control of a built-in simulation, with its parameters; NULL: there is none. To be freed. */
char *sim_text_cuda(const sim_source *s, sim_cuda_choice c);

/* Turns a compiler's message about such a text into one about the file: "FILE:LINE: ...". */
void sim_text_error(const sim_source *s, err *e);

#endif
