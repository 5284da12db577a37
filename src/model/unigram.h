/* unigram: SentencePiece's likeliest tokens. Of all ways to cut a text into tokens it takes the one whose scores, which
 * are logarithms of probabilities, have the highest sum.
 *
 * Before that, characters become others by a precompiled map: four bytes with the length of a double-array trie
 * (little-endian), the trie's 32-bit units, and the texts that its values point to, each ended by a zero byte. The map is
 * hostile until checked: a walk that leaves it finds nothing. */
#ifndef SOLO_UNIGRAM_H
#define SOLO_UNIGRAM_H

#include "base/str.h"
#include "model/vocab.h"

typedef struct unigram {
    const vocab *words;
    uint32_t *sorted; /* (sorted_count) ids by their texts */
    size_t sorted_count;
    char *charsmap; /* the whole map, or NULL */
    size_t trie_units, charsmap_bytes;
    double unknown_score;
    int32_t unknown, byte_ids[256];
    bool from_json; /* characters are looked up by graphemes, as Hugging Face does; words are encoded one by one */
    bool strips_start, strips_end, merges_spaces, whitespace_splits;
    bool add_prefix, prefix_first_only, space_splits, has_bytes;
} unigram;

bool unigram_init(unigram *u, const vocab *v, const tokenizer_parts *parts, err *e);
void unigram_free(unigram *u);
/* Appends the normalized text, and what of it is plain, as nfc_add does. */
void unigram_normalize(const unigram *u, const char *text, size_t bytes, const char *plain, str *out, str *plain_out);
/* Appends the tokens of a text that is normalized; `at_start`: it begins the whole text. */
void unigram_encode(const unigram *u, const char *text, size_t bytes, bool at_start, token_list *out);

#endif
