/* Several texts at a time: each gets the tokens that it gets alone, at every fusion level, whoever joins and leaves. */
#include "gpu/batch_requests.h"
#include "llm/generation.h"

static void serve_alone(batch *b, asked *a)
{
    uint32_t slot = join(b, a);
    a->count = 0;
    do
        step(b);
    while (!take(b, slot, a));
}

/* How many of its tokens a generation makes, too, one request after the other, before the first that differs. */
static uint32_t same_as_generation(const model *m, const char *cache, const asked *all, uint32_t count)
{
    err e = {0};
    uint32_t same = 0;
    generation *n = generation_new(
        device, m, &(generation_options){.level = LEVEL_OPS, .context_tok = CONTEXT, .cache = cache}, &e);
    if (!n)
        fail_msg("%s", e.text);
    for (uint32_t i = 0; i < count; i++) {
        generation_rewind(n, 0);
        generation_set_sampling(n, &all[i].how);
        assert_true(generation_feed(n, all[i].prompt, all[i].prompt_tok, &e));
        uint32_t token, t = 0;
        while (t < all[i].count && generation_next(n, &token, &e) && token == all[i].tokens[t])
            t++;
        same += t;
    }
    generation_free(n);
    return same;
}

static uint32_t tokens_of(const asked *all, uint32_t count)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += all[i].count;
    return sum;
}

static const struct {
    tiny_model m;
    uint32_t slots;
    const char *cache;
    bool all_levels; /* compiling takes a while */
    const char *folder;
} MODELS[] = {
    {{"llama", 2, 64, 96, 4, 2, 16, 50, TYPE_F32, .tied = true}, 3, "f16", true, NULL},
    {{"llama", 2, 64, 96, 4, 2, 16, 50, TYPE_Q4_0, .tied = false}, 8, "f16", false, NULL},
    {{"llama", 1, 64, 32, 2, 1, 32, 33, TYPE_Q8_0, .tied = false}, 16, "f32", false, NULL},
    {{"qwen2", 2, 64, 128, 2, 2, 32, 70, TYPE_F16, .qkv_bias = true, .tied = true}, 2, "q8_0", true, NULL},
    {{"qwen3", 2, 64, 64, 4, 2, 32, 40, TYPE_BF16, .qk_norm = true}, 3, "q4_0", false, NULL},
    {{"qwen3", 1, 64, 64, 4, 2, 16, 40, TYPE_F16, .qk_norm = true}, 2, "f16", false, NULL}, /* heads into the cache */
    {{"gemma2", 3, 64, 96, 4, 2, 16, 60, TYPE_Q5_1, .post_norms = true, .tied = true}, 8, "f16", true, NULL},
    {{"llama", 1, 256, 256, 4, 2, 64, 50, TYPE_Q4_K, .tied = true}, 2, "f16", false, NULL},
    /* of other kinds, not tiny_model's */
    {.folder = "tests/data/families/mixtral-window", .slots = 5, .cache = "f16"},
    {.folder = "tests/data/families/qwen2moe-shared", .slots = 2, .cache = "f16", .all_levels = true},
    {.folder = "tests/data/families/gpt-oss-blocks", .slots = 3, .cache = "f32"},
    {.folder = "tests/data/families/deepseek3-yarn", .slots = 3, .cache = "f16", .all_levels = true},
    {.folder = "tests/data/families/deepseek2-dense", .slots = 8, .cache = "f32"},
    {.folder = "tests/data/families/qwen35-shared", .slots = 3, .cache = "f16", .all_levels = true},
    {.folder = "tests/data/families/qwen35-tiled", .slots = 8, .cache = "f32"},
    {.folder = "tests/data/families/gemma3n-small", .slots = 3, .cache = "f16"},
    {.folder = "tests/data/families/gemma4-experts", .slots = 2, .cache = "f16"},
};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS };

