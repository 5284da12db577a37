/* A megakernel that compiles in the background while separate dispatches make the text: whatever token the change comes
 * before, the tokens are the same; and if it cannot be had, the text goes on without it. */
#include "gpu/devices.h"
#include "gpu/gpu_test.h"
#include "graph/autotune_test.h"
#include "llm/generation_internal.h"
#include "llm/generation_test.h"
#include "llm/session.h"
#include "open_tiny.h"

#include <stdlib.h>

enum { CONTEXT = 96, PROMPT = 5, TOKENS = 60, SLID = 150 };

static const tiny_model TINY = {"llama", 2, 64, 96, 4, 2, 16, 50, TYPE_F32, .tied = true, .context = 256};
static const tiny_model OTHER = {"llama", 3, 64, 96, 4, 2, 16, 50, TYPE_F32, .tied = true, .context = 256};
static model *tiny, *other;
static char prepared_for[16];
static uint32_t right[2][TOKENS], slid[SLID]; /* as ops makes them: the most likely, drawn; in a context that slides */

static generation *new_generation(const model *m, generation_options o)
{
    err e = {0};
    o.submit = SUBMIT_BATCH;
    o.context_tok = o.context_tok ? o.context_tok : CONTEXT;
    generation *n = generation_new(device, m, &o, &e);
    if (!n)
        fail_msg("%s", e.text);
    return n;
}

/* The first `held` tokens come before the change-over. */
static generation *new_in_background(uint32_t held, bool compares)
{
    generation *n = new_generation(tiny, (generation_options){.level = LEVEL_LOOP, .compile = COMPILE_IN_BACKGROUND});
    assert_int_equal(generation_level(n), LEVEL_OPS);
    assert_true(generation_is_compiling(n));
    generation_hold_compile(n, held, compares);
    return n;
}

static void make(generation *n, uint32_t *tokens, uint32_t count)
{
    err e = {0};
    for (uint32_t i = 0; i < count; i++)
        if (!generation_next(n, &tokens[i], &e))
            fail_msg("%s", e.text);
}

static void begin(generation *n, int drawn)
{
    err e = {0};
    generation_set_sampling(
        n, &(sampling){.temperature = drawn ? 0.9f : 0, .top_k = 20, .repeat_penalty = drawn ? 1.2f : 1, .seed = 3});
    generation_rewind(n, 0);
    if (!generation_feed(n, (uint32_t[]){1, 7, 3, 9, 2}, PROMPT, &e))
        fail_msg("%s", e.text);
}

static void assert_notice(generation *n, const char *wanted)
{
    char text[1200] = "";
    const char *notice = generation_take_notice(n, text, sizeof text);
    if (wanted ? !notice || !strstr(notice, wanted) : notice != NULL)
        fail_msg("a notice: \"%s\", not \"%s\"", text, wanted ? wanted : "");
}

/* A text from its beginning. */
static void assert_right(generation *n, int drawn, const char *what, uint32_t held)
{
    uint32_t tokens[TOKENS];
    begin(n, drawn);
    make(n, tokens, TOKENS);
    for (uint32_t i = 0; i < TOKENS; i++)
        if (tokens[i] != right[drawn][i])
            fail_msg("%s, change after %u, drawn %d: token %u is %u, not %u", what, held, drawn, i, tokens[i],
                     right[drawn][i]);
}

static void assert_changed(generation *n)
{
    assert_notice(n, NULL);
    assert_false(generation_is_compiling(n));
    assert_int_equal(generation_level(n), LEVEL_LOOP);
}

static void prepare(void)
{
    const gpu_info *info = gpu_get_info(device);
    assert_true(info->can_compile_ahead);
    if (strcmp(prepared_for, info->family) == 0)
        return;
    snprintf(prepared_for, sizeof prepared_for, "%s", info->family);
    tiny = tiny ? tiny : open_tiny(&TINY, 1);
    other = other ? other : open_tiny(&OTHER, 1);
    generation *n = new_generation(tiny, (generation_options){.level = LEVEL_OPS});
    for (int drawn = 0; drawn < 2; drawn++) {
        begin(n, drawn);
        make(n, right[drawn], TOKENS);
    }
    generation_free(n);
    n = new_generation(tiny, (generation_options){.level = LEVEL_OPS, .slide = true});
    begin(n, 1);
    make(n, slid, SLID);
    generation_free(n);
}

