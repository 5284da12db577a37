/* Models whose operators are not all products and attention by heads of 2^n: in one dispatch of the kernels that GPUs
 * get, these operators poll epoch bits, too, and the tokens are those of separate dispatches.
 * runs alone: two workgroups that wait for each other, and gigabytes for compiling them */
#include "gpu/make_tokens.h"
#include "open_tiny.h"

#include <stdlib.h>

enum { TOKENS = 5 };

static const tiny_model MODELS[] = {
    /* x is scaled first; norms are added to residuals; op_attention */
    {"gemma2", 2, 64, 96, 4, 1, 24, 50, TYPE_F16, .tied = true, .post_norms = true},
    /* heads are normed, turned and stored, and attention_vec reads the copy of the newest key */
    {"qwen3", 2, 64, 96, 4, 2, 16, 50, TYPE_F16, .tied = true, .qk_norm = true},
};

static void operators_poll_epoch_bits(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    for (size_t i = 0; i < sizeof MODELS / sizeof *MODELS; i++) {
        uint32_t apart[TOKENS], together[TOKENS];
        model *m = open_tiny(&MODELS[i], 1);
        make_tokens(m, LEVEL_OPS, apart, TOKENS);
        setenv("SOLO_TUNE", "gpu", 1);
        setenv("SOLO_ONE_GROUPS", "2", 1);
        make_tokens(m, LEVEL_LOOP, together, TOKENS);
        unsetenv("SOLO_ONE_GROUPS");
        unsetenv("SOLO_TUNE");
        model_close(m);
        assert_memory_equal(apart, together, sizeof apart);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(operators_poll_epoch_bits)};
    return RUN_ON_EACH(tests);
}
