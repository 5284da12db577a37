/* A config.json that is damaged, or describes what cannot be or is not supported, is refused by name. */
#include "config_checks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
    char *text = small_json(type, more);
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
    assert_refused("mistral", "\"mlp_bias\":true", "\"mlp_bias\": a bias in the feed-forward layers");
    assert_refused("gemma", "\"use_bidirectional_attention\":true", "attention to later positions");
    assert_refused("llama", "\"quantization_config\":{\"quant_method\":\"gptq\"}", "\"quantization_config\"");
    assert_refused("llama", "\"hidden_act\":\"mish\"", "\"hidden_act\": this function is not supported");
    assert_refused("cohere2", "\"use_qk_norm\":true", "\"use_qk_norm\": a LayerNorm of q and k");
    assert_refused("llama", "\"qk_layernorm\":true", "\"qk_layernorm\": a LayerNorm of q and k");
    assert_refused("gpt2", "\"scale_attn_by_inverse_layer_idx\":true", "a scale for each layer");
    assert_refused("smollm3", "\"no_rope_layers\":[1,0]", "\"no_rope_layers\" must be 4 numbers");
    assert_refused("exaone4", "\"sliding_window_pattern\":\"LGLG\"", "a pattern other than L...LG");
    assert_refused("gemma3_text", "\"rope_parameters\":{\"full_attention\":{}}", "a rope for each type of layer");
    assert_refused("gemma3_text", "\"enable_moe_block\":true", "a mixture of experts beside the feed-forward layer");
    assert_refused("gemma4", "\"enable_moe_block\":true", "\"num_experts\" is missing");
    assert_refused("gemma4", "\"enable_moe_block\":\"gelu\"", "\"enable_moe_block\"");
    assert_refused("gemma4", "\"enable_moe_block\":true,\"num_experts\":4,\"top_k_experts\":5",
                   "\"top_k_experts\" is 5");
    assert_refused("gemma4", "\"use_bidirectional_attention\":\"all\"", "attention to later positions");
    assert_refused("gemma4", "\"num_kv_shared_layers\":4", "\"num_kv_shared_layers\" must be a whole number of 0 to 3");
    assert_refused("gemma4", "\"num_kv_shared_layers\":2", "layer 3 shares keys and values, and none before it");
    assert_refused("gemma4", "\"per_layer_config\":{\"0\":{\"head_dim\":8}}", "do not follow the layers' windows");
    assert_refused("gemma4", "\"per_layer_config\":{\"3\":{\"hidden_size\":8}}", "\"per_layer_config\": hidden_size");
    assert_refused("gemma4", "\"per_layer_config\":{\"3\":{\"head_dim\":8},\"1\":{\"head_dim\":4}}",
                   "more than two sizes of layers");
    assert_refused("llama", "\"partial_rotary_factor\":0.5", "\"partial_rotary_factor\"");
    assert_refused("llama", "\"layer_types\":[\"full_attention\"]", "\"layer_types\" must be 4 texts");
    assert_refused("qwen3", "\"layer_types\":[\"full_attention\",\"linear_attention\",\"x\",\"y\"]", "\"layer_types\"");
    assert_refused("llama",
                   "\"layer_types\":[\"full_attention\",\"sliding_attention\",\"full_attention\",\"full_attention\"]",
                   "a window in this architecture");
}