/* ---- the change-over ----------------------------------------------------------------------- */

static void the_change_may_come_before_any_token(void **unused)
{
    (void)unused;
    prepare();
    for (uint32_t held = 0; held < TOKENS; held++) {
        generation *n = new_in_background(held, false);
        assert_right(n, held % 2, "at once", held);
        assert_changed(n);
        assert_right(n, 1 - held % 2, "the next text", held);
        generation_free(n);
    }
}

static void several_workgroups_may_come_in(void **unused)
{
    (void)unused;
    prepare();
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        skip();
    for (uint32_t held = 1; held < TOKENS; held += 19) {
        setenv("SOLO_ONE_GROUPS", "2", 1);
        generation *n = new_in_background(held, held == 20);
        assert_right(n, 1, "two workgroups", held);
        unsetenv("SOLO_ONE_GROUPS");
        assert_changed(n);
        generation_free(n);
    }
}

/* Someone waits for the first token: the megakernel begins to compile behind it. */
static void what_the_first_token_does_not_need_begins_behind_it(void **unused)
{
    (void)unused;
    err e = {0};
    prepare();
    for (int finishes = 0; finishes < 2; finishes++) {
        generation *n = new_generation(
            tiny, (generation_options){.level = LEVEL_LOOP, .compile = COMPILE_IN_BACKGROUND, .text_waits = true});
        assert_true(generation_is_compiling(n));
        generation_hold_compile(n, 0, false);
        uint32_t first;
        begin(n, 1);
        make(n, &first, 1);
        assert_int_equal(first, right[1][0]);
        assert_int_equal(generation_level(n), LEVEL_OPS);
        if (finishes && !generation_finish_compile(n, &e))
            fail_msg("%s", e.text);
        assert_right(n, 1, "behind the first token", 1);
        assert_changed(n);
        generation_free(n);
    }
}

static void tokens_are_compared_before_the_change(void **unused)
{
    (void)unused;
    uint32_t tokens[TOKENS];
    prepare();
    for (uint32_t held = 0; held < 32; held += 5) {
        generation *n = new_in_background(held, true);
        begin(n, 1);
        make(n, tokens, held + COMPARED_TOK + 1);
        assert_int_equal(generation_level(n), LEVEL_OPS);
        make(n, tokens + held + COMPARED_TOK + 1, TOKENS - held - COMPARED_TOK - 1);
        assert_memory_equal(tokens, right[1], sizeof tokens);
        assert_changed(n);
        generation_free(n);
    }
    /* short texts are compared one after the other */
    generation *n = new_in_background(3, true);
    for (int text = 0; text < 4; text++) {
        begin(n, 0);
        make(n, tokens, 10);
        assert_memory_equal(tokens, right[0], 10 * sizeof *tokens);
    }
    assert_changed(n);
    generation_free(n);
}

static void other_tokens_are_a_reason_not_to_change(void **unused)
{
    (void)unused;
    uint32_t tokens[TOKENS];
    prepare();
    char *cache = getenv("SOLO_CACHE") ? strdup(getenv("SOLO_CACHE")) : NULL;
    setenv("SOLO_CACHE", "off", 1); /* or others would find that verdict */
    generation *n = new_in_background(4, true);
    begin(n, 0);
    make(n, tokens, 9);
    assert_true(n->on_trial.count > 5);
    n->on_trial.tokens[5]++;
    make(n, tokens + 9, TOKENS - 9);
    assert_memory_equal(tokens, right[0], sizeof tokens);
    assert_notice(n, "other tokens");
    assert_false(generation_is_compiling(n));
    assert_int_equal(generation_level(n), LEVEL_OPS);
    generation_free(n);
    if (cache)
        setenv("SOLO_CACHE", cache, 1);
    else
        unsetenv("SOLO_CACHE");
    free(cache);
}

static void forms_are_timed_without_harm_to_the_text(void **unused)
{
    (void)unused;
    prepare();
    for (uint32_t held = 0; held < TOKENS; held += 25) {
        autotune_times_twice = true;
        generation *n = new_in_background(held, held == 25);
        assert_right(n, 1, "timing", held);
        autotune_times_twice = false;
        assert_changed(n);
        assert_right(n, 0, "timing, the next text", held);
        generation_free(n);
    }
    /* There is no room for it at the end of the context. */
    autotune_times_twice = true;
    generation *n = new_in_background(CONTEXT - PROMPT - 3, false);
    uint32_t tokens[CONTEXT];
    begin(n, 1);
    make(n, tokens, CONTEXT - PROMPT);
    autotune_times_twice = false;
    assert_memory_equal(tokens, right[1], sizeof right[1]);
    assert_true(generation_is_compiling(n) && generation_is_full(n));
    assert_right(n, 1, "the next text has room", 0);
    assert_changed(n);
    generation_free(n);
}

