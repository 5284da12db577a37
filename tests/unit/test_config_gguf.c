/* A configuration from GGUF: it says what the file says, and what cannot be is refused by name. */
#include "base/file.h"
#include "gguf_maker.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void reads_gguf(void **unused)
{
    (void)unused;
    maker m = make("llama");
    key_tokens(&m, 10);
    model_config c = finish_good(&m);
    assert_int_equal(c.arch, ARCH_LLAMA);
    assert_sizes(&c, 4, 64, 96, 4, 4, 16, 10, 2048);
    assert_true(c.rope_order == ROPE_ADJACENT && c.rope_base == 10000 && c.rope_dims == 16 && c.tied_embeddings);
    assert_true(c.rope_scaling == ROPE_PLAIN && !c.qkv_bias && !c.output_bias && c.window_tok == 0);

    m = make("qwen2");
    key_tokens(&m, 10);
    key_u32(&m, ".context_length", 512);
    key_numbers(&m, ".attention.head_count_kv", 2, 2);
    key_f32(&m, ".attention.layer_norm_rms_epsilon", 1e-5f);
    key_f32(&m, ".rope.freq_base", 1e6f);
    key_text(&m, ".rope.scaling.type", "linear");
    key_f32(&m, ".rope.scaling.factor", 4);
    key_u32(&m, ".attention.sliding_window", 32);
    tensor(&m, "token_embd.weight", 64, 12); /* more rows than tokens */
    tensor(&m, "output.weight", 64, 12);
    tensor(&m, "blk.0.attn_q.bias", 64, 0);
    c = finish_good(&m);
    assert_sizes(&c, 4, 64, 96, 4, 2, 16, 12, 512);
    assert_true(c.rope_order == ROPE_HALVES && c.rope_base == 1e6f && c.rope_scaling == ROPE_LINEAR);
    assert_true(c.rope_divisors[0][7] == 4 && c.qkv_bias && !c.tied_embeddings && near(c.norm_epsilon, 1e-5));
    assert_int_equal(windowed_layers(&c), 0);
}

static void reads_gemma_2_from_gguf(void **unused)
{
    (void)unused;
    maker m = make("gemma2");
    key_u32(&m, ".attention.key_length", 32);
    key_u32(&m, ".attention.value_length", 32);
    key_u32(&m, ".attention.sliding_window", 128);
    key_f32(&m, ".attn_logit_softcapping", 40);
    tensor(&m, "token_embd.weight", 64, 12);
    model_config c = finish_good(&m);
    assert_sizes(&c, 4, 64, 96, 4, 4, 32, 12, 8192);
    assert_true(!c.norm_adds_one && c.post_norms && c.embedding_scale == 8 && c.act == ACT_GELU_TANH);
    assert_true(c.attention_cap == 40 && c.logit_cap == 30 && near(c.attention_scale, 1 / sqrt(32)));
    assert_true(c.window_tok == 128 && windowed_layers(&c) == 2 && c.is_windowed[0] && c.is_windowed[2]);

    m = (maker){.arch = "gemma2"}; /* the 27b's shape */
    key_text(&m, "general.architecture", "gemma2");
    key_u32(&m, ".block_count", 46);
    key_u32(&m, ".embedding_length", 4608);
    key_u32(&m, ".feed_forward_length", 36864);
    key_u32(&m, ".attention.head_count", 32);
    key_u32(&m, ".attention.head_count_kv", 16);
    key_u32(&m, ".attention.key_length", 128);
    key_tokens(&m, 3);
    maker again = m; /* and where the file does say it */
    again.file.keys = (str){0};
    str_add_bytes(&again.file.keys, m.file.keys.data, m.file.keys.length);
    key_f32(&again, ".attention.scale", 0.25f);
    c = finish_good(&again);
    assert_true(c.attention_scale == 0.25f);
    c = finish_good(&m);
    assert_true(near(c.attention_scale, 1 / 12.0) && c.window_tok == 4096 && windowed_layers(&c) == 23);
}