static void refuses_experts_that_cannot_be(void **unused)
{
    (void)unused;
    assert_refused("qwen3_moe", "\"num_experts\":8,\"num_experts_per_tok\":9",
                   "\"num_experts_per_tok\" is 9, must be 1 to 8");
    assert_refused("qwen3_moe", "\"num_experts\":4", "\"experts_per_token\" is missing"); /* 8 are usual */
    assert_refused("qwen3_moe", "\"num_experts\":0", "\"num_experts\" is 0, must be 1 to 4096");
    assert_refused("qwen2_moe", "\"num_local_experts\":1e3", "\"num_local_experts\" must be a whole number");
    assert_refused("qwen3_moe", "\"num_experts\":90,\"num_experts_per_tok\":65",
                   "65 experts for a token: more than 64");
    assert_refused("qwen2_moe", "\"decoder_sparse_step\":2", "a layer without experts is not supported");
    assert_refused("qwen3_moe", "\"mlp_only_layers\":[3]", "a layer without experts is not supported");
    assert_refused("gpt_oss", "", "\"num_local_experts\" is missing");
    assert_refused("gpt_oss", "\"num_local_experts\":8,\"swiglu_limit\":6.0", "\"swiglu_limit\": another number");
    assert_refused("mixtral", "\"num_local_experts\":2,\"num_experts_per_tok\":3", "must be 1 to 2");
}

static void refuses_recurrences_that_cannot_be(void **unused)
{
    (void)unused;
    static const char arch[] = "qwen3_5_text";
    assert_refused(arch, "\"linear_num_value_heads\":9,\"linear_num_key_heads\":2", "(9) is not a multiple of");
    assert_refused(arch, "\"linear_num_key_heads\":0", "\"linear_num_key_heads\" is 0");
    assert_refused(arch, "\"linear_num_value_heads\":1048576", "\"linear_num_value_heads\" is 1.04858e+06");
    assert_refused(arch, "\"linear_key_head_dim\":257", "\"linear_key_head_dim\" is 257, must be 1 to 256");
    assert_refused(arch, "\"linear_value_head_dim\":131072", "heads are more than 131072 numbers");
    assert_refused(arch, "\"linear_conv_kernel_dim\":1", "a convolution of one token");
    assert_refused(arch, "\"linear_conv_kernel_dim\":65", "\"linear_conv_kernel_dim\" is 65");
    assert_refused(arch, "\"full_attention_interval\":0", "\"full_attention_interval\" is 0");
    assert_refused(arch, "\"attn_output_gate\":false", "attention without a gate");
    assert_refused(arch, "\"hidden_act\":\"gelu\"", "a function other than silu");
    assert_refused(arch, "\"layer_types\":[\"linear_attention\",\"full_attention\"]", "must be 4 texts");
    assert_refused(arch, "\"layer_types\":[\"linear_attention\",\"mamba\",\"full_attention\",\"full_attention\"]",
                   "a layer other than");
}

static void refuses_streams_that_cannot_be(void **unused)
{
    (void)unused;
    static const char arch[] = "gemma3n_text", own[] = "\"num_kv_shared_layers\":0";
    static const char *const wrong[][2] = {
        {"\"altup_num_inputs\":1", "1 streams, of which number 0"},
        {"\"altup_num_inputs\":17", "\"altup_num_inputs\" is 17"},
        {"\"altup_active_idx\":4", "\"altup_active_idx\" must be a whole number of 0 to 3"},
        {"\"laurel_rank\":0", "\"laurel_rank\" is 0"},
        {"\"activation_sparsity_pattern\":[0.5]", "must be 4 numbers"},
        {"\"activation_sparsity_pattern\":0.5", "must be 4 numbers"},
        {"\"activation_sparsity_pattern\":[0,0,0,1]", "is 1, must be 0 to 0.9999"},
        {"\"activation_sparsity_pattern\":[0,0,0,\"x\"]", "must be numbers"},
        {"\"hidden_size_per_layer_input\":0", "\"hidden_size_per_layer_input\" is 0"},
    };
    char more[256];
    assert_refused(arch, "", "15 of 4 layers share keys and values");
    assert_refused(arch, "\"num_kv_shared_layers\":4", "4 of 4 layers share keys and values");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(more, sizeof more, "%s,%s", own, wrong[i][0]);
        assert_refused(arch, more, wrong[i][1]);
    }
}

