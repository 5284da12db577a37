/* wordpiece: BERT's tokens. A text is cleaned, brought into lower case and freed of accents, where its file says so, cut
 * at spaces and signs, and each word becomes the longest tokens that fit, from left to right; or one unknown token. */
#ifndef SOLO_WORDPIECE_H
#define SOLO_WORDPIECE_H

#include "base/str.h"
#include "model/vocab.h"

typedef struct wordpiece {
    const vocab *words;
    char first[8], next[8]; /* what stands before the first token of a word, and before the others */
    size_t first_bytes, next_bytes;
    uint32_t most_characters; /* of a word; 0: any number */
    int32_t unknown;
    bool clean, space_chinese, strip_accents, lowercase;
} wordpiece;

/* False with an error: prefixes that are too long, or no unknown token. */
bool wordpiece_init(wordpiece *w, const vocab *v, const tokenizer_parts *parts, err *e);
/* Appends the normalized text, and what of it is plain, as nfc_add does. */
void wordpiece_normalize(const wordpiece *w, const char *text, size_t bytes, const char *plain, str *out,
                         str *plain_out);
/* Appends the tokens of a text that is normalized. */
void wordpiece_encode(const wordpiece *w, const char *text, size_t bytes, token_list *out);
/* Appends the text of a token, with the space before a word. */
void wordpiece_decode(const wordpiece *w, token_text text, str *out);

#endif