static void key_four(maker *m, const char *key, const uint32_t values[4])
{
    add_array(&m->file, full(m, key).text, U32, 4);
    for (uint32_t i = 0; i < 4; i++)
        put(&m->file.keys, values[i], 4);
}

/* Four layers, the second and the last see all; the last two share. */
static maker make_gemma4(uint32_t last_ffn)
{
    static const char *const keys[] = {".block_count",
                                       ".embedding_length",
                                       ".attention.head_count",
                                       ".attention.sliding_window",
                                       ".attention.key_length",
                                       ".attention.value_length",
                                       ".attention.key_length_swa",
                                       ".attention.value_length_swa",
                                       ".attention.shared_kv_layers",
                                       ".embedding_length_per_layer_input"};
    static const uint32_t values[] = {4, 64, 4, 8, 32, 32, 16, 16, 2, 8};
    maker m = {.arch = "gemma4"};
    key_text(&m, "general.architecture", "gemma4");
    for (int i = 0; i < 10; i++)
        key_u32(&m, keys[i], values[i]);
    key_four(&m, ".feed_forward_length", (uint32_t[]){96, 96, 192, last_ffn});
    key_four(&m, ".attention.head_count_kv", (uint32_t[]){4, 2, 4, 2});
    key_four(&m, ".attention.sliding_window_pattern", (uint32_t[]){1, 0, 1, 0});
    key_f32(&m, ".rope.freq_base", 1e6f);
    tensor(&m, "token_embd.weight", 64, 12);
    tensor(&m, "rope_freqs.weight", 16, 0);
    tensor(&m, "blk.0.layer_output_scale.weight", 1, 0);
    return m;
}

static void reads_gemma_4_from_gguf(void **unused)
{
    (void)unused;
    maker m = make_gemma4(192);
    model_config c = finish_good(&m);
    assert_sizes(&c, 4, 64, 96, 4, 2, 32, 12, 131072);
    assert_true(c.local_head_dim == 16 && c.local_kv_head_count == 4 && c.attention_scale == 1 && c.layer_scales);
    assert_true(c.late_ffn_dim == 192 && c.kv_shared_layers == 2 && config_cache_layer(&c, 2) == 0);
    assert_true(c.per_layer_dim == 8 && c.per_layer_vocab_tok == 12 && c.rope_local_base == 1e4f);
    assert_true(c.rope_divisors[0][15] == 2 && !c.value_is_key);
    m = make_gemma4(96);
    finish_refused(&m, "a number of its own for this layer");
}

/* A gated delta net, by the names that its keys have; `changed` has another number. */
static maker make_qwen35(const char *changed, uint32_t value)
{
    static const char *const keys[] = {".ssm.conv_kernel",    ".ssm.state_size", ".ssm.group_count",
                                       ".ssm.time_step_rank", ".ssm.inner_size", ".nextn_predict_layers"};
    static const uint32_t values[] = {4, 8, 2, 6, 60, 1};
    maker m = make("qwen35");
    key_tokens(&m, 3);
    for (int i = 0; i < 6; i++)
        key_u32(&m, keys[i], strcmp(keys[i], changed) == 0 ? value : values[i]);
    return m;
}