static void refuses_ranks_and_groups_that_cannot_be(void **unused)
{
    (void)unused;
    static const char dense[] = "\"first_k_dense_replace\":4", experts[] = "\"num_experts_per_tok\":2";
    char more[256];
    static const char *const wrong[][2] = {
        {"\"kv_lora_rank\":0", "\"kv_lora_rank\" is 0"},
        {"\"kv_lora_rank\":16385", "\"kv_lora_rank\" is 16385"},
        {"\"q_lora_rank\":-1", "\"q_lora_rank\" is -1"},
        {"\"qk_rope_head_dim\":7", "must be even"},
        {"\"qk_rope_head_dim\":1024", "\"qk_rope_head_dim\" is 1024"},
        {"\"qk_nope_head_dim\":0", "\"qk_nope_head_dim\" is 0"},
        {"\"v_head_dim\":0", "\"v_head_dim\" is 0"},
        {"\"attention_bias\":true", "a bias in latent attention"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(more, sizeof more, "%s,%s", dense, wrong[i][0]);
        assert_refused("deepseek_v2", more, wrong[i][1]);
        assert_refused("deepseek_v3", more, wrong[i][1]);
    }
    static const char *const router[][2] = {
        {"\"n_routed_experts\":12,\"n_group\":5", "(5) groups of 12 experts"},
        {"\"n_routed_experts\":12,\"n_group\":12", "two or more must be in each"},
        {"\"n_routed_experts\":12,\"n_group\":4,\"topk_group\":5", "\"topk_group\" is 5"},
        {"\"n_routed_experts\":4097", "\"n_routed_experts\" is 4097"},
        {"\"n_routed_experts\":1", "\"num_experts_per_tok\" is 2"},
        {"\"scoring_func\":\"softmax\"", "another function"},
        {"\"topk_method\":\"dice\"", "this method"},
        {"\"moe_layer_freq\":2", "layers without experts in between"},
        {"\"n_shared_experts\":4096", "\"n_shared_experts\" is 4096"},
        {"\"first_k_dense_replace\":-1", "\"first_k_dense_replace\" must be a whole number"},
    };
    for (size_t i = 0; i < sizeof router / sizeof *router; i++) {
        snprintf(more, sizeof more, "%s,%s", experts, router[i][0]);
        assert_refused("deepseek_v3", more, router[i][1]);
    }
    assert_refused("deepseek_v3", "\"num_experts_per_tok\":65", "65 experts for a token");
    assert_refused("deepseek_v2", "\"num_experts_per_tok\":2,\"norm_topk_prob\":true", "add up to 1");
    assert_refused("deepseek_v2", "", "\"num_experts_per_tok\" is missing");
}

static void refuses_wrong_ropes(void **unused)
{
    (void)unused;
    assert_refused("llama", "\"rope_scaling\":7", "\"rope_scaling\" must be an object");
    assert_refused("llama", "\"rope_scaling\":{\"type\":\"mrope\",\"factor\":4}",
                   "\"rope_scaling\": mrope is not supported");
    assert_refused("llama", "\"rope_scaling\":{\"type\":\"yarn\",\"factor\":0}", "\"factor\" is 0");
    assert_refused("llama", "\"rope_scaling\":{\"type\":\"yarn\",\"factor\":2,\"truncate\":1}",
                   "must be true or false");
    assert_refused("mistral", "\"rope_scaling\":{\"type\":\"yarn\",\"factor\":2,\"llama_4_scaling_beta\":0.1}",
                   "a scale that grows with the position");
    assert_refused("llama", "\"rope_scaling\":{\"type\":\"dynamic\"}", "\"factor\" is missing");
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
    char *text = small_json(
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_is_not_a_configuration),
        cmocka_unit_test(refuses_sizes_that_cannot_be),
        cmocka_unit_test(refuses_what_is_not_supported),
        cmocka_unit_test(refuses_experts_that_cannot_be),
        cmocka_unit_test(refuses_recurrences_that_cannot_be),
        cmocka_unit_test(refuses_streams_that_cannot_be),
        cmocka_unit_test(refuses_ranks_and_groups_that_cannot_be),
        cmocka_unit_test(refuses_wrong_ropes),
        cmocka_unit_test(survives_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
