/* A configuration from config.json, old and new: it says what the file says. */
#include "base/file.h"
#include "config_checks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What the plain ones have in common. */
static void assert_plain(const model_config *c, float rope_base, float epsilon)
{
    assert_true(near(c->attention_scale, 1 / sqrt(c->head_dim)));
    assert_true(c->attention_cap == 0 && c->logit_cap == 0 && c->embedding_scale == 1);
    assert_true(!c->norm_adds_one && !c->post_norms && !c->output_bias && c->act == ACT_SILU);
    assert_true(c->rope_dims == c->head_dim && c->rope_base == rope_base && c->rope_magnitude == 1);
    assert_true(c->rope_order == ROPE_HALVES && !c->rope_divisors_missing);
    assert_true(near(c->norm_epsilon, epsilon));
}

/* ---- config.json as it is on the hub ------------------------------------- */

static void reads_qwen2_5(void **unused)
{
    (void)unused;
    model_config c =
        parse("{\"architectures\":[\"Qwen2ForCausalLM\"],\"attention_dropout\":0.0,\"bos_token_id\":151643,"
              "\"eos_token_id\":151643,\"hidden_act\":\"silu\",\"hidden_size\":896,\"initializer_range\":0.02,"
              "\"intermediate_size\":4864,\"max_position_embeddings\":32768,\"max_window_layers\":24,"
              "\"model_type\":\"qwen2\",\"num_attention_heads\":14,\"num_hidden_layers\":24,"
              "\"num_key_value_heads\":2,\"rms_norm_eps\":1e-06,\"rope_theta\":1000000.0,"
              "\"sliding_window\":32768,\"tie_word_embeddings\":true,\"torch_dtype\":\"bfloat16\","
              "\"use_cache\":true,\"use_mrope\":false,\"use_sliding_window\":false,\"vocab_size\":151936}");
    assert_int_equal(c.arch, ARCH_QWEN2);
    assert_sizes(&c, 24, 896, 4864, 14, 2, 64, 151936, 32768);
    assert_plain(&c, 1e6f, 1e-6f);
    assert_true(c.qkv_bias && !c.qk_norm && c.tied_embeddings && c.window_tok == 0 && windowed_layers(&c) == 0);

    c = parse("{\"architectures\":[\"Qwen2ForCausalLM\"],\"hidden_act\":\"silu\",\"hidden_size\":1536,"
              "\"intermediate_size\":8960,\"max_position_embeddings\":131072,\"max_window_layers\":28,"
              "\"model_type\":\"qwen2\",\"num_attention_heads\":12,\"num_hidden_layers\":28,\"num_key_value_heads\":2,"
              "\"rms_norm_eps\":1e-06,\"rope_theta\":1000000.0,\"sliding_window\":131072,\"tie_word_embeddings\":true,"
              "\"use_sliding_window\":false,\"vocab_size\":151936}");
    assert_sizes(&c, 28, 1536, 8960, 12, 2, 128, 151936, 131072);
    assert_plain(&c, 1e6f, 1e-6f);
}

static void reads_llama_3(void **unused)
{
    (void)unused;
    model_config c =
        parse("{\"architectures\":[\"LlamaForCausalLM\"],\"attention_bias\":false,\"attention_dropout\":0.0,"
              "\"bos_token_id\":128000,\"eos_token_id\":128001,\"hidden_act\":\"silu\",\"hidden_size\":4096,"
              "\"initializer_range\":0.02,\"intermediate_size\":14336,\"max_position_embeddings\":8192,"
              "\"model_type\":\"llama\",\"num_attention_heads\":32,\"num_hidden_layers\":32,\"num_key_value_heads\":8,"
              "\"pretraining_tp\":1,\"rms_norm_eps\":1e-05,\"rope_scaling\":null,\"rope_theta\":500000.0,"
              "\"tie_word_embeddings\":false,\"torch_dtype\":\"bfloat16\",\"use_cache\":true,\"vocab_size\":128256}");
    assert_int_equal(c.arch, ARCH_LLAMA);
    assert_string_equal(config_arch_name(c.arch), "llama");
    assert_sizes(&c, 32, 4096, 14336, 32, 8, 128, 128256, 8192);
    assert_plain(&c, 5e5f, 1e-5f);
    assert_true(!c.qkv_bias && !c.tied_embeddings && c.rope_scaling == ROPE_PLAIN);
    assert_true(c.rope_divisors[0][0] == 1 && c.rope_divisors[1][63] == 1);
}

