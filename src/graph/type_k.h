/* type_k: the K-quants, whose super-blocks of 256 weights have quantised scales
 * of their own. What they are made of is in type_k.c. Used by type.c only. */
#ifndef SOLO_MODEL_TYPE_K_H
#define SOLO_MODEL_TYPE_K_H

#include <stddef.h>
#include <stdint.h>

enum {
    K_WEIGHTS = 256,
    Q2_K_BYTES = 16 + 64 + 2 + 2,
    Q3_K_BYTES = 32 + 64 + 12 + 2,
    Q4_K_BYTES = 2 + 2 + 12 + 128,
    Q5_K_BYTES = 2 + 2 + 12 + 32 + 128,
    Q6_K_BYTES = 128 + 64 + 16 + 2
};

void q2_k_to_f32(const uint8_t *from, float *to, size_t blocks);
void q3_k_to_f32(const uint8_t *from, float *to, size_t blocks);
void q4_k_to_f32(const uint8_t *from, float *to, size_t blocks);
void q5_k_to_f32(const uint8_t *from, float *to, size_t blocks);
void q6_k_to_f32(const uint8_t *from, float *to, size_t blocks);

/* type_k_write.c */
void q2_k_from_f32(const float *from, uint8_t *to, size_t blocks);
void q3_k_from_f32(const float *from, uint8_t *to, size_t blocks);
void q4_k_from_f32(const float *from, uint8_t *to, size_t blocks);
void q5_k_from_f32(const float *from, uint8_t *to, size_t blocks);
void q6_k_from_f32(const float *from, uint8_t *to, size_t blocks);

#endif
