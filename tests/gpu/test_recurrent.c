/* A model whose states go from token to token: they cannot be cut back as a KV cache can, and yet a text may be rewound,
 * interrupted, stopped, continued at another level, tried ahead and begun anew, with the tokens that it would have had. */
#include "gpu/devices.h"
#include "graph/autotune_test.h"
#include "llm/generation_internal.h"
#include "llm/generation_state.h"
#include "llm/generation_test.h"

#include <stdlib.h>
#include <unistd.h>

enum { CONTEXT = 96, PROMPT = 21, TOKENS = 40 };

static model *hybrid;
static uint32_t prompt[PROMPT], right[2][TOKENS]; /* as `none` makes them: the most likely, drawn */

static generation *new_generation(generation_options o)
{
    err e = {0};
    o.submit = SUBMIT_BATCH;
    o.context_tok = o.context_tok ? o.context_tok : CONTEXT;
    generation *n = generation_new(device, hybrid, &o, &e);
    if (!n)
        fail_msg("%s", e.text);
    return n;
}

static void feed(generation *n, const uint32_t *tokens, uint32_t count)
{
    err e = {0};
    if (!generation_feed(n, tokens, count, &e))
        fail_msg("%s", e.text);
}

static void make(generation *n, uint32_t *tokens, uint32_t count)
{
    err e = {0};
    for (uint32_t i = 0; i < count; i++)
        if (!generation_next(n, &tokens[i], &e))
            fail_msg("%s", e.text);
}

static void draw(generation *n, int drawn)
{
    generation_set_sampling(n, &(sampling){.temperature = drawn ? 0.9f : 0, .top_k = 20, .seed = 3});
}

static void begin(generation *n, int drawn)
{
    draw(n, drawn);
    generation_rewind(n, 0);
    feed(n, prompt, PROMPT);
}

static void assert_right(generation *n, int drawn, uint32_t first, uint32_t count, const char *what)
{
    uint32_t tokens[TOKENS];
    make(n, tokens, count);
    for (uint32_t i = 0; i < count; i++)
        if (tokens[i] != right[drawn][first + i])
            fail_msg("%s, drawn %d: token %u is %u, not %u", what, drawn, first + i, tokens[i],
                     right[drawn][first + i]);
}

static void prepare(void)
{
    err e = {0};
    if (hybrid)
        return;
    hybrid = model_open("tests/data/families/qwen35-shared", &e);
    if (!hybrid)
        fail_msg("%s", e.text);
    for (uint32_t i = 0; i < PROMPT; i++)
        prompt[i] = (i * 37 + 5) % model_get_config(hybrid)->vocab_tok;
    generation *n = new_generation((generation_options){.level = LEVEL_NONE});
    for (int drawn = 0; drawn < 2; drawn++) {
        begin(n, drawn);
        make(n, right[drawn], TOKENS);
    }
    generation_free(n);
}

static void a_prompt_in_any_pieces(void **unused)
{
    (void)unused;
    prepare();
    for (int level = LEVEL_NONE; level < LEVEL_COUNT; level++) {
        generation *n = new_generation((generation_options){.level = (fusion_level)level});
        for (uint32_t piece = 1; piece <= PROMPT; piece += 5) {
            generation_rewind(n, 0);
            draw(n, 1);
            for (uint32_t i = 0; i < PROMPT; i += piece)
                feed(n, prompt + i, PROMPT - i < piece ? PROMPT - i : piece);
            assert_right(n, 1, 0, 10, "pieces");
        }
        assert_int_equal(generation_level(n), level);
        generation_free(n);
    }
}

/* Bare Vulkan, which has no megakernel. */
static void a_prompt_at_once(void **unused)
{
    (void)unused;
    prepare();
    generation *n = new_generation((generation_options){.level = LEVEL_OPS});
    begin(n, 1);
    assert_right(n, 1, 0, TOKENS, "ops");
    generation_free(n);
}

/* To everywhere, also while the GPU is ahead of the tokens that were asked for. */
static void a_text_can_be_rewound(void **unused)
{
    (void)unused;
    prepare();
    for (int level = LEVEL_NONE; level < LEVEL_COUNT; level++) {
        generation *n = new_generation((generation_options){.level = (fusion_level)level});
        begin(n, 0);
        assert_right(n, 0, 0, TOKENS, "at first");
        for (uint32_t to = 0; to < PROMPT; to += 4) {
            generation_rewind(n, to);
            draw(n, 1);
            feed(n, prompt + to, PROMPT - to);
            assert_right(n, 1, 0, 3 + to, "rewound into the prompt");
        }
        begin(n, 1);
        for (uint32_t made = TOKENS; made > 8; made -= 9) { /* back into the answer, step by step */
            assert_right(n, 1, made == TOKENS ? 0 : made + 1, made == TOKENS ? TOKENS : 5, "an answer");
            generation_rewind(n, PROMPT + made - 9);
            feed(n, right[1] + made - 9, 1);
        }
        generation_free(n);
    }
}