static void reads_llama_3_1_and_3_2(void **unused)
{
    (void)unused;
    model_config c = parse(
        "{\"architectures\":[\"LlamaForCausalLM\"],\"attention_bias\":false,\"bos_token_id\":128000,"
        "\"eos_token_id\":[128001,128008,128009],\"hidden_act\":\"silu\",\"hidden_size\":4096,"
        "\"intermediate_size\":14336,\"max_position_embeddings\":131072,\"mlp_bias\":false,\"model_type\":\"llama\","
        "\"num_attention_heads\":32,\"num_hidden_layers\":32,\"num_key_value_heads\":8,\"pretraining_tp\":1,"
        "\"rms_norm_eps\":1e-05,\"rope_scaling\":{\"factor\":8.0,\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,"
        "\"original_max_position_embeddings\":8192,\"rope_type\":\"llama3\"},\"rope_theta\":500000.0,"
        "\"tie_word_embeddings\":false,\"vocab_size\":128256}");
    assert_sizes(&c, 32, 4096, 14336, 32, 8, 128, 128256, 131072);
    assert_plain(&c, 5e5f, 1e-5f);
    assert_int_equal(c.rope_scaling, ROPE_LLAMA3);
    assert_true(c.rope_factor == 8 && c.rope_low_factor == 1 && c.rope_high_factor == 4 && c.rope_original_tok == 8192);
    assert_true(c.rope_divisors[0][0] == 1 && c.rope_divisors[0][63] == 8);
    assert_true(near(c.rope_divisors[0][32], 2.6945296878947333));
    assert_memory_equal(c.rope_divisors[0], c.rope_divisors[1], sizeof c.rope_divisors[0]);

    c = parse(
        "{\"architectures\":[\"LlamaForCausalLM\"],\"attention_bias\":false,\"head_dim\":64,\"hidden_act\":\"silu\","
        "\"hidden_size\":2048,\"intermediate_size\":8192,\"max_position_embeddings\":131072,\"mlp_bias\":false,"
        "\"model_type\":\"llama\",\"num_attention_heads\":32,\"num_hidden_layers\":16,\"num_key_value_heads\":8,"
        "\"rms_norm_eps\":1e-05,\"rope_scaling\":{\"factor\":32.0,\"high_freq_factor\":4.0,\"low_freq_factor\":1.0,"
        "\"original_max_position_embeddings\":8192,\"rope_type\":\"llama3\"},\"rope_theta\":500000.0,"
        "\"tie_word_embeddings\":true,\"vocab_size\":128256}");
    assert_sizes(&c, 16, 2048, 8192, 32, 8, 64, 128256, 131072);
    assert_plain(&c, 5e5f, 1e-5f);
    assert_true(c.tied_embeddings && c.rope_factor == 32 && c.rope_divisors[0][31] == 32);
    assert_true(near(c.rope_divisors[0][16], 3.2922621029408843));
}

static void reads_mistral(void **unused)
{
    (void)unused;
    model_config c = parse(
        "{\"architectures\":[\"MistralForCausalLM\"],\"bos_token_id\":1,\"eos_token_id\":2,\"hidden_act\":\"silu\","
        "\"hidden_size\":4096,\"initializer_range\":0.02,\"intermediate_size\":14336,"
        "\"max_position_embeddings\":32768,\"model_type\":\"mistral\",\"num_attention_heads\":32,"
        "\"num_hidden_layers\":32,\"num_key_value_heads\":8,\"rms_norm_eps\":1e-05,\"rope_theta\":10000.0,"
        "\"sliding_window\":4096,\"tie_word_embeddings\":false,\"torch_dtype\":\"bfloat16\",\"use_cache\":true,"
        "\"vocab_size\":32000}");
    assert_int_equal(c.arch, ARCH_MISTRAL);
    assert_sizes(&c, 32, 4096, 14336, 32, 8, 128, 32000, 32768);
    assert_plain(&c, 1e4f, 1e-5f);
    assert_true(c.window_tok == 4096 && windowed_layers(&c) == 32);
    assert_int_equal(config_window(&c, 3, 100), 100);
    assert_int_equal(config_window(&c, 3, 5000), 4096);
}

