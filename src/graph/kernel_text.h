/* kernel_text: the kernels of kernels/graph, put together from their files for a
 * weight type and a device. */
#ifndef SOLO_GRAPH_KERNEL_TEXT_H
#define SOLO_GRAPH_KERNEL_TEXT_H

#include "base/str.h"
#include "gpu/gpu.h"

enum { KERNEL_MAX_CONSTANTS = 32 };

typedef struct kernel_constant {
    const char *name; /* NULL ends the list */
    uint32_t value;
} kernel_constant;

typedef struct kernel_variant {
    const char *name;  /* of the file in kernels/graph: "matmul_vec" */
    const char *type;  /* of its weights: "q4_0"; NULL: it has none */
    bool packed;       /* whole numbers are multiplied four at a time */
    uint32_t subgroup; /* threads of a subgroup, which then add up; 0: workgroup memory does */
    bool quads;        /* and exchange what they have within quads, where they can */
    kernel_constant constants[KERNEL_MAX_CONSTANTS]; /* instead of those in the file */
} kernel_variant;

/* Instead of what the file says, unless it is set already. */
void kernel_set_constant(kernel_variant *v, const char *name, uint32_t value);
bool kernel_same_variant(const kernel_variant *a, const kernel_variant *b);

/* The source, to be freed by kernel_text_free. Its SPIR-V is that of the plain variant,
 * with the file's own constants, and missing if other constants are wanted. */
gpu_source *kernel_text(const kernel_variant *v);
void kernel_text_free(gpu_source *s);

#endif
