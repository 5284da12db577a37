/* tokenizer_test: what of tokenizer.h only tests call. */
#ifndef SOLO_TOKENIZER_TEST_H
#define SOLO_TOKENIZER_TEST_H

#include "model/tokenizer.h"

size_t tokenizer_size(const tokenizer *t);
int32_t tokenizer_eot(const tokenizer *t); /* these: or TOKEN_NONE */
int32_t tokenizer_unknown(const tokenizer *t);
int32_t tokenizer_padding(const tokenizer *t);
int32_t tokenizer_find(const tokenizer *t, token_text text); /* the token written so */

#endif
