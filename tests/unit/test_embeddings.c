/* Encoders on the CPU against transformers; what their files say; what is refused. */
#include "embeddings.h"
#include "graph/cpu.h"
#include "llm/embedder.h"
#include "model/decoder.h"
#include "model/model_text.h"

static model *open_model(const char *folder)
{
    err e = {0};
    model *m = model_open(golden_model(folder), &e);
    if (!m)
        fail_msg("%s: %s", folder, e.text);
    return m;
}

/* With more rows than tokens: those behind the last one must not matter. */
static void check_text(const char *folder, const model *m, const golden_text *t, uint32_t rows)
{
    err e = {0};
    const model_config *c = model_get_config(m);
    graph *g = decoder_graph(m, &(decoder_options){.rows = rows, .context_tok = rows, .whole = true}, &e);
    cpu_run *r = g ? cpu_run_new(g, decoder_find_weight, &(decoder_weights){.m = m, .context_tok = rows}, &e) : NULL;
    if (!r)
        fail_msg("%s: %s", folder, e.text);
    for (uint32_t i = 0; i < rows; i++) {
        cpu_words(r, "tokens")[i] = i < t->count ? t->tokens[i] : 1;
        cpu_floats(r, "pooling")[i] = i < t->count && c->embedding.pooling == POOLING_MEAN ? 1 / (float)t->count : 0;
    }
    if (c->embedding.pooling != POOLING_MEAN)
        cpu_floats(r, "pooling")[c->embedding.pooling == POOLING_LAST ? t->count - 1 : 0] = 1;
    cpu_words(r, "position")[0] = decoder_first_position(c);
    cpu_words(r, "last")[0] = t->count - 1;
    if (!cpu_run_once(r, &e))
        fail_msg("%s: %s", folder, e.text);
    expect_vector(folder, t->row, cpu_floats(r, "rows") + c->embedding_dim, c->embedding_dim);
    float *y = cpu_floats(r, "embedding");
    uint32_t width = decoder_embedding_dim(c);
    double squares = 0;
    for (uint32_t i = 0; i < width; i++)
        squares += (double)y[i] * y[i];
    for (uint32_t i = 0; i < width && !c->embedding.raw; i++)
        y[i] = (float)(y[i] / sqrt(squares));
    expect_vector(folder, t->embedding, y, width);
    cpu_run_free(r);
    graph_free(g);
}

static void as_transformers_makes_them(void **unused)
{
    (void)unused;
    const golden_list *models = golden_models(GOLDEN_EMBEDDINGS);
    assert_int_equal(models->count, 10);
    for (size_t i = 0; i < models->count; i++) {
        model *m = open_model(models->path[i]);
        json_t *golden = golden_of(models->path[i]);
        for (size_t k = 0; k < json_array_size(json_object_get(golden, "texts")); k++) {
            golden_text t = golden_text_at(golden, k);
            check_text(models->path[i], m, &t, t.count);
            check_text(models->path[i], m, &t, t.count + 5);
        }
        json_decref(golden);
        model_close(m);
    }
}

/* Texts as they are written, by WordPiece in lower case and not, Unigram, and BPE with another end than eos. */
static void tokens_as_hugging_face_makes_them(void **unused)
{
    (void)unused;
    const golden_list *models = golden_models(GOLDEN_EMBEDDINGS);
    size_t checked = 0;
    for (size_t i = 0; i < models->count; i++) {
        json_t *golden = golden_of(models->path[i]), *encoded = json_object_get(golden, "encoded");
        err e = {0};
        model *m = encoded ? open_model(models->path[i]) : NULL;
        tokenizer *t = encoded ? tokenizer_of_model(m, &e) : NULL;
        if (encoded && !t)
            fail_msg("%s", e.text);
        for (size_t k = 0; k < json_array_size(encoded); k++) {
            json_t *item = json_array_get(encoded, k), *right = json_object_get(item, "tokens");
            const char *text = json_string_value(json_object_get(item, "text"));
            token_list got = {0};
            assert_true(embedder_tokens(m, t, text, strlen(text), &got, &e));
            bool same = got.count == json_array_size(right);
            for (size_t n = 0; same && n < got.count; n++)
                same = (uint32_t)got.ids[n] == number_at(right, n);
            if (!same)
                fail_msg("%s: '%s' has other tokens (%zu, not %zu)", models->path[i], text, got.count,
                         json_array_size(right));
            token_list_free(&got);
            checked++;
        }
        tokenizer_free(t);
        model_close(m);
        json_decref(golden);
    }
    assert_int_equal(checked, 35);
}

