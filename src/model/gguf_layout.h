/* gguf_layout: the keys and the tensors of a decoder's GGUF file, in the order in which llama.cpp expects them.
 *
 * Everything follows from the configuration, wherever the weights come from. */
#ifndef SOLO_GGUF_LAYOUT_H
#define SOLO_GGUF_LAYOUT_H

#include "base/str.h"
#include "model/config.h"
#include "model/gguf_write.h"

typedef enum {
    ROLE_EMBEDDING,
    ROLE_OUTPUT, /* the embedding, too, where they are tied */
    ROLE_MATRIX,
    ROLE_NORM,
    ROLE_BIAS,
    ROLE_POSITIONS, /* learned ones */
    ROLE_EXPERTS,   /* matrices one after the other */
    ROLE_FLOATS, /* a small matrix that stays as exact as it is: a router's, biases of experts, kernels of a convolution */
    ROLE_DIVISORS /* of the rotation's angles: from the configuration, not from weights */
} tensor_role;

enum { LAYOUT_NAME_BYTES = 48 };

/* Heads, of which `each` neighbours share one of `groups`, are in another order in the file: each group's first, then
 * each group's second, and so on. They are rows from `first` on, `size` for each head, or columns. groups 0: they stay. */
typedef struct layout_tiling {
    uint32_t first, groups, each, size;
    bool of_columns;
} layout_tiling;

typedef struct layout_tensor {
    char name[LAYOUT_NAME_BYTES];   /* in the file */
    char source[LAYOUT_NAME_BYTES]; /* for model_find_weight */
    tensor_role role;
    uint32_t rows, columns; /* a vector has one row */
    uint32_t turned_heads;  /* rows of so many heads are in Hugging Face's order for rope, but adjacent in the file */
    layout_tiling tiling;
    tensor_type type;      /* chosen by layout_choose_type */
    const float *divisors; /* (columns), into the configuration */
    uint32_t experts;      /* matrices that its rows are, of experts or heads; 0: it is one */
    bool beside_experts;   /* a matrix of a model that has experts, too */
} layout_tensor;

typedef struct tensor_list {
    layout_tensor *tensors;
    size_t count, capacity;
} tensor_list;

/* Is this decoder one that a GGUF file can describe? `notes` gets a line for what
 * llama.cpp would do differently. */
bool layout_check(const model_config *c, str *notes, err *e);

/* The configuration must outlive it. */
tensor_list gguf_layout_of(const model_config *c);
void tensor_list_free(tensor_list *l);

/* The type for a tensor where matrices are to be `wanted`: vectors are f32; a 4 or
 * 5-bit (or K) type leaves what makes the logits in `finer`; `wanted` falls back to
 * another type where rows are no whole number of blocks. */
tensor_type layout_choose_type(tensor_role role, uint32_t columns, tensor_type wanted, tensor_type finer);
/* What a tensor is wanted as: MXFP4 is for experts, and what stands beside them is Q8_0 then, as in llama.cpp's files. */
tensor_type layout_wanted_type(const layout_tensor *t, tensor_type wanted);

/* Vectors, and what is as small. */
bool layout_stays_f32(tensor_role role);

/* A mix: most matrices of one type, those that matter most of a finer one, as llama.cpp chooses them. */
typedef struct layout_mix {
    const char *name;               /* "q4_k_m" */
    tensor_type type, finer, fused; /* `fused`: of q, k and v in one matrix */
    uint32_t file_type;
} layout_mix;
const layout_mix *layout_find_mix(const char *name); /* or NULL */
const char *layout_mix_name(uint32_t i);             /* NULL past the last one */
/* The type for a tensor that is to be `wanted` by layout_choose_type: a finer one where the mix says so. */
tensor_type layout_mixed_type(const layout_mix *mix, const char *name, uint32_t columns, uint32_t layers,
                              tensor_type type);

/* general.* and the architecture's own keys, without the tokenizer's. */
void layout_write_keys(gguf_writer *w, const model_config *c, const char *name, uint32_t file_type);

/* What llama.cpp calls a file that is mostly of a type (type_info), or a mix. */
void layout_write_file_type(gguf_writer *w, uint32_t file_type);

void layout_write_tensor(gguf_writer *w, const layout_tensor *t);

#endif
