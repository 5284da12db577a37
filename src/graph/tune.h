/* tune: how many threads and workgroups are best for one dispatch, found by trying and
 * kept in the user's cache for the device, implementation, driver and plan.          */
#ifndef SOLO_GRAPH_TUNE_H
#define SOLO_GRAPH_TUNE_H

#include "graph/one.h"

/* one_new by the best tuning, which is left in `tuning`. It is run for that, before anyone has put in inputs; states are
 * zeros again afterwards. */
one *one_tuned(gpu *g, const memory *m, uint32_t which_plan, tell_tuning *tuning, one_teller tell, void *user, err *e);
/* In a page, if nothing is known yet: begins to make all that one_tuned will try, in the background. False: it need not wait for that. */
bool one_begin(gpu *g, const memory *m, uint32_t which_plan, const tell_tuning *tuning, one_teller tell, void *user);

#endif