static void reads_qwen3_5_from_gguf(void **unused)
{
    (void)unused;
    maker m = make_qwen35("", 0);
    model_config c = finish_good(&m);
    assert_true(c.attention_gated && c.recurrent_tiled && !c.norm_adds_one);
    assert_true(c.layer_count == 3 && c.extra_layers == 1); /* the fourth guesses ahead */
    assert_true(c.recurrent_width == 4 && c.recurrent_key_dim == 8 && c.recurrent_value_dim == 10);
    assert_true(c.recurrent_key_heads == 2 && c.recurrent_heads == 6);
    assert_true(c.is_recurrent[0] && c.is_recurrent[1] && c.is_recurrent[2]);
    m = make_qwen35(".nextn_predict_layers", 2);
    key_numbers(&m, ".attention.recurrent_layers", 0, 1);
    c = finish_good(&m);
    assert_true(c.layer_count == 2 && !c.is_recurrent[0] && c.is_recurrent[1]);

    m = make_qwen35(".ssm.time_step_rank", 5);
    finish_refused(&m, "\"qwen35.ssm.time_step_rank\" (5) is not a multiple of \"qwen35.ssm.group_count\" (2)");
    m = make_qwen35(".ssm.inner_size", 61);
    finish_refused(&m, "\"qwen35.ssm.inner_size\" (61) is not a multiple of the heads (6)");
    m = make_qwen35(".ssm.state_size", 1 << 20);
    finish_refused(&m, "\"qwen35.ssm.state_size\"");
    m = make_qwen35(".ssm.conv_kernel", 1);
    finish_refused(&m, "a convolution of one token");
    m = make_qwen35(".ssm.group_count", 0);
    finish_refused(&m, "\"qwen35.ssm.group_count\" is 0");
    m = make_qwen35(".nextn_predict_layers", 4);
    finish_refused(&m, "no layer is left");
    m = make_qwen35("", 0);
    key_numbers(&m, ".attention.recurrent_layers", 0, 1);
    finish_refused(&m, "names 2 layers of 3");
    m = make("qwen35");
    key_tokens(&m, 3);
    finish_refused(&m, "qwen35.ssm.conv_kernel");
}

/* Its files have no size of a feed-forward layer without experts. */
static void reads_qwen3_5_with_experts_from_gguf(void **unused)
{
    (void)unused;
    static const char *const keys[] = {
        ".block_count",    ".embedding_length",  ".attention.head_count",      ".ssm.conv_kernel",
        ".ssm.state_size", ".ssm.group_count",   ".ssm.time_step_rank",        ".ssm.inner_size",
        ".expert_count",   ".expert_used_count", ".expert_feed_forward_length"};
    static const uint32_t values[] = {4, 64, 4, 4, 8, 2, 6, 60, 6, 3, 14};
    for (int shared = 1; shared >= 0; shared--) {
        maker m = {.arch = "qwen35moe"};
        key_text(&m, "general.architecture", "qwen35moe");
        for (int i = 0; i < 11; i++)
            key_u32(&m, keys[i], values[i]);
        key_u32(&m, ".expert_shared_feed_forward_length", shared ? 18 : 1 << 30);
        key_tokens(&m, 3);
        if (!shared) {
            finish_refused(&m, "\"qwen35moe.expert_shared_feed_forward_length\"");
            continue;
        }
        model_config c = finish_good(&m);
        assert_true(c.expert_count == 6 && c.expert_used == 3 && c.expert_ffn_dim == 14 && c.shared_ffn_dim == 18);
        assert_true(c.expert_weights_normed && c.shared_gated && c.is_recurrent[2] && !c.is_recurrent[3]);
    }
}

/* Latent attention as newer files describe it; `changed` has another number. */
static maker make_deepseek(const char *changed, uint32_t value)
{
    static const char *const keys[] = {
        ".attention.kv_lora_rank", ".attention.q_lora_rank",      ".attention.key_length",
        ".attention.value_length", ".attention.key_length_mla",   ".attention.value_length_mla",
        ".rope.dimension_count",   ".leading_dense_block_count",  ".expert_count",
        ".expert_used_count",      ".expert_feed_forward_length", ".expert_shared_count",
        ".expert_gating_func",     ".expert_group_count",         ".expert_group_used_count",
        ".attention.head_count_kv"};
    static const uint32_t values[] = {20, 12, 24, 20, 10, 8, 4, 1, 12, 3, 14, 2, 2, 4, 2, 1};
    maker m = make("deepseek2");
    key_tokens(&m, 3);
    for (int i = 0; i < 16; i++)
        key_u32(&m, keys[i], strcmp(keys[i], changed) == 0 ? value : values[i]);
    return m;
}

