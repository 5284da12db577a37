/* gpu_test: functions of a device that only tests call. */
#ifndef SOLO_GPU_TEST_H
#define SOLO_GPU_TEST_H

#include "gpu/gpu.h"

/* From here on, kernels that were made ahead turn out not to compile. */
void gpu_refuse_ahead(gpu *g, bool refuse);

#endif