static void test_tokens_do_not_depend_on_others(void **unused)
{
    (void)unused;
    if (!can())
        skip();
    bool all = strcmp(gpu_get_info(device)->family, "dawn") == 0;
    for (int i = 0; i < (all ? MODEL_COUNT : 1); i++) {
        static asked alone[MOST_REQUESTS], got[MOST_REQUESTS];
        model *m = MODELS[i].folder ? open_folder(MODELS[i].folder) : open_tiny(&MODELS[i].m, 7);
        fusion_level highest = MODELS[i].all_levels ? LEVEL_LOOP : LEVEL_OPS;
        batch *b = new_batch(m, &(batch_options){.slots = MODELS[i].slots,
                                                 .context_tok = CONTEXT,
                                                 .cache = MODELS[i].cache,
                                                 .level = highest,
                                                 .all_levels = true,
                                                 .piece_tok = PIECE});
        uint32_t count = MODELS[i].slots < 8 ? 8 : MOST_REQUESTS;
        for (uint32_t k = 0; k < count; k++) {
            ask(&alone[k], k, batch_vocab(b));
            batch_set_level(b, LEVEL_OPS);
            serve_alone(b, &alone[k]);
            got[k] = alone[k];
        }
        for (int level = MODELS[i].all_levels ? LEVEL_NONE : LEVEL_OPS; level <= (int)highest; level++) {
            char what[64];
            batch_set_level(b, (fusion_level)level);
            assert_int_equal(batch_level(b), level);
            for (uint32_t pace = 0; pace < 3; pace += 2) {
                snprintf(what, sizeof what, "model %d, %s, pace %u", i, fusion_names[level], pace);
                serve(b, got, count, pace);
                check_same(alone, got, count, what);
            }
            assert_int_equal(batch_level(b), level); /* nothing timed out */
        }
        /* In software each row has the sums of a single one; on GPUs near ties may differ. */
        if (gpu_get_info(device)->type == GPU_TYPE_SOFTWARE)
            assert_int_equal(same_as_generation(m, MODELS[i].cache, alone, count), tokens_of(alone, count));
        batch_free(b);
        model_close(m);
    }
}

/* ---- what else a request may be --------------------------------------------------------- */

enum { SMALL_VOCAB = 40 };

static batch *small_batch(model **m, bool steered)
{
    *m = open_tiny(&SMALL, 7);
    return new_batch(
        *m, &(batch_options){
                .slots = 3, .context_tok = CONTEXT, .level = LEVEL_OPS, .piece_tok = PIECE, .steered = steered});
}

/* The beginning of a prompt that others had is copied from their slots, and changes nothing. */
static void test_common_beginnings_are_copied(void **unused)
{
    (void)unused;
    if (!can())
        skip();
    model *m;
    batch *b = small_batch(&m, false);
    static asked first, second, again[2];
    ask(&first, 1, SMALL_VOCAB);
    first.prompt_tok = 3 * PIECE + 3;
    for (uint32_t i = 0; i < first.prompt_tok; i++)
        first.prompt[i] = i * 7 % SMALL_VOCAB;
    second = first;
    second.prompt[2 * PIECE + 1] ^= 1;
    second.how.seed = 9;
    serve_alone(b, &first);
    assert_int_equal(first.reused, 0);
    serve_alone(b, &second);
    assert_int_equal(second.reused, 2 * PIECE);
    again[0] = first; /* from the slot that still has it, which others may take meanwhile */
    again[1] = second;
    serve(b, again, 2, 0);
    assert_int_equal(again[0].reused, 3 * PIECE);
    assert_int_equal(again[1].reused, 3 * PIECE);
    check_same(&first, &again[0], 1, "copied");
    check_same(&second, &again[1], 1, "copied");
    uint32_t slot;
    err e = {0};
    batch_request r = {.tokens = second.prompt,
                       .count = second.prompt_tok,
                       .how = second.how,
                       .max_tok = second.max_tok,
                       .read_all = true};
    assert_true(batch_join(b, &r, &slot, &e));
    again[1].count = 0;
    do
        step(b);
    while (!take(b, slot, &again[1]));
    assert_int_equal(again[1].reused, 0);
    check_same(&second, &again[1], 1, "read");
    batch_free(b);
    model_close(m);
}

/* A context that fills ends the text; whoever leaves early disturbs nobody. */
static void test_texts_end(void **unused)
{
    (void)unused;
    if (!can())
        skip();
    model *m;
    batch *b = small_batch(&m, false);
    static asked full, limited, alone;
    ask(&full, 4, SMALL_VOCAB);
    full.max_tok = 0;
    ask(&limited, 5, SMALL_VOCAB);
    limited.stop_count = 0;
    serve_alone(b, &full);
    assert_int_equal(full.end, BATCH_FULL);
    assert_int_equal(full.prompt_tok + full.count, CONTEXT + 1);
    serve_alone(b, &limited);
    assert_int_equal(limited.end, BATCH_LIMIT);
    assert_int_equal(limited.count, limited.max_tok);
    alone = limited;
    uint32_t leaves = join(b, &full), slot = join(b, &limited);
    limited.count = 0;
    for (int i = 0; i < 6; i++)
        step(b);
    take(b, slot, &limited); /* what the last step made */
    batch_leave(b, leaves);
    assert_int_equal(batch_look(b, leaves).state, BATCH_FREE);
    batch_leave(b, slot);
    serve_alone(b, &limited);
    check_same(&alone, &limited, 1, "after others have left");
    limited.stop = alone.tokens[1]; /* which comes among the first two */
    limited.stop_count = 1;
    serve_alone(b, &limited);
    assert_int_equal(limited.end, BATCH_STOPPED);
    assert_true(limited.count <= 2 && limited.tokens[limited.count - 1] == limited.stop);
    batch_free(b);
    model_close(m);
}

