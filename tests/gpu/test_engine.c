/* Texts with a filter: where one dispatch makes many tokens, they are those that are made one by one, and few are made in
 * vain where the filter allows it. */
#include "gpu/devices.h"
#include "open_tiny.h"
#include "serve/engine.h"
#include "two_tokens.h"

enum { CONTEXT = 64, ROWS = 3, MADE_TOK = 30, STATES = 4 };

/* ---- a filter ------------------------------------------------------------------------ */

/* An automaton over tokens: free text (0) up to a token of `ends`, then 1 to 3, of which each lets few tokens come. */
typedef struct automaton {
    uint32_t state, asked;
    bool was_asked, lets_all; /* in free text, all tokens */
} automaton;

static bool lets(const automaton *a, uint32_t token)
{
    switch (a->state) {
    case 0: return a->lets_all || token % 3 != 1;
    case 1: return token % 4 == 0;
    case 2: return token == 17;
    default: return token >= 20 && token < 30;
    }
}

static bool allow(void *user, uint32_t *bits, uint32_t vocab)
{
    automaton *a = user;
    a->asked = a->state;
    a->was_asked = true;
    for (uint32_t i = 0; i < (vocab + 31) / 32; i++)
        bits[i] = 0;
    for (uint32_t i = 0; i < vocab; i++)
        bits[i / 32] |= (uint32_t)lets(a, i) << i % 32;
    return true;
}

static void chosen(void *user, uint32_t token)
{
    automaton *a = user;
    assert_true(lets(a, token));
    if (a->state > 0 || token % 8 == 2)
        a->state = (a->state + 1) % STATES;
}

static bool may_come(void *user, uint32_t token)
{
    return lets(user, token);
}

static bool is_same(void *user)
{
    const automaton *a = user;
    return a->was_asked && a->asked == a->state;
}

/* ---- texts ----------------------------------------------------------------------------- */

typedef struct text {
    uint32_t tokens[MADE_TOK], count;
    bool ended;
    engine_row seen;
    automaton filter;
} text;

typedef struct served {
    engine *n;
    text *texts;
} served;

static void take_token(void *user, uint32_t row, const made_token *token)
{
    served *s = user;
    text *t = &s->texts[row];
    t->ended = !token;
    if (token && t->count < MADE_TOK)
        t->tokens[t->count++] = token->id;
    t->seen = engine_look(s->n, row);
    if (t->ended || t->count == MADE_TOK) {
        t->ended = true;
        engine_leave(s->n, row);
    }
}

/* `first` to `last` of the rows at once. */
static void serve_rows(engine *n, const engine_text *wanted, text *texts, uint32_t first, uint32_t last)
{
    err e = {0};
    served s = {n, texts};
    token_filter filters[ROWS];
    engine_text asked[ROWS];
    for (uint32_t i = first; i <= last; i++) {
        texts[i] = (text){.filter.lets_all = i == 2};
        filters[i] = (token_filter){allow, chosen, may_come, is_same, &texts[i].filter};
        asked[i] = wanted[i];
        asked[i].filter = wanted[i].filter ? &filters[i] : NULL;
        if (!engine_join(n, i, &asked[i], &e))
            fail_msg("%s", e.text);
    }
    for (uint32_t steps = 0, left = 1; left; steps++) {
        assert_true(steps < 1000);
        if (!engine_step(n, take_token, &s, &e))
            fail_msg("%s", e.text);
        left = 0;
        for (uint32_t i = first; i <= last; i++)
            left += !texts[i].ended;
    }
    assert_true(engine_step(n, take_token, &s, &e)); /* who leaves does so between steps */
}

static void check_texts(const text *right, const text *got, const char *what)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        if (right[i].count != got[i].count)
            fail_msg("%s: text %u has %u tokens instead of %u", what, i, got[i].count, right[i].count);
        for (uint32_t k = 0; k < right[i].count; k++)
            if (right[i].tokens[k] != got[i].tokens[k])
                fail_msg("%s: token %u of text %u is %u instead of %u", what, k, i, got[i].tokens[k],
                         right[i].tokens[k]);
    }
}

