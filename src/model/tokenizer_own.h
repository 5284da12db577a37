/* tokenizer_own: keys of a GGUF file by which a converted tokenizer is the one of its folder.
 *
 * The keys tokenizer.ggml.* do not have all that a tokenizer.json says: the order in which added tokens are looked
 * for, the spaces that go with them, how unknown characters are taken, the list of merges of a SentencePiece-like
 * vocabulary. llama.cpp guesses it by the architecture. `solo convert` writes it beside them, under solo.tokenizer.*,
 * which others ignore. A page ignores it, too. */
#ifndef SOLO_TOKENIZER_OWN_H
#define SOLO_TOKENIZER_OWN_H

#include "model/tokenizer.h"

#define OWN_KEY "solo.tokenizer."

/* The switches among the parts, each a bool under OWN_KEY. */
enum { OWN_FLAGS = 8 };
extern const char *const own_flag_names[OWN_FLAGS];
bool *own_flag(tokenizer_parts *parts, int i);

/* The ids under OWN_KEY "ids": bos, eos, eot, ending, unknown, padding. */
enum { OWN_IDS = 6 };
int32_t *own_id(tokenizer_parts *parts, int i);

/* What the parts then point to. */
typedef struct own_parts {
    token_merge *merges;
    added_token *added;
    int32_t *ends;
    uint8_t *strips;
    token_text *tokens;
} own_parts;

/* Changes the parts to what the file says under OWN_KEY, if it does. Free in any case. */
bool own_read(const gguf *g, tokenizer_parts *parts, own_parts *own, err *e);
void own_free(own_parts *own);

/* The merges under a key: "left right"; the left one may be a space itself. Those that are not of two texts stay empty
 * (tokenizer_gguf.c). */
bool tokenizer_gguf_merges(const gguf *g, const char *key, tokenizer_parts *parts, token_merge **merges, err *e);

#endif
