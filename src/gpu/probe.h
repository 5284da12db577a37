/* probe: what a device can really do, found by doing it. */
#ifndef SOLO_PROBE_H
#define SOLO_PROBE_H

#include "gpu/gpu.h"

/* Run a shader for each feature the device claims; a feature whose shader
 * fails or computes something else is taken out of gpu_info. */
bool gpu_check_features(gpu *g, err *e);
/* The same for those that kernels are written with, here: timestamps are only for those who measure, and software has kernels
 * of its own, without f16 and packed products, and is believed what it says of subgroups: to try takes it a while. */
bool gpu_check_language(gpu *g, err *e);

/* Bytes read plus bytes written per second by a copy kernel over memory larger
 * than the caches, in GB/s. 0 where no kernel runs. */
bool gpu_copy_bandwidth(gpu *g, double *gbps, err *e);

#endif
