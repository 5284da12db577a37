/* folder_experts: the experts of a Hugging Face folder, by GGUF's names, and other weights that lie apart there.
 *
 * GGUF has all matrices of a kind one after the other ("blk.3.ffn_gate_exps.weight"). Folders have a tensor for each expert,
 * or one for all of them, with gate and up in one, as two halves or row by row, as they are or transposed, or in blocks
 * of MXFP4. Nothing of this is put in order before it is asked for, and then only those rows. */
#ifndef SOLO_FOLDER_EXPERTS_H
#define SOLO_FOLDER_EXPERTS_H

#include "model/model.h"
#include "model/safetensors.h"

typedef struct expert_weights expert_weights;

/* NULL with an error: tensors that are missing, or of another shape than they should be.
 * `prefix`: of all names. */
expert_weights *expert_weights_find(const safetensors *folder, const model_config *c, const char *prefix, err *e);
/* For a GGUF file: where gate and up are one matrix for each expert, puts two in its place. To be freed after the
 * model's last use. NULL with an error. */
expert_weights *expert_weights_of_gguf(model *m, err *e);
void expert_weights_free(expert_weights *x);

/* A weight by GGUF's name; its data is NULL, its rows come from model_rows_put. */
bool expert_weights_get(const expert_weights *x, const char *name, model_weight *w);

#endif
