/* Encoders on a GPU: transformers' embeddings, and the same at all fusion levels. */
#include "embeddings.h"
#include "gpu/devices.h"
#include "llm/embedder.h"
#include "model/model_text.h"

static model *open_model(const char *folder)
{
    err e = {0};
    model *m = model_open(golden_model(folder), &e);
    if (!m)
        fail_msg("%s: %s", folder, e.text);
    return m;
}

static embedder *new_embedder(const char *folder, const model *m, fusion_level level, model_pooling pooling)
{
    err e = {0};
    embedder_options o = {.level = level, .submit = SUBMIT_BATCH, .pooling = pooling};
    embedder *n = embedder_new(device, m, NULL, &o, &e);
    if (!n)
        fail_msg("%s: %s", folder, e.text);
    return n;
}

/* Texts of several lengths, the last one first: programs for few rows come into use behind those for many. */
static void check_model(const char *folder, fusion_level level)
{
    err e = {0};
    model *m = open_model(folder);
    json_t *golden = golden_of(folder);
    embedder *n = new_embedder(folder, m, level, POOLING_UNSAID), *each = new_embedder(folder, m, level, POOLING_NONE);
    uint32_t width = embedder_width(n), row = embedder_width(each);
    float vector[256], *rows = calloc((size_t)TEXT_MAX_TOK * row, sizeof *rows);
    assert_in_range(width, 1, 256);
    for (size_t k = json_array_size(json_object_get(golden, "texts")); k-- > 0;) {
        golden_text t = golden_text_at(golden, k);
        assert_int_equal(embedder_count(n, t.count), 1);
        assert_int_equal(embedder_count(each, t.count), t.count);
        if (!embedder_run(n, t.tokens, t.count, vector, &e) || !embedder_run(each, t.tokens, t.count, rows, &e))
            fail_msg("%s: %s", folder, e.text);
        expect_vector(folder, t.embedding, vector, width);
        expect_vector(folder, t.row, rows + row, row);
    }
    assert_false(embedder_run(n, (uint32_t[]){1 << 20}, 1, vector, &e));
    assert_non_null(strstr(e.text, "no token"));
    free(rows);
    embedder_free(each);
    embedder_free(n);
    json_decref(golden);
    model_close(m);
}

static void as_transformers_makes_them(void **unused)
{
    (void)unused;
    const golden_list *models = golden_models(GOLDEN_EMBEDDINGS);
    for (size_t i = 0; i < models->count; i++)
        check_model(models->path[i], LEVEL_AUTO);
}

/* From texts as they are written, against sentence-transformers. */
static void texts_as_written(void **unused)
{
    (void)unused;
    const golden_list *models = golden_models(GOLDEN_EMBEDDINGS);
    for (size_t i = 0; i < models->count; i++) {
        json_t *golden = golden_of(models->path[i]), *encoded = json_object_get(golden, "encoded");
        err e = {0};
        model *m = encoded ? open_model(models->path[i]) : NULL;
        tokenizer *t = encoded ? tokenizer_of_model(m, &e) : NULL;
        embedder *n = t ? embedder_new(device, m, t, &(embedder_options){.submit = SUBMIT_BATCH}, &e) : NULL;
        if (encoded && !n)
            fail_msg("%s", e.text);
        for (size_t k = 0; k < json_array_size(encoded); k++) {
            json_t *item = json_array_get(encoded, k);
            const char *text = json_string_value(json_object_get(item, "text"));
            float vector[256];
            if (!embedder_embed(n, text, strlen(text), vector, &e))
                fail_msg("%s: %s", models->path[i], e.text);
            expect_vector(text, json_object_get(item, "embedding"), vector, embedder_width(n));
        }
        embedder_free(n);
        tokenizer_free(t);
        model_close(m);
        json_decref(golden);
    }
}

/* Vectors of length 1; on software, levels round some products otherwise. */
static void the_same_at_all_levels(void **unused)
{
    (void)unused;
    static const char *const names[] = {GOLDEN_EMBEDDINGS "/bert-mean", GOLDEN_EMBEDDINGS "/nomic-gguf",
                                        GOLDEN_EMBEDDINGS "/qwen3-gguf", GOLDEN_EMBEDDINGS "/gemma-dense"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        err e = {0};
        model *m = open_model(names[i]);
        json_t *golden = golden_of(names[i]);
        golden_text t = golden_text_at(golden, 3);
        float right[256], vector[256];
        for (fusion_level level = LEVEL_NONE; level <= LEVEL_TOKEN; level++) {
            embedder *n = new_embedder(names[i], m, level, POOLING_UNSAID);
            uint32_t width = embedder_width(n);
            assert_int_equal(embedder_level(n), level);
            if (level == LEVEL_TOKEN)
                assert_int_equal(embedder_dispatches(n), 1);
            if (!embedder_run(n, t.tokens, t.count, vector, &e))
                fail_msg("%s: %s", names[i], e.text);
            if (level == LEVEL_NONE)
                memcpy(right, vector, width * sizeof *right);
            for (uint32_t k = 0; k < width; k++)
                if (fabsf(vector[k] - right[k]) > 1e-6f)
                    fail_msg("%s, level %s: number %u is %.9g, at none %.9g", names[i], fusion_names[level], k,
                             (double)vector[k], (double)right[k]);
            embedder_free(n);
        }
        json_decref(golden);
        model_close(m);
    }
}

int main(void)
{
    const struct CMUnitTest all[] = {cmocka_unit_test(as_transformers_makes_them), cmocka_unit_test(texts_as_written),
                                     cmocka_unit_test(the_same_at_all_levels)};
    const struct CMUnitTest some[] = {cmocka_unit_test(as_transformers_makes_them)};
    return cmocka_run_group_tests_name("dawn", all, open_dawn, close_device) +
           cmocka_run_group_tests_name("wgpu", some, open_wgpu, close_device) +
           cmocka_run_group_tests_name("vulkan", some, open_vulkan, close_device);
}
