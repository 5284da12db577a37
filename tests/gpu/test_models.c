/* Whole models on every implementation, by separate dispatches (none and ops), against transformers'
 * own logits and greedy tokens. */
#include "gpu/golden_on_gpu.h"
#include "graph/cpu.h"
#include "llm/generation.h"
#include "model/decoder.h"
#include "open_tiny.h"
#include "temporary.h"

#include <unistd.h>

#define AT_EACH_LEVEL for (golden_level = LEVEL_NONE; golden_level <= LEVEL_OPS; golden_level++)

static void prompts_at_once(void **unused)
{
    (void)unused;
    AT_EACH_LEVEL golden_each(&ON_GPU, OUR_MODELS, golden_prompt_at_once);
}

static void tokens_one_by_one(void **unused)
{
    (void)unused;
    AT_EACH_LEVEL golden_each(&ON_GPU, OUR_MODELS, golden_one_by_one);
}

static void others_prompts_at_once(void **unused)
{
    (void)unused;
    AT_EACH_LEVEL golden_each(&ON_GPU, OTHER_MODELS, golden_prompt_at_once);
}

static void others_tokens_one_by_one(void **unused)
{
    (void)unused;
    AT_EACH_LEVEL golden_each(&ON_GPU, OTHER_MODELS, golden_one_by_one);
}

/* ---- models of our own, against the CPU reference --------------------------- */

static const tiny_model TINY[] = {
    {"llama", 2, 64, 96, 4, 4, 16, 50, TYPE_F32, .tied = true},
    {"llama", 2, 64, 96, 4, 2, 16, 50, TYPE_Q4_0, .tied = false},
    {"llama", 1, 96, 32, 3, 1, 32, 33, TYPE_Q8_0, .tied = false}, /* three heads on one, an odd vocabulary */
    {"qwen2", 2, 64, 128, 2, 1, 32, 70, TYPE_F16, .qkv_bias = true, .tied = true},
    {"qwen3", 2, 64, 64, 4, 2, 32, 40, TYPE_BF16, .qk_norm = true}, /* heads wider than the embedding */
    {"gemma2", 3, 64, 96, 4, 2, 16, 60, TYPE_Q5_1, .post_norms = true, .tied = true},
};
enum { TINY_COUNT = sizeof TINY / sizeof *TINY, TINY_STEPS = 12 };

/* Some tokens one by one on both; the CPU's choice goes on. */
static void follow(const char *path, const tiny_model *tiny)
{
    err e = {0};
    session *s = open_session(path, 1);
    cpu_run *cpu =
        cpu_run_new(s->g, decoder_find_weight, &(decoder_weights){.m = s->m, .context_tok = GOLDEN_CONTEXT}, &e);
    if (!cpu)
        fail_msg("%s", e.text);
    uint32_t token = 1;
    for (uint32_t position = 0; position < TINY_STEPS; position++) {
        cpu_words(cpu, "tokens")[0] = token;
        cpu_words(cpu, "position")[0] = position;
        assert_true(cpu_run_once(cpu, &e));
        const float *got = run_tokens(s, &token, position), *right = cpu_floats(cpu, "logits");
        uint32_t best = 0;
        for (uint32_t i = 0; i < tiny->vocab; i++) {
            if (!(fabsf(got[i] - right[i]) <= 1e-3f * (1 + fabsf(right[i]))))
                fail_msg("%s: logit %u at position %u is %g instead of %g", tiny->arch, i, position, (double)got[i],
                         (double)right[i]);
            best = right[i] > right[best] ? i : best;
        }
        token = best;
    }
    cpu_run_free(cpu);
    close_session(s, TINY_STEPS);
}

static void models_of_our_own(void **unused)
{
    (void)unused;
    for (int i = 0; i < TINY_COUNT; i++) {
        err e = {0};
        char path[TEMPORARY_BYTES];
        close(temporary_file(path, "tiny"));
        if (!tiny_model_write(&TINY[i], (uint64_t)i + 1, path, &e))
            fail_msg("%s", e.text);
        AT_EACH_LEVEL follow(path, &TINY[i]);
        unlink(path);
    }
}