static void reads_phi_3(void **unused)
{
    (void)unused;
    model_config c = parse(
        "{\"_name_or_path\":\"Phi-3-mini-4k-instruct\",\"architectures\":[\"Phi3ForCausalLM\"],\"attention_bias\":"
        "false,"
        "\"attention_dropout\":0.0,\"auto_map\":{\"AutoConfig\":\"configuration_phi3.Phi3Config\"},\"bos_token_id\":1,"
        "\"embd_pdrop\":0.0,\"eos_token_id\":32000,\"hidden_act\":\"silu\",\"hidden_size\":3072,"
        "\"intermediate_size\":8192,\"max_position_embeddings\":4096,\"model_type\":\"phi3\",\"num_attention_heads\":"
        "32,"
        "\"num_hidden_layers\":32,\"num_key_value_heads\":32,\"original_max_position_embeddings\":4096,"
        "\"pad_token_id\":32000,\"resid_pdrop\":0.0,\"rms_norm_eps\":1e-05,\"rope_scaling\":null,\"rope_theta\":10000."
        "0,"
        "\"sliding_window\":2047,\"tie_word_embeddings\":false,\"vocab_size\":32064}");
    assert_int_equal(c.arch, ARCH_PHI3);
    assert_sizes(&c, 32, 3072, 8192, 32, 32, 96, 32064, 4096);
    assert_plain(&c, 1e4f, 1e-5f);
    assert_true(c.window_tok == 2047 && windowed_layers(&c) == 32 && c.rope_scaling == ROPE_PLAIN);
}

static void reads_gemma(void **unused)
{
    (void)unused;
    model_config c = parse("{\"architectures\":[\"GemmaForCausalLM\"],\"attention_bias\":false,\"bos_token_id\":2,"
                           "\"eos_token_id\":1,\"head_dim\":256,\"hidden_act\":\"gelu\",\"hidden_size\":2048,"
                           "\"intermediate_size\":16384,\"max_position_embeddings\":8192,\"model_type\":\"gemma\","
                           "\"num_attention_heads\":8,\"num_hidden_layers\":18,\"num_key_value_heads\":1,"
                           "\"pad_token_id\":0,\"rms_norm_eps\":1e-06,\"rope_scaling\":null,\"rope_theta\":10000.0,"
                           "\"torch_dtype\":\"bfloat16\",\"use_cache\":true,\"vocab_size\":256000}");
    assert_int_equal(c.arch, ARCH_GEMMA);
    assert_sizes(&c, 18, 2048, 16384, 8, 1, 256, 256000, 8192);
    assert_true(c.tied_embeddings && c.norm_adds_one && !c.post_norms && c.act == ACT_GELU_TANH);
    assert_true(near(c.embedding_scale, 45.254834) && near(c.attention_scale, 1 / 16.0));
    assert_true(c.attention_cap == 0 && c.logit_cap == 0 && c.window_tok == 0);
}

static void reads_gemma_2(void **unused)
{
    (void)unused;
    model_config c = parse(
        "{\"architectures\":[\"Gemma2ForCausalLM\"],\"attention_bias\":false,\"attn_logit_softcapping\":50.0,"
        "\"bos_token_id\":2,\"cache_implementation\":\"hybrid\",\"eos_token_id\":1,\"final_logit_softcapping\":30.0,"
        "\"head_dim\":256,\"hidden_act\":\"gelu_pytorch_tanh\",\"hidden_activation\":\"gelu_pytorch_tanh\","
        "\"hidden_size\":2304,\"intermediate_size\":9216,\"max_position_embeddings\":8192,\"model_type\":\"gemma2\","
        "\"num_attention_heads\":8,\"num_hidden_layers\":26,\"num_key_value_heads\":4,\"query_pre_attn_scalar\":256,"
        "\"rms_norm_eps\":1e-06,\"rope_theta\":10000.0,\"sliding_window\":4096,\"torch_dtype\":\"float32\","
        "\"vocab_size\":256000}");
    assert_int_equal(c.arch, ARCH_GEMMA2);
    assert_sizes(&c, 26, 2304, 9216, 8, 4, 256, 256000, 8192);
    assert_true(c.tied_embeddings && c.norm_adds_one && c.post_norms && c.act == ACT_GELU_TANH);
    assert_true(c.attention_cap == 50 && c.logit_cap == 30 && near(c.embedding_scale, 48));
    assert_true(near(c.attention_scale, 1 / 16.0));
    assert_true(c.window_tok == 4096 && windowed_layers(&c) == 13);
    assert_true(c.is_windowed[0] && !c.is_windowed[1] && c.is_windowed[2]);
    assert_int_equal(config_window(&c, 1, 5000), 5000);
}

