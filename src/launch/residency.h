/* residency: how many workgroups run at the same time. */
#ifndef SOLO_LAUNCH_RESIDENCY_H
#define SOLO_LAUNCH_RESIDENCY_H

#include "gpu/gpu.h"

/* Of 256 threads, of a small kernel: the most that pass a grid barrier, searched from what a roll call counts. Another kernel, with
 * more registers or workgroup memory, may have fewer. 0 where no kernel runs (stub). */
bool resident_workgroups(gpu *g, uint32_t *workgroups, err *e);

#endif
