/* kernel_text: the kernels of kernels/graph, put together from their files for a weight type and a device. Their
 * dialect of WGSL is described in docs/kernels.md; the build uses this code, too (tools/expand_kernel.c). */
#ifndef SOLO_GRAPH_KERNEL_TEXT_H
#define SOLO_GRAPH_KERNEL_TEXT_H

#include "base/err.h"
#include "base/str.h"
#include "gpu/gpu.h"
#include "kernel_args.h"

/* A constant that a kernel declares with "override". The build makes the names, CONSTANT_THREADS for example, so that
 * one that no kernel has does not compile. */
typedef struct kernel_constant_name {
    const char *text; /* NULL ends a list */
} kernel_constant_name;

typedef struct kernel_constant {
    kernel_constant_name name;
    uint32_t value;
} kernel_constant;

typedef struct kernel_variant {
    const char *name;  /* of the file in kernels/graph: "matmul_vec" */
    const char *type;  /* of its weights: "q4_0"; NULL: it has none */
    const char *x;     /* how x is stored, where there is a choice: "f32", which is NULL, too; or "int8", "int8_halves",
                          and products are dot products of four bytes */
    uint32_t subgroup; /* threads of a subgroup, by which sums are made; 0: through workgroup memory */
    bool matrix;       /* fragments are multiplied by matrix units */
    bool quads;        /* and exchanges within quads use quad operations */
    bool slots;        /* rows are texts of their own, each with a position and a part of the states */
    kernel_constant constants[KERNEL_MAX_CONSTANTS]; /* override those in the file; a name of NULL ends the list */
} kernel_variant;

/* What a text begins with whose fragments are multiplied by matrix units. */
#define KERNEL_MATRIX_LINES \
    "enable f16;\nenable chromium_experimental_subgroup_matrix;\n" \
    "diagnostic(off, chromium.subgroup_matrix_uniformity);\ndiagnostic(off, subgroup_uniformity);\n"

/* Overrides the file's value, unless it is set already. */
void kernel_set_constant(kernel_variant *v, kernel_constant_name name, uint32_t value);
bool kernel_same_variant(const kernel_variant *a, const kernel_variant *b);

/* The source, to be freed by kernel_text_free. It has SPIR-V only if it is the plain variant with the file's own
 * constants. */
gpu_source *kernel_text(const kernel_variant *v);
void kernel_text_free(gpu_source *s);

/* The file kernels/`path` expanded for a variant, whose name does not matter here. Fails if the file, one of its
 * includes or a constant of a "//!for" does not exist; the build checks this for every variant in kernels/graph. */
bool kernel_expand(const kernel_variant *v, const char *path, str *out, err *e);
/* The plain variant of a kernel for people to read; `type`: of its weights, if it has any. An unknown name or type is
 * an error that lists those there are. */
bool kernel_print(const char *name, const char *type, str *out, err *e);

#endif