static void reads_deepseek_from_gguf(void **unused)
{
    (void)unused;
    static const struct {
        const char *key;
        uint32_t value;
        const char *refusal;
    } wrong[] = {
        {".attention.kv_lora_rank", 0, "kv_lora_rank\" is 0"},
        {".attention.q_lora_rank", 1 << 20, "q_lora_rank\" is 1.04858e+06"},
        {".attention.key_length_mla", 4, "4 numbers turn of a head's 4, and none is left"},
        {".attention.key_length_mla", 2000, "key_length_mla\" is 2000"},
        {".attention.value_length_mla", 0, "value_length_mla\" is 0"},
        {".rope.dimension_count", 5, "must be even"},
        {".leading_dense_block_count", 5, "leading_dense_block_count\" is 5"},
        {".expert_used_count", 13, "expert_used_count\" is 13"},
        {".expert_used_count", 7, "less than the 7 that are chosen"},
        {".expert_group_count", 5, "(5) groups of 12 experts"},
        {".expert_group_count", 12, "two or more must be in each"},
        {".expert_group_used_count", 5, "expert_group_used_count\" is 5"},
        {".expert_gating_func", 3, "a router of this kind"},
        {".expert_shared_count", 1 << 30, "expert_shared_count\""},
        {".expert_count", 1 << 20, "expert_count\" is 1.04858e+06"},
    };
    maker m = make_deepseek("", 0);
    add_number(&m.file, full(&m, ".expert_weights_norm").text, BOOL, 1, 1);
    key_f32(&m, ".expert_weights_scale", 2.5f);
    key_text(&m, ".rope.scaling.type", "yarn");
    key_f32(&m, ".rope.scaling.factor", 40);
    key_u32(&m, ".rope.scaling.original_context_length", 4096);
    key_f32(&m, ".rope.scaling.yarn_log_multiplier", 0.1f * 0.707f);
    model_config c = finish_good(&m);
    assert_true(c.kv_rank == 20 && c.q_rank == 12 && c.head_dim == 10 && c.rope_dims == 4 && c.value_dim == 8);
    assert_true(c.dense_layers == 1 && c.expert_count == 12 && c.expert_groups == 4 && c.expert_groups_used == 2);
    assert_true(c.expert_sigmoid && c.expert_weights_normed && c.expert_scale == 2.5f && c.shared_ffn_dim == 28);
    double magnitude = 0.0707 * log(40) + 1;
    assert_true(near(c.attention_scale, magnitude * magnitude / sqrt(10)) && near(c.rope_magnitude, 1));
    m = make_deepseek(".expert_group_used_count", 4); /* all of them: no limit */
    c = finish_good(&m);
    assert_true(c.expert_groups == 0 && !c.expert_weights_normed && c.expert_scale == 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        m = make_deepseek(wrong[i].key, wrong[i].value);
        finish_refused(&m, wrong[i].refusal);
    }
}

static void reads_divisors_from_gguf(void **unused)
{
    (void)unused;
    maker m = make("llama");
    key_tokens(&m, 10);
    tensor(&m, "rope_freqs.weight", 8, 0);
    model_config c = finish_good(&m);
    assert_true(c.rope_scaling == ROPE_GIVEN && !c.rope_divisors_missing);
    assert_true(c.rope_divisors[0][7] == 2 && c.rope_divisors[1][0] == 2);

    for (int with_data = 0; with_data < 2; with_data++) {
        m = make("phi3");
        key_tokens(&m, 10);
        key_u32(&m, ".context_length", 131072);
        key_u32(&m, ".attention.sliding_window", 100);
        key_u32(&m, ".rope.dimension_count", 12);
        key_u32(&m, ".rope.scaling.original_context_length", 4096);
        key_f32(&m, ".rope.scaling.attn_factor", 1.25f);
        tensor(&m, "rope_factors_long.weight", 6, 0);
        tensor(&m, "rope_factors_short.weight", 6, 0);
        err e;
        if (!finish(&m, with_data, &c, &e))
            fail_msg("%s", e.text);
        assert_true(c.rope_scaling == ROPE_LONGROPE && c.rope_divisors_missing == !with_data);
        assert_true(c.rope_divisors[1][5] == (with_data ? 2 : 1) && c.rope_dims == 12);
        assert_true(c.rope_original_tok == 4096 && c.rope_magnitude == 1.25f && windowed_layers(&c) == 4);
    }
}