static void reads_qwen3(void **unused)
{
    (void)unused;
    model_config c = parse(
        "{\"architectures\":[\"Qwen3ForCausalLM\"],\"attention_bias\":false,\"attention_dropout\":0.0,"
        "\"bos_token_id\":151643,\"eos_token_id\":151645,\"head_dim\":128,\"hidden_act\":\"silu\","
        "\"hidden_size\":1024,\"intermediate_size\":3072,\"max_position_embeddings\":40960,"
        "\"max_window_layers\":28,\"model_type\":\"qwen3\",\"num_attention_heads\":16,\"num_hidden_layers\":28,"
        "\"num_key_value_heads\":8,\"rms_norm_eps\":1e-06,\"rope_scaling\":null,\"rope_theta\":1000000,"
        "\"sliding_window\":null,\"tie_word_embeddings\":true,\"use_sliding_window\":false,\"vocab_size\":151936}");
    assert_int_equal(c.arch, ARCH_QWEN3);
    assert_sizes(&c, 28, 1024, 3072, 16, 8, 128, 151936, 40960);
    assert_plain(&c, 1e6f, 1e-6f);
    assert_true(c.qk_norm && !c.qkv_bias && c.tied_embeddings && c.window_tok == 0);
}

static void reads_experts(void **unused)
{
    (void)unused;
    model_config c = parse_small("qwen3_moe", "\"num_experts\":16,\"norm_topk_prob\":true");
    assert_true(c.expert_count == 16 && c.expert_used == 8 && c.expert_ffn_dim == 768 && c.expert_weights_normed);
    c = parse_small("qwen2_moe", "\"moe_intermediate_size\":12,\"shared_expert_intermediate_size\":20");
    assert_true(c.expert_count == 60 && c.expert_used == 4 && c.expert_ffn_dim == 12 && c.shared_ffn_dim == 20);
    assert_true(!c.expert_weights_normed && c.qkv_bias && !c.output_bias);
    c = parse_small("mixtral", "\"num_local_experts\":6");
    assert_true(c.arch == ARCH_MISTRAL && c.expert_count == 6 && c.expert_used == 2 && c.expert_ffn_dim == 96);
    assert_true(c.window_tok == 0 && c.expert_weights_normed && !c.expert_bias);
    c = parse_small("gpt_oss", "\"num_local_experts\":6,\"head_dim\":8");
    assert_true(c.attention_sinks && c.expert_bias && c.qkv_bias && c.output_bias && c.act == ACT_CLAMPED_GLU);
    assert_true(c.expert_used == 4 && c.window_tok == 128 && c.is_windowed[0] && !c.is_windowed[1]);
    assert_true(parse_small("llama", "").expert_count == 0);
}

