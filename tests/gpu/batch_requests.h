/* Requests to a batch, and what they got; models for them. */
#ifndef SOLO_TESTS_GPU_BATCH_REQUESTS_H
#define SOLO_TESTS_GPU_BATCH_REQUESTS_H

#include "gpu/devices.h"
#include "llm/batch.h"
#include "open_tiny.h"

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

static model *open_folder(const char *path)
{
    err e = {0};
    model *m = model_open(path, &e);
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

static bool can(void)
{
    return strcmp(gpu_get_info(device)->family, "vulkan") != 0;
}

static const tiny_model SMALL = {"llama", 1, 32, 32, 2, 1, 16, 40, TYPE_F32, .tied = true};

#endif
