/* folder: the weights of a Hugging Face folder by GGUF's names ("blk.3.attn_q.weight").
 *
 * Each architecture calls its weights otherwise: the tables of folder.c say how. Data point into the mapped files. */
#ifndef SOLO_FOLDER_H
#define SOLO_FOLDER_H

#include "model/model.h"
#include "model/safetensors.h"

typedef struct folder folder;

/* The text of its config.json, to be freed. */
char *folder_read_config(const char *path, size_t *length, err *e);
/* Reads that text into `*c`, and opens the weights. The configuration must outlive the folder. */
folder *folder_open(const char *path, const char *config, size_t length, model_config *c, err *e);
/* The same of tensors in memory, which must outlive it; `name` is for errors. */
folder *folder_of_tensors(const char *name, const char *config, const safetensor *tensors, size_t count,
                          model_config *c, err *e);
void folder_close(folder *f);

bool folder_find(const folder *f, const char *name, model_weight *w);
/* What Hugging Face calls a weight, in this folder or, if it is NULL, in one of this configuration. */
bool folder_name_of(const folder *f, const model_config *c, const char *name, char out[MODEL_NAME_BYTES]);
const safetensors *folder_tensors(const folder *f);

/* All tensors, whether they have a name here or not. */
size_t folder_tensor_count(const folder *f);
const char *folder_tensor_name(const folder *f, size_t i);

#endif