/* 120 characters, and two tokens around them: more than the 50 that its files allow. */
static void too_long_a_text(void **unused)
{
    (void)unused;
    err e = {0};
    token_list got = {0};
    model *m = open_model(GOLDEN_EMBEDDINGS "/bert-mean");
    tokenizer *t = tokenizer_of_model(m, &e);
    char text[121];
    for (int i = 0; i < 120; i++)
        text[i] = i % 2 ? ' ' : 'a';
    assert_false(embedder_tokens(m, t, text, 120, &got, &e));
    assert_non_null(strstr(e.text, "62 tokens, and tests/data/embeddings/bert-mean takes 50"));
    token_list_free(&got);
    tokenizer_free(t);
    model_close(m);
}

static void what_files_say(void **unused)
{
    (void)unused;
    model *m = open_model(GOLDEN_EMBEDDINGS "/bert-cls-dense");
    const model_config *c = model_get_config(m);
    assert_true(c->bidirectional && c->norms_after_sum && c->learned_positions && config_is_encoder(c));
    assert_int_equal(c->token_types, 3);
    assert_int_equal(c->act, ACT_GELU_TANH);
    assert_int_equal(c->embedding.pooling, POOLING_CLS);
    assert_int_equal(c->embedding.dense_count, 1);
    assert_true(c->embedding.dense[0].tanh && c->embedding.dense[0].biased && c->embedding.raw);
    assert_int_equal(c->embedding.most_tok, 50);
    assert_int_equal(decoder_embedding_dim(c), 26);
    model_close(m);
    m = open_model(GOLDEN_EMBEDDINGS "/xlm-roberta-mean");
    c = model_get_config(m);
    assert_int_equal(c->position_offset, 2);
    assert_int_equal(c->context_tok, 62);
    model_close(m);
    m = open_model(GOLDEN_EMBEDDINGS "/gemma-gguf");
    c = model_get_config(m);
    assert_int_equal(c->window_tok, 4); /* 7 in the file: three on each side */
    assert_int_equal(c->embedding.dense_count, 2);
    assert_int_equal(c->embedding.pooling, POOLING_MEAN);
    model_close(m);
    m = open_model(GOLDEN_EMBEDDINGS "/qwen3-gguf");
    assert_int_equal(model_get_config(m)->embedding.pooling, POOLING_LAST);
    assert_false(config_is_encoder(model_get_config(m)));
    model_close(m);
}

static void what_is_refused(void **unused)
{
    (void)unused;
    err e = {0};
    model_pooling pooling;
    model *m = open_model(GOLDEN_EMBEDDINGS "/bert-mean");
    assert_null(decoder_graph(m, &(decoder_options){.rows = 1, .context_tok = 8}, &e));
    assert_non_null(strstr(e.text, "embeddings (solo embed), not text"));
    model_close(m);
    err_clear(&e);
    m = open_model("tests/data/families/llama-mlp-bias");
    assert_false(embedder_pooling(m, &(embedder_options){0}, &pooling, &e));
    assert_non_null(strstr(e.text, "--pooling"));
    err_clear(&e);
    assert_true(embedder_pooling(m, &(embedder_options){.pooling = POOLING_LAST}, &pooling, &e));
    assert_int_equal(pooling, POOLING_LAST);
    model_close(m);
}

/* What attention among the rows of a text does not have. */
static void models_that_need_a_cache(void **unused)
{
    (void)unused;
    static const struct {
        const char *folder, *why;
    } cases[] = {{"tests/data/families/qwen35-tiled", "recurrent states"},
                 {"tests/data/families/deepseek2-dense", "latent attention"},
                 {"tests/data/families/gpt-oss-turned", "attention sinks"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err e = {0};
        model *m = open_model(cases[i].folder);
        assert_null(decoder_graph(m, &(decoder_options){.rows = 4, .context_tok = 4, .whole = true}, &e));
        assert_non_null(strstr(e.text, cases[i].why));
        model_close(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_transformers_makes_them),
        cmocka_unit_test(tokens_as_hugging_face_makes_them),
        cmocka_unit_test(too_long_a_text),
        cmocka_unit_test(what_files_say),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(models_that_need_a_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
