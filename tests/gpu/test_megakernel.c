/* A token, and several tokens, in one dispatch: the same tokens as by separate dispatches, with one workgroup and with
 * several, also when a dispatch times out in the middle. */
#include "gpu/devices.h"
#include "llm/generation_test.h"
#include "open_tiny.h"

#include <stdlib.h>

enum { CONTEXT = 200, TOKENS = 150 };

static const tiny_model TINY = {"llama", 2, 64, 96, 4, 2, 16, 50, TYPE_F32, .tied = true, .context = 256};
static model *tiny;
static char prepared_for[16];     /* an implementation */
static uint32_t right[2][TOKENS]; /* as `none` makes them: the most likely, drawn */

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

static void draw(generation *n, int drawn)
{
    generation_set_sampling(n, &(sampling){.temperature = drawn ? 0.9f : 0, .top_k = 20, .seed = 3});
}

static bool has_compiler(void)
{
    return strcmp(gpu_get_info(device)->family, "vulkan") != 0;
}

static generation *new_generation(const char *groups, const char *spins)
{
    err e = {0};
    generation_options o = {.level = LEVEL_LOOP, .all_levels = true, .submit = SUBMIT_BATCH, .context_tok = CONTEXT};
    setenv("SOLO_ONE_GROUPS", groups, 1);
    setenv("SOLO_ONE_LOOKS", spins, 1);
    generation *n = generation_new(device, tiny, &o, &e);
    unsetenv("SOLO_ONE_GROUPS");
    unsetenv("SOLO_ONE_LOOKS");
    if (!n)
        fail_msg("%s", e.text);
    return n;
}

/* What tests begin with: the model, and the tokens that are right. */
static void prepare(void)
{
    if (!has_compiler())
        skip();
    if (strcmp(prepared_for, gpu_get_info(device)->family) == 0)
        return;
    snprintf(prepared_for, sizeof prepared_for, "%s", gpu_get_info(device)->family);
    model_close(tiny);
    err e = {0};
    tiny = open_tiny(&TINY, 1);
    generation_options o = {.level = LEVEL_NONE, .submit = SUBMIT_BATCH, .context_tok = CONTEXT};
    generation *n = generation_new(device, tiny, &o, &e);
    for (int drawn = 0; drawn < 2; drawn++) {
        draw(n, drawn);
        begin(n);
        make(n, right[drawn], TOKENS);
    }
    generation_free(n);
}

static void assert_no_notice(generation *n)
{
    char text[1200];
    const char *notice = generation_take_notice(n, text, sizeof text);
    if (notice)
        fail_msg("%s", notice);
}

static void levels_agree(generation *n)
{
    uint32_t tokens[TOKENS];
    for (int drawn = 0; drawn < 2; drawn++) {
        draw(n, drawn);
        for (int level = LEVEL_OPS; level <= LEVEL_LOOP; level++) {
            generation_set_launch(n, (fusion_level)level, SUBMIT_BATCH);
            begin(n);
            gpu_counters before = gpu_get_counters(device);
            make(n, tokens, TOKENS);
            assert_no_notice(n);
            assert_int_equal(generation_level(n), level);
            assert_memory_equal(tokens, right[drawn], sizeof tokens);
            gpu_counters counted = gpu_counters_since(device, before);
            if (level == LEVEL_TOKEN)
                assert_int_equal(counted.dispatches, TOKENS);
            if (level == LEVEL_LOOP)
                assert_true(counted.dispatches <= TOKENS / 3); /* chunks get shorter where they take long */
        }
        /* From one level to another in the middle of a text. */
        begin(n);
        for (int i = 0; i < TOKENS; i += 30) {
            static const fusion_level turns[] = {LEVEL_LOOP, LEVEL_OPS, LEVEL_TOKEN, LEVEL_LOOP, LEVEL_NONE};
            generation_set_launch(n, turns[i / 30], SUBMIT_BATCH);
            make(n, tokens + i, 30);
        }
        assert_memory_equal(tokens, right[drawn], sizeof tokens);
    }
}

/* One generation that changes how it launches: from the start, and in the middle of a text. */
static void a_single_workgroup_makes_the_same_tokens(void **unused)
{
    (void)unused;
    err e = {0};
    uint32_t token;
    prepare();
    generation *n = new_generation("1", "");
    levels_agree(n);
    /* Up to the last place in the context. */
    generation_set_launch(n, LEVEL_LOOP, SUBMIT_BATCH);
    begin(n);
    while (generation_position(n) < CONTEXT)
        make(n, &token, 1);
    assert_false(generation_next(n, &token, &e));
    generation_free(n);
}

static void assert_falls_back(generation *n, const char *what)
{
    uint32_t tokens[TOKENS];
    char text[1200];
    draw(n, 1);
    begin(n);
    make(n, tokens, TOKENS);
    for (uint32_t i = 0; i < TOKENS; i++)
        if (tokens[i] != right[1][i])
            fail_msg("%s: token %u is %u, not %u", what, i, tokens[i], right[1][i]);
    assert_int_equal(generation_level(n), LEVEL_OPS);
    assert_non_null(generation_take_notice(n, text, sizeof text));
    assert_non_null(strstr(text, "timed out"));
    assert_null(generation_take_notice(n, text, sizeof text)); /* once */
}

/* Two are resident on two cores; a busy machine may keep one waiting, so they look long. */
static void several_workgroups_make_the_same_tokens(void **unused)
{
    (void)unused;
    prepare();
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        skip();
    generation *n = new_generation("2", "");
    levels_agree(n);
    /* What a stop token ends goes on when it is asked for. */
    uint32_t tokens[TOKENS];
    generation_set_launch(n, LEVEL_LOOP, SUBMIT_BATCH);
    draw(n, 1);
    generation_set_stops(n, &right[1][20], 1);
    begin(n);
    make(n, tokens, TOKENS);
    assert_no_notice(n);
    assert_memory_equal(tokens, right[1], sizeof tokens);
    generation_free(n);

    /* The same kernel, now with a workgroup that does not come any more: early, within a token, in a later one. */
    static const uint32_t stalls[] = {1, 7, 100};
    for (int level = LEVEL_TOKEN; level <= LEVEL_LOOP; level++)
        for (int i = 0; i < 3; i++) {
            char what[64];
            snprintf(what, sizeof what, "%s, stopped before barrier %u", fusion_names[level], stalls[i]);
            if (level == LEVEL_TOKEN && stalls[i] > 20)
                continue; /* a token has fewer */
            n = new_generation("2", "");
            generation_set_launch(n, (fusion_level)level, SUBMIT_BATCH);
            generation_stall(n, stalls[i]);
            assert_falls_back(n, what);
            generation_free(n);
        }
}

static void too_many_workgroups_time_out(void **unused)
{
    (void)unused;
    prepare();
    if (gpu_get_info(device)->type != GPU_TYPE_SOFTWARE || sysconf(_SC_NPROCESSORS_ONLN) > 32)
        skip(); /* they may all be resident */
    generation *n = new_generation("64", "100000");
    assert_falls_back(n, "64 workgroups");
    generation_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_workgroup_makes_the_same_tokens),
        cmocka_unit_test(several_workgroups_make_the_same_tokens),
        cmocka_unit_test(too_many_workgroups_time_out),
    };
    int failed = RUN_ON_EACH(tests);
    model_close(tiny);
    return failed;
}
