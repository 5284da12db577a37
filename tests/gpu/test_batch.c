/* Several texts at a time: each gets the tokens that it gets alone, at every fusion level, whoever joins and leaves. */
#include "gpu/devices.h"
#include "llm/batch.h"
#include "llm/generation.h"
#include "tiny_model.h"

#include <stdlib.h>
#include <unistd.h>

enum { CONTEXT = 64, MOST_TOK = CONTEXT + 1, MOST_REQUESTS = 18, PIECE = 8 };

/* ---- requests ------------------------------------------------------------------------ */

/* A request, and what it got. */
typedef struct asked {
    uint32_t prompt[CONTEXT], prompt_tok, max_tok, stop, stop_count;
    sample_settings how;
    uint32_t tokens[MOST_TOK], count, reused;
    batch_end end;
} asked;

static void ask(asked *a, uint32_t number, uint32_t vocab)
{
    rng r = rng_seed(100 + number);
    *a = (asked){.prompt_tok = 1 + number * 7 % 23, .max_tok = 3 + number * 5 % 20};
    for (uint32_t i = 0; i < a->prompt_tok; i++)
        a->prompt[i] = rng_below(&r, vocab);
    if (number % 3)
        a->how = (sample_settings){.temperature = 0.9f,
                                   .top_k = number % 2 ? 10 : 0,
                                   .top_p = number % 4 == 2 ? 0.9f : 0,
                                   .repeat_penalty = number % 5 == 1 ? 1.3f : 0,
                                   .seed = number};
    if (number % 4 == 3) {
        a->stop = rng_below(&r, vocab);
        a->stop_count = 1;
    }
}

static uint32_t join(batch *b, const asked *a)
{
    err e = {0};
    uint32_t slot = 0;
    batch_request r = {.tokens = a->prompt,
                       .count = a->prompt_tok,
                       .how = a->how,
                       .max_tok = a->max_tok,
                       .stops = &a->stop,
                       .stop_count = a->stop_count};
    if (!batch_join(b, &r, &slot, &e))
        fail_msg("%s", e.text);
    return slot;
}

static void step(batch *b)
{
    err e = {0};
    if (!batch_step(b, &e))
        fail_msg("%s", e.text);
}

/* What the last step made for a request; it leaves if that was all. True: it has left. */
static bool take(batch *b, uint32_t slot, asked *a)
{
    batch_news news = batch_look(b, slot);
    assert_true(a->count + news.count <= MOST_TOK);
    for (uint32_t i = 0; i < news.count; i++)
        a->tokens[a->count++] = news.tokens[i];
    a->end = news.end;
    a->reused = news.reused_tok;
    if (news.state != BATCH_ENDED)
        return false;
    assert_int_equal(news.made_tok, a->count);
    batch_leave(b, slot);
    return true;
}

static void serve_alone(batch *b, asked *a)
{
    uint32_t slot = join(b, a);
    a->count = 0;
    do
        step(b);
    while (!take(b, slot, a));
}

/* All of them, in the order of their numbers, as soon as there is a free slot, but no more than one in every `pace` steps. */
static void serve(batch *b, asked *all, uint32_t count, uint32_t pace)
{
    asked *in[BATCH_MOST_SLOTS] = {NULL};
    uint32_t next = 0, left = count;
    for (uint32_t i = 0; i < count; i++)
        all[i].count = 0;
    for (uint32_t steps = 0; left > 0; steps++) {
        assert_true(steps < 10000);
        while (next < count && batch_free_slots(b) && (pace == 0 || steps % pace == 0)) {
            uint32_t slot = join(b, &all[next]);
            assert_null(in[slot]);
            in[slot] = &all[next++];
            if (pace)
                break;
        }
        step(b);
        for (uint32_t slot = 0; slot < batch_slots(b); slot++)
            if (in[slot] && take(b, slot, in[slot])) {
                in[slot] = NULL;
                left--;
            }
    }
}

