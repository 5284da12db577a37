/* pretokenize: cutting a text into the words inside which byte-level BPE merges.
 *
 * Each model family was trained with its own pattern. They go by the names that
 * GGUF files give them (tokenizer.ggml.pre). A pattern is a list of stages; each
 * cuts the pieces that the one before left, and looks at one piece as if there
 * were nothing around it. What a stage's pattern does not match stays a piece.
 *
 * The stages are scanners written by hand: every one runs in time linear in the
 * text.                                                                        */
#ifndef SOLO_PRETOKENIZE_H
#define SOLO_PRETOKENIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pre_rule pre_rule;

/* NULL for a name that is not known. */
const pre_rule *pre_find(const char *name, size_t length);

/* What else goes with the name: take a word that is a token as it is, without
 * merging; and begin with BOS where the file says nothing about it. */
bool pre_ignores_merges(const pre_rule *rule);
bool pre_adds_bos(const pre_rule *rule);

/* A text as code points, with the class of each (unicode.h). Zero-initialise. */
typedef struct pre_text {
    uint32_t *points;
    uint8_t *classes;
    uint32_t count, capacity;
} pre_text;

/* Bytes that are not UTF-8 become U+FFFD, each. `bytes` is less than 2^32. */
void pre_text_set(pre_text *t, const char *text, size_t bytes);
void pre_text_free(pre_text *t);

/* Where each word ends, as an index of code points. Zero-initialise. */
typedef struct pre_words {
    uint32_t *ends;
    uint32_t count, capacity;
} pre_words;

void pre_split(const pre_rule *rule, const pre_text *t, pre_words *words);
void pre_words_free(pre_words *words);

#endif
