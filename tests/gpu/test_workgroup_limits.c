/* The kernels that GPUs get where workgroup memory is short: the same tokens as with more of it, at every level. */
#include "gpu/devices.h"
#include "llm/generation.h"
#include "tiny_model.h"

#include <stdlib.h>
#include <unistd.h>

enum { CONTEXT = 64, TOKENS = 6 };

/* Its inner products have more elements of x than 16 KiB have room for: there they have another kernel. */
static const tiny_model TINY = {"llama", 2, 64, 2304, 4, 2, 16, 50, TYPE_F16, .tied = true};

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
    generation_free(n);
}

static void less_workgroup_memory_makes_the_same_tokens(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    err e = {0};
    char path[] = "/tmp/solo-tiny-XXXXXX";
    close(mkstemp(path));
    assert_true(tiny_model_write(&TINY, 1, path, &e));
    model *m = model_open(path, &e);
    assert_non_null(m);
    unlink(path);
    uint32_t all[TOKENS], less[TOKENS], apart[TOKENS];
    setenv("SOLO_TUNE", "gpu", 1);
    setenv("SOLO_ONE_GROUPS", "2", 1);
    make_tokens(m, LEVEL_OPS, all);
    setenv("SOLO_WORKGROUP_BYTES", "16384", 1);
    make_tokens(m, LEVEL_OPS, apart);
    make_tokens(m, LEVEL_LOOP, less);
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
