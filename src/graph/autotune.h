/* tune: how many threads and workgroups are best for one dispatch, found by trying and
 * kept in the user's cache for the device, implementation, driver and plan.          */
#ifndef SOLO_GRAPH_AUTOTUNE_H
#define SOLO_GRAPH_AUTOTUNE_H

#include "graph/megakernel.h"

/* megakernel_new by the best tuning, which is left in `tuning`. It is run for that, before anyone has put in inputs; states are
 * zeros again afterwards. */
one *megakernel_autotuned(gpu *g, const memory *m, uint32_t which_plan, device_profile *tuning, megakernel_lower tell,
                          void *user, err *e);
/* In a page, if nothing is known yet: begins to make all that megakernel_autotuned will try, in the background. False: it need not wait for that. */
bool megakernel_compile_ahead(gpu *g, const memory *m, uint32_t which_plan, const device_profile *tuning,
                              megakernel_lower tell, void *user);

#endif
