/* Tokenizers of GGUF files: errors that name the key, and llama.cpp's vectors where they are. */
#include "base/file.h"
#include "base/str.h"
#include "gguf_bytes.h"
#include "model/tokenizer_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- errors ------------------------------------------------------------------------------ */

/* An array of texts, whose items are put behind it, or of numbers. */
static void add_items(writer *w, const char *name, uint32_t type, size_t count)
{
    add_array(w, name, type, count);
    for (size_t i = 0; type != TEXT && i < count; i++)
        put(&w->keys, type == I32, 4); /* types: normal; scores: 0 */
}

static void add_tokens(writer *w)
{
    add_items(w, "tokenizer.ggml.tokens", TEXT, 3);
    put_text(&w->keys, "a");
    put_text(&w->keys, "b");
    put_text(&w->keys, "ab");
}

/* NULL: it is taken. Else the error must say `why`. */
static void expect_gguf(writer *w, const char *why)
{
    str all = finish_file(w);
    err e = {0};
    gguf *g = gguf_read(all.data, all.length, all.length, "made here", NULL, &e);
    assert_string_equal(e.text, "");
    tokenizer *t = tokenizer_from_gguf(g, &e);
    if (why) {
        assert_null(t);
        assert_non_null(strstr(e.text, why));
    } else
        assert_non_null(t);
    tokenizer_free(t);
    gguf_close(g);
    str_free(&all);
}

static void gguf_errors_name_the_key(void **state)
{
    (void)state;
    writer f = {0};
    add_text(&f, "general.name", "none");
    expect_gguf(&f, "tokenizer.ggml.model");
    f = (writer){0};
    add_text(&f, "tokenizer.ggml.model", "rwkv");
    expect_gguf(&f, "'rwkv'");
    f = (writer){0};
    add_text(&f, "tokenizer.ggml.model", "t5");
    add_tokens(&f);
    expect_gguf(&f, "tokenizer.ggml.scores");
    f = (writer){0};
    add_text(&f, "tokenizer.ggml.model", "bert");
    add_tokens(&f);
    expect_gguf(&f, "no token for unknown words");
    f = (writer){0};
    add_text(&f, "tokenizer.ggml.model", "bert");
    add_tokens(&f);
    add_number(&f, "tokenizer.ggml.cls_token_id", U32, 3, 4);
    expect_gguf(&f, "tokenizer.ggml.cls_token_id");
    f = (writer){0};
    add_number(&f, "tokenizer.ggml.model", U32, 1, 4);
    expect_gguf(&f, "tokenizer.ggml.model");
    f = (writer){0};
    add_text(&f, "tokenizer.ggml.model", "gpt2");
    add_text(&f, "tokenizer.ggml.pre", "nobody");
    expect_gguf(&f, "tokenizer.ggml.pre");
    f = (writer){0};
    add_text(&f, "tokenizer.ggml.model", "llama");
    expect_gguf(&f, "tokenizer.ggml.tokens");
    f = (writer){0};
    add_text(&f, "tokenizer.ggml.model", "llama");
    add_items(&f, "tokenizer.ggml.tokens", TEXT, 0);
    expect_gguf(&f, "tokenizer.ggml.tokens");
    f = (writer){0};
    add_text(&f, "tokenizer.ggml.model", "gpt2");
    add_tokens(&f);
    expect_gguf(&f, "tokenizer.ggml.merges");
    f = (writer){0};
    add_text(&f, "tokenizer.ggml.model", "llama");
    add_tokens(&f);
    expect_gguf(&f, "tokenizer.ggml.scores");
    f = (writer){0};
    add_text(&f, "tokenizer.ggml.model", "llama");
    add_tokens(&f);
    add_items(&f, "tokenizer.ggml.scores", F32, 2);
    expect_gguf(&f, "tokenizer.ggml.scores");
    f = (writer){0};
    add_text(&f, "tokenizer.ggml.model", "llama");
    add_tokens(&f);
    add_items(&f, "tokenizer.ggml.scores", F32, 3);
    add_items(&f, "tokenizer.ggml.token_type", I32, 4);
    expect_gguf(&f, "tokenizer.ggml.token_type");
    f = (writer){0};
    add_text(&f, "tokenizer.ggml.model", "llama");
    add_tokens(&f);
    add_items(&f, "tokenizer.ggml.scores", F32, 3);
    add_items(&f, "tokenizer.ggml.token_type", F32, 3);
    expect_gguf(&f, "'tokenizer.ggml.token_type': is an array of f32, not an array of whole numbers");
    f = (writer){0};
    add_text(&f, "tokenizer.ggml.model", "llama");
    add_tokens(&f);
    add_items(&f, "tokenizer.ggml.scores", I32, 3);
    expect_gguf(&f, "'tokenizer.ggml.scores': is an array of i32, not an array of f32 or f64");
    f = (writer){0};
    add_text(&f, "tokenizer.ggml.model", "llama");
    add_tokens(&f);
    add_items(&f, "tokenizer.ggml.scores", F32, 3);
    add_number(&f, "tokenizer.ggml.eos_token_id", U32, 3, 4);
    expect_gguf(&f, "tokenizer.ggml.eos_token_id");
    f = (writer){0};
    add_text(&f, "tokenizer.ggml.model", "llama");
    add_tokens(&f);
    add_items(&f, "tokenizer.ggml.scores", F32, 3);
    add_items(&f, "tokenizer.ggml.token_type", I32, 3);
    add_number(&f, "tokenizer.ggml.eos_token_id", U32, 2, 4);
    add_number(&f, "tokenizer.ggml.padding_token_id", U32, UINT32_MAX, 4); /* seen in files, and harmless */
    add_number(&f, "tokenizer.ggml.unknown_token_id", U32, UINT32_MAX, 4); /* there is none */
    expect_gguf(&f, NULL);
    f = (writer){0};
    add_text(&f, "tokenizer.ggml.model", "llama");
    add_tokens(&f);
    add_items(&f, "tokenizer.ggml.scores", F32, 3);
    add_number(&f, "tokenizer.ggml.unknown_token_id", U32, 2147483648U, 4);
    expect_gguf(&f, "tokenizer.ggml.unknown_token_id: is 2147483648, but there are 3 tokens");
}

