/* workgroup_bytes: how much workgroup memory a WGSL module declares. */
#ifndef SOLO_GRAPH_WORKGROUP_BYTES_H
#define SOLO_GRAPH_WORKGROUP_BYTES_H

#include <stdint.h>

/* All variables of the module, each rounded up to 16 bytes, as WebGPU counts them. The module is laid out as kernels
 * are: declarations begin in the first column, constants and variables end with the line. A size that is not made of
 * whole numbers and constants counts as UINT32_MAX. */
uint32_t workgroup_bytes(const char *wgsl);

#endif
