/* A token, and several tokens, in one dispatch: the same ones as by many. */
#include "gpu/devices.h"
#include "llm/generation.h"
#include "tiny_model.h"

#include <unistd.h>

enum { CONTEXT = 200, TOKENS = 150 };

static const tiny_model TINY = {"llama", 2, 64, 96, 4, 2, 16, 50, TYPE_F32, .tied = true};

static void make(generation *n, uint32_t *tokens, uint32_t count)
{
    err e = {0};
    for (uint32_t i = 0; i < count; i++)
        if (!generation_next(n, &tokens[i], &e))
            fail_msg("%s", e.text);
}

static void begin(generation *n)
{
    err e = {0};
    generation_rewind(n, 0);
    if (!generation_feed(n, (uint32_t[]){1, 7, 3, 9, 2}, 5, &e))
        fail_msg("%s", e.text);
}

/* One generation that changes how it launches: from the start, and in the middle of a text. */
static void tokens_are_the_same(void **unused)
{
    (void)unused;
    /* Compiling all phases as one takes software a while, with wgpu minutes; bare Vulkan has no compiler. */
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    err e = {0};
    char path[] = "/tmp/solo-tiny-XXXXXX";
    close(mkstemp(path));
    assert_true(tiny_model_write(&TINY, 1, path, &e));
    model *m = model_open(path, &e);
    generation_options o = {.level = LEVEL_LOOP, .all_levels = true, .submit = SUBMIT_BATCH, .context_tok = CONTEXT};
    generation *n = generation_new(device, m, &o, &e);
    if (!n)
        fail_msg("%s", e.text);
    uint32_t right[TOKENS], tokens[TOKENS];
    for (int drawn = 0; drawn < 2; drawn++) {
        generation_set_sampling(n, &(sampling){.temperature = drawn ? 0.9f : 0, .top_k = 20, .seed = 3});
        generation_set_launch(n, LEVEL_NONE, SUBMIT_BATCH);
        begin(n);
        make(n, right, TOKENS);
        for (int level = LEVEL_OPS; level <= LEVEL_LOOP; level++) {
            generation_set_launch(n, (fusion_level)level, SUBMIT_BATCH);
            begin(n);
            gpu_counters before = gpu_get_counters(device);
            make(n, tokens, TOKENS);
            assert_memory_equal(tokens, right, sizeof right);
            gpu_counters counted = gpu_counters_since(device, before);
            if (level == LEVEL_TOKEN)
                assert_int_equal(counted.dispatches, TOKENS);
            if (level == LEVEL_LOOP)
                assert_true(counted.dispatches <= TOKENS / 8 + 4);
        }
        begin(n);
        for (int i = 0; i < TOKENS; i += 30) {
            static const fusion_level turns[] = {LEVEL_LOOP, LEVEL_OPS, LEVEL_TOKEN, LEVEL_LOOP, LEVEL_NONE};
            generation_set_launch(n, turns[i / 30], SUBMIT_BATCH);
            make(n, tokens + i, 30);
        }
        assert_memory_equal(tokens, right, sizeof right);
    }
    /* Up to the last place in the context. */
    generation_set_launch(n, LEVEL_LOOP, SUBMIT_BATCH);
    begin(n);
    while (generation_position(n) < CONTEXT)
        make(n, tokens, 1);
    assert_false(generation_next(n, tokens, &e));
    generation_free(n);
    model_close(m);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tokens_are_the_same)};
    return RUN_ON_EACH(tests);
}