static void check_same(const asked *right, const asked *got, uint32_t count, const char *what)
{
    for (uint32_t i = 0; i < count; i++) {
        if (right[i].count != got[i].count || right[i].end != got[i].end)
            fail_msg("%s: request %u made %u tokens (end %d), and %u (end %d) are right", what, i, got[i].count,
                     (int)got[i].end, right[i].count, (int)right[i].end);
        for (uint32_t t = 0; t < right[i].count; t++)
            if (right[i].tokens[t] != got[i].tokens[t])
                fail_msg("%s: token %u of request %u is %u, and %u is right", what, t, i, got[i].tokens[t],
                         right[i].tokens[t]);
    }
}

/* ---- models ---------------------------------------------------------------------------- */

static model *open_tiny(const tiny_model *tiny)
{
    err e = {0};
    char path[] = "/tmp/solo-batch-XXXXXX";
    close(mkstemp(path));
    model *m = tiny_model_write(tiny, 7, path, &e) ? model_open(path, &e) : NULL;
    unlink(path);
    if (!m)
        fail_msg("%s", e.text);
    return m;
}

static batch *new_batch(const model *m, const batch_options *o)
{
    err e = {0};
    batch *b = batch_new(device, m, o, &e);
    char notice[1200];
    if (!b)
        fail_msg("%s", e.text);
    if (batch_take_notice(b, notice, sizeof notice))
        fail_msg("%s", notice);
    return b;
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
} MODELS[] = {
    {{"llama", 2, 64, 96, 4, 2, 16, 50, TYPE_F32, .tied = true}, 3, "f16", true},
    {{"llama", 2, 64, 96, 4, 2, 16, 50, TYPE_Q4_0, .tied = false}, 8, "f16", false},
    {{"llama", 1, 64, 32, 2, 1, 32, 33, TYPE_Q8_0, .tied = false}, 16, "f32", false},
    {{"qwen2", 2, 64, 128, 2, 2, 32, 70, TYPE_F16, .qkv_bias = true, .tied = true}, 2, "q8_0", true},
    {{"qwen3", 2, 64, 64, 4, 2, 32, 40, TYPE_BF16, .qk_norm = true}, 3, "q4_0", false},
    {{"gemma2", 3, 64, 96, 4, 2, 16, 60, TYPE_Q5_1, .post_norms = true, .tied = true}, 8, "f16", true},
    {{"llama", 1, 256, 256, 4, 2, 64, 50, TYPE_Q4_K, .tied = true}, 2, "f16", false},
};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS };

static bool can(void)
{
    return strcmp(gpu_get_info(device)->family, "vulkan") != 0;
}

static void test_tokens_do_not_depend_on_others(void **unused)
{
    (void)unused;
    if (!can())
        skip();
    bool all = strcmp(gpu_get_info(device)->family, "dawn") == 0;
    for (int i = 0; i < (all ? MODEL_COUNT : 1); i++) {
        static asked alone[MOST_REQUESTS], got[MOST_REQUESTS];
        model *m = open_tiny(&MODELS[i].m);
        fusion_level highest = MODELS[i].all_levels ? LEVEL_LOOP : LEVEL_OPS;
        batch *b = new_batch(m, &(batch_options){.slots = MODELS[i].slots,
                                                 .context_tok = CONTEXT,
                                                 .cache = MODELS[i].cache,
                                                 .level = highest,
                                                 .all_levels = true,
                                                 .piece_tok = PIECE});
        uint32_t count = MODELS[i].slots < 8 ? 8 : MOST_REQUESTS;
        for (uint32_t k = 0; k < count; k++) {
            ask(&alone[k], k, MODELS[i].m.vocab);
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
        /* In software each row has the sums of a single one. */
        assert_int_equal(same_as_generation(m, MODELS[i].cache, alone, count), tokens_of(alone, count));
        batch_free(b);
        model_close(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tokens_do_not_depend_on_others)};
    return RUN_ON_EACH(tests);
}
