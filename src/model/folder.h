/* folder: the weights of a Hugging Face folder by GGUF's names ("blk.3.attn_q.weight").
 *
 * Each architecture calls its weights otherwise: the tables of folder.c say how. Data point into the mapped files. */
#ifndef SOLO_FOLDER_H
#define SOLO_FOLDER_H

#include "model/model.h"

typedef struct folder folder;

/* Reads config.json into `*c`, and opens the weights. The configuration must outlive the folder. */
folder *folder_open(const char *path, model_config *c, err *e);
void folder_close(folder *f);

bool folder_find(const folder *f, const char *name, model_weight *w);

/* All tensors, whether they have a name here or not. */
size_t folder_tensor_count(const folder *f);
const char *folder_tensor_name(const folder *f, size_t i);

#endif
