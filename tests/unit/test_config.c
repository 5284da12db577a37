/* A model's description, from config.json old and new and from GGUF: that it says
 * what the file says, and that what cannot be is refused by name. */
#include "base/file.h"
#include "base/str.h"
#include "model/config_test.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-5 * fabs(b);
}

static model_config parse(const char *json)
{
    model_config c;
    err e = {0};
    if (!config_from_hf(json, strlen(json), "config.json", &c, &e))
        fail_msg("%s", e.text);
    return c;
}

static void assert_sizes(const model_config *c, uint32_t layers, uint32_t embedding, uint32_t ffn, uint32_t heads,
                         uint32_t kv_heads, uint32_t head_dim, uint32_t vocab, uint32_t context)
{
    assert_int_equal(c->layer_count, layers);
    assert_int_equal(c->embedding_dim, embedding);
    assert_int_equal(c->ffn_dim, ffn);
    assert_int_equal(c->head_count, heads);
    assert_int_equal(c->kv_head_count, kv_heads);
    assert_int_equal(c->head_dim, head_dim);
    assert_int_equal(c->vocab_tok, vocab);
    assert_int_equal(c->context_tok, context);
}

static uint32_t windowed_layers(const model_config *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < CONFIG_MAX_LAYERS; i++)
        n += c->is_windowed[i];
    return n;
}

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

/* ---- single keys --------------------------------------------------------- */

/* A small model of this type, with `more` keys. */
static char *small(const char *type, const char *more)
{
    str s = {0};
    str_addf(&s,
             "{\"model_type\":\"%s\",\"vocab_size\":100,\"hidden_size\":64,\"intermediate_size\":96,"
             "\"num_hidden_layers\":4,\"num_attention_heads\":4%s%s}",
             type, *more ? "," : "", more);
    return s.data;
}

static model_config parse_small(const char *type, const char *more)
{
    char *text = small(type, more);
    model_config c = parse(text);
    free(text);
    return c;
}

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

/* ---- refused ------------------------------------------------------------- */

static void assert_text_refused(const char *text, const char *part)
{
    model_config c;
    err e = {0};
    assert_false(config_from_hf(text, strlen(text), "config.json", &c, &e));
    assert_int_equal(e.kind, ERR_FAILED);
    if (strncmp(e.text, "config.json: ", 13) != 0 || !strstr(e.text, part))
        fail_msg("\"%s\" does not mention \"%s\"", e.text, part);
}

static void assert_refused(const char *type, const char *more, const char *part)
{
    char *text = small(type, more);
    assert_text_refused(text, part);
    free(text);
}

/* The small model, with one key's value replaced. */
static void assert_value_refused(const char *key, const char *value, const char *part)
{
    static const char *const keys[] = {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
                                       "num_attention_heads"};
    static const char *const values[] = {"100", "64", "96", "4", "4"};
    str s = {0};
    str_add(&s, "{\"model_type\":\"llama\"");
    for (int i = 0; i < 5; i++) {
        bool this = strcmp(keys[i], key) == 0;
        if (!this || *value)
            str_addf(&s, ",\"%s\":%s", keys[i], this ? value : values[i]);
    }
    str_add(&s, "}");
    assert_text_refused(s.data, part);
    str_free(&s);
}

static void refuses_what_is_not_a_configuration(void **unused)
{
    (void)unused;
    assert_text_refused("", "not JSON");
    assert_text_refused("[]", "not a JSON object");
    assert_text_refused("{}", "\"model_type\" is missing");
    assert_text_refused("{\"model_type\":3}", "\"model_type\" must be a text");
    assert_text_refused("{\"model_type\":\"gpt_bigcode\"}", "unknown architecture \"gpt_bigcode\" (known: llama, ");
    assert_text_refused("{\"model_type\":\"x\\u001b[2Jy\"}", "\"x?[2Jy\"");
    assert_text_refused("{\"model_type\":\"ll\x1b\"}", "not JSON: control character 0x1b");
    assert_text_refused("{\"\xc2\x9b\" x}", "not JSON: ':' expected near");
    assert_text_refused("{\"model_type\":\"llama\",\"model_type\":\"llama\"}", "duplicate");
    size_t n = 5 << 20;
    char *large = mem_alloc(n + 1);
    memset(large, ' ', n);
    assert_text_refused(large, "larger than");
    memset(large, '[', 100000);
    large[100000] = 0;
    assert_text_refused(large, "not JSON"); /* too deep */
    free(large);
}

