/* The smallest tokenizer, for tests that make tokens and do not look at texts. */
#ifndef SOLO_TEST_TWO_TOKENS_H
#define SOLO_TEST_TWO_TOKENS_H

#include "model/tokenizer.h"

static tokenizer *make_tokenizer(void)
{
    token_text tokens[] = {{"a", 1}, {"b", 1}};
    tokenizer_parts parts = {.kind = TOKENIZER_BPE,
                             .token_count = 2,
                             .tokens = tokens,
                             .pre = {"gpt-2", 5},
                             .bos = TOKEN_NONE,
                             .eos = TOKEN_NONE,
                             .eot = TOKEN_NONE,
                             .unknown = TOKEN_NONE,
                             .padding = TOKEN_NONE};
    err e = {0};
    tokenizer *t = tokenizer_new(&parts, &e);
    assert_non_null(t);
    return t;
}

#endif
