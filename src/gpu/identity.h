/* identity: a device, its implementation and its driver, as a text that changes when one of them does.
 *
 * Results that depend on them are kept under it. */
#ifndef SOLO_GPU_IDENTITY_H
#define SOLO_GPU_IDENTITY_H

#include "base/str.h"
#include "gpu/gpu.h"

void gpu_add_identity(const gpu_info *info, str *out);

#endif
