/* specials: the tokens that are looked for in a text before anything is merged, and the text cut at them. */
#ifndef SOLO_SPECIALS_H
#define SOLO_SPECIALS_H

#include "model/tokenizer.h"

typedef struct special {
    token_text text;
    int32_t id;
    bool control;   /* not found in plain text */
    uint8_t strips; /* TOKEN_STRIPS_ bits */
} special;

typedef struct specials {
    size_t count;
    special *items;         /* (count) the longer first */
    int32_t *by_text;       /* (count) places in items, by what is written */
    uint32_t by_first[257]; /* where each first byte begins in by_text */
    char *bytes;            /* what the texts point into */
    bool leftmost;
} specials;

/* Which is found where several could be: with `leftmost` the one that begins first,
 * of those the longest, as Hugging Face's tokenizers do; else the longest wherever
 * it is, as llama.cpp does. Empty texts are never found. */
void specials_init(specials *s, const special *items, size_t count, bool leftmost);
void specials_free(specials *s);

/* A piece of text, or a token found in it. */
typedef struct fragment {
    size_t start, length;
    int32_t id; /* TOKEN_NONE: text */
} fragment;

typedef struct fragments {
    fragment *items;
    size_t count, capacity;
} fragments;

/* A text of which parts may be plain: control tokens are not found there. */
typedef struct marked_text {
    const char *data;
    size_t bytes;
    bool all_plain;
    const char *plain; /* (bytes) 1: this byte is plain; NULL: none is */
} marked_text;

/* Appends to `out`. */
void specials_cut(const specials *s, const marked_text *text, fragments *out);

#endif