static void refuses_sizes_that_cannot_be(void **unused)
{
    (void)unused;
    static const char *const keys[] = {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
                                       "num_attention_heads"};
    for (int i = 0; i < 5; i++) {
        char part[64];
        snprintf(part, sizeof part, "\"%s\" is missing", keys[i]);
        assert_value_refused(keys[i], "", part);
        assert_value_refused(keys[i], "null", part);
        snprintf(part, sizeof part, "\"%s\" is 0, must be 1 to", keys[i]);
        assert_value_refused(keys[i], "0", part);
        snprintf(part, sizeof part, "\"%s\" is -1, must be 1 to", keys[i]);
        assert_value_refused(keys[i], "-1", part);
        snprintf(part, sizeof part, "\"%s\" is 1e+09, must be 1 to", keys[i]);
        assert_value_refused(keys[i], "1000000000", part);
        snprintf(part, sizeof part, "\"%s\" must be a whole number", keys[i]);
        assert_value_refused(keys[i], "4.5", part);
        assert_value_refused(keys[i], "\"4\"", part);
    }
    assert_value_refused("num_attention_heads", "5",
                         "\"hidden_size\" (64) is not a multiple of \"num_attention_heads\" (5)");
    assert_value_refused("num_attention_heads", "64", "\"head_dim\" is 1, must be even for rope");
    assert_refused("llama", "\"num_key_value_heads\":3",
                   "\"num_attention_heads\" (4) is not a multiple of \"num_key_value_heads\" (3)");
    assert_refused("llama", "\"num_key_value_heads\":8", "is not a multiple");
    assert_refused("llama", "\"head_dim\":15", "\"head_dim\" is 15, must be even");
    assert_refused("llama", "\"head_dim\":4096", "\"head_dim\" is 4096, must be 1 to 1024");
    assert_text_refused("{\"model_type\":\"llama\",\"vocab_size\":100,\"hidden_size\":1024,\"intermediate_size\":96,"
                        "\"num_hidden_layers\":4,\"num_attention_heads\":1024,\"head_dim\":256}",
                        "\"num_attention_heads\" (1024) heads of \"head_dim\" (256) are more than");
    assert_refused("llama", "\"max_position_embeddings\":0", "\"max_position_embeddings\" is 0");
    assert_refused("llama", "\"rms_norm_eps\":0", "\"rms_norm_eps\" is 0");
    assert_refused("llama", "\"rms_norm_eps\":\"1e-5\"", "\"rms_norm_eps\" must be a number");
    assert_refused("llama", "\"rope_theta\":-1", "\"rope_theta\" is -1");
    assert_refused("llama", "\"tie_word_embeddings\":1", "\"tie_word_embeddings\" must be true or false");
    assert_refused("mistral", "\"sliding_window\":0", "\"sliding_window\" is 0");
    assert_refused("qwen2", "\"max_window_layers\":-3", "\"max_window_layers\"");
    assert_refused("gemma2", "\"attn_logit_softcapping\":-50", "\"attn_logit_softcapping\" is -50");
    assert_refused("phi3", "\"partial_rotary_factor\":0.01", "\"partial_rotary_factor\" makes 0 of a head's 16");
    assert_refused("phi3", "\"partial_rotary_factor\":0.7", "\"partial_rotary_factor\" makes 11");
}

static void refuses_what_is_not_supported(void **unused)
{
    (void)unused;
    assert_refused("llama", "\"mlp_bias\":true", "\"mlp_bias\": a bias in the feed-forward layers is not supported");
    assert_refused("gemma", "\"use_bidirectional_attention\":true", "attention to later positions");
    assert_refused("llama", "\"quantization_config\":{\"quant_method\":\"gptq\"}", "\"quantization_config\"");
    assert_refused("llama", "\"hidden_act\":\"relu\"", "\"hidden_act\": this function is not supported");
    assert_refused("llama", "\"hidden_act\":\"gelu\"", "gelu (without tanh)");
    assert_refused("llama", "\"partial_rotary_factor\":0.5", "\"partial_rotary_factor\"");
    assert_refused("llama", "\"layer_types\":[\"full_attention\"]", "\"layer_types\" must be 4 texts");
    assert_refused("qwen3", "\"layer_types\":[\"full_attention\",\"linear_attention\",\"x\",\"y\"]", "\"layer_types\"");
    assert_refused("llama",
                   "\"layer_types\":[\"full_attention\",\"sliding_attention\",\"full_attention\",\"full_attention\"]",
                   "a window in this architecture");
}

