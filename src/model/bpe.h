/* bpe: byte-level byte-pair encoding of one word, and the merging that SPM shares.
 *
 * Bytes are written as characters: those that print as themselves, the others from
 * U+0100 on. The vocabulary and the merges are in that writing.                   */
#ifndef SOLO_BPE_H
#define SOLO_BPE_H

#include "model/vocab.h"

/* ---- merging -------------------------------------------------------------------- */

/* A piece of text that may merge with its neighbours. Dead ones have length 0. */
typedef struct merge_symbol {
    uint32_t start, length; /* bytes */
    int32_t id;             /* or TOKEN_NONE */
    int32_t before, after;  /* the neighbours' places, or -1 */
} merge_symbol;

typedef struct merge_candidate {
    uint64_t order; /* priority, then place: the smallest merges first */
    uint32_t right, length;
    int32_t id;
} merge_candidate;

/* Working memory, kept from one text to the next. Zero-initialise. */
typedef struct merger {
    merge_symbol *symbols;
    uint32_t count, capacity;
    merge_candidate *heap;
    size_t heap_count, heap_capacity;
} merger;

/* May the two merge? If so, into which token, and how soon (0 first)? */
typedef bool (*merge_rule)(const void *context, const merge_symbol *left, const merge_symbol *right, uint32_t *priority,
                           int32_t *id);

void merger_clear(merger *m);
void merger_add(merger *m, uint32_t length, int32_t id);
/* Merge until nothing can; of equal priority, the leftmost first. Time n log n. */
void merger_run(merger *m, merge_rule rule, const void *context);
void merger_free(merger *m);

/* ---- merging by rank, and byte-level BPE --------------------------------------------------------------- */

typedef struct bpe_pair {
    int32_t left, right; /* right is TOKEN_NONE: the slot is free */
    int32_t id;
    uint32_t rank;
} bpe_pair;

/* Which tokens merge into which, and how soon. */
typedef struct bpe_pairs {
    bpe_pair *slots; /* hash table */
    size_t mask;
    hash_key key;
} bpe_pairs;

void bpe_pairs_init(bpe_pairs *p, const vocab *v, const tokenizer_parts *parts);
void bpe_pairs_free(bpe_pairs *p);
/* A merge_rule by the ids of symbols; the context is a bpe_pairs. */
bool bpe_merge_by_rank(const void *context, const merge_symbol *left, const merge_symbol *right, uint32_t *priority,
                       int32_t *id);

typedef struct bpe {
    const vocab *words;
    int32_t byte_ids[256];
    bpe_pairs pairs;
    bool ignore_merges;
} bpe;

void bpe_init(bpe *b, const vocab *v, const tokenizer_parts *parts);
void bpe_free(bpe *b);
void bpe_encode(const bpe *b, merger *m, const char *word, size_t bytes, token_list *out);

/* The bytes of a token's text; characters that stand for no byte stay as they are. */
void bpe_decode(token_text text, str *out);

#endif