/* A generation makes the same choices, and reports that its context is full. */
static void generations_go_on_until_the_context_is_full(void **unused)
{
    (void)unused;
    err e = {0};
    model *m = open_tiny(&TINY[1], 2);
    generation_options o = {.level = LEVEL_OPS, .submit = SUBMIT_BATCH, .context_tok = 8};
    generation *a = generation_new(device, m, &o, &e), *b = generation_new(device, m, &o, &e);
    if (!a || !b)
        fail_msg("%s", e.text);
    uint32_t prompt[] = {1, 7, 3}, next_a = 0, next_b = 0;
    assert_false(generation_next(a, &next_a, &e));
    assert_non_null(strstr(e.text, "nothing was said"));
    err_clear(&e);
    assert_true(generation_feed(a, prompt, 3, &e));
    for (int i = 0; i < 3; i++)
        assert_true(generation_feed(b, &prompt[i], 1, &e));
    for (uint32_t i = 3; i < 8; i++) {
        assert_int_equal(generation_position(a), i);
        assert_true(generation_next(a, &next_a, &e));
        assert_true(generation_next(b, &next_b, &e));
        assert_int_equal(next_a, next_b);
    }
    assert_false(generation_next(a, &next_a, &e));
    assert_non_null(strstr(e.text, "context of 8 tokens is full"));
    err_clear(&e);
    assert_false(generation_feed(a, &next_a, 1, &e));
    assert_non_null(strstr(e.text, "8 of 8 are taken"));
    err_clear(&e);
    generation_rewind(b, 3);
    assert_int_equal(generation_position(b), 3);
    assert_false(generation_feed(b, (uint32_t[]){50}, 1, &e));
    assert_non_null(strstr(e.text, "50 is no token"));
    generation_free(a);
    generation_free(b);
    model_close(m);
}

/* A full context that slides continues as if its newer half had just been fed. */
static void a_full_context_slides_when_asked(void **unused)
{
    (void)unused;
    enum { CONTEXT = 16 };
    err e = {0};
    uint32_t said[64], count = 3, next = 0, again = 0;
    model *m = open_tiny(&TINY[0], 2);
    generation_options o = {.level = LEVEL_OPS, .submit = SUBMIT_BATCH, .context_tok = CONTEXT, .slide = true};
    generation *a = generation_new(device, m, &o, &e), *b = generation_new(device, m, &o, &e);
    if (!a || !b)
        fail_msg("%s", e.text);
    memcpy(said, (uint32_t[]){1, 7, 3}, 3 * sizeof *said);
    assert_true(generation_feed(a, said, count, &e));
    while (count < CONTEXT)
        assert_true(generation_next(a, &said[count++], &e));
    assert_true(generation_feed(b, said + CONTEXT / 2, CONTEXT / 2, &e));
    for (int i = 0; i < CONTEXT / 2; i++) {
        assert_true(generation_next(a, &next, &e));
        assert_true(generation_next(b, &again, &e));
        assert_int_equal(next, again);
        assert_int_equal(generation_position(a), CONTEXT / 2 + i + 1);
    }
    generation_free(a);
    generation_free(b);
    model_close(m);
}

/* At a temperature at which all tokens are about equally likely, a token is a random number, whatever the text: after a
 * slide the numbers must not be those of the same positions before it. */
static void sliding_does_not_repeat_random_numbers(void **unused)
{
    (void)unused;
    enum { CONTEXT = 16, HALF = CONTEXT / 2, TOKENS = 5 * HALF };
    err e = {0};
    uint32_t first[TOKENS], tokens[TOKENS];
    model *m = open_tiny(&TINY[0], 2);
    for (int level = LEVEL_NONE; level < LEVEL_COUNT; level++) {
        generation_options o = {
            .level = (fusion_level)level, .submit = SUBMIT_BATCH, .context_tok = CONTEXT, .slide = true};
        generation *n = generation_new(device, m, &o, &e);
        if (!n)
            fail_msg("%s", e.text);
        for (int twice = 0; twice < 2; twice++) { /* another text with the same seed is the same again */
            uint32_t *to = level == LEVEL_NONE && !twice ? first : tokens;
            generation_rewind(n, 0);
            generation_set_sampling(n, &(sampling){.temperature = 1e20f, .seed = 3});
            assert_true(generation_feed(n, (uint32_t[]){1, 7, 3}, 3, &e));
            for (int i = 0; i < TOKENS; i++)
                assert_true(generation_next(n, &to[i], &e));
            assert_memory_equal(to, first, sizeof first);
        }
        generation_free(n);
    }
    for (int later = CONTEXT; later + HALF <= TOKENS; later += HALF) {
        int same = 0;
        for (int i = 0; i < HALF; i++)
            same += first[later + i] == first[later + i - HALF];
        assert_true(same < HALF / 2);
    }
    model_close(m);
}

/* The model was made for 64 tokens: beyond, there is a notice, once. */
static void longer_texts_than_trained_are_noticed_once(void **unused)
{
    (void)unused;
    enum { TRAINED = 64 };
    err e = {0};
    char notice[1200];
    uint32_t token;
    model *m = open_tiny(&TINY[0], 2);
    generation *n = generation_new(
        device, m, &(generation_options){.level = LEVEL_OPS, .submit = SUBMIT_BATCH, .context_tok = TRAINED + 8}, &e);
    if (!n || !generation_feed(n, (uint32_t[]){1, 7, 3}, 3, &e))
        fail_msg("%s", e.text);
    while (generation_position(n) < TRAINED)
        assert_true(generation_next(n, &token, &e));
    assert_null(generation_take_notice(n, notice, sizeof notice));
    assert_true(generation_next(n, &token, &e));
    assert_non_null(generation_take_notice(n, notice, sizeof notice));
    assert_non_null(strstr(notice, "longer than the 64 tokens"));
    assert_true(generation_next(n, &token, &e));
    assert_null(generation_take_notice(n, notice, sizeof notice));
    generation_free(n);
    model_close(m);
}

