/* Tokenizers of vocabularies made here: encoding, decoding, and parts that are wrong or odd. */
#include "base/clock.h"
#include "base/str.h"
#include "model/tokenizer_test.h"
#include "model/unicode.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* ---- vocabularies made here ---------------------------------------------------- */

enum { MAX_TOKENS = 320 };

typedef struct fixture {
    tokenizer_parts parts;
    char written[MAX_TOKENS][16];
    token_text tokens[MAX_TOKENS];
    float scores[MAX_TOKENS];
    uint8_t types[MAX_TOKENS];
    token_merge merges[16];
} fixture;

static int32_t add(fixture *f, const char *text, float score, token_type type)
{
    size_t i = f->parts.token_count++;
    snprintf(f->written[i], sizeof f->written[i], "%s", text);
    f->tokens[i] = (token_text){f->written[i], strlen(f->written[i])};
    f->scores[i] = score;
    f->types[i] = (uint8_t)type;
    return (int32_t)i;
}

static void merge(fixture *f, const char *left, const char *right)
{
    f->merges[f->parts.merge_count++] = (token_merge){{left, strlen(left)}, {right, strlen(right)}};
}

static void begin(fixture *f, tokenizer_kind kind)
{
    *f = (fixture){.parts = {.kind = kind,
                             .pre = {"gpt-2", 5},
                             .bos = TOKEN_NONE,
                             .eos = TOKEN_NONE,
                             .eot = TOKEN_NONE,
                             .unknown = TOKEN_NONE,
                             .padding = TOKEN_NONE}};
    f->parts.tokens = f->tokens;
    f->parts.scores = f->scores;
    f->parts.types = f->types;
    f->parts.merges = f->merges;
}

enum { BYTES = 3, SP = 259, A, B, C, AB, BC, SP_AB, SP_A, AA, USER }; /* the ids below */

static void spm_parts(fixture *f)
{
    begin(f, TOKENIZER_SPM);
    add(f, "<unk>", 0, TOKEN_UNKNOWN);
    f->parts.unknown = 0;
    f->parts.bos = add(f, "<s>", 0, TOKEN_CONTROL);
    f->parts.eos = add(f, "</s>", 0, TOKEN_CONTROL);
    for (int byte = 0; byte < 256; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", byte);
        add(f, name, 0, TOKEN_BYTE);
    }
    add(f, "▁", -10, TOKEN_NORMAL);
    add(f, "a", -11, TOKEN_NORMAL);
    add(f, "b", -12, TOKEN_NORMAL);
    add(f, "c", -13, TOKEN_NORMAL);
    add(f, "ab", -2, TOKEN_NORMAL);
    add(f, "bc", -1, TOKEN_NORMAL);
    add(f, "▁ab", -3, TOKEN_NORMAL);
    add(f, "▁a", -5, TOKEN_NORMAL);
    add(f, "aa", -6, TOKEN_NORMAL);
    add(f, "c b", 0, TOKEN_USER_DEFINED);
    f->parts.add_bos = f->parts.add_space_prefix = true;
}

enum { HE = 256, LL, HELL, SPACE_H, END, NAME };

/* Byte `i` is token i; then four merges, a control token and a user-defined one. */
static void bpe_parts(fixture *f)
{
    begin(f, TOKENIZER_BPE);
    uint32_t next = 256;
    for (uint32_t byte = 0; byte < 256; byte++) {
        bool itself = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
        char text[5] = {0};
        utf8_put(itself ? byte : next++, text);
        add(f, text, 0, TOKEN_NORMAL);
    }
    add(f, "he", 0, TOKEN_NORMAL);
    add(f, "ll", 0, TOKEN_NORMAL);
    add(f, "hell", 0, TOKEN_NORMAL);
    add(f, "Ġh", 0, TOKEN_NORMAL);
    f->parts.eos = add(f, "<|end|>", 0, TOKEN_CONTROL);
    add(f, "Ann", 0, TOKEN_USER_DEFINED);
    merge(f, "h", "e");
    merge(f, "l", "l");
    merge(f, "he", "ll");
    merge(f, "Ġ", "h");
}

static tokenizer *made(const fixture *f)
{
    err e = {0};
    tokenizer *t = tokenizer_new(&f->parts, &e);
    assert_string_equal(e.text, "");
    assert_non_null(t);
    return t;
}