/* A chat's next message continues at about where the last one began: from the snapshot, not from the start. */
static void a_snapshot_saves_feeding_again(void **unused)
{
    (void)unused;
    prepare();
    generation *n = new_generation((generation_options){.level = LEVEL_LOOP});
    begin(n, 1);
    assert_right(n, 1, 0, 5, "the first answer");
    generation_rewind(n, PROMPT - 2);
    feed(n, prompt + PROMPT - 2, 2);
    assert_int_equal(n->kept_tok, PROMPT - 2);
    assert_right(n, 1, 0, 20, "the second");
    gpu_counters before = gpu_get_counters(device);
    generation_rewind(n, PROMPT - 1);
    feed(n, prompt + PROMPT - 1, 1);
    assert_true(gpu_counters_since(device, before).dispatches <
                3 * graph_run_dispatches(n->run, n->programs[LEVEL_OPS][0]));
    assert_right(n, 1, 0, 20, "the third");
    generation_rewind(n, 3); /* before the snapshot, which is of another text now */
    assert_int_equal(n->kept_tok, 0);
    feed(n, prompt + 3, PROMPT - 3);
    assert_right(n, 1, 0, 20, "the fourth");
    generation_free(n);
}

static void levels_can_change_in_the_middle(void **unused)
{
    (void)unused;
    prepare();
    generation *n = new_generation((generation_options){.level = LEVEL_LOOP, .all_levels = true});
    for (int drawn = 0; drawn < 2; drawn++) {
        begin(n, drawn);
        for (uint32_t i = 0; i + 3 <= TOKENS; i += 3) {
            generation_set_launch(n, (fusion_level)(LEVEL_NONE + (i * 5 / 3) % (LEVEL_COUNT - LEVEL_NONE)),
                                  SUBMIT_BATCH);
            assert_right(n, drawn, i, 3, "another level");
        }
    }
    generation_free(n);
}

/* One dispatch ends at a stop token without having taken it in; the text goes on behind it all the same. */
static void a_stop_token_is_taken_in(void **unused)
{
    (void)unused;
    prepare();
    for (int level = LEVEL_OPS; level < LEVEL_COUNT; level++)
        for (int feeds = 0; feeds < 2; feeds++) {
            generation *n = new_generation((generation_options){.level = (fusion_level)level});
            uint32_t at = 7;
            generation_set_stops(n, &right[1][at], 1);
            begin(n, 1);
            assert_right(n, 1, 0, at + 1, "up to a stop");
            if (feeds)
                feed(n, right[1] + at + 1, 1);
            assert_right(n, 1, at + 1 + (uint32_t)feeds, 12, "behind a stop");
            generation_free(n);
        }
}

static void trials_leave_no_trace(void **unused)
{
    (void)unused;
    prepare();
    for (uint32_t held = 0; held < TOKENS; held += 9) {
        autotune_times_twice = held % 2;
        generation *n = new_generation((generation_options){.level = LEVEL_LOOP, .compile = COMPILE_IN_BACKGROUND});
        assert_true(generation_is_compiling(n));
        generation_hold_compile(n, held, held % 4 == 0);
        begin(n, 1);
        assert_right(n, 1, 0, TOKENS, "a change-over");
        begin(n, 0);
        assert_right(n, 0, 0, TOKENS, "the next text");
        autotune_times_twice = false;
        assert_false(generation_is_compiling(n));
        assert_int_equal(generation_level(n), LEVEL_LOOP);
        generation_free(n);
    }
}

/* States are saved and brought back, into a generation that had another text before. */
static void texts_are_saved(void **unused)
{
    (void)unused;
    prepare();
    static const uint32_t more[] = {3, 1, 4, 1, 5};
    enum { MORE = sizeof more / sizeof *more, MADE = 9 };
    for (int level = LEVEL_OPS; level <= LEVEL_LOOP; level += LEVEL_LOOP - LEVEL_OPS)
        for (int drawn = 0; drawn < 2; drawn++) {
            generation *a = new_generation((generation_options){.level = (fusion_level)level});
            generation *b = new_generation((generation_options){.level = LEVEL_OPS});
            uint32_t tokens[2][TOKENS], count;
            str states = {0};
            err e = {0};
            begin(a, drawn);
            make(a, tokens[0], MADE);
            begin(b, 1 - drawn);
            make(b, tokens[1], MADE + 3);
            if (!generation_save(a, &states, &e))
                fail_msg("%s", e.text);
            count = generation_position(a);
            assert_int_equal(states.length, generation_state_bytes(b, count));
            if (!generation_restore(b, generation_text(a), count, states.data, &e))
                fail_msg("%s", e.text);
            draw(b, drawn);
            feed(a, more, MORE);
            feed(b, more, MORE);
            make(a, tokens[0], TOKENS - MADE);
            make(b, tokens[1], TOKENS - MADE);
            assert_memory_equal(tokens[0], tokens[1], (TOKENS - MADE) * sizeof **tokens);
            str_free(&states);
            generation_free(a);
            generation_free(b);
        }
}

