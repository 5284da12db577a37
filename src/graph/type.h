/* type: the number formats weights come in: how large they are and what their
 * bits mean. The rows of a tensor are made of blocks; a block of a quantised
 * type holds several weights and what scales them. */
#ifndef SOLO_GRAPH_TYPE_H
#define SOLO_GRAPH_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* GGUF's own numbers. */
typedef enum {
    TYPE_F32 = 0,
    TYPE_F16 = 1,
    TYPE_Q4_0 = 2,
    TYPE_Q4_1 = 3,
    TYPE_Q5_0 = 6,
    TYPE_Q5_1 = 7,
    TYPE_Q8_0 = 8,
    TYPE_Q2_K = 10,
    TYPE_Q3_K = 11,
    TYPE_Q4_K = 12,
    TYPE_Q5_K = 13,
    TYPE_Q6_K = 14,
    TYPE_IQ2_XXS = 16,
    TYPE_IQ2_XS = 17,
    TYPE_IQ3_XXS = 18,
    TYPE_IQ1_S = 19,
    TYPE_IQ4_NL = 20,
    TYPE_IQ3_S = 21,
    TYPE_IQ2_S = 22,
    TYPE_IQ4_XS = 23,
    TYPE_IQ1_M = 29,
    TYPE_BF16 = 30,
    TYPE_TQ1_0 = 34,
    TYPE_TQ2_0 = 35,
    TYPE_MXFP4 = 39
} tensor_type;

enum { TYPE_NUMBERS = 40 }; /* all are below */

/* All that other files have to know of a type; type.c has the table. */
typedef struct type_info {
    const char *name;       /* "q4_0" */
    uint32_t block_weights; /* weights in a block: 1, 32 or 256 */
    uint32_t block_bytes;
    uint32_t file_type;         /* llama.cpp's number of a file that is mostly of this type */
    tensor_type smaller_blocks; /* the type for rows that are no whole number of blocks, as llama.cpp chooses it */
    int16_t scale_at[2];        /* where a block has the halves that scale it, from 1 on; 0: none */
} type_info;

/* NULL for a number that is none of the above, or that this build does not read. */
const type_info *type_find(uint32_t number);
const type_info *type_named(const char *name);
/* The i-th type's name, of those that can be written if `written`; NULL past the last one. */
const char *type_name_at(uint32_t i, bool written);
/* Why type_find returned NULL, as the end of a sentence: "is not supported". */
const char *type_reason(uint32_t number);

/* Bytes of `weights` weights, a multiple of the block. */
uint64_t type_bytes(tensor_type type, uint64_t weights);

/* `weights` weights as floats. */
void type_to_f32(tensor_type type, const void *from, float *to, size_t weights);

/* The other way, for the types one may convert to; false for the others. Rounds as llama.cpp does. */
bool type_from_f32(tensor_type type, const float *from, void *to, size_t weights);

float f16_to_f32(uint16_t h);
uint16_t f32_to_f16(float f);
float bf16_to_f32(uint16_t h);
uint16_t f32_to_bf16(float f);

#endif
