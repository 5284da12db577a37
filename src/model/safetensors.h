/* safetensors: the weights of a Hugging Face folder, all of it checked before it is used.
 *
 * A file is eight bytes (the header's length, little-endian), a header in JSON
 * and the tensors' data. A folder holds either one such file, model.safetensors,
 * or several of them ("shards") and model.safetensors.index.json, which says what
 * is in which. Either is opened by safetensors_open, and looks the same after.
 *
 * Files are mapped, not read: a tensor's data point into the file and stay until
 * safetensors_close. Nothing promises that they are aligned.
 *
 * What is checked: the lengths against the file, every tensor's place (inside the
 * file, the data covered without gap or overlap), its size against its type and
 * shape, names told twice, how deep the JSON nests, and that no shard's name
 * leads out of the folder. Errors name the file, and the tensor if there is one.
 */
#ifndef SOLO_SAFETENSORS_H
#define SOLO_SAFETENSORS_H

#include "base/err.h"
#include "graph/type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct safetensors safetensors;

enum { SAFETENSORS_MAX_DIMS = 8 };

typedef struct safetensor {
    const char *name;
    const char *dtype; /* as the file calls it: "BF16" */
    bool readable;     /* F32, F16 or BF16; otherwise `type` means nothing */
    tensor_type type;
    uint32_t dim_count;                  /* 0: one number */
    uint64_t dims[SAFETENSORS_MAX_DIMS]; /* the outermost first, as in the file: {rows, columns} */
    const void *data;                    /* dims[0] x dims[1] x ..., the last dimension contiguous */
    uint64_t bytes;
} safetensor;

/* A folder or a single file. */
safetensors *safetensors_open(const char *path, err *e);

/* Tensors that are in memory already, and must outlive the result; `dtype` is one that files have. */
safetensors *safetensors_of(const safetensor *tensors, size_t count, const char *name, err *e);

void safetensors_close(safetensors *s);

size_t safetensors_count(const safetensors *s);
bool safetensors_has(const safetensors *s, const char *name);

/* All of them, by name. */
const safetensor *safetensors_at(const safetensors *s, size_t i);
/* Of any type; NULL if it is not there. */
const safetensor *safetensors_any(const safetensors *s, const char *name);

/* NULL, with an error, if it is not there or of a type other than F32, F16, BF16. */
const safetensor *safetensors_find(const safetensors *s, const char *name, err *e);

#endif