static const tiny_model SMALL = {"llama", 1, 32, 32, 2, 1, 16, 40, TYPE_F32, .tied = true};

static bool can(void)
{
    return strcmp(gpu_get_info(device)->family, "vulkan") != 0;
}

static engine *make_engine(const model *m, const tokenizer *t, fusion_level level)
{
    err e = {0};
    engine *n = engine_new(
        &(engine_options){
            .g = device, .m = m, .t = t, .rows = ROWS, .generation = {.level = level, .context_tok = CONTEXT}},
        &e);
    if (!n)
        fail_msg("%s", e.text);
    return n;
}

static void test_filtered_texts_are_the_same_at_any_pace(void **unused)
{
    (void)unused;
    if (!can())
        skip();
    static const token_filter some = {0};
    static const uint32_t prompt[] = {3, 1, 4, 1, 5};
    model *m = open_tiny(&SMALL, 7);
    tokenizer *t = make_tokenizer();
    engine *by_steps = make_engine(m, t, LEVEL_OPS), *by_loop = make_engine(m, t, LEVEL_LOOP);
    for (uint32_t round = 0; round < 6; round++) {
        sampling how = {.temperature = round % 2 ? 1.2f : 0,
                        .repeat_penalty = round > 3 ? 1.3f : 0,
                        .top_p = round > 3 ? 0.9f : 0,
                        .seed = round};
        engine_text wanted[ROWS];
        static text alone[ROWS], together[ROWS];
        for (uint32_t i = 0; i < ROWS; i++) {
            wanted[i] = (engine_text){.tokens = prompt,
                                      .count = 3 + i,
                                      .prompt_tok = 3 + i,
                                      .how = how,
                                      .most_tok = MADE_TOK,
                                      .filter = i || round == 5 ? &some : NULL};
            wanted[i].how.seed += 7 * i;
            serve_rows(by_steps, wanted, alone, i, i);
            assert_int_equal(alone[i].seen.vain_tok, 0);
            assert_int_equal(alone[i].seen.stepped_tok, wanted[i].filter ? MADE_TOK : 0);
        }
        serve_rows(by_loop, wanted, together, 0, ROWS - 1);
        check_texts(alone, together, how.temperature > 0 ? "drawn" : "the most likely");
        for (uint32_t i = 0; i < ROWS; i++) {
            assert_true(wanted[i].filter || together[i].seen.vain_tok + together[i].seen.stepped_tok == 0);
            assert_true(together[i].seen.stepped_tok < (wanted[i].filter ? MADE_TOK : 1));
        }
    }
    engine_free(by_steps);
    engine_free(by_loop);
    tokenizer_free(t);
    model_close(m);
}

/* A text that has to be looked at token by token has no others in vain. */
static void test_texts_that_need_every_token_get_it(void **unused)
{
    (void)unused;
    if (!can())
        skip();
    static const token_filter some = {0};
    static const uint32_t prompt[] = {3, 1, 4, 1, 5};
    model *m = open_tiny(&SMALL, 7);
    tokenizer *t = make_tokenizer();
    engine *n = make_engine(m, t, LEVEL_LOOP);
    engine_text wanted[ROWS];
    static text got[ROWS];
    for (uint32_t i = 0; i < ROWS; i++)
        wanted[i] = (engine_text){.tokens = prompt,
                                  .count = 5,
                                  .prompt_tok = 5,
                                  .most_tok = MADE_TOK,
                                  .filter = i == 2 ? NULL : &some,
                                  .wants_logprobs = i == 0,
                                  .presence_penalty = i ? 0.5f : 0};
    serve_rows(n, wanted, got, 0, ROWS - 1);
    for (uint32_t i = 0; i < ROWS; i++) {
        assert_int_equal(got[i].seen.stepped_tok, MADE_TOK);
        assert_int_equal(got[i].seen.vain_tok, 0);
    }
    engine_free(n);
    tokenizer_free(t);
    model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filtered_texts_are_the_same_at_any_pace),
        cmocka_unit_test(test_texts_that_need_every_token_get_it),
    };
    return RUN_ON_EACH(tests);
}