static void stops_limits_and_a_context_that_slides(void **unused)
{
    (void)unused;
    uint32_t tokens[SLID];
    prepare();
    for (uint32_t held = 2; held < TOKENS; held += 9) {
        generation *n = new_in_background(held, held == 11);
        generation_set_stops(n, &right[1][20], 1);
        begin(n, 1);
        generation_set_limit(n, TOKENS / 2);
        make(n, tokens, TOKENS / 2);
        generation_set_limit(n, TOKENS / 2);
        make(n, tokens + TOKENS / 2, TOKENS / 2);
        assert_memory_equal(tokens, right[1], sizeof right[1]);
        generation_free(n);
    }
    for (uint32_t held = 30; held < SLID; held += 12) { /* the first slide is before token 91 */
        generation *n = new_generation(
            tiny, (generation_options){.level = LEVEL_LOOP, .compile = COMPILE_IN_BACKGROUND, .slide = true});
        generation_hold_compile(n, held, held % 24 == 6);
        begin(n, 1);
        make(n, tokens, SLID);
        assert_memory_equal(tokens, slid, sizeof slid);
        generation_free(n);
    }
}

static void a_level_that_was_set_stays(void **unused)
{
    (void)unused;
    prepare();
    err e = {0};
    generation *n = new_in_background(7, false);
    generation_set_launch(n, LEVEL_OPS, SUBMIT_BATCH);
    assert_right(n, 1, "a level that was set", 7);
    assert_false(generation_is_compiling(n));
    assert_int_equal(generation_level(n), LEVEL_OPS);
    generation_set_launch(n, LEVEL_AUTO, SUBMIT_BATCH);
    assert_right(n, 1, "and set again", 7);
    assert_changed(n);
    generation_free(n);
    /* all at once, between texts */
    n = new_in_background(TOKENS, false);
    assert_right(n, 0, "before", TOKENS);
    assert_true(generation_finish_compile(n, &e));
    assert_changed(n);
    assert_right(n, 1, "after", TOKENS);
    generation_free(n);
}

/* wgpu-native compiles when it is called, and nowhere else. */
static void without_a_background_it_waits(void **unused)
{
    (void)unused;
    assert_false(gpu_get_info(device)->can_compile_ahead);
    tiny = tiny ? tiny : open_tiny(&TINY, 1);
    generation *n = new_generation(tiny, (generation_options){.level = LEVEL_LOOP, .compile = COMPILE_IN_BACKGROUND});
    assert_changed(n);
    generation_free(n);
}

/* ---- what may go wrong --------------------------------------------------------------------- */

static void a_kernel_that_does_not_compile_stops_no_text(void **unused)
{
    (void)unused;
    uint32_t tokens[TOKENS], without[TOKENS];
    err e = {0};
    prepare();
    generation *n = new_generation(other, (generation_options){.level = LEVEL_OPS});
    begin(n, 1);
    make(n, without, TOKENS);
    generation_free(n);
    gpu_refuse_ahead(device, true);
    n = new_generation(other, (generation_options){.level = LEVEL_LOOP, .compile = COMPILE_IN_BACKGROUND});
    generation_hold_compile(n, 11, false);
    begin(n, 1);
    make(n, tokens, TOKENS);
    gpu_refuse_ahead(device, false);
    assert_memory_equal(tokens, without, sizeof tokens);
    assert_notice(n, "refused");
    assert_false(generation_is_compiling(n));
    assert_int_equal(generation_level(n), LEVEL_OPS);
    assert_true(gpu_ok(device, &e));
    generation_free(n);
}

/* A device of its own: nothing has compiled there yet. */
static void closing_does_not_mind_a_compiler(void **unused)
{
    (void)unused;
    uint32_t tokens[3];
    prepare();
    gpu *shared = device;
    for (uint32_t made = 0; made <= 3; made += 3) {
        device = open_or_fail(gpu_get_info(shared)->impl);
        generation *n =
            new_generation(tiny, (generation_options){.level = LEVEL_LOOP, .compile = COMPILE_IN_BACKGROUND});
        begin(n, 0);
        make(n, tokens, made);
        assert_memory_equal(tokens, right[0], made * sizeof *tokens);
        generation_free(n);
        gpu_close(device);
    }
    device = shared;
}

