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
    TYPE_BF16 = 30
} tensor_type;

typedef struct type_info {
    const char *name;       /* "q4_0" */
    uint32_t block_weights; /* weights in a block: 1, 32 or 256 */
    uint32_t block_bytes;
} type_info;

/* NULL for a number that is none of the above. */
const type_info *type_find(uint32_t number);
const type_info *type_named(const char *name);

/* Bytes of `weights` weights, a multiple of the block. */
uint64_t type_bytes(tensor_type type, uint64_t weights);

/* `weights` weights as floats. */
void type_to_f32(tensor_type type, const void *from, float *to, size_t weights);

/* The other way, for the types one may convert to (f32, f16, bf16, q8_0, q4_0,
 * q4_1, q5_0, q5_1); false for the others. Rounds as llama.cpp does. */
bool type_from_f32(tensor_type type, const float *from, void *to, size_t weights);

float f16_to_f32(uint16_t h);
uint16_t f32_to_f16(float f);
float bf16_to_f32(uint16_t h);
uint16_t f32_to_bf16(float f);

#endif