/* gemma-4-E2B's numbers, in their first form and in the one that transformers writes now. */
static void reads_gemma_4(void **unused)
{
    (void)unused;
#define E2B \
    "\"vocab_size\":262144,\"hidden_size\":1536,\"intermediate_size\":6144,\"num_hidden_layers\":10," \
    "\"num_attention_heads\":8,\"num_key_value_heads\":1,\"head_dim\":256,\"num_kv_shared_layers\":5," \
    "\"use_double_wide_mlp\":true,\"hidden_size_per_layer_input\":256,\"final_logit_softcapping\":30.0," \
    "\"layer_types\":[" FIVE "," FIVE "]"
#define FIVE \
    "\"sliding_attention\",\"sliding_attention\",\"sliding_attention\",\"sliding_attention\",\"full_attention\""
    static const char *const forms[] = {
        "{\"model_type\":\"gemma4\",\"vision_config\":{},\"text_config\":{\"global_head_dim\":512," E2B "}}",
        "{\"model_type\":\"gemma4_text\",\"use_bidirectional_attention\":\"vision\",\"per_layer_config\":"
        "{\"4\":{\"head_dim\":512},\"9\":{\"head_dim\":512}}," E2B "}"};
    for (size_t i = 0; i < 2; i++) {
        model_config c = parse(forms[i]);
        assert_int_equal(c.arch, ARCH_GEMMA4);
        assert_sizes(&c, 10, 1536, 6144, 8, 1, 512, 262144, 131072);
        assert_true(c.attention_scale == 1 && c.value_norm && !c.value_is_key && !c.norm_adds_one && c.layer_scales);
        assert_true(c.window_tok == 512 && windowed_layers(&c) == 8 && c.rope_local_base == 1e4f &&
                    c.rope_base == 1e6f);
        assert_true(config_head_dim(&c, 0) == 256 && config_head_dim(&c, 4) == 512 && config_ffn_dim(&c, 4) == 6144);
        assert_true(config_ffn_dim(&c, 5) == 12288 && config_cache_layer(&c, 4) == 4);
        assert_true(config_cache_layer(&c, 5) == 3 && config_cache_layer(&c, 9) == 4 && c.logit_cap == 30);
        assert_true(c.per_layer_dim == 256 && c.per_layer_vocab_tok == 262144 && c.rope_dims == 512);
        assert_true(c.rope_divisors[0][63] == 1 && c.rope_divisors[0][64] > 1e29f); /* a quarter of the pairs */
    }
    model_config c = parse_small("gemma4", "\"attention_k_eq_v\":true,\"num_global_key_value_heads\":2,"
                                           "\"num_key_value_heads\":4,\"hidden_size_per_layer_input\":null");
    assert_true(c.value_is_key && c.kv_head_count == 2 && c.local_kv_head_count == 4 && c.per_layer_dim == 0);
    assert_true(windowed_layers(&c) == 3 && !c.is_windowed[3]); /* the last one sees all */
}

/* ---- single keys --------------------------------------------------------- */

static void fills_in_what_is_left_out(void **unused)
{
    (void)unused;
    model_config c = parse_small("llama", "");
    assert_sizes(&c, 4, 64, 96, 4, 4, 16, 100, 2048);
    assert_plain(&c, 1e4f, 1e-6f);
    assert_true(!c.tied_embeddings && c.window_tok == 0);
    c = parse_small("mistral", "\"head_dim\":null");
    assert_true(c.head_dim == 16 && c.context_tok == 131072 && c.window_tok == 4096 && windowed_layers(&c) == 4);
    c = parse_small("mistral", "\"sliding_window\":null");
    assert_true(c.window_tok == 0 && windowed_layers(&c) == 0);
    c = parse_small("qwen2", "");
    assert_true(c.context_tok == 32768 && c.qkv_bias && !c.tied_embeddings && c.window_tok == 0);
    c = parse_small("qwen3", "");
    assert_true(c.head_dim == 128 && c.qk_norm);
    c = parse_small("phi3", "");
    assert_true(c.context_tok == 4096 && near(c.norm_epsilon, 1e-5) && c.window_tok == 0);
    c = parse_small("gemma", "");
    assert_true(c.head_dim == 256 && c.tied_embeddings && c.context_tok == 8192 && c.act == ACT_GELU_TANH);
    c = parse_small("gemma2", "");
    assert_true(c.attention_cap == 50 && c.logit_cap == 30 && c.window_tok == 4096 && windowed_layers(&c) == 2);
    c = parse_small("gemma2", "\"attn_logit_softcapping\":null,\"final_logit_softcapping\":null,"
                              "\"query_pre_attn_scalar\":144,\"sliding_window\":null");
    assert_true(c.attention_cap == 0 && c.logit_cap == 0 && near(c.attention_scale, 1 / 12.0) && c.window_tok == 0);
}

static void reads_biases_and_functions(void **unused)
{
    (void)unused;
    model_config c = parse_small("llama", "\"attention_bias\":true");
    assert_true(c.qkv_bias && c.output_bias);
    c = parse_small("qwen2", "\"attention_bias\":true");
    assert_true(c.qkv_bias && !c.output_bias);
    c = parse_small("llama", "\"hidden_act\":\"gelu_pytorch_tanh\"");
    assert_int_equal(c.act, ACT_GELU_TANH);
    c = parse_small("gemma", "\"hidden_act\":\"silu\",\"hidden_activation\":\"gelu_pytorch_tanh\"");
    assert_int_equal(c.act, ACT_GELU_TANH);
    c = parse_small("gemma", "\"hidden_act\":\"gelu\",\"hidden_activation\":null");
    assert_int_equal(c.act, ACT_GELU_TANH);
}

