/* generation_test: functions of a generation that only tests call. */
#ifndef SOLO_GENERATION_TEST_H
#define SOLO_GENERATION_TEST_H

#include "llm/generation.h"

/* At the levels token and loop, workgroup 0 stops before the n-th barrier of each dispatch; 0: it does not. */
void generation_stall(generation *n, uint32_t barrier);

/* A level that compiles in the background is not ready for so many tokens; the token after them waits for it. With
 * `compares` its tokens are compared with those of ops, whatever the cache says. */
void generation_hold_compile(generation *n, uint32_t tokens, bool compares);

#endif