/* Only tokens that are allowed are chosen, and what is added to logits counts, for this request alone. */
static void test_requests_are_steered(void **unused)
{
    (void)unused;
    if (!can())
        skip();
    model *m;
    err e = {0};
    batch *b = small_batch(&m, true);
    static asked other, alone;
    ask(&other, 2, SMALL_VOCAB);
    serve_alone(b, &other);
    alone = other;
    uint32_t prompt[] = {1, 2, 3}, slot, beside = join(b, &other), allowed[2] = {1u << 5 | 1u << 9, 1u << 3};
    batch_request r = {.tokens = prompt, .count = 3, .max_tok = 9, .stepwise = true, .how = {.temperature = 1}};
    assert_true(batch_join(b, &r, &slot, &e));
    float added[SMALL_VOCAB] = {[7] = 1000}, logits[SMALL_VOCAB];
    uint32_t made = 0, best;
    other.count = 0;
    assert_true(batch_steer(b, slot, allowed, NULL, &e));
    while (batch_look(b, slot).state != BATCH_ENDED) {
        step(b);
        if (batch_look(b, beside).state != BATCH_FREE)
            take(b, beside, &other);
        batch_news news = batch_look(b, slot);
        assert_true(news.count <= 1);
        if (news.count == 0)
            continue;
        uint32_t token = news.tokens[0];
        assert_true(batch_logits(b, slot, logits, &e));
        batch_most_likely(logits, SMALL_VOCAB, &best, 1);
        assert_true(batch_log_probability(logits, SMALL_VOCAB, best) >=
                    batch_log_probability(logits, SMALL_VOCAB, token));
        assert_true(made >= 4 ? token == 7 : token == 5 || token == 9 || token == 35);
        if (++made == 4)
            assert_true(batch_steer(b, slot, NULL, added, &e));
    }
    assert_int_equal(made, 9);
    batch_leave(b, slot);
    while (batch_busy(b)) {
        step(b);
        take(b, beside, &other);
    }
    check_same(&alone, &other, 1, "beside one that is steered");
    /* nothing is allowed */
    assert_true(batch_join(b, &r, &slot, &e));
    assert_true(batch_steer(b, slot, (uint32_t[2]){0}, NULL, &e));
    while (batch_busy(b))
        step(b);
    assert_int_equal(batch_look(b, slot).end, BATCH_NOT_FINITE);
    assert_int_equal(batch_look(b, slot).made_tok, 0);
    batch_free(b);
    model_close(m);
}

static void refused(batch *b, const batch_request *r, const char *why)
{
    err e = {0};
    uint32_t slot;
    assert_false(batch_join(b, r, &slot, &e));
    if (!strstr(e.text, why))
        fail_msg("'%s' does not say '%s'", e.text, why);
}

static void test_refusals_say_why(void **unused)
{
    (void)unused;
    model *m;
    err e = {0};
    if (!can()) {
        m = open_tiny(&SMALL, 7);
        assert_null(batch_new(device, m, &(batch_options){.slots = 2, .context_tok = CONTEXT}, &e));
        assert_non_null(strstr(e.text, "bare Vulkan"));
        model_close(m);
        return;
    }
    batch *b = small_batch(&m, false);
    uint32_t tokens[CONTEXT + 1] = {0}, slot, bad = SMALL_VOCAB;
    refused(b, &(batch_request){.tokens = tokens}, "without tokens");
    refused(b, &(batch_request){.tokens = tokens, .count = CONTEXT + 1}, "does not fit the context of 64");
    refused(b, &(batch_request){.tokens = &bad, .count = 1}, "40 is no token of this model");
    refused(b, &(batch_request){.tokens = tokens, .count = 1, .stops = tokens, .stop_count = 17}, "17 stop tokens");
    for (int i = 0; i < 3; i++)
        assert_true(batch_join(b, &(batch_request){.tokens = tokens, .count = 1}, &slot, &e));
    refused(b, &(batch_request){.tokens = tokens, .count = 1}, "all 3 slots are taken");
    assert_false(batch_steer(b, 0, NULL, NULL, &e));
    batch_free(b);
    e = (err){0};
    assert_null(batch_new(device, m, &(batch_options){.slots = 17}, &e));
    assert_non_null(strstr(e.text, "17 texts at a time: 1 to 16"));
    model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_common_beginnings_are_copied),   cmocka_unit_test(test_texts_end),
        cmocka_unit_test(test_requests_are_steered),           cmocka_unit_test(test_refusals_say_why),
        cmocka_unit_test(test_tokens_do_not_depend_on_others),

    };
    return RUN_ON_EACH(tests);
}
