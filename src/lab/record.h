/* record: writing the JSON object every experiment leaves behind. */
#ifndef SOLO_LAB_RECORD_H
#define SOLO_LAB_RECORD_H

#include "base/jsonw.h"
#include "base/stats.h"
#include "lab/busy.h"
#include "lab/device.h"

/* Opens the object: schema, solo, when, host, gpu (the first device), gpus, clock_ns, experiment. The caller goes on
 * with params, results, checks. `b`: of the time that was measured; NULL: nobody looked. */
void record_begin(jsonw *j, const char *experiment, const lab_device *devices, uint32_t count, const busy *b);

/* Inside an open result object: unit, samples and everything worked out from
 * them, and what was counted in the longest run. */
void record_samples(jsonw *j, const char *unit, samples values, const summary *s, gpu_counters counted);

void record_check(jsonw *j, const char *what, bool ok, const char *detail);

#endif
