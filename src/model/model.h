/* model: a language model behind one set of names: a GGUF file, a Hugging Face folder or the built-in one.
 *
 * Weights go by GGUF's names ("blk.3.attn_q.weight"), whatever the file calls
 * them; where a file keeps several in one (phi3's q, k and v), each is found by
 * its own name. Nothing is copied: data point into the mapped file. Rows of
 * experts are put together when they are asked for.                         */
#ifndef SOLO_MODEL_H
#define SOLO_MODEL_H

#include "model/config.h"

typedef struct model model;

typedef struct model_weight {
    tensor_type type;
    uint32_t rows, columns; /* a vector has one row */
    const void *data;       /* rows x columns; not aligned to anything; NULL: it has to be read from its place */
    uint64_t bytes;
    uint64_t offset;                    /* that place, in the file */
    size_t tensor;                      /* the number of the file's tensor that it is, or is a part of */
    const struct model_rows *rows_from; /* NULL, or where its rows are, if they do not lie one after the other */
} model_weight;

/* A GGUF file that cannot be mapped: a page's, which comes in pieces from a disk or over a network. */
typedef struct model_reader {
    uint64_t file_bytes;
    bool (*read)(void *user, uint64_t offset, void *to, size_t bytes, err *e);
    void *user; /* all of it must live as long as the model */
} model_reader;

/* A path of NULL is the built-in model. */
model *model_open(const char *path, err *e);
/* Of weights in memory, which must outlive it: as a Hugging Face folder has them, and the text of its config.json. */
struct safetensor;
model *model_of_tensors(const char *config, const struct safetensor *tensors, size_t count, err *e);
/* Only what describes the model is read and kept; weights are read when they are asked for. `name` is for messages. */
model *model_open_reader(const model_reader *r, const char *name, err *e);
void model_close(model *m);

const model_config *model_get_config(const model *m);
const gguf *model_get_gguf(const model *m); /* NULL for a folder */
const char *model_get_path(const model *m); /* of the file or the folder */

enum { MODEL_NAME_BYTES = 160 };

/* A weight as it stands in the file, not a part of one. False if there is none of this name. */
bool model_has_whole(const model *m, const char *name, model_weight *w);
/* Another weight in the place of that; its data, which are freed with the model, are the model's from now on. */
void model_replace_weight(model *m, const char *name, const model_weight *w);
/* What Hugging Face calls a weight; false if it has no such thing. */
bool model_name_in_folder(const model *m, const char *name, char out[MODEL_NAME_BYTES]);

bool model_find_weight(const model *m, const char *name, model_weight *w, err *e);
/* Puts `count` rows of such a weight one after the other, and marks the tensors that it is made of. */
void model_rows_put(const struct model_rows *m, uint64_t first, uint64_t count, void *to);
void model_rows_mark(const struct model_rows *m, bool *used);
/* The tensors of the file. One that a decoder does not use is an error, unless it is known not to matter: what is left
 * out (a bias, say) would make wrong results without a word. */
size_t model_tensor_count(const model *m);
bool model_refuse_unused(const model *m, const bool *used, err *e);
/* Some bytes of a weight; they stay until the next call, but all bytes of a weight stay as long as the model. */
const void *model_read_weight(const model *m, const model_weight *w, uint64_t first, uint64_t bytes, err *e);

#endif