static void refuses_wrong_ropes(void **unused)
{
    (void)unused;
    assert_refused("llama", "\"rope_scaling\":7", "\"rope_scaling\" must be an object");
    assert_refused("llama", "\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4}",
                   "\"rope_scaling\": yarn is not supported");
    assert_refused("llama", "\"rope_scaling\":{\"rope_type\":\"zzz\"}", "this type is not supported");
    assert_refused("llama", "\"rope_scaling\":{\"rope_type\":1}", "\"rope_type\" must be a text");
    assert_refused("llama", "\"rope_parameters\":{\"full_attention\":{\"rope_theta\":1}}", "each type of layer");
    assert_refused("llama", "\"rope_scaling\":{\"type\":\"linear\"}", "\"factor\" is missing");
    assert_refused("llama", "\"rope_scaling\":{\"type\":\"linear\",\"factor\":0}", "\"factor\" is 0");
    assert_refused("llama", "\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8}", "\"low_freq_factor\" is missing");
    assert_refused("llama",
                   "\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8,\"low_freq_factor\":4,\"high_freq_factor\":4,"
                   "\"original_max_position_embeddings\":8192}",
                   "must be less than");
    assert_refused("llama",
                   "\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4}",
                   "\"original_max_position_embeddings\" is missing");
    assert_refused("phi3", "\"rope_scaling\":{\"type\":\"longrope\"}", "\"short_factor\" is missing");
    assert_refused("phi3", "\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1,2]}",
                   "\"short_factor\" must be 8 numbers");
    assert_refused("phi3", "\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1,2,3,4,5,6,7,true]}",
                   "\"short_factor\" must be numbers only");
    assert_refused("phi3", "\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1,2,3,4,5,6,7,0]}",
                   "\"short_factor\" is 0");
}

/* Cut off anywhere it is not JSON; a byte changed, it is refused or a model that
 * can be. */
static void survives_damage(void **unused)
{
    (void)unused;
    char *text = small(
        "phi3", "\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1,2,3,4,5,6,7,8],"
                "\"long_factor\":[1,2,3,4,5,6,7,8]},\"sliding_window\":7,\"head_dim\":16,"
                "\"layer_types\":[\"full_attention\",\"sliding_attention\",\"full_attention\",\"full_attention\"]");
    size_t n = strlen(text);
    model_config c;
    err e = {0};
    assert_true(config_from_hf(text, n, "f", &c, &e));
    for (size_t length = 0; length < n; length++) {
        char *copy = malloc(length ? length : 1);
        memcpy(copy, text, length);
        err_clear(&e);
        assert_false(config_from_hf(copy, length, "f", &c, &e));
        free(copy);
    }
    for (size_t i = 0; i < n; i++) {
        char was = text[i];
        static const char likely[] = {0, '"', '{', '}', '[', ']', '-', '9', ',', '.', 'e', ' ', (char)0xff};
        for (size_t k = 0; k < sizeof likely; k++) {
            text[i] = likely[k];
            err_clear(&e);
            if (config_from_hf(text, n, "f", &c, &e))
                assert_true(c.head_count % c.kv_head_count == 0 && c.rope_dims <= c.head_dim && c.layer_count > 0);
            else
                assert_true(e.kind == ERR_FAILED);
        }
        text[i] = was;
    }
    free(text);
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

/* ---- GGUF ---------------------------------------------------------------- */

/* A file in the making: keys, then tensors, all of them f32 and filled with 2. */
typedef struct maker {
    str keys, tensors;
    uint64_t key_count, tensor_count, data_bytes;
    const char *arch;
} maker;

static void add_number(str *s, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        char c = (char)(value >> 8 * i);
        str_add_bytes(s, &c, 1);
    }
}

static void add_text(str *s, const char *text)
{
    add_number(s, strlen(text), 8);
    str_add(s, text);
}

/* The key's name, "arch." before it if it begins with a dot, and its type. */
static void add_key(maker *m, const char *key, uint32_t type)
{
    char full[128];
    snprintf(full, sizeof full, "%s%s", *key == '.' ? m->arch : "", key);
    add_text(&m->keys, full);
    add_number(&m->keys, type, 4);
    m->key_count++;
}

static void key_u32(maker *m, const char *key, uint32_t value)
{
    add_key(m, key, 4);
    add_number(&m->keys, value, 4);
}

static void key_f32(maker *m, const char *key, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    add_key(m, key, 6);
    add_number(&m->keys, bits, 4);
}

static void key_text(maker *m, const char *key, const char *value)
{
    add_key(m, key, 8);
    add_text(&m->keys, value);
}

static void key_numbers(maker *m, const char *key, uint32_t a, uint32_t b)
{
    add_key(m, key, 9);
    add_number(&m->keys, 4, 4);
    add_number(&m->keys, 2, 8);
    add_number(&m->keys, a, 4);
    add_number(&m->keys, b, 4);
}

static void key_tokens(maker *m, uint32_t count)
{
    add_key(m, "tokenizer.ggml.tokens", 9);
    add_number(&m->keys, 8, 4);
    add_number(&m->keys, count, 8);
    for (uint32_t i = 0; i < count; i++)
        add_text(&m->keys, "t");
}

