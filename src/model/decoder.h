/* decoder: a model's graph.
 *
 * Inputs "tokens" (u32 [rows]) and "position" (u32 [1], of the first row); states
 * "keys.N" and "values.N"; output "logits" [rows, vocab]. With rows = 1 it decodes,
 * with more it reads a prompt. */
#ifndef SOLO_DECODER_H
#define SOLO_DECODER_H

#include "graph/graph.h"
#include "model/model.h"

typedef struct decoder_options {
    uint32_t rows;        /* tokens per run */
    uint32_t context_tok; /* positions the cache holds */
    dtype cache;          /* DTYPE_F16 or DTYPE_F32 */
    bool one_row;         /* logits [1, vocab], of the row that the input "last" (u32 [1]) names */
    bool whole;           /* embeddings of a whole text without a cache: decoder_graph's other form, below */
    bool angles_given;    /* the rotation's angles are an input, if decoder_changes_angles */
    bool slots;           /* rows are texts of their own: decoder_graph's third form, below */
    bool cache_only;      /* keys and values are all that is wanted: there are no logits */
} decoder_options;

/* NULL with an error if a weight is missing or of another shape than the
 * configuration says.
 *
 * With `whole`, a text of up to `rows` tokens at once, and nothing of it is kept. Inputs "tokens", "position" (of the
 * first, decoder_first_position), "last" (u32 [1], the last row that counts) and "pooling" (f32 [1, rows], the share of
 * each row in the embedding); outputs "rows" [rows, embedding_dim], and "embedding" [1, decoder_embedding_dim]. */
/* With `slots`, row i is the next token of text i. Inputs "slot_tokens" and "slot_positions" (u32 [rows]), states
 * "slot_keys.N" and "slot_values.N" [rows, context_tok, ..], output "slot_logits": the names differ from those of the
 * other forms, so that one memory can have both. */
graph *decoder_graph(const model *m, const decoder_options *o, err *e);

uint32_t decoder_first_position(const model_config *c);
uint32_t decoder_embedding_dim(const model_config *c);

/* By how much one position turns each pair, as transformers computes it, in f32: a difference in the last bit would be one
 * of 1e-4 after a thousand positions. In the graph it is a weight of this name, or an input [rope_dims / 2]; windowed
 * layers may have another. `out` has room for CONFIG_MAX_HEAD_DIM / 2. */
#define DECODER_ROPE_ANGLES       "rope_angles"
#define DECODER_ROPE_LOCAL_ANGLES "rope_local_angles"
void decoder_angles(const model_config *c, bool long_text, float *out);

/* Do the angles depend on how long the text is? Then they are those of its length, at all positions, and what is in the
 * cache has to be made anew when it grows beyond rope_original_tok. Without angles_given, the context counts as text. */
bool decoder_changes_angles(const model_config *c, uint32_t context_tok);

/* The graph's weights by name, for those who run it; `weights` is a decoder_weights. */
typedef struct decoder_weights {
    const model *m;
    uint32_t context_tok;
    float made[3][CONFIG_MAX_HEAD_DIM]; /* what no file has: angles, angles of windowed layers, ones */
    float *angles;                      /* of each position, where they depend on it */
} decoder_weights;
void decoder_weights_free(decoder_weights *w); /* what it made; the graph's run has copied it */
const void *decoder_find_weight(void *weights, const char *name, uint64_t first, uint64_t bytes, err *e);

#endif