static void a_lost_device_is_an_error_and_no_wait(void **unused)
{
    (void)unused;
    uint32_t token;
    err e = {0};
    prepare();
    gpu *shared = device;
    device = open_or_fail(gpu_get_info(shared)->impl);
    generation *n = new_generation(tiny, (generation_options){.level = LEVEL_LOOP, .compile = COMPILE_IN_BACKGROUND});
    begin(n, 0);
    gpu_lose(device);
    assert_false(generation_next(n, &token, &e));
    assert_non_null(strstr(e.text, "lost"));
    generation_free(n);
    gpu_close(device);
    device = shared;
}

/* ---- conversations ----------------------------------------------------------------------- */

typedef struct said {
    char text[2][1024];
    int turn;
} said;

static void hear(void *context, const char *text, size_t bytes)
{
    said *s = context;
    size_t length = strlen(s->text[s->turn]);
    assert_true(length + bytes < sizeof s->text[0]);
    memcpy(s->text[s->turn] + length, text, bytes);
}

static answer_report converse(session *s, said *out)
{
    err e = {0};
    answer_report report = {0};
    session_set_sampling(s, &(sampling){.temperature = 0.8f, .top_k = 40, .seed = 5});
    for (out->turn = 0; out->turn < 2; out->turn++) {
        answer_options o = {.most_tok = 20, .print = hear, .context = out};
        if (!session_say(s, out->turn ? "And then?" : "Tell me about the sea.", &o, &report, &e))
            fail_msg("%s", e.text);
    }
    return report;
}

static session *new_session(const model *m, fusion_level level, generation_compile compile)
{
    err e = {0};
    session_options o = {.generation = {.level = level, .compile = compile, .context_tok = 160}};
    session *s = session_new(device, m, &o, &e);
    if (!s || !session_prepare(s, &e))
        fail_msg("%s", e.text);
    return s;
}

static void a_conversation_changes_in_its_second_turn(void **unused)
{
    (void)unused;
    err e = {0};
    said with = {0}, without = {0};
    prepare();
    model *m = model_open(NULL, &e);
    assert_non_null(m);
    session *s = new_session(m, LEVEL_OPS, COMPILE_AUTO);
    assert_int_equal(converse(s, &without).changed_tok, 0);
    session_free(s);
    s = new_session(m, LEVEL_LOOP, COMPILE_IN_BACKGROUND);
    generation_hold_compile(session_generation(s), 20 + 7, false);
    uint32_t changed_tok = converse(s, &with).changed_tok;
    if (gpu_get_info(device)->type == GPU_TYPE_SOFTWARE) /* elsewhere tokens are compared before */
        assert_int_equal(changed_tok, 7);
    assert_string_equal(with.text[0], without.text[0]);
    assert_string_equal(with.text[1], without.text[1]);
    assert_changed(session_generation(s));
    session_free(s);
    model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_change_may_come_before_any_token),
        cmocka_unit_test(several_workgroups_may_come_in),
        cmocka_unit_test(what_the_first_token_does_not_need_begins_behind_it),
        cmocka_unit_test(tokens_are_compared_before_the_change),
        cmocka_unit_test(other_tokens_are_a_reason_not_to_change),
        cmocka_unit_test(forms_are_timed_without_harm_to_the_text),
        cmocka_unit_test(stops_limits_and_a_context_that_slides),
        cmocka_unit_test(a_level_that_was_set_stays),
        cmocka_unit_test(a_kernel_that_does_not_compile_stops_no_text),
        cmocka_unit_test(closing_does_not_mind_a_compiler),
        cmocka_unit_test(a_lost_device_is_an_error_and_no_wait),
        cmocka_unit_test(a_conversation_changes_in_its_second_turn),
    };
    const struct CMUnitTest without[] = {cmocka_unit_test(without_a_background_it_waits)};
    (void)open_vulkan; /* has no megakernels */
    int failed = cmocka_run_group_tests_name("dawn", tests, open_dawn, close_device) +
                 cmocka_run_group_tests_name("wgpu", without, open_wgpu, close_device);
    model_close(tiny);
    model_close(other);
    return failed;
}