static void knows_which_layers_have_windows(void **unused)
{
    (void)unused;
    model_config c = parse_small("qwen2", "\"use_sliding_window\":true,\"sliding_window\":32,\"max_window_layers\":3");
    assert_true(c.window_tok == 32 && windowed_layers(&c) == 1 && c.is_windowed[3]);
    c = parse_small("qwen2", "\"use_sliding_window\":true,\"sliding_window\":32"); /* from layer 28 on */
    assert_int_equal(windowed_layers(&c), 0);
    c = parse_small("qwen2",
                    "\"use_sliding_window\":true,\"sliding_window\":32,\"max_window_layers\":0,\"layer_types\":"
                    "[\"full_attention\",\"sliding_attention\",\"full_attention\",\"full_attention\"]");
    assert_true(windowed_layers(&c) == 1 && c.is_windowed[1]);
    c = parse_small("qwen3", "\"use_sliding_window\":false,\"sliding_window\":32,\"layer_types\":"
                             "[\"full_attention\",\"sliding_attention\",\"full_attention\",\"full_attention\"]");
    assert_int_equal(windowed_layers(&c), 0);
    c = parse_small("gemma2", "\"sliding_window\":32,\"layer_types\":"
                              "[\"full_attention\",\"sliding_attention\",\"full_attention\",\"full_attention\"]");
    assert_true(windowed_layers(&c) == 1 && c.is_windowed[1] && c.window_tok == 32);
    c = parse_small("llama", "\"sliding_window\":32"); /* which llama does not know */
    assert_true(c.window_tok == 0 && windowed_layers(&c) == 0);
}

static void reads_rope_old_and_new(void **unused)
{
    (void)unused;
    model_config c = parse_small("llama", "\"rope_parameters\":{\"rope_theta\":7000,\"rope_type\":\"default\"},"
                                          "\"rope_theta\":5000");
    assert_true(c.rope_base == 7000 && c.rope_scaling == ROPE_PLAIN);
    c = parse_small("llama", "\"rope_theta\":5000,\"rope_scaling\":{\"type\":\"linear\",\"factor\":4}");
    assert_true(c.rope_base == 5000 && c.rope_scaling == ROPE_LINEAR && c.rope_factor == 4);
    assert_true(c.rope_divisors[0][0] == 4 && c.rope_divisors[1][7] == 4);
    static const char both[] = "\"low_freq_factor\":1,\"high_freq_factor\":4,\"factor\":8,"
                               "\"original_max_position_embeddings\":256,\"rope_type\":\"llama3\"";
    char old[512], new[512];
    snprintf(old, sizeof old, "\"rope_theta\":500000.0,\"rope_scaling\":{%s}", both);
    snprintf(new, sizeof new, "\"rope_parameters\":{\"rope_theta\":500000.0,%s}", both);
    model_config a = parse_small("llama", old), b = parse_small("llama", new);
    assert_memory_equal(a.rope_divisors, b.rope_divisors, sizeof a.rope_divisors);
    assert_true(a.rope_base == b.rope_base && b.rope_original_tok == 256 && b.rope_factor == 8);
    assert_int_equal(a.rope_scaling, ROPE_LLAMA3);
}

static void reads_longrope(void **unused)
{
    (void)unused;
    static const char lists[] = "\"short_factor\":[1,1.5,2,2.5,3,3.5,4,4.5],\"long_factor\":[8,7,6,5,4,3,2,1]";
    char text[512];
    snprintf(text, sizeof text,
             "\"max_position_embeddings\":131072,\"original_max_position_embeddings\":4096,"
             "\"rope_scaling\":{\"type\":\"su\",%s},\"sliding_window\":262144",
             lists);
    model_config c = parse_small("phi3", text);
    assert_true(c.rope_scaling == ROPE_LONGROPE && c.rope_original_tok == 4096);
    assert_true(c.rope_divisors[0][1] == 1.5f && c.rope_divisors[1][1] == 7 && c.rope_divisors[1][7] == 1);
    assert_true(near(c.rope_magnitude, 1.1902380714238083));
    snprintf(text, sizeof text,
             "\"max_position_embeddings\":131072,\"rope_parameters\":{\"rope_type\":\"longrope\",%s,"
             "\"attention_factor\":1.25,\"original_max_position_embeddings\":4096}",
             lists);
    c = parse_small("phi3", text);
    assert_true(c.rope_original_tok == 4096 && c.rope_magnitude == 1.25f);
    /* a factor counts more than the lengths, a length outside more than one inside */
    snprintf(
        text, sizeof text,
        "\"max_position_embeddings\":131072,\"original_max_position_embeddings\":4096,"
        "\"rope_parameters\":{\"rope_type\":\"longrope\",%s,\"factor\":64,\"original_max_position_embeddings\":256}",
        lists);
    c = parse_small("phi3", text);
    assert_true(c.rope_original_tok == 4096 && near(c.rope_magnitude, 1.224744871391589));
    snprintf(text, sizeof text, "\"partial_rotary_factor\":0.75");
    c = parse_small("phi3", text);
    assert_true(c.rope_dims == 12 && c.head_dim == 16);
    c = parse_small("phi3", "\"rope_parameters\":{\"partial_rotary_factor\":0.5}");
    assert_int_equal(c.rope_dims, 8);
}

