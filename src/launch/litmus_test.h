/* litmus_test: what only tests do with the litmus test. */
#ifndef SOLO_LITMUS_TEST_H
#define SOLO_LITMUS_TEST_H

#include "launch/litmus.h"

/* gpu_litmus for another text of the kernel. Its line `const THREADS = 256u;` is changed to what is asked for. */
bool gpu_litmus_of(gpu *g, const gpu_source *source, uint32_t workgroups, uint32_t threads, litmus_result *out, err *e);

#endif
