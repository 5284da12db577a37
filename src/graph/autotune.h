/* autotune: how many threads and workgroups are best for a megakernel, found by trying and kept in the user's cache for the
 * device, implementation, driver and kernel.                                                                          */
#ifndef SOLO_GRAPH_AUTOTUNE_H
#define SOLO_GRAPH_AUTOTUNE_H

#include "graph/megakernel.h"

/* megakernel_new in the best form, which is left in `form`. It is run for that, before anyone has put in inputs; states are
 * zeros again afterwards. */
megakernel *megakernel_autotuned(const megakernel_source *from, launch_form *form, err *e);
/* In a page, if nothing is known yet: starts compiling all that megakernel_autotuned will try, in the background. False: there
 * is nothing to wait for. */
bool megakernel_compile_ahead(const megakernel_source *from, const launch_form *form);

#endif
