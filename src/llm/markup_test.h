/* markup_test: what of markup.h only tests call otherwise. */
#ifndef SOLO_MARKUP_TEST_H
#define SOLO_MARKUP_TEST_H

#include "llm/markup.h"

/* A token that may mark something; false: it does not, and is text. */
bool markup_mark(markup *m, const char *token, size_t bytes, str *out);
void markup_text(markup *m, const char *text, size_t bytes, str *out);

#endif
