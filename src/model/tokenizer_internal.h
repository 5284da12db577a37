/* tokenizer_internal: what the tokenizer*.c files share. */
#ifndef SOLO_TOKENIZER_INTERNAL_H
#define SOLO_TOKENIZER_INTERNAL_H

#include "model/bpe.h"
#include "model/pretokenize.h"
#include "model/specials.h"
#include "model/spm.h"
#include "model/unigram.h"
#include "model/vocab.h"
#include "model/wordpiece.h"

struct tokenizer {
    tokenizer_kind kind;
    vocab words;
    uint8_t *strips; /* (count) */
    bool *ends;      /* (count) */
    bpe bpe;
    spm spm;
    wordpiece wordpiece;
    unigram unigram;
    const pre_rule *pre;
    specials raw, normalized; /* looked for in the text as it is; and once it is normalized */
    int32_t bos, eos, eot, ending, unknown, padding;
    bool add_bos, add_eos, add_space_prefix, metaspace, prefix_first_only, nfc;
};

/* Gives the tokens that are known by how they are written their types, and says which end a text
 * (tokenizer_known.c). */
void tokenizer_mark_known(tokenizer *t);

/* What is done to a text before tokens are looked for that were added as normalized; and what of it
 * is plain, if `plain_out` is given (tokenizer_encode.c). */
void tokenizer_normalize(const tokenizer *t, const marked_text *text, str *out, str *plain_out);

#endif
