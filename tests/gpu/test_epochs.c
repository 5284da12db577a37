/* Models whose operators are not all products and attention by heads of 2^n: in one dispatch of the kernels that GPUs
 * get, these operators poll epoch bits, too, and the tokens are those of separate dispatches. */
#include "gpu/devices.h"
#include "llm/generation.h"
#include "tiny_model.h"

#include <stdlib.h>
#include <unistd.h>

enum { CONTEXT = 64, TOKENS = 5 };

static const tiny_model MODELS[] = {
    {"gemma", 2, 64, 96, 4, 1, 16, 50, TYPE_F16, .tied = true}, /* x is scaled first */
    /* norms, RoPE and stores by themselves, and op_attention */
    {"qwen3", 2, 64, 96, 4, 2, 24, 50, TYPE_F16, .tied = true, .qk_norm = true},
};

static void make_tokens(const model *m, fusion_level level, uint32_t tokens[TOKENS])
{
    err e = {0};
    generation_options o = {.level = level, .submit = SUBMIT_BATCH, .context_tok = CONTEXT};
    generation *n = generation_new(device, m, &o, &e);
    if (!n || !generation_feed(n, (uint32_t[]){1, 7, 3}, 3, &e))
        fail_msg("%s", e.text);
    assert_int_equal(generation_level(n), level);
    for (uint32_t i = 0; i < TOKENS; i++)
        if (!generation_next(n, &tokens[i], &e))
            fail_msg("%s", e.text);
    assert_int_equal(generation_level(n), level); /* nothing timed out */
    generation_free(n);
}

static void operators_poll_epoch_bits(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    for (size_t i = 0; i < sizeof MODELS / sizeof *MODELS; i++) {
        err e = {0};
        char path[] = "/tmp/solo-tiny-XXXXXX";
        uint32_t apart[TOKENS], together[TOKENS];
        close(mkstemp(path));
        assert_true(tiny_model_write(&MODELS[i], 1, path, &e));
        model *m = model_open(path, &e);
        if (!m)
            fail_msg("%s", e.text);
        unlink(path);
        make_tokens(m, LEVEL_OPS, apart);
        setenv("SOLO_TUNE", "gpu", 1);
        setenv("SOLO_ONE_GROUPS", "2", 1);
        make_tokens(m, LEVEL_LOOP, together);
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
