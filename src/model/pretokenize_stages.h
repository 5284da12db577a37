/* pretokenize_stages: the patterns by which the stages of a pre-tokenizer cut text. */
#ifndef SOLO_PRETOKENIZE_STAGES_H
#define SOLO_PRETOKENIZE_STAGES_H

#include <stdint.h>

/* The piece a stage looks at: characters `start` to `end` of a text. */
typedef struct piece {
    const uint32_t *points;
    const uint8_t *classes;
    uint32_t start, end;
} piece;

/* Where the match that begins at `at` ends; `at` itself when there is none. */
typedef uint32_t (*stage)(const piece *p, uint32_t at);

uint32_t pre_gpt2(const piece *p, uint32_t at);
uint32_t pre_llama3(const piece *p, uint32_t at);
uint32_t pre_qwen2(const piece *p, uint32_t at);
uint32_t pre_qwen35(const piece *p, uint32_t at);
uint32_t pre_seed_coder(const piece *p, uint32_t at);
uint32_t pre_minicpm5(const piece *p, uint32_t at);
uint32_t pre_ufakzeka(const piece *p, uint32_t at);
uint32_t pre_gpt4o(const piece *p, uint32_t at);
uint32_t pre_tekken(const piece *p, uint32_t at);
uint32_t pre_newline(const piece *p, uint32_t at);
uint32_t pre_spaced_letters(const piece *p, uint32_t at);
uint32_t pre_spaced_punctuation(const piece *p, uint32_t at);
uint32_t pre_deepseek_letters(const piece *p, uint32_t at);
uint32_t pre_deepseek_signs(const piece *p, uint32_t at);
uint32_t pre_spaces_at_end(const piece *p, uint32_t at);
uint32_t pre_cjk(const piece *p, uint32_t at);
uint32_t pre_han_and_kana(const piece *p, uint32_t at);
uint32_t pre_deepseek3(const piece *p, uint32_t at);
uint32_t pre_digit(const piece *p, uint32_t at);
uint32_t pre_three_digits(const piece *p, uint32_t at);
uint32_t pre_digits(const piece *p, uint32_t at);
uint32_t pre_ascii_triple(const piece *p, uint32_t at);
uint32_t pre_signs(const piece *p, uint32_t at);
uint32_t pre_falcon_signs(const piece *p, uint32_t at);
uint32_t pre_bloom(const piece *p, uint32_t at);

#endif
