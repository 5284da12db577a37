/* megakernel_test: what only tests do with a megakernel. */
#ifndef SOLO_GRAPH_MEGAKERNEL_TEST_H
#define SOLO_GRAPH_MEGAKERNEL_TEST_H

#include "graph/megakernel.h"

/* Workgroup 0 does not arrive at the n-th barrier of a dispatch; 0: it does. */
void megakernel_set_stall(megakernel *o, uint32_t barrier);

#endif