/* ---- llama.cpp's vectors ------------------------------------------------------------------ */

static void parse_ids(const char *line, size_t length, token_list *list)
{
    char *at = strndup(line, length), *next = at, *end;
    for (long id; id = strtol(next, &end, 10), end != next; next = end)
        token_list_add(list, (int32_t)id);
    free(at);
}

static void expect_vectors(const char *name)
{
    enum { LIMIT = 1 << 20 };
    static const char between[] = "\n__ggml_vocab_test__\n";
    char path[256], path_in[256], path_out[256];
    snprintf(path, sizeof path, "../shared/vocab/ggml-vocab-%s.gguf", name);
    snprintf(path_in, sizeof path_in, "%s.inp", path);
    snprintf(path_out, sizeof path_out, "%s.out", path);
    if (!file_exists(path) || !file_exists(path_in) || !file_exists(path_out))
        skip();

    err e = {0};
    gguf *g = gguf_open(path, &e);
    tokenizer *t = g ? tokenizer_from_gguf(g, &e) : NULL;
    assert_string_equal(e.text, "");
    gguf_close(g);
    size_t in_bytes, out_bytes, cases = 0;
    char *in = file_read(path_in, LIMIT, &in_bytes, &e), *out = file_read(path_out, LIMIT, &out_bytes, &e);
    assert_non_null(in);
    assert_non_null(out);
    const char *text = in, *line = out;
    for (bool last = false; !last; cases++) {
        const char *text_end = memmem(text, (size_t)(in + in_bytes - text), between, sizeof between - 1);
        last = !text_end;
        if (last)
            text_end = in + in_bytes;
        size_t line_bytes = strcspn(line, "\n");
        token_list expected = {0}, got = {0};
        parse_ids(line, line_bytes, &expected);
        assert_true(tokenizer_encode(t, text, (size_t)(text_end - text), true, false, &got, &e));
        assert_int_equal(got.count, expected.count);
        if (got.count)
            assert_memory_equal(got.ids, expected.ids, got.count * sizeof *got.ids);

        str back = {0};
        decode_stream s = {.strip_space = true};
        for (size_t i = 0; i < got.count; i++)
            decode_stream_add(&s, t, got.ids[i], &back);
        decode_stream_end(&s, &back);
        assert_int_equal(back.length, text_end - text);
        if (back.length)
            assert_memory_equal(back.data, text, back.length);
        str_free(&back);
        token_list_free(&expected);
        token_list_free(&got);
        text = text_end + sizeof between - 1;
        line += line_bytes + (line[line_bytes] == '\n');
    }
    assert_true(cases > 40);
    free(in);
    free(out);
    tokenizer_free(t);
}

