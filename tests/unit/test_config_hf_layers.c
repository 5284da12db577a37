/* A configuration from config.json, of families whose layers have something of their own. */
#include "config_checks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Three layers of four are gated delta nets, whatever the file leaves out; a model that also sees says it inside. */
static void reads_qwen3_5(void **unused)
{
    (void)unused;
    model_config c = parse_small("qwen3_5_text", "");
    assert_int_equal(c.head_dim, 256);
    assert_int_equal(c.rope_dims, 64);
    assert_true(c.attention_gated && c.norm_adds_one && !c.recurrent_tiled);
    assert_int_equal(c.recurrent_heads, 32);
    assert_int_equal(c.recurrent_key_heads, 16);
    assert_int_equal(c.recurrent_key_dim, 128);
    assert_int_equal(c.recurrent_value_dim, 128);
    assert_int_equal(c.recurrent_width, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(c.is_recurrent[i], i != 3);
    c = parse_small("qwen3_5_text",
                    "\"full_attention_interval\":2,\"linear_num_key_heads\":4,\"linear_num_value_heads\":12,"
                    "\"linear_key_head_dim\":6,\"linear_value_head_dim\":10,\"linear_conv_kernel_dim\":3");
    assert_int_equal(c.recurrent_heads, 12);
    assert_int_equal(c.recurrent_value_dim, 10);
    assert_int_equal(c.recurrent_width, 3);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(c.is_recurrent[i], i % 2 == 0);
    c = parse_small("qwen3_5_text", "\"layer_types\":[\"full_attention\",\"linear_attention\",\"linear_attention\","
                                    "\"full_attention\"]");
    assert_true(!c.is_recurrent[0] && c.is_recurrent[1] && c.is_recurrent[2] && !c.is_recurrent[3]);
    char *inside = small_json("qwen3_5_text", "\"linear_num_value_heads\":48"), whole[1024];
    snprintf(whole, sizeof whole, "{\"model_type\":\"qwen3_5\",\"text_config\":%s,\"vision_config\":{}}", inside);
    free(inside);
    c = parse(whole);
    assert_int_equal(c.recurrent_heads, 48);
}

/* Its files have no size of a feed-forward layer without experts. */
static void reads_qwen3_5_with_experts(void **unused)
{
    (void)unused;
    model_config c = parse("{\"model_type\":\"qwen3_5_moe\",\"vision_config\":{},\"text_config\":{"
                           "\"hidden_size\":2048,\"num_hidden_layers\":40,\"num_attention_heads\":16,"
                           "\"num_key_value_heads\":2,\"vocab_size\":248320,\"full_attention_interval\":4,"
                           "\"mtp_num_hidden_layers\":1}}");
    assert_true(c.arch == ARCH_QWEN35_MOE && c.recurrent_heads == 32 && c.is_recurrent[38] && !c.is_recurrent[39]);
    assert_true(c.expert_count == 256 && c.expert_used == 8 && c.expert_ffn_dim == 512 && c.shared_ffn_dim == 512);
    assert_true(c.expert_weights_normed && c.shared_gated && c.attention_gated && c.norm_adds_one && !c.qkv_bias);
    c = parse_small("qwen3_5_moe_text", "\"num_experts\":6,\"num_experts_per_tok\":3,\"moe_intermediate_size\":14,"
                                        "\"shared_expert_intermediate_size\":18");
    assert_true(c.expert_count == 6 && c.expert_used == 3 && c.expert_ffn_dim == 14 && c.shared_ffn_dim == 18);
}

/* As Olmo-3-7B's first files have it, and as newer ones do: windowed layers have the same base, and are not stretched. */
static void reads_olmo3(void **unused)
{
    (void)unused;
#define OLMO3 "\"max_position_embeddings\":65536,\"sliding_window\":4096,"
    static const char *const forms[] = {
        OLMO3 "\"rope_theta\":500000,\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":8.0,\"beta_fast\":32,"
              "\"beta_slow\":1,\"attention_factor\":1.2079441541679836,\"original_max_position_embeddings\":8192}",
        OLMO3 "\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"yarn\",\"rope_theta\":500000,"
              "\"factor\":8.0,\"original_max_position_embeddings\":8192},"
              "\"sliding_attention\":{\"rope_type\":\"default\",\"rope_theta\":500000}}"};
#undef OLMO3
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        model_config c = parse_small("olmo3", forms[i]);
        assert_true(c.arch == ARCH_OLMO3 && c.qk_norm == QK_NORM_ROWS && !c.pre_norms && c.post_norms);
        assert_true(c.window_tok == 4096 && c.is_windowed[2] && !c.is_windowed[3]);
        assert_true(c.rope_scaling == ROPE_YARN && c.rope_base == 5e5f && c.rope_local_base == 5e5f);
        assert_true(near(c.rope_magnitude, 0.1 * log(8) + 1));
    }
}

