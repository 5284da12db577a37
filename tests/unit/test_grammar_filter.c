/* Which tokens a grammar lets come: as a mask of all, and asked for one. */
#include "serve/grammar_filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

/* What is written with it. The last ends a text; that before it has no bytes. */
static token_text tokens[] = {{"a", 1},   {"b", 1},   {"ab", 2},  {"{", 1}, {"}", 1},        {"\"", 1}, {"\"a", 2},
                              {"b\"", 2}, {"\"}", 2}, {"{\"", 2}, {":", 1}, {"</think>", 8}, {"", 0},   {"<end>", 5}};
enum { VOCAB = sizeof tokens / sizeof *tokens, END = VOCAB - 1, THOUGHT_END = 11 };

static tokenizer *t;
static token_index *x;

static int begin(void **unused)
{
    (void)unused;
    err e = {0};
    tokenizer_parts parts = {.kind = TOKENIZER_BPE,
                             .token_count = VOCAB,
                             .tokens = tokens,
                             .pre = {"gpt-2", 5},
                             .bos = TOKEN_NONE,
                             .eos = END,
                             .eot = TOKEN_NONE,
                             .unknown = TOKEN_NONE,
                             .padding = TOKEN_NONE};
    t = tokenizer_new(&parts, &e);
    if (!t)
        fail_msg("%s", e.text);
    x = token_index_new(t, VOCAB);
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    token_index_free(x);
    tokenizer_free(t);
    return 0;
}

static grammar *parse(const char *text)
{
    err e = {0};
    grammar *g = grammar_parse(text, strlen(text), &e);
    if (!g)
        fail_msg("%s", e.text);
    return g;
}

/* The mask, compared with what is said of each token; the tokens in it as bits. */
static uint32_t look(const token_filter *f)
{
    uint32_t bits = 0, asked = 0;
    bool any = f->allow(f->user, &bits, VOCAB);
    for (uint32_t i = 0; i < VOCAB; i++)
        asked |= (uint32_t)f->may_come(f->user, i) << i;
    assert_int_equal(asked, any ? bits & ((1u << VOCAB) - 1) : 0);
    assert_true(!any || f->is_same(f->user));
    return asked;
}

static uint32_t bit(const char *text)
{
    for (uint32_t i = 0; i < VOCAB; i++)
        if (strcmp(tokens[i].data, text) == 0)
            return 1u << i;
    fail_msg("no token %s", text);
    return 0;
}

static void choose(const token_filter *f, const char *text)
{
    f->chosen(f->user, (uint32_t)__builtin_ctz(bit(text)));
}

static void test_a_mask_says_what_each_token_does(void **unused)
{
    (void)unused;
    grammar *g = parse("root ::= \"{\" text \"}\"\ntext ::= \"\\\"\" [a-b]* \"\\\"\"");
    grammar_filter *f = grammar_filter_new(g, x, false);
    const token_filter *use = grammar_filter_use(f);
    assert_false(use->is_same(use->user)); /* nothing was asked yet */
    assert_int_equal(look(use), bit("{") | bit("{\""));
    choose(use, "{\"");
    assert_false(use->is_same(use->user));
    uint32_t inside = bit("a") | bit("b") | bit("ab") | bit("\"") | bit("b\"") | bit("\"}");
    assert_int_equal(look(use), inside);
    choose(use, "ab"); /* within the text nothing changes */
    assert_true(use->is_same(use->user));
    choose(use, "b");
    assert_true(use->is_same(use->user));
    assert_int_equal(look(use), inside);
    choose(use, "b\"");
    assert_false(use->is_same(use->user));
    assert_int_equal(look(use), bit("}"));
    assert_false(grammar_filter_is_whole(f));
    choose(use, "}");
    assert_int_equal(look(use), 1u << END);
    assert_true(grammar_filter_is_whole(f));
    use->chosen(use->user, END);
    assert_int_equal(look(use), 0);
    assert_false(use->is_same(use->user));
    grammar_filter_free(f);
    grammar_free(g);
}

static void test_thoughts_are_free(void **unused)
{
    (void)unused;
    grammar *g = parse("root ::= \"a\"+");
    grammar_filter *f = grammar_filter_new(g, x, true);
    const token_filter *use = grammar_filter_use(f);
    assert_int_equal(look(use), (1u << VOCAB) - 1);
    choose(use, "{");
    assert_true(use->is_same(use->user));
    choose(use, "</think>");
    assert_false(use->is_same(use->user));
    assert_int_equal(look(use), bit("a"));
    choose(use, "a");
    assert_false(use->is_same(use->user)); /* now it may end */
    assert_int_equal(look(use), bit("a") | 1u << END);
    choose(use, "a");
    assert_true(use->is_same(use->user));
    grammar_filter_free(f);
    f = grammar_filter_new(g, x, true);
    use = grammar_filter_use(f);
    use->chosen(use->user, END); /* while it thinks */
    assert_int_equal(look(use), 0);
    grammar_filter_free(f);
    grammar_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_mask_says_what_each_token_does),
        cmocka_unit_test(test_thoughts_are_free),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
