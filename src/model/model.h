/* model: a language model on disk, a GGUF file or a Hugging Face folder, or the
 * built-in one, behind one set of names.
 *
 * Weights go by GGUF's names ("blk.3.attn_q.weight"), whatever the file calls
 * them; where a file keeps several in one (phi3's q, k and v), each is found by
 * its own name. Nothing is copied: data point into the mapped file.           */
#ifndef SOLO_MODEL_H
#define SOLO_MODEL_H

#include "model/config.h"

typedef struct model model;

typedef struct model_weight {
    tensor_type type;
    uint32_t rows, columns; /* a vector has one row */
    const void *data;       /* rows x columns; not aligned to anything */
    uint64_t bytes;
} model_weight;

/* A path of NULL is the built-in model. */
model *model_open(const char *path, err *e);
void model_close(model *m);

const model_config *model_get_config(const model *m);
const gguf *model_get_gguf(const model *m); /* NULL for a folder */
const char *model_get_path(const model *m); /* of the file or the folder */

bool model_has_weight(const model *m, const char *name);
bool model_find_weight(const model *m, const char *name, model_weight *w, err *e);

#endif
