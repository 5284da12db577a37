/* Families of decoders on a GPU: transformers' logits and greedy tokens by separate dispatches, and the same tokens at
 * all fusion levels. */
#include "gpu/golden_on_gpu.h"
#include "gpu/make_tokens.h"

static void prompts_at_once(void **unused)
{
    (void)unused;
    golden_each(&ON_GPU, GOLDEN_FAMILIES, golden_prompt_at_once);
    golden_each(&ON_GPU, GOLDEN_EXPERTS, golden_prompt_at_once);
}

/* A token's products of quantised weights (gpt-oss's MXFP4) are made of bytes of x on GPUs. */
static void one_by_one(const golden_runner *way, const char *folder)
{
    double exact = golden_tolerance;
    if (strstr(folder, "gpt-oss-blocks") && gpu_get_info(device)->type != GPU_TYPE_SOFTWARE)
        golden_tolerance = 1e-2;
    golden_one_by_one(way, folder);
    golden_tolerance = exact;
}

static void tokens_one_by_one(void **unused)
{
    (void)unused;
    golden_each(&ON_GPU, GOLDEN_FAMILIES, one_by_one);
    golden_each(&ON_GPU, GOLDEN_EXPERTS, one_by_one);
}

/* One of each kind of layer that there is. */
static void the_same_at_all_levels(void **unused)
{
    (void)unused;
    static const char *const names[] = {
        GOLDEN_FAMILIES "/gpt2-usual",       GOLDEN_FAMILIES "/phi-partial",    GOLDEN_FAMILIES "/olmo2-rows",
        GOLDEN_FAMILIES "/cohere2-windows",  GOLDEN_FAMILIES "/llama-mlp-bias", GOLDEN_EXPERTS "/qwen2moe",
        GOLDEN_FAMILIES "/gpt-oss-turned",   GOLDEN_FAMILIES "/qwen3moe-many",  GOLDEN_FAMILIES "/qwen35-named",
        GOLDEN_EXPERTS "/deepseek3",         GOLDEN_FAMILIES "/gemma4-small",   GOLDEN_FAMILIES "/gemma4-keys",
        GOLDEN_FAMILIES "/gemma3-local",     GOLDEN_FAMILIES "/stablelm-norms", GOLDEN_FAMILIES "/gemma3n-small",
        GOLDEN_FAMILIES "/qwen35moe-single", GOLDEN_FAMILIES "/olmo3-yarn"};
    enum { TOKENS = 10 };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint32_t right[TOKENS], tokens[TOKENS];
        err e = {0};
        model *m = model_open(golden_model(names[i]), &e);
        if (!m)
            fail_msg("%s", e.text);
        make_tokens(m, LEVEL_NONE, right, TOKENS);
        for (fusion_level level = LEVEL_OPS; level < LEVEL_COUNT; level++) {
            make_tokens(m, level, tokens, TOKENS);
            assert_memory_equal(tokens, right, sizeof right);
        }
        model_close(m);
    }
}

/* A text that grows beyond the length at which its angles change goes on as if it had always had the others; and one that
 * is cut short has the first again. */
static void goes_beyond(const char *folder)
{
    json_t *golden = golden_of(folder), *prompt = json_object_get(golden, "prompt"),
           *greedy = json_object_get(golden, "greedy");
    uint32_t tokens[GOLDEN_CONTEXT], count = (uint32_t)json_array_size(prompt), token;
    err e = {0};
    for (uint32_t i = 0; i < count; i++)
        tokens[i] = number_at(prompt, i);
    model *m = model_open(folder, &e);
    const model_config *c = m ? model_get_config(m) : NULL;
    uint32_t changes = !c ? 0 : c->rope_scaling == ROPE_DYNAMIC ? c->context_tok : c->rope_original_tok;
    assert_in_range(changes, count + 1, count + json_array_size(greedy) - 3);
    for (int level = LEVEL_OPS; level < LEVEL_COUNT; level++) {
        generation_options o = {
            .level = (fusion_level)level, .submit = SUBMIT_BATCH, .context_tok = GOLDEN_CONTEXT, .cache = "f32"};
        generation *n = generation_new(device, m, &o, &e);
        if (!n)
            fail_msg("%s", e.text);
        for (int again = 0; again < 2; again++) {
            generation_rewind(n, again ? count / 2 : 0);
            assert_true(generation_feed(n, tokens + (again ? count / 2 : 0), again ? count - count / 2 : count, &e));
            for (size_t i = 0; i < json_array_size(greedy); i++) {
                if (!generation_next(n, &token, &e))
                    fail_msg("%s", e.text);
                if (token != number_at(greedy, i))
                    fail_msg("level %d, time %d: token %zu is %u instead of %u", level, again, i, token,
                             number_at(greedy, i));
            }
        }
        generation_free(n);
    }
    model_close(m);
    json_decref(golden);
}

static void angles_change_in_the_middle(void **unused)
{
    (void)unused;
    goes_beyond("tests/data/crossing/phi3");
    goes_beyond("tests/data/crossing/llama");
}

/* Everything on one implementation; the kernels are the same on the others. */
int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(prompts_at_once),
        cmocka_unit_test(tokens_one_by_one),
        cmocka_unit_test(the_same_at_all_levels),
        cmocka_unit_test(angles_change_in_the_middle),
    };
    const struct CMUnitTest prompts[] = {cmocka_unit_test(prompts_at_once)};
    return cmocka_run_group_tests_name("dawn", all, open_dawn, close_device) +
           cmocka_run_group_tests_name("wgpu", prompts, open_wgpu, close_device) +
           cmocka_run_group_tests_name("vulkan", prompts, open_vulkan, close_device);
}