/* ---- folders saved in the new form, where they are ----------------------- */

static void reads_saved_folders(void **unused)
{
    (void)unused;
    static const struct {
        const char *name;
        model_arch arch;
        uint32_t head_dim, window_tok, windowed;
        float rope_base, epsilon;
        bool tied;
    } saved[] = {
        {"llama", ARCH_LLAMA, 16, 0, 0, 5e5f, 1e-5f, false}, {"mistral", ARCH_MISTRAL, 16, 16, 3, 1e4f, 1e-5f, false},
        {"qwen2", ARCH_QWEN2, 16, 0, 0, 1e6f, 1e-6f, true},  {"phi3", ARCH_PHI3, 16, 0, 0, 1e4f, 1e-5f, false},
        {"gemma", ARCH_GEMMA, 32, 0, 0, 1e4f, 1e-6f, true},  {"gemma2", ARCH_GEMMA2, 32, 16, 2, 1e4f, 1e-6f, true},
    };
    if (!file_exists("../shared/models/hf"))
        skip();
    for (size_t i = 0; i < sizeof saved / sizeof *saved; i++) {
        char path[128];
        size_t length;
        err e = {0};
        snprintf(path, sizeof path, "../shared/models/hf/%s/config.json", saved[i].name);
        char *text = file_read(path, 1 << 20, &length, &e);
        assert_non_null(text);
        model_config c = parse(text);
        free(text);
        assert_int_equal(c.arch, saved[i].arch);
        assert_sizes(&c, 3, 64, 160, 4, 2, saved[i].head_dim, 320, 512);
        assert_true(c.window_tok == saved[i].window_tok && windowed_layers(&c) == saved[i].windowed);
        assert_true(c.rope_base == saved[i].rope_base && near(c.norm_epsilon, saved[i].epsilon));
        assert_true(c.tied_embeddings == saved[i].tied && c.rope_dims == c.head_dim && c.rope_scaling == ROPE_PLAIN);
        assert_true(c.qkv_bias == (c.arch == ARCH_QWEN2) && !c.output_bias && !c.qk_norm);
        bool gemma = c.arch == ARCH_GEMMA || c.arch == ARCH_GEMMA2;
        assert_true(c.norm_adds_one == gemma && c.embedding_scale == (gemma ? 8 : 1));
        assert_true(c.act == (gemma ? ACT_GELU_TANH : ACT_SILU) && c.post_norms == (c.arch == ARCH_GEMMA2));
        assert_true(near(c.attention_scale, 1 / sqrt(c.head_dim)));
        assert_true(c.attention_cap == (c.arch == ARCH_GEMMA2 ? 50 : 0) &&
                    c.logit_cap == (c.arch == ARCH_GEMMA2 ? 30 : 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_qwen2_5),
        cmocka_unit_test(reads_llama_3),
        cmocka_unit_test(reads_llama_3_1_and_3_2),
        cmocka_unit_test(reads_mistral),
        cmocka_unit_test(reads_phi_3),
        cmocka_unit_test(reads_gemma),
        cmocka_unit_test(reads_gemma_2),
        cmocka_unit_test(reads_qwen3),
        cmocka_unit_test(reads_experts),
        cmocka_unit_test(reads_gemma_4),
        cmocka_unit_test(fills_in_what_is_left_out),
        cmocka_unit_test(reads_biases_and_functions),
        cmocka_unit_test(knows_which_layers_have_windows),
        cmocka_unit_test(reads_rope_old_and_new),
        cmocka_unit_test(reads_longrope),
        cmocka_unit_test(reads_saved_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