/* What a dispatch that timed out has left in the states is thrown away. */
static void a_time_out_in_the_middle(void **unused)
{
    (void)unused;
    prepare();
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        skip();
    for (uint32_t barrier = 1; barrier < 60; barrier += 19) {
        setenv("SOLO_ONE_GROUPS", "2", 1);
        setenv("SOLO_ONE_LOOKS", "100000", 1);
        generation *n = new_generation((generation_options){.level = LEVEL_LOOP});
        unsetenv("SOLO_ONE_GROUPS");
        unsetenv("SOLO_ONE_LOOKS");
        begin(n, 1);
        assert_right(n, 1, 0, 4, "before the time-out");
        generation_stall(n, barrier);
        assert_right(n, 1, 4, 20, "after a time-out");
        assert_int_equal(generation_level(n), LEVEL_OPS);
        generation_free(n);
    }
}

static void a_context_that_slides(void **unused)
{
    (void)unused;
    uint32_t expected[60], tokens[60];
    prepare();
    for (int level = LEVEL_OPS; level < LEVEL_COUNT; level++) {
        generation *n =
            new_generation((generation_options){.level = (fusion_level)level, .context_tok = 32, .slide = true});
        begin(n, 1);
        make(n, level == LEVEL_OPS ? expected : tokens, 60);
        if (level > LEVEL_OPS)
            assert_memory_equal(tokens, expected, sizeof expected);
        generation_free(n);
    }
}

static int forget_model(void **state)
{
    model_close(hybrid);
    hybrid = NULL;
    return close_device(state);
}

/* True at the n-th time that it is asked. */
static bool is_time(void *looks)
{
    return (*(int *)looks)-- <= 0;
}

/* While kernels are made, between dispatches, between programs: what is fed afterwards makes the tokens that come without a
 * stop. */
static void a_prompt_can_be_stopped(void **unused)
{
    (void)unused;
    generation *n = new_generation((generation_options){.level = LEVEL_OPS});
    int stopped = 0;
    for (int looks = 0; looks < 100; looks += 1 + looks / 2) {
        err e = {0};
        int left = looks;
        uint32_t first = looks % 2 ? 4 : 0; /* of tokens that stay */
        draw(n, 0);
        generation_rewind(n, 0);
        if (first)
            feed(n, prompt, first);
        generation_stop_when(n, (submit_stop){is_time, &left});
        bool whole = generation_feed(n, prompt + first, PROMPT - first, &e);
        generation_stop_when(n, (submit_stop){0});
        assert_int_equal(e.kind, ERR_NONE);
        assert_true(whole == (left >= 0));
        stopped += !whole;
        uint32_t at = generation_position(n);
        assert_true(at >= first && (whole ? at == PROMPT : at < PROMPT));
        if (!whole)
            feed(n, prompt + at, PROMPT - at);
        assert_right(n, 0, 0, 6, "after a stop");
    }
    assert_true(stopped > 0); /* a quick machine has few pieces, and so is seldom asked */
    generation_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_prompt_in_any_pieces),         cmocka_unit_test(a_text_can_be_rewound),
        cmocka_unit_test(a_snapshot_saves_feeding_again), cmocka_unit_test(levels_can_change_in_the_middle),
        cmocka_unit_test(a_stop_token_is_taken_in),       cmocka_unit_test(a_prompt_can_be_stopped),
        cmocka_unit_test(trials_leave_no_trace),          cmocka_unit_test(texts_are_saved),
        cmocka_unit_test(a_time_out_in_the_middle),       cmocka_unit_test(a_context_that_slides),
    };
    const struct CMUnitTest some[] = {cmocka_unit_test(a_text_can_be_rewound),
                                      cmocka_unit_test(a_stop_token_is_taken_in)};
    const struct CMUnitTest separate[] = {cmocka_unit_test(a_prompt_at_once)};
    return cmocka_run_group_tests_name("dawn", tests, open_dawn, forget_model) +
           cmocka_run_group_tests_name("wgpu", some, open_wgpu, forget_model) +
           cmocka_run_group_tests_name("vulkan", separate, open_vulkan, forget_model);
}