static void vectors_gpt_2(void **state)
{
    (void)state;
    expect_vectors("gpt-2");
}

static void vectors_llama_spm(void **state)
{
    (void)state;
    expect_vectors("llama-spm");
}

static void vectors_phi_3(void **state)
{
    (void)state;
    expect_vectors("phi-3");
}

/* Merges by rank, spaces as U+2581 and none put before the text, bytes for what is not in the vocabulary. */
static void gemma4_merges_by_rank(void **state)
{
    (void)state;
    static const char *const tokens[] = {"<unk>",
                                         "<bos>",
                                         "\xE2\x96\x81",
                                         "a",
                                         "b",
                                         "ab",
                                         ("\xE2\x96\x81"
                                          "ab"),
                                         "ba",
                                         "\n",
                                         "\n\n",
                                         "<0x7A>"};
    static const char *const merges[] = {"b a", "a b", "\xE2\x96\x81 ab", "\n \n"};
    static const struct {
        const char *text;
        int32_t ids[6];
        size_t count;
    } cases[] = {{"ab ab", {5, 6}, 2}, {"aba", {3, 7}, 2}, {"ab\n\nb z", {5, 9, 4, 2, 10}, 5}, {" ab", {6}, 1}};
    writer w = {0};
    add_text(&w, "tokenizer.ggml.model", "gemma4");
    add_items(&w, "tokenizer.ggml.tokens", TEXT, sizeof tokens / sizeof *tokens);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        put_text(&w.keys, tokens[i]);
    add_array(&w, "tokenizer.ggml.token_type", I32, sizeof tokens / sizeof *tokens);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        put(&w.keys, i == 0 ? TOKEN_UNKNOWN : i == 1 ? TOKEN_CONTROL : i == 10 ? TOKEN_BYTE : TOKEN_NORMAL, 4);
    add_items(&w, "tokenizer.ggml.merges", TEXT, sizeof merges / sizeof *merges);
    for (size_t i = 0; i < sizeof merges / sizeof *merges; i++)
        put_text(&w.keys, merges[i]);
    str all = finish_file(&w);
    err e = {0};
    gguf *g = gguf_read(all.data, all.length, all.length, "made here", NULL, &e);
    assert_string_equal(e.text, "");
    tokenizer *t = tokenizer_from_gguf(g, &e);
    assert_string_equal(e.text, "");
    assert_true(tokenizer_adds_bos(t));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        token_list got = {0};
        assert_true(tokenizer_encode(t, cases[c].text, strlen(cases[c].text), true, false, &got, &e));
        assert_int_equal(got.count, cases[c].count);
        assert_memory_equal(got.ids, cases[c].ids, got.count * sizeof *got.ids);
        token_list_free(&got);
    }
    tokenizer_free(t);
    gguf_close(g);
    str_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gguf_errors_name_the_key), cmocka_unit_test(vectors_gpt_2),
        cmocka_unit_test(vectors_llama_spm),        cmocka_unit_test(vectors_phi_3),
        cmocka_unit_test(gemma4_merges_by_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
