/* The kernels that GPUs get where workgroup memory is short: the same tokens as with more of it, at every level.
 * runs alone: workgroups that wait for each other */
#include "gpu/make_tokens.h"
#include "open_tiny.h"

#include <stdlib.h>

enum { TOKENS = 6 };

/* Its inner products have more elements of x than 16 KiB have room for: there they have another kernel. */
static const tiny_model TINY = {"llama", 2, 64, 2304, 4, 2, 16, 50, TYPE_F16, .tied = true};

static void less_workgroup_memory_makes_the_same_tokens(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    model *m = open_tiny(&TINY, 1);
    uint32_t all[TOKENS], less[TOKENS], apart[TOKENS];
    setenv("SOLO_TUNE", "gpu", 1);
    setenv("SOLO_ONE_GROUPS", "2", 1);
    make_tokens(m, LEVEL_OPS, all, TOKENS);
    setenv("SOLO_WORKGROUP_BYTES", "16384", 1);
    make_tokens(m, LEVEL_OPS, apart, TOKENS);
    make_tokens(m, LEVEL_LOOP, less, TOKENS);
    unsetenv("SOLO_WORKGROUP_BYTES");
    unsetenv("SOLO_ONE_GROUPS");
    unsetenv("SOLO_TUNE");
    model_close(m);
    assert_memory_equal(apart, less, sizeof less);
    assert_memory_equal(all, less, sizeof less);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(less_workgroup_memory_makes_the_same_tokens)};
    return RUN_ON_EACH(tests);
}