static void tensor(maker *m, const char *name, uint64_t columns, uint64_t rows)
{
    add_text(&m->tensors, name);
    add_number(&m->tensors, rows ? 2 : 1, 4);
    add_number(&m->tensors, columns, 8);
    if (rows)
        add_number(&m->tensors, rows, 8);
    add_number(&m->tensors, TYPE_F32, 4);
    add_number(&m->tensors, m->data_bytes, 8);
    m->tensor_count++;
    m->data_bytes += (columns * (rows ? rows : 1) * 4 + 31) / 32 * 32;
}

/* A small model of this architecture, all but the sizes left out. */
static maker make(const char *arch)
{
    maker m = {.arch = arch};
    key_text(&m, "general.architecture", arch);
    key_u32(&m, ".block_count", 4);
    key_u32(&m, ".embedding_length", 64);
    key_u32(&m, ".feed_forward_length", 96);
    key_u32(&m, ".attention.head_count", 4);
    return m;
}

/* Whether a configuration comes of it. Frees what was made. */
static bool finish(maker *m, bool with_data, model_config *c, err *e)
{
    str s = {0};
    str_add(&s, "GGUF");
    add_number(&s, 3, 4);
    add_number(&s, m->tensor_count, 8);
    add_number(&s, m->key_count, 8);
    str_add_bytes(&s, m->keys.data, m->keys.length);
    if (m->tensors.length)
        str_add_bytes(&s, m->tensors.data, m->tensors.length);
    while (s.length % 32)
        add_number(&s, 0, 1);
    size_t header = s.length;
    for (uint64_t i = 0; i < m->data_bytes / 4; i++)
        add_number(&s, 0x40000000, 4);
    *e = (err){0};
    gguf *g = gguf_read(s.data, with_data ? s.length : header, s.length, "f.gguf", NULL, e);
    if (!g)
        fail_msg("%s", e->text);
    bool ok = config_from_gguf(g, c, e);
    gguf_close(g);
    str_free(&s);
    str_free(&m->keys);
    str_free(&m->tensors);
    return ok;
}

static model_config finish_good(maker *m)
{
    model_config c;
    err e;
    if (!finish(m, true, &c, &e))
        fail_msg("%s", e.text);
    return c;
}

static void finish_refused(maker *m, const char *part)
{
    model_config c;
    err e;
    assert_false(finish(m, true, &c, &e));
    if (!strstr(e.text, part))
        fail_msg("\"%s\" does not mention \"%s\"", e.text, part);
}

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
    again.keys = again.tensors = (str){0};
    str_add_bytes(&again.keys, m.keys.data, m.keys.length);
    key_f32(&again, ".attention.scale", 0.25f);
    c = finish_good(&again);
    assert_true(c.attention_scale == 0.25f);
    c = finish_good(&m);
    assert_true(near(c.attention_scale, 1 / 12.0) && c.window_tok == 4096 && windowed_layers(&c) == 23);
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
    finish_refused(&m, "\"llama.expert_count\": a mixture of experts is not supported");
    m = make("llama");
    key_tokens(&m, 10);
    key_text(&m, ".rope.scaling.type", "yarn");
    finish_refused(&m, "\"llama.rope.scaling.type\": yarn is not supported");
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
        cmocka_unit_test(reads_qwen2_5),
        cmocka_unit_test(reads_llama_3),
        cmocka_unit_test(reads_llama_3_1_and_3_2),
        cmocka_unit_test(reads_mistral),
        cmocka_unit_test(reads_phi_3),
        cmocka_unit_test(reads_gemma),
        cmocka_unit_test(reads_gemma_2),
        cmocka_unit_test(reads_qwen3),
        cmocka_unit_test(fills_in_what_is_left_out),
        cmocka_unit_test(reads_biases_and_functions),
        cmocka_unit_test(knows_which_layers_have_windows),
        cmocka_unit_test(reads_rope_old_and_new),
        cmocka_unit_test(reads_longrope),
        cmocka_unit_test(refuses_what_is_not_a_configuration),
        cmocka_unit_test(refuses_sizes_that_cannot_be),
        cmocka_unit_test(refuses_what_is_not_supported),
        cmocka_unit_test(refuses_wrong_ropes),
        cmocka_unit_test(survives_damage),
        cmocka_unit_test(reads_saved_folders),
        cmocka_unit_test(reads_gguf),
        cmocka_unit_test(reads_gemma_2_from_gguf),
        cmocka_unit_test(reads_divisors_from_gguf),
        cmocka_unit_test(refuses_wrong_gguf),
        cmocka_unit_test(reads_a_trained_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