static void reads_deepseek(void **unused)
{
    (void)unused;
    model_config c =
        parse_small("deepseek_v2", "\"n_routed_experts\":null,\"q_lora_rank\":null,\"num_key_value_heads\":4");
    assert_true(c.kv_rank == 512 && c.q_rank == 0 && c.head_dim == 192 && c.rope_dims == 64 && c.value_dim == 128);
    assert_true(c.kv_head_count == 1 && c.rope_order == ROPE_ADJACENT && c.expert_count == 0);
    assert_true(near(c.attention_scale, 1 / sqrt(192)) && near(c.latent_epsilon, 1e-6));
    c = parse_small("deepseek_v3",
                    "\"first_k_dense_replace\":9,\"rope_interleave\":false,\"rope_scaling\":{\"type\":\"yarn\","
                    "\"factor\":40,\"mscale\":1.0,\"mscale_all_dim\":1.0,"
                    "\"original_max_position_embeddings\":4096}");
    assert_true(c.q_rank == 1536 && c.rope_order == ROPE_HALVES && c.dense_layers == 4 && c.rope_scaling == ROPE_YARN);
    double magnitude = 0.1 * log(40) + 1;
    assert_true(near(c.attention_scale, magnitude * magnitude / sqrt(192)) && c.rope_magnitude == 1);
    c = parse_small("deepseek_v3", "\"n_shared_experts\":2");
    assert_true(c.dense_layers == 3 && c.expert_count == 256 && c.expert_used == 8 && c.shared_ffn_dim == 4096);
    assert_true(c.expert_sigmoid && c.expert_choice_bias && c.expert_weights_normed && c.expert_groups == 8);
    assert_true(c.expert_groups_used == 4 && c.expert_scale == 2.5f && !c.shared_gated);
}

static void reads_norms_of_heads(void **unused)
{
    (void)unused;
    assert_int_equal(parse_small("cohere", "\"use_qk_norm\":true").qk_norm, QK_NORM_EACH);
    assert_int_equal(parse_small("stablelm", "\"qk_layernorm\":true").qk_norm, QK_NORM_EACH);
    assert_int_equal(parse_small("phi", "\"qk_layernorm\":true").qk_norm, QK_NORM_HEADS);
    assert_int_equal(parse_small("phi", "").qk_norm, QK_NORM_NONE);
}

static void reads_gemma_4s_experts(void **unused)
{
    (void)unused;
    model_config c = parse_small("gemma4_text", "\"enable_moe_block\":true,\"num_experts\":6,\"top_k_experts\":2,"
                                                "\"moe_intermediate_size\":40");
    assert_true(c.experts_beside && c.expert_count == 6 && c.expert_used == 2 && c.expert_ffn_dim == 40);
    assert_true(!parse_small("gemma4_text", "").experts_beside);
}

static void reads_gemma_3n(void **unused)
{
    (void)unused;
    model_config c = parse_small("gemma3n_text", "\"num_kv_shared_layers\":1,\"activation_sparsity_pattern\":"
                                                 "[0.95,0.3,0,0.5],\"sliding_window\":5,\"layer_types\":"
                                                 "[\"sliding_attention\",\"full_attention\",\"full_attention\","
                                                 "\"sliding_attention\"]");
    assert_true(c.streams == 4 && c.active_stream == 0 && c.scales_active && c.laurel_rank == 64);
    assert_true(c.kv_shared_layers == 1 && config_cache_layer(&c, 3) == 0 && c.per_layer_dim == 256);
    assert_true(c.per_layer_vocab_tok == 262144 && c.logit_cap == 30 && c.attention_scale == 1 && c.value_norm);
    assert_true(c.is_sparse[0] && c.is_sparse[1] && !c.is_sparse[2] && c.is_sparse[3]);
    assert_true(near(c.cutoff_deviations[0], 1.6448536269514722) && near(c.cutoff_deviations[1], -0.5244005127080407));
    assert_true(c.cutoff_deviations[3] == 0 && c.rope_base == 1e6f && c.rope_local_base == 1e4f);
    assert_true(!c.norm_adds_one && near(c.embedding_scale, 8) && c.head_dim == 256 && c.kv_head_count == 2);
    char *inside = small_json("gemma3n_text", "\"num_kv_shared_layers\":0,\"final_logit_softcapping\":null"),
         whole[1024];
    snprintf(whole, sizeof whole, "{\"model_type\":\"gemma3n\",\"text_config\":%s,\"audio_config\":{}}", inside);
    free(inside);
    c = parse(whole);
    assert_true(c.arch == ARCH_GEMMA3N && c.logit_cap == 0 && !c.is_sparse[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_qwen3_5),
        cmocka_unit_test(reads_deepseek),
        cmocka_unit_test(reads_qwen3_5_with_experts),
        cmocka_unit_test(reads_olmo3),
        cmocka_unit_test(reads_norms_of_heads),
        cmocka_unit_test(reads_gemma_4s_experts),
        cmocka_unit_test(reads_gemma_3n),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
