/* vocab: the tokens of a vocabulary, found by their text. */
#ifndef SOLO_VOCAB_H
#define SOLO_VOCAB_H

#include "base/hash.h"
#include "model/tokenizer.h"

typedef struct vocab {
    size_t count, longest_bytes;
    token_text *texts; /* (count) */
    float *scores;     /* (count) */
    uint8_t *types;    /* (count) */
    char *bytes;       /* what the texts point into */
    uint32_t *slots;   /* hash table of id + 1 */
    size_t slot_mask;
    hash_key key;
} vocab;

/* Copies the tokens. Of several with the same text the first is found. */
void vocab_init(vocab *v, const tokenizer_parts *parts);
void vocab_free(vocab *v);

/* The token written so, or TOKEN_NONE. */
int32_t vocab_find(const vocab *v, const char *text, size_t length);

#endif
