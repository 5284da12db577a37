/* grammar_filter: which tokens a grammar lets come next, as a token_filter of the engine. */
#ifndef SOLO_GRAMMAR_FILTER_H
#define SOLO_GRAMMAR_FILTER_H

#include "serve/engine.h"
#include "serve/grammar.h"

/* The tokens of a vocabulary in the order of their bytes: made once, used by all. */
typedef struct token_index token_index;
token_index *token_index_new(const tokenizer *t, uint32_t vocab);
void token_index_free(token_index *x);

typedef struct grammar_filter grammar_filter;

/* `after_thoughts`: the text begins with thoughts, and the grammar holds for what comes behind them. All arguments must
 * outlive it. */
grammar_filter *grammar_filter_new(const grammar *g, const token_index *x, bool after_thoughts);
/* False: no token may come first. The grammar describes nothing, nothing of this vocabulary, or has too many states. */
bool grammar_filter_can_begin(const grammar_filter *f);
void grammar_filter_free(grammar_filter *f);
const token_filter *grammar_filter_use(grammar_filter *f);
/* Is the text so far one that the grammar describes? Otherwise it is only the beginning of one. Once no more tokens come. */
bool grammar_filter_is_whole(const grammar_filter *f);

#endif
