/* sentence: what a folder of sentence-transformers has beside an encoder: how its vectors are pooled, layers behind that,
 * and whether the result has length 1.
 *
 *     modules.json                 the steps, each with its type and folder
 *     1_Pooling/config.json        mean, first or last token
 *     2_Dense/config.json          a layer, with its weights in 2_Dense/model.safetensors
 *     sentence_bert_config.json    how long a text may be
 *
 * A step that is not known, or not in this order, is the reason why the model makes no embeddings
 * (model_embedding.why_not); other things can be done with it all the same. Not in the browser. */
#ifndef SOLO_SENTENCE_H
#define SOLO_SENTENCE_H

#include "model/model.h"

/* Reads all of it into `o`, and gives the model the weights dense_2.weight and so on; nothing to do if there is no
 * modules.json. `embedding_dim` is the width of what is pooled. */
bool sentence_read(const char *folder, model *m, uint32_t embedding_dim, model_embedding *o, err *e);

#endif
