/* megakernel_phases: which kernels the phases of a megakernel have, and how each phase gets its arguments.
 *
 * An argument that is the same in all phases of a kernel becomes part of the kernel's text. One that grows by the same amount
 * from layer to layer follows from the layer's number. The others are words of a table with a row for each phase.  */
#ifndef SOLO_GRAPH_MEGAKERNEL_PHASES_H
#define SOLO_GRAPH_MEGAKERNEL_PHASES_H

#include "graph/lower.h"
#include "graph/megakernel_link.h"

typedef struct phase_kernels {
    phase_kernel items[MEGAKERNEL_MAX_KERNELS];
    uint32_t count;
    uint32_t *of_phase; /* [phase] the number of its kernel */
    uint32_t *kind_of;  /* [phase] of kernels that may stand at one place in the text the first one's */
    uint32_t phases;
    uint32_t arenas;      /* buffers of weights that are bound */
    uint32_t half_arenas; /* of these, the first so many are also bound as f16 */
    uint32_t row_words;   /* of the table */
    uint32_t threads;     /* of a workgroup */
    bool polls_epoch;     /* all kernels poll the epoch bit of the floats they read */
    bool compact;         /* as little code as possible; every argument has its own word in a row */
} phase_kernels;

/* Layers with other types of weights may have more or fewer phases. If the phases then make a loop, shorter layers get
 * phases without workgroups where the others have some. */
void phases_align(lowered_plan *plan);

/* The kernels of a lowered plan; false with an error. Free what it holds in any case. */
bool phase_kernels_find(phase_kernels *k, const device_profile *profile, const launch_form *form,
                        const lowered_plan *plan, err *e);
void phase_kernels_free(phase_kernels *k);

uint64_t phase_table_bytes(const phase_kernels *k);
/* The table of a lowered plan, to be freed; NULL if its phases are not those that the kernels were found for. */
uint32_t *phase_table(const phase_kernels *k, const lowered_plan *plan);

#endif
