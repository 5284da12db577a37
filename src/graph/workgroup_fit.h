/* workgroup_fit: how the kernels of a megakernel share a device's workgroup memory.
 *
 * A megakernel declares what all its kernels need. The profile's own choice, which suits most models, is kept if the
 * linked text fits the device and no product lacks room for x. Otherwise kernels keep room only for what the model at
 * hand needs, and x gets all that is left. A form does not change the order of a sum, but x_floats decides which kernel
 * a product has: so it is found once for a run, for all its levels, and for a run of separate dispatches as for one
 * with a megakernel. */
#ifndef SOLO_GRAPH_WORKGROUP_FIT_H
#define SOLO_GRAPH_WORKGROUP_FIT_H

#include "graph/megakernel.h"

/* Changes the profile so that each of the megakernels fits, if that is possible; it is no error if it is not. The
 * sources' own profiles are not read. */
void workgroup_fit(device_profile *profile, const megakernel_source *megakernels, uint32_t count);

#endif