static void expect_ids(const tokenizer *t, const char *text, size_t bytes, bool special, bool bos, const int32_t *ids,
                       size_t count)
{
    err e = {0};
    token_list list = {0};
    assert_true(tokenizer_encode(t, text, bytes, special, bos, &list, &e));
    assert_int_equal(list.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(list.ids[i], ids[i]);
    token_list_free(&list);
}

#define EXPECT(t, text, special, bos, ...) \
    expect_ids(t, text, sizeof(text) - 1, special, bos, (const int32_t[]){__VA_ARGS__}, \
               sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

/* ---- SPM -------------------------------------------------------------------------- */

static void spm_merges_by_score(void **state)
{
    (void)state;
    fixture f;
    spm_parts(&f);
    tokenizer *t = made(&f);
    EXPECT(t, "ab", false, false, SP_AB);
    EXPECT(t, "abc", false, false, SP_A, BC); /* bc merges first, and then there is no abc */
    EXPECT(t, "aaa", false, false, SP_A, AA);
    EXPECT(t, "ab ab", false, true, 1, SP_AB, SP_AB);
    EXPECT(t, "  a", false, false, SP, SP, SP_A);
    EXPECT(t, "é", false, false, SP, BYTES + 0xC3, BYTES + 0xA9);
    EXPECT(t, "\xFF", false, false, SP, BYTES + 0xFF);
    expect_ids(t, "", 0, true, false, NULL, 0);
    expect_ids(t, "", 0, true, true, (const int32_t[]){1}, 1);
    tokenizer_free(t);

    f.parts.add_space_prefix = false;
    t = made(&f);
    EXPECT(t, "aaa", false, false, AA, A); /* the left one of two equal pairs */
    EXPECT(t, "ab", false, false, AB);
    tokenizer_free(t);
}

static void spm_finds_special_tokens(void **state)
{
    (void)state;
    fixture f;
    spm_parts(&f);
    tokenizer *t = made(&f);
    EXPECT(t, "<s>ab", true, false, 1, SP_AB);
    EXPECT(t, "ab</s>ab", true, true, 1, SP_AB, 2, SP_AB);
    EXPECT(t, "<s>ab", false, false, SP, BYTES + '<', BYTES + 's', BYTES + '>', AB);
    EXPECT(t, "bc bc", false, false, SP, B, USER, SP, C); /* user-defined: always; a space goes behind it */
    assert_true(tokenizer_ends(t, 2));
    assert_false(tokenizer_ends(t, A));
    assert_false(tokenizer_ends(t, -1));
    assert_false(tokenizer_ends(t, 1 << 20));
    tokenizer_free(t);

    uint8_t strips[MAX_TOKENS] = {[1] = TOKEN_STRIPS_RIGHT, [2] = TOKEN_STRIPS_LEFT | TOKEN_STRIPS_RIGHT};
    f.parts.strips = strips;
    t = made(&f);
    EXPECT(t, "<s> \n ab", true, false, 1, SP_AB);
    EXPECT(t, "ab \t</s> ", true, false, SP_AB, 2);
    tokenizer_free(t);
}

/* A token with a space inside: words can no longer be done one by one. */
static void spm_merges_across_words(void **state)
{
    (void)state;
    fixture f;
    spm_parts(&f);
    int32_t across = add(&f, "b▁", -0.5f, TOKEN_NORMAL), longer = add(&f, "b▁c", -0.25f, TOKEN_NORMAL);
    tokenizer *t = made(&f);
    EXPECT(t, "ab a", false, false, SP_A, across, A);
    EXPECT(t, "b c", false, false, SP, longer);
    tokenizer_free(t);
}

/* ---- BPE -------------------------------------------------------------------------- */

static void bpe_merges_by_rank(void **state)
{
    (void)state;
    fixture f;
    bpe_parts(&f);
    tokenizer *t = made(&f);
    EXPECT(t, "hello", false, false, HELL, 'o');
    EXPECT(t, "hello hello", false, false, HELL, 'o', ' ', HELL, 'o'); /* h e goes before Ġ h */
    EXPECT(t, " hi", false, false, SPACE_H, 'i');
    EXPECT(t, "llll", false, false, LL, LL);
    EXPECT(t, "lll", false, false, LL, 'l');
    EXPECT(t, "é\n", false, false, 0xC3, 0xA9, '\n');
    EXPECT(t,
           "a\xFF"
           "b",
           false, false, 'a', 0xEF, 0xBF, 0xBD, 'b');
    EXPECT(t, "<|end|>", true, false, END);
    EXPECT(t, "heAnn", false, true, HE, NAME); /* there is no BOS to put first */
    tokenizer_free(t);

    /* a word that is a token, but that the merges do not lead to */
    int32_t word = add(&f, "Ġlle", 0, TOKEN_NORMAL);
    f.parts.ignore_merges = true;
    t = made(&f);
    EXPECT(t, "x lle", false, false, 'x', word);
    tokenizer_free(t);
    f.parts.ignore_merges = false;
    t = made(&f);
    EXPECT(t, "x lle", false, false, 'x', ' ', LL, 'e');
    tokenizer_free(t);
}

/* ---- decoding ----------------------------------------------------------------------- */

static void expect_piece(const tokenizer *t, int32_t id, bool special, const char *expected)
{
    str out = {0};
    str_add(&out, "");
    tokenizer_piece(t, id, special, &out);
    assert_string_equal(out.data, expected);
    str_free(&out);
}

static void pieces_are_the_bytes_of_tokens(void **state)
{
    (void)state;
    fixture f;
    spm_parts(&f);
    tokenizer *t = made(&f);
    expect_piece(t, SP_AB, false, " ab");
    expect_piece(t, BYTES + 'x', false, "x");
    expect_piece(t, 1, false, "");
    expect_piece(t, 1, true, "<s>");
    expect_piece(t, USER, false, "c b");
    expect_piece(t, -1, true, "");
    expect_piece(t, INT32_MAX, true, "");
    tokenizer_free(t);

    bpe_parts(&f);
    t = made(&f);
    expect_piece(t, SPACE_H, false, " h");
    expect_piece(t, '\n', false, "\n");
    expect_piece(t, END, false, "");
    expect_piece(t, END, true, "<|end|>");
    assert_int_equal(tokenizer_size(t), 262);
    assert_int_equal(tokenizer_find(t, (token_text){"hell", 4}), HELL);
    assert_int_equal(tokenizer_find(t, (token_text){"hel", 3}), TOKEN_NONE);
    tokenizer_free(t);
}

static void text_comes_in_complete_characters(void **state)
{
    (void)state;
    fixture f;
    spm_parts(&f);
    tokenizer *t = made(&f);
    str out = {0};
    decode_stream s = {.strip_space = true};
    static const unsigned char bytes[] = {0xF0, 0x9F, 0x98, 0x80};
    decode_stream_add(&s, t, SP_AB, &out);
    assert_string_equal(out.data, "ab");
    for (int i = 0; i < 3; i++) {
        decode_stream_add(&s, t, BYTES + bytes[i], &out);
        assert_string_equal(out.data, "ab");
    }
    decode_stream_add(&s, t, BYTES + bytes[3], &out);
    assert_string_equal(out.data, "ab😀");
    decode_stream_add(&s, t, SP_A, &out); /* only the first space was SPM's own */
    assert_string_equal(out.data, "ab😀 a");

    out.length = 0;
    decode_stream_add(&s, t, BYTES + 0xF0, &out);
    decode_stream_add(&s, t, BYTES + 0x9F, &out);
    decode_stream_add(&s, t, A, &out);
    assert_string_equal(out.data, "\uFFFD\uFFFDa");
    out.length = 0;
    decode_stream_add(&s, t, BYTES + 0xE2, &out);
    decode_stream_add(&s, t, BYTES + 0x82, &out);
    decode_stream_end(&s, &out);
    assert_string_equal(out.data, "\uFFFD\uFFFD");
    decode_stream_end(&s, &out);
    assert_string_equal(out.data, "\uFFFD\uFFFD");
    str_free(&out);
    tokenizer_free(t);
}

/* ---- hostile data --------------------------------------------------------------------- */

static void expect_refused(const fixture *f, const char *why)
{
    err e = {0};
    assert_null(tokenizer_new(&f->parts, &e));
    assert_non_null(strstr(e.text, why));
}

static void bad_parts_are_refused(void **state)
{
    (void)state;
    fixture f;
    begin(&f, TOKENIZER_BPE);
    expect_refused(&f, "empty");
    bpe_parts(&f);
    f.parts.pre = (token_text){"nobody", 6};
    expect_refused(&f, "nobody");
    bpe_parts(&f);
    f.parts.bos = 262;
    expect_refused(&f, "BOS");
    bpe_parts(&f);
    f.parts.padding = -7;
    expect_refused(&f, "padding");
    spm_parts(&f);
    f.parts.scores = NULL;
    expect_refused(&f, "scores");
}

static void odd_parts_are_borne(void **state)
{
    (void)state;
    fixture f;
    bpe_parts(&f);
    add(&f, "", 0, TOKEN_CONTROL);
    add(&f, "he", 0, TOKEN_NORMAL);
    merge(&f, "no", "body");
    merge(&f, "", "");
    merge(&f, "o", "o"); /* no such token comes of it */
    merge(&f, "h", "e");
    tokenizer *t = made(&f);
    EXPECT(t, "hello oo", true, false, HELL, 'o', ' ', 'o', 'o');
    tokenizer_free(t);

    spm_parts(&f);
    f.scores[AB] = NAN; /* the lowest */
    f.scores[BC] = -INFINITY;
    f.types[C] = 200;
    tokenizer *u = made(&f);
    EXPECT(u, "baab", false, false, SP, B, AA, B);
    EXPECT(u, "bab", false, false, SP, B, AB);
    expect_piece(u, C, true, "");
    tokenizer_free(u);

    /* no byte tokens, and no unknown one: what cannot be written is left out */
    begin(&f, TOKENIZER_SPM);
    add(&f, "a", 0, TOKEN_NORMAL);
    t = made(&f);
    EXPECT(t, "a€a", false, true, 0, 0);
    tokenizer_free(t);
    f.parts.unknown = add(&f, "<unk>", 0, TOKEN_UNKNOWN);
    t = made(&f);
    EXPECT(t, "aéa", false, false, 0, 1, 1, 0);
    tokenizer_free(t);
}

/* Long runs without a space are where careless merging takes the square of the time. */
static void time_grows_with_the_text(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    char *text = mem_alloc(N);
    static const char *const fills[] = {"l", "a", " ", "<", "\n", "\xF0", "ab ", "hello<|end|>"};
    for (int kind = 0; kind < 2; kind++) {
        fixture f;
        (kind ? spm_parts : bpe_parts)(&f);
        tokenizer *t = made(&f);
        for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
            err e = {0};
            token_list list = {0};
            for (size_t at = 0; at < N; at++)
                text[at] = fills[i][at % strlen(fills[i])];
            double start = clock_us();
            assert_true(tokenizer_encode(t, text, N, true, false, &list, &e));
            assert_true(clock_us() - start < 20e6);
            assert_true(list.count > 0);
            token_list_free(&list);
        }
        tokenizer_free(t);
    }
    free(text);
}

/* Tokens that fall into one place of a table by the hash that is used most for this, FNV-1a: made to fill a table of 2^17
 * from its first slots on. With a hash that anybody can compute, finding each would mean looking at all before it. */
static void chosen_tokens_do_not_meet_in_one_place(void **unused)
{
    (void)unused;
    enum { TOKENS = 40000, BYTES = 6 };
    char *texts = mem_alloc(TOKENS * BYTES);
    token_text *tokens = mem_alloc(TOKENS * sizeof *tokens);
    uint64_t number = 0;
    for (size_t found = 0; found < TOKENS; number++) {
        char text[BYTES];
        uint64_t h = 0xCBF29CE484222325u, rest = number;
        for (int i = 0; i < BYTES; i++, rest /= 26) {
            text[i] = (char)('a' + rest % 26);
            h = (h ^ (unsigned char)text[i]) * 0x100000001B3u;
        }
        if (((h ^ h >> 32) & 0x1FFFF) >= 512)
            continue;
        memcpy(texts + found * BYTES, text, BYTES);
        tokens[found] = (token_text){texts + found * BYTES, BYTES};
        found++;
    }
    tokenizer_parts parts = {.kind = TOKENIZER_BPE, .token_count = TOKENS, .tokens = tokens, .pre = {"gpt-2", 5}};
    parts.bos = parts.eos = parts.eot = parts.ending = parts.unknown = parts.padding = TOKEN_NONE;
    err e = {0};
    clock_t began = clock();
    tokenizer *t = tokenizer_new(&parts, &e);
    double took_s = (double)(clock() - began) / CLOCKS_PER_SEC;
    assert_non_null(t);
    assert_int_equal(tokenizer_find(t, tokens[TOKENS - 1]), TOKENS - 1);
    tokenizer_free(t);
    if (took_s > 0.5) /* 0.01 s here; several seconds where they meet */
        fail_msg("%g s for %d tokens", took_s, TOKENS);
    free(texts);
    free(tokens);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spm_merges_by_score),
        cmocka_unit_test(spm_finds_special_tokens),
        cmocka_unit_test(spm_merges_across_words),
        cmocka_unit_test(bpe_merges_by_rank),
        cmocka_unit_test(pieces_are_the_bytes_of_tokens),
        cmocka_unit_test(text_comes_in_complete_characters),
        cmocka_unit_test(bad_parts_are_refused),
        cmocka_unit_test(odd_parts_are_borne),
        cmocka_unit_test(time_grows_with_the_text),
        cmocka_unit_test(chosen_tokens_do_not_meet_in_one_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