static void refuses_wrong_gguf(void **unused)
{
    (void)unused;
    maker m = {.arch = "x"};
    key_u32(&m, "x", 1);
    finish_refused(&m, "general.architecture");
    m = make("mamba");
    finish_refused(&m, "\"general.architecture\": unknown architecture \"mamba\" (known: llama, qwen2, ");
    m = (maker){.arch = "llama"};
    key_text(&m, "general.architecture", "llama");
    finish_refused(&m, "llama.block_count");

    static const char *const keys[] = {".block_count", ".embedding_length", ".feed_forward_length",
                                       ".attention.head_count"};
    for (int wrong = 0; wrong < 4; wrong++) {
        static const uint32_t values[] = {0, 4000000000u};
        for (int v = 0; v < 2; v++) {
            m = (maker){.arch = "llama"};
            key_text(&m, "general.architecture", "llama");
            for (int i = 0; i < 4; i++)
                key_u32(&m, keys[i], i == wrong ? values[v] : 64);
            char part[64];
            snprintf(part, sizeof part, "\"llama%s\" is %s, must be 1 to", keys[wrong], v ? "4e+09" : "0");
            finish_refused(&m, part);
        }
    }

    m = make("llama");
    finish_refused(&m, "\"tokenizer.ggml.tokens\" is 0");
    m = make("llama");
    key_tokens(&m, 13);
    tensor(&m, "token_embd.weight", 64, 12);
    finish_refused(&m, "\"tokenizer.ggml.tokens\" has 13 tokens, token_embd.weight only 12 rows");
    m = make("llama");
    tensor(&m, "token_embd.weight", 32, 12);
    finish_refused(&m, "tensor token_embd.weight: rows of 32 numbers");
    m = make("llama");
    key_u32(&m, ".attention.head_count_kv", 3);
    key_tokens(&m, 10);
    finish_refused(&m, "\"llama.attention.head_count\" (4) is not a multiple of \"llama.attention.head_count_kv\" (3)");
    m = make("llama");
    key_numbers(&m, ".attention.head_count_kv", 2, 4);
    finish_refused(&m, "\"llama.attention.head_count_kv\": a number that differs between layers is not supported");
    m = make("llama");
    key_u32(&m, ".attention.value_length", 8);
    finish_refused(&m, "\"llama.attention.value_length\": a size other than the keys'");
    m = make("llama");
    key_u32(&m, ".rope.dimension_count", 15);
    key_tokens(&m, 10);
    finish_refused(&m, "\"llama.rope.dimension_count\" makes 15 of a head's 16");
    m = make("llama");
    key_u32(&m, ".rope.dimension_count", 32);
    key_tokens(&m, 10);
    finish_refused(&m, "makes 32 of a head's 16");
    m = make("llama");
    key_u32(&m, ".expert_count", 8);
    key_tokens(&m, 10);
    finish_refused(&m, "llama.expert_used_count");
    m = make("llama");
    key_u32(&m, ".expert_count", 8);
    key_u32(&m, ".expert_used_count", 9);
    key_tokens(&m, 10);
    finish_refused(&m, "\"llama.expert_used_count\" is 9, must be 1 to 8");
    m = make("llama");
    key_u32(&m, ".expert_count", 1u << 30);
    key_tokens(&m, 10);
    finish_refused(&m, "\"llama.expert_count\" is 1.07374e+09");
    m = make("llama");
    key_u32(&m, ".expert_count", 100);
    key_u32(&m, ".expert_used_count", 65);
    key_tokens(&m, 10);
    finish_refused(&m, "65 experts for a token: more than 64 are not supported");
    m = make("qwen2");
    key_u32(&m, ".expert_count", 8);
    key_tokens(&m, 10);
    finish_refused(&m, "a mixture of experts in this family is not supported");
    m = make("llama");
    key_tokens(&m, 10);
    key_text(&m, ".rope.scaling.type", "yarn");
    finish_refused(&m, "\"llama.rope.scaling.factor\" is missing");
    m = make("llama");
    key_tokens(&m, 10);
    key_f32(&m, ".rope.scaling.factor", 1e-5f);
    finish_refused(&m, "\"llama.rope.scaling.factor\" is 1e-05");
    m = make("llama");
    key_text(&m, ".attention.layer_norm_rms_epsilon", "small");
    finish_refused(&m, "llama.attention.layer_norm_rms_epsilon");
    m = make("llama");
    key_text(&m, ".attention.head_count_kv", "four");
    finish_refused(&m, "llama.attention.head_count_kv");
    m = make("llama");
    key_u32(&m, "tokenizer.ggml.tokens", 5);
    finish_refused(&m, "tokenizer.ggml.tokens");
    m = make("llama");
    key_u32(&m, ".attention.causal", 0);
    finish_refused(&m, "llama.attention.causal");
    m = make("llama");
    key_tokens(&m, 10);
    key_f32(&m, ".rope.freq_base", NAN);
    finish_refused(&m, "\"llama.rope.freq_base\" is nan");
    m = make("llama");
    key_tokens(&m, 10);
    tensor(&m, "rope_freqs.weight", 7, 0);
    finish_refused(&m, "tensor rope_freqs.weight: must be 8 numbers");
    m = make("phi3");
    key_tokens(&m, 10);
    tensor(&m, "rope_factors_long.weight", 8, 0);
    finish_refused(&m, "tensor rope_factors_short.weight: missing");
    m = make("phi3");
    key_tokens(&m, 10);
    tensor(&m, "rope_freqs.weight", 8, 0);
    tensor(&m, "rope_factors_long.weight", 8, 0);
    tensor(&m, "rope_factors_short.weight", 8, 0);
    finish_refused(&m, "tensor rope_freqs.weight: and rope_factors_short.weight");
}

