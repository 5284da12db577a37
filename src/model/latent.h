/* latent: the matrices that make keys and values of one vector, each by itself. */
#ifndef SOLO_LATENT_H
#define SOLO_LATENT_H

#include "model/model.h"

/* Folders and older GGUF files have keys and values of a head below each other in one matrix, attn_kv_b. Attention on the
 * vectors themselves needs those of the keys turned, a row for each number of the vector (attn_k_b), and those of the
 * values (attn_v_b), as newer GGUF files have them. */
bool latent_split(model *m, err *e);

#endif