/* As long as the model says, or as there is memory for; no longer than a text that is known to be short. */
static void a_context_is_as_long_as_fits(void **unused)
{
    (void)unused;
    enum { TOKEN_BYTES = 2 * 2 * 2 * 16 * 2, MADE_FOR = 1 << 19 };
    static const tiny_model LONG = {.arch = "llama",
                                    .layers = 2,
                                    .embedding = 32,
                                    .ffn = 48,
                                    .heads = 2,
                                    .kv_heads = 2,
                                    .head_dim = 16,
                                    .vocab = 50,
                                    .type = TYPE_F32,
                                    .tied = true,
                                    .context = MADE_FOR};
    static const struct {
        const char *memory;
        uint32_t given, longest, least, most;
        bool is_short;
    } CASES[] = {
        {"8000000000", 0, 0, MADE_FOR / 2 + 1, MADE_FOR, false}, /* software takes 128 MiB: all of it */
        {"4000000", 0, 0, 1750000 / TOKEN_BYTES * 3 / 4, 1750000 / TOKEN_BYTES, true},
        {"8000000000", 0, 3000, 4096, 4096, false},
        {"8000000000", 0, 30, 2048, 2048, false},
        {"4000000", 100, 0, 100, 100, false},
    };
    err e = {0};
    model *m = open_tiny(&LONG, 2);
    uint64_t bound = gpu_get_info(device)->max_storage_binding_bytes / TOKEN_BYTES;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        setenv("SOLO_GPU_MEMORY", CASES[i].memory, 1);
        generation *n = generation_new(device, m,
                                       &(generation_options){.level = LEVEL_OPS,
                                                             .submit = SUBMIT_BATCH,
                                                             .context_tok = CASES[i].given,
                                                             .longest_tok = CASES[i].longest},
                                       &e);
        if (!n)
            fail_msg("case %zu: %s", i, e.text);
        uint32_t context = generation_context(n);
        if (context < CASES[i].least || context > CASES[i].most || context > bound)
            fail_msg("case %zu: a context of %u", i, context);
        if (bound >= MADE_FOR)
            assert_int_equal(generation_context_is_short(n), CASES[i].is_short);
        generation_free(n);
    }
    unsetenv("SOLO_GPU_MEMORY");
    model_close(m);
}

/* Enough tokens for attention to be split, at every level, and by kernels made for the shapes as a GPU has them. */
static void long_texts_are_the_same(void **unused)
{
    (void)unused;
    enum { CONTEXT = 256, TOKENS = 200, WAYS = 3 };
    static const struct {
        fusion_level level;
        const char *tune;
    } ways[WAYS] = {{LEVEL_NONE, ""}, {LEVEL_OPS, ""}, {LEVEL_OPS, "gpu"}};
    uint32_t tokens[WAYS][TOKENS];
    err e = {0};
    model *m = open_tiny(&TINY[3], 4);
    for (int w = 0; w < WAYS; w++) {
        setenv("SOLO_TUNE", ways[w].tune, 1);
        generation_options o = {.level = ways[w].level, .submit = SUBMIT_BATCH, .context_tok = CONTEXT};
        generation *n = generation_new(device, m, &o, &e);
        if (!n || !generation_feed(n, (uint32_t[]){1, 7, 3, 2, 5, 9, 4}, 7, &e))
            fail_msg("%s", e.text);
        for (uint32_t i = 0; i < TOKENS; i++)
            if (!generation_next(n, &tokens[w][i], &e))
                fail_msg("%s", e.text);
        assert_memory_equal(tokens[w], tokens[0], sizeof tokens[0]);
        generation_free(n);
    }
    unsetenv("SOLO_TUNE");
    model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_at_once),
        cmocka_unit_test(tokens_one_by_one),
        cmocka_unit_test(others_prompts_at_once),
        cmocka_unit_test(others_tokens_one_by_one),
        cmocka_unit_test(models_of_our_own),
        cmocka_unit_test(generations_go_on_until_the_context_is_full),
        cmocka_unit_test(long_texts_are_the_same),
        cmocka_unit_test(a_full_context_slides_when_asked),
        cmocka_unit_test(sliding_does_not_repeat_random_numbers),
        cmocka_unit_test(longer_texts_than_trained_are_noticed_once),
        cmocka_unit_test(a_context_is_as_long_as_fits),
    };
    return RUN_ON_EACH(tests);
}
