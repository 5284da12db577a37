/* quantised_internal: what the files of quantised*.c share. */
#ifndef SOLO_QUANTISED_INTERNAL_H
#define SOLO_QUANTISED_INTERNAL_H

#include "model/quantised.h"

typedef enum {
    METHOD_GPTQ,       /* int4 and int8, words of inputs */
    METHOD_AWQ,        /* int4, words of outputs */
    METHOD_COMPRESSED, /* compressed-tensors: int4 and int8, words of inputs, row by row */
    METHOD_INT8,       /* bytes, a scale for each row or matrix */
    METHOD_FP8,        /* bytes, a scale for each block, row or matrix */
    METHOD_MXFP4       /* of experts: folder_experts.c */
} quantised_method;

typedef struct quantised_scheme {
    quantised_method method;
    uint32_t bits;     /* of what is packed into words */
    uint32_t group;    /* inputs that share a scale; 0: all */
    bool zeros_less;   /* GPTQ's first format has zeros that are one less */
    uint32_t block[2]; /* bytes: rows and columns that share a scale; 0: all */
    const char *path;
} quantised_scheme;

bool quantised_read_scheme(const struct json_t *q, quantised_scheme *s, const char *file, err *e);

/* A weight's tensor: `stem` is its name without ".weight". NULL: it is not there. */
const safetensor *quantised_find(const safetensors *folder, const char *stem, const char *ending);

/* Blocks have halves for scales: as exact as these, or as f16 would be? Not if one is tiny. */
bool quantised_scales_fit_blocks(const safetensor *scales);

/* The tensors of one weight, `in` x `out`. Of bytes there are no zeros, and blocks of scales are down x across. */
typedef struct quantised_weight {
    const quantised_scheme *s;
    const safetensor *q, *zeros, *scales, *order; /* `zeros` and `order` may be NULL */
    uint64_t in, out;
    uint64_t groups, per;  /* words: groups of inputs; numbers of a word */
    uint64_t down, across; /* bytes */
    tensor_type type;      /* the smallest that holds it: Q4_0, Q8_0 or F16 */
} quantised_weight;

/* False without an error: there is no such weight. */
bool quantised_find_words(const safetensors *folder, const quantised_scheme *s, const char *stem, quantised_weight *w,
                          err *e);
bool quantised_find_bytes(const safetensors *folder, const quantised_scheme *s, const char *stem, quantised_weight *w,
                          err *e);
/* Some outputs, one after the other; `type` is the weight's or a larger one. */
void quantised_put_words(const quantised_weight *w, tensor_type type, uint64_t first, uint64_t rows, uint8_t *to);
void quantised_put_bytes(const quantised_weight *w, tensor_type type, uint64_t first, uint64_t rows, uint8_t *to);

#endif