static void reads_a_trained_model(void **unused)
{
    (void)unused;
    static const char *const files[] = {"f32", "f16", "bf16", "q8_0", "q5_1", "q4_0"};
    if (!file_exists("../shared/models/stories260K"))
        skip();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[128];
        snprintf(path, sizeof path, "../shared/models/stories260K/%s.gguf", files[i]);
        err e = {0};
        model_config c;
        gguf *g = gguf_open(path, &e);
        if (!g || !config_from_gguf(g, &c, &e))
            fail_msg("%s", e.text);
        gguf_close(g);
        assert_sizes(&c, 5, 64, 172, 8, 4, 8, 512, 2048);
        assert_true(c.arch == ARCH_LLAMA && c.rope_order == ROPE_ADJACENT && c.rope_dims == 8);
        assert_true(near(c.norm_epsilon, 1e-5) && !c.tied_embeddings && c.rope_base == 10000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_gguf),
        cmocka_unit_test(reads_gemma_2_from_gguf),
        cmocka_unit_test(reads_gemma_4_from_gguf),
        cmocka_unit_test(reads_qwen3_5_from_gguf),
        cmocka_unit_test(reads_qwen3_5_with_experts_from_gguf),
        cmocka_unit_test(reads_deepseek_from_gguf),
        cmocka_unit_test(reads_divisors_from_gguf),
        cmocka_unit_test(refuses_wrong_gguf),
        cmocka_unit_test(reads_a_trained_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
