/* Whole models on the CPU reference, against transformers' own logits and greedy
 * tokens. */
#include "golden.h"
#include "graph/cpu.h"
#include "model/decoder.h"

#include <stdlib.h>

typedef struct session {
    model *m;
    graph *g;
    cpu_run *r;
    uint32_t rows;
} session;

static void *open_session(const char *path, uint32_t rows)
{
    err e = {0};
    session *s = calloc(1, sizeof *s);
    s->rows = rows;
    s->m = model_open(path, &e);
    if (s->m)
        s->g = decoder_graph(s->m, &(decoder_options){.rows = rows, .context_tok = GOLDEN_CONTEXT}, &e);
    if (s->g)
        s->r = cpu_run_new(s->g, decoder_find_weight, &(decoder_weights){.m = s->m, .context_tok = GOLDEN_CONTEXT}, &e);
    if (!s->r)
        fail_msg("%s: %s", path, e.text);
    return s;
}

static const float *run_tokens(void *user, const uint32_t *tokens, uint32_t position)
{
    session *s = user;
    err e = {0};
    memcpy(cpu_words(s->r, "tokens"), tokens, s->rows * sizeof *tokens);
    cpu_words(s->r, "position")[0] = position;
    if (!cpu_run_once(s->r, &e))
        fail_msg("%s", e.text);
    return cpu_floats(s->r, "logits");
}

static void close_session(void *user, uint32_t runs)
{
    (void)runs;
    session *s = user;
    cpu_run_free(s->r);
    graph_free(s->g);
    model_close(s->m);
    free(s);
}

static const golden_runner ON_CPU = {open_session, run_tokens, close_session};

static void prompts_at_once(void **unused)
{
    (void)unused;
    golden_each(&ON_CPU, OUR_MODELS, golden_prompt_at_once);
    golden_each(&ON_CPU, GOLDEN_FAMILIES, golden_prompt_at_once);
    golden_each(&ON_CPU, GOLDEN_EXPERTS, golden_prompt_at_once);
}

static void tokens_one_by_one(void **unused)
{
    (void)unused;
    golden_each(&ON_CPU, OUR_MODELS, golden_one_by_one);
    golden_each(&ON_CPU, GOLDEN_FAMILIES, golden_one_by_one);
    golden_each(&ON_CPU, GOLDEN_EXPERTS, golden_one_by_one);
}

static void others_prompts_at_once(void **unused)
{
    (void)unused;
    golden_each(&ON_CPU, OTHER_MODELS, golden_prompt_at_once);
}

static void others_tokens_one_by_one(void **unused)
{
    (void)unused;
    golden_each(&ON_CPU, OTHER_MODELS, golden_one_by_one);
}

/* After a thousand positions the last bit of an angle is 1e-4 of the logits: they must be transformers' own numbers
 * (modeling_rope_utils of 5.23). */
static void yarns_angles_are_exact(void **unused)
{
    (void)unused;
    static const struct {
        const char *folder;
        uint32_t count;
        float angles[8];
    } right[] = {
        {GOLDEN_FAMILIES "/gpt-oss-blocks",
         8,
         {0x1p+0f, 0x1.93edd6p-2f, 0x1.3d2674p-3f, 0x1.ef4a44p-5f, 0x1.80435ep-6f, 0x1.27dd2cp-7f, 0x1.c374e6p-9f,
          0x1.549b92p-10f}},
        {GOLDEN_FAMILIES "/gpt-oss-turned", 4, {0x1p+0f, 0x1.6c310ep-5f, 0x1.030dc6p-7f, 0x1.708938p-10f}},
        {GOLDEN_FAMILIES "/qwen3-yarn",
         6,
         {0x1p+0f, 0x1.d5776ap-5f, 0x1.df123p-8f, 0x1.cf68d6p-10f, 0x1.c04286p-12f, 0x1.b19b1p-14f}},
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        float angles[CONFIG_MAX_HEAD_DIM / 2];
        session *s = open_session(right[i].folder, 1);
        assert_int_equal(model_get_config(s->m)->rope_dims, 2 * right[i].count);
        decoder_angles(model_get_config(s->m), false, angles);
        assert_memory_equal(angles, right[i].angles, right[i].count * sizeof *angles);
        close_session(s, 0);
    }
}

static void what_is_no_model_says_so(void **unused)
{
    (void)unused;
    err e = {0};
    assert_null(model_open("/no/such/model.gguf", &e));
    assert_non_null(strstr(e.text, "/no/such/model.gguf"));
    err_clear(&e);
    assert_null(model_open("tests", &e));
    assert_non_null(strstr(e.text, "tests/config.json"));
    err_clear(&e);
    assert_null(model_open("/etc/passwd", &e));
    assert_non_null(strstr(e.text, "/etc/passwd"));
}

static void a_context_too_small_is_an_error(void **unused)
{
    (void)unused;
    session *s = open_session("tests/data/models/llama-wide", 1);
    err e = {0};
    cpu_words(s->r, "position")[0] = GOLDEN_CONTEXT;
    assert_false(cpu_run_once(s->r, &e));
    assert_non_null(strstr(e.text, "do not fit keys.0"));
    close_session(s, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_at_once),          cmocka_unit_test(tokens_one_by_one),
        cmocka_unit_test(others_prompts_at_once),   cmocka_unit_test(others_tokens_one_by_one),
        cmocka_unit_test(what_is_no_model_says_so), cmocka_unit_test(a_context_too_small_is_an_error),
        cmocka_unit_test(yarns_angles_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
