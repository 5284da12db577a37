/* Tokens of a model on the device of a group of tests, to be compared. */
#ifndef SOLO_TEST_MAKE_TOKENS_H
#define SOLO_TEST_MAKE_TOKENS_H

#include "gpu/devices.h"
#include "llm/generation.h"

/* The first `count` after a short prompt, all of them by this level. */
static void make_tokens(const model *m, fusion_level level, uint32_t *tokens, uint32_t count)
{
    enum { CONTEXT = 64 };
    err e = {0};
    generation_options o = {.level = level, .submit = SUBMIT_BATCH, .context_tok = CONTEXT};
    generation *n = generation_new(device, m, &o, &e);
    if (!n || !generation_feed(n, (uint32_t[]){1, 7, 3}, 3, &e))
        fail_msg("%s", e.text);
    assert_int_equal(generation_level(n), level);
    for (uint32_t i = 0; i < count; i++)
        if (!generation_next(n, &tokens[i], &e))
            fail_msg("%s", e.text);
    assert_int_equal(generation_level(n), level); /* nothing timed out */
    generation_free(n);
}

#endif
