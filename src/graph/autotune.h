/* autotune: finds the fastest number of threads and workgroups for a megakernel by timing, and keeps it in the user's
 * cache, by device, implementation, driver and kernel. */
#ifndef SOLO_GRAPH_AUTOTUNE_H
#define SOLO_GRAPH_AUTOTUNE_H

#include "graph/megakernel.h"

/* megakernel_new in the fastest form, which is stored in `form`. Timing runs the megakernel, so it comes before inputs
 * are written; states are cleared afterwards. */
megakernel *megakernel_autotuned(const megakernel_source *from, launch_form *form, err *e);
/* In a page, if the cache has no form yet: starts compiling all candidates of megakernel_autotuned in the background.
 * False: there is nothing to wait for. */
bool megakernel_compile_ahead(const megakernel_source *from, const launch_form *form);

#endif
