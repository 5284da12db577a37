"""What tools/fixtures.py makes: the models' configurations, by the names of their folders."""
import torch

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16


def sizes(layers, embedding, ffn, heads, kv_heads, vocab, head_dim=None):
    named = dict(num_hidden_layers=layers, hidden_size=embedding, intermediate_size=ffn, num_attention_heads=heads,
                 num_key_value_heads=kv_heads, vocab_size=vocab, max_position_embeddings=512,
                 bos_token_id=1, eos_token_id=2, pad_token_id=0)
    return named | ({"head_dim": head_dim} if head_dim else {})


def rope(kind="default", theta=10000.0, **more):
    return {"rope_parameters": {"rope_type": kind, "rope_theta": theta, **more}}


# name: (model type, configuration, types of matrices / of vectors, form of config.json, shards)
MODELS = {
    # heads of another size than embedding / heads; biases; angles stretched like llama 3.1's
    "llama-llama3": ("llama", sizes(1, 36, 50, 3, 1, 61, 20) | {"attention_bias": True} |
                     rope("llama3", 1000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                          original_max_position_embeddings=32), (F32, F32), "new", 1),
    # heads of 6, an odd feed-forward size, all angles stretched
    "llama-linear": ("llama", sizes(2, 50, 45, 5, 5, 97, 6) | {"tie_word_embeddings": True} |
                     rope("linear", factor=4.0), (BF16, F32), "old", 1),
    # one layer, heads of 96, an epsilon that counts, in two files
    "llama-wide": ("llama", sizes(1, 36, 30, 2, 1, 67, 96) | {"rms_norm_eps": 0.02} | rope(theta=500000.0),
                   (F16, F16), "new", 2),
    # seven heads on one, a window of 5
    "mistral-window": ("mistral", sizes(2, 44, 38, 7, 1, 71, 10) | {"sliding_window": 5} | rope(), (F16, BF16), "old", 1),
    # no window, and heads in three groups
    "mistral-groups": ("mistral", sizes(1, 100, 28, 6, 3, 63, 4) | {"sliding_window": None, "tie_word_embeddings": True} |
                       rope(), (BF16, BF16), "new", 1),
    # biases; layer 0 sees all, layer 1 a window of 7
    "qwen2-window": ("qwen2", sizes(2, 36, 33, 3, 3, 89) | {"use_sliding_window": True, "sliding_window": 7,
                     "max_window_layers": 1, "tie_word_embeddings": True} | rope(theta=1000000.0), (BF16, BF16), "new", 1),
    "qwen2-old": ("qwen2", sizes(2, 40, 26, 5, 1, 97) | {"use_sliding_window": True, "sliding_window": 4,
                  "max_window_layers": 1} | rope(), (F16, F32), "old", 1),
    # norms of every head
    "qwen3-bias": ("qwen3", sizes(2, 36, 38, 5, 5, 61, 10) | {"attention_bias": True} | rope(theta=1000000.0),
                   (BF16, F32), "new", 1),
    "qwen3-wide": ("qwen3", sizes(1, 36, 34, 2, 1, 93, 80) | {"tie_word_embeddings": True} | rope(), (F16, F16), "old", 1),
    # half of a head turns; all of q, k, v in one matrix, gate and up in another
    "phi3-partial": ("phi3", sizes(2, 60, 23, 3, 1, 75) | {"sliding_window": 9} | rope(partial_rotary_factor=0.5),
                     (F16, F32), "new", 1),
    # the long one of two lists of divisors, and the scores' magnitude that comes with it
    "phi3-longrope": ("phi3", sizes(1, 36, 40, 3, 3, 61) | {"original_max_position_embeddings": 16} |
                      rope("longrope", short_factor=[1.0, 1.1, 1.3, 1.7, 2.0, 2.5],
                           long_factor=[1.0, 1.5, 2.5, 4.0, 8.0, 16.0]), (BF16, BF16), "old", 1),
    # the short one of the lists, on two thirds of a head, with a factor that is not the ratio of the lengths
    "phi3-short": ("phi3", sizes(1, 36, 38, 2, 1, 61) | {"original_max_position_embeddings": 256} |
                   rope("longrope", partial_rotary_factor=0.667, factor=16.0, short_factor=[1.0, 1.2, 1.5, 2.0, 3.0, 5.0],
                        long_factor=[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]), (F16, F32), "new", 1),
    "gemma-odd": ("gemma", sizes(2, 36, 54, 3, 1, 77, 10) | {"rms_norm_eps": 0.02} | rope(), (BF16, BF16), "old", 1),
    # windows in layers 0 and 2; caps that bend; a scale of its own
    "gemma2-caps": ("gemma2", sizes(3, 52, 27, 4, 2, 83, 6) | {"sliding_window": 6, "query_pre_attn_scalar": 3,
                    "attn_logit_softcapping": 2.0, "final_logit_softcapping": 1.5} | rope(), (F16, F32), "new", 1),
    "gemma2-plain": ("gemma2", sizes(2, 36, 34, 2, 1, 65, 20) | {"sliding_window": 3, "query_pre_attn_scalar": 10,
                     "attn_logit_softcapping": None, "final_logit_softcapping": None, "attention_bias": True} | rope(),
                     (BF16, F32), "old", 1),
}


def layered_rope(everywhere, local_theta):
    """gemma3: windowed layers have angles of their own."""
    return {"rope_parameters": {"full_attention": everywhere["rope_parameters"],
                                "sliding_attention": {"rope_type": "default", "rope_theta": local_theta}}}


def gpt2(layers, embedding, heads, vocab, **more):
    return dict(n_layer=layers, n_embd=embedding, n_head=heads, vocab_size=vocab, n_positions=64, bos_token_id=1,
                eos_token_id=2, pad_token_id=0) | more


def delta_net(key_heads, heads, key_dim, value_dim, width):
    return dict(linear_num_key_heads=key_heads, linear_num_value_heads=heads, linear_key_head_dim=key_dim,
                linear_value_head_dim=value_dim, linear_conv_kernel_dim=width)


def experts(count, used, inner, shared):
    return dict(num_experts=count, num_experts_per_tok=used, moe_intermediate_size=inner, shared_expert_intermediate_size=shared)


def without_ffn(options):
    return {key: value for key, value in options.items() if key != "intermediate_size"}


def latent(q_rank, kv_rank, flat, turned, value, **more):
    return dict(q_lora_rank=q_rank, kv_lora_rank=kv_rank, qk_nope_head_dim=flat, qk_rope_head_dim=turned, v_head_dim=value) | more

LOCAL, FULL = "sliding_attention", "full_attention"

# More families of decoders, in tests/data/families: a test of their own runs them, on fewer devices.
FAMILIES = {
    # biases in the feed-forward layers
    "llama-mlp-bias": ("llama", sizes(2, 36, 50, 3, 1, 61, 12) | {"mlp_bias": True} | rope(), (F16, F32), "old", 1),
    # some layers see a window, others all
    "ministral-layers": ("ministral", sizes(3, 36, 30, 3, 1, 61, 8) | {"sliding_window": 4, "layer_types":
                         ["sliding_attention", "full_attention", "sliding_attention"]} | rope(), (F16, F32), "new", 1),
    # layers 0 to 4 and 6 see a window, with angles of their own; layer 5 all, with stretched angles
    "gemma3-local": ("gemma3_text", sizes(7, 36, 24, 2, 1, 61, 8) | {"sliding_window": 5, "query_pre_attn_scalar": 5} |
                     layered_rope(rope("linear", 1000.0, factor=4.0), 100.0), (F16, F32), "new", 1),
    "gemma3-old": ("gemma3_text", sizes(2, 40, 30, 4, 2, 67, 12) | {"sliding_window": 3, "query_pre_attn_scalar": 12,
                   "layer_types": ["sliding_attention", "full_attention"], "final_logit_softcapping": 2.0} |
                   layered_rope(rope(theta=5000.0), 300.0), (BF16, F32), "old", 1),
    # heads of two sizes; the last two layers take keys and values of earlier ones, and have twice as wide feed-forward
    # layers; each layer has an input of its own; a quarter of the large heads turns
    "gemma4-small": ("gemma4_text", sizes(5, 36, 24, 4, 1, 61, 8) | {"sliding_window": 5, "global_head_dim": 16,
                     "hidden_size_per_layer_input": 18, "vocab_size_per_layer_input": 61, "num_kv_shared_layers": 2,
                     "use_double_wide_mlp": True, "final_logit_softcapping": 3.0,
                     "layer_types": [LOCAL, LOCAL, FULL, LOCAL, FULL]} |
                     layered_rope(rope("proportional", 1000.0, partial_rotary_factor=0.25), 100.0), (F16, F32), "new", 1),
    # layers that see all have fewer keys, which are their values, too; keys and values are nowhere shared
    "gemma4-keys": ("gemma4_text", sizes(4, 40, 26, 4, 4, 67, 12) | {"sliding_window": 4, "global_head_dim": 20,
                    "num_global_key_value_heads": 2, "attention_k_eq_v": True, "hidden_size_per_layer_input": 0,
                    "layer_types": [LOCAL, FULL, LOCAL, FULL]} |
                    layered_rope(rope("proportional", 5000.0, partial_rotary_factor=0.5, factor=2.0), 300.0), (BF16, F32),
                    "old", 1),
    # experts beside the feed-forward layers
    "gemma4-experts": ("gemma4_text", sizes(3, 36, 24, 4, 2, 61, 8) | {"sliding_window": 5, "global_head_dim": 12,
                       "num_global_key_value_heads": 1, "attention_k_eq_v": True, "hidden_size_per_layer_input": 0,
                       "enable_moe_block": True, "num_experts": 6, "top_k_experts": 3, "moe_intermediate_size": 14,
                       "layer_types": [LOCAL, LOCAL, FULL]} |
                       layered_rope(rope("proportional", 1000.0, partial_rotary_factor=0.5), 100.0), (BF16, F32), "new", 1),
    # four streams; layers 0 and 1 sparse; the last two take keys and values of earlier ones; the last tokens have no
    # inputs of their own for each layer
    "gemma3n-small": ("gemma3n_text", sizes(5, 36, 24, 4, 2, 61, 8) | {"sliding_window": 5, "laurel_rank": 6,
                      "hidden_size_per_layer_input": 10, "vocab_size_per_layer_input": 50, "num_kv_shared_layers": 2,
                      "activation_sparsity_pattern": [0.8, 0.6, 0.0, 0.0, 0.0], "final_logit_softcapping": 3.0,
                      "layer_types": [LOCAL, LOCAL, FULL, LOCAL, FULL]} |
                      layered_rope(rope(theta=1000.0), 100.0), (F16, F32), "new", 1),
    # three streams, computed on the second; nothing is shared
    "gemma3n-second": ("gemma3n_text", sizes(3, 40, 26, 2, 1, 67, 12) | {"sliding_window": 4, "laurel_rank": 8,
                       "hidden_size_per_layer_input": 12, "vocab_size_per_layer_input": 67, "num_kv_shared_layers": 0,
                       "altup_num_inputs": 3, "altup_active_idx": 1, "altup_correct_scale": False,
                       "activation_sparsity_pattern": [0.0, 0.7, 0.3], "final_logit_softcapping": 20.0,
                       "layer_types": [LOCAL, FULL, FULL]} |
                       layered_rope(rope(theta=5000.0), 300.0), (BF16, F32), "old", 1),
    # every fourth layer has no rope
    "smollm3-skip": ("smollm3", sizes(5, 36, 26, 3, 1, 61) | {"tie_word_embeddings": True} | rope(theta=2000.0),
                     (F16, F32), "old", 1),
    # named layers have none, and see a window; all biases
    "smollm3-list": ("smollm3", sizes(3, 40, 26, 5, 5, 67) | {"no_rope_layers": [1, 0, 0], "attention_bias": True,
                     "use_sliding_window": True, "sliding_window": 6, "layer_types":
                     ["full_attention", "sliding_attention", "sliding_attention"],
                     "mlp_bias": True, "tie_word_embeddings": False} | rope(), (BF16, F32), "new", 1),
    # norms after attention and feed-forward only, and of all of q and k
    "olmo2-rows": ("olmo2", sizes(2, 40, 30, 5, 1, 61) | rope(theta=5000.0), (F16, F32), "old", 1),
    "olmo2-bias": ("olmo2", sizes(2, 36, 34, 3, 3, 67) | {"attention_bias": True, "tie_word_embeddings": True} | rope(),
                   (BF16, BF16), "new", 1),
    # the same with windows, whose layers do not stretch their angles
    "olmo3-yarn": ("olmo3", sizes(5, 36, 30, 3, 1, 61) | {"sliding_window": 6} | layered_rope(rope("yarn", 500000.0,
                   factor=4.0, original_max_position_embeddings=16), 500000.0), (F16, F32), "old", 1),
    "olmo3-named": ("olmo3", sizes(3, 40, 26, 5, 5, 67) | {"sliding_window": 5, "layer_types": [FULL, LOCAL, LOCAL],
                    "attention_bias": True} | layered_rope(rope(theta=3000.0), 500.0), (BF16, F32), "new", 1),
    # all four scales
    "granite-scales": ("granite", sizes(2, 36, 30, 3, 1, 61) | {"embedding_multiplier": 3.0, "logits_scaling": 2.5,
                       "residual_multiplier": 0.4, "attention_multiplier": 0.15, "tie_word_embeddings": True} | rope(),
                       (F16, F32), "new", 1),
    "granite-bias": ("granite", sizes(2, 40, 26, 5, 5, 67) | {"attention_bias": True, "mlp_bias": True,
                     "embedding_multiplier": 0.5, "attention_multiplier": 0.3} | rope(), (BF16, F32), "old", 1),
    # LayerNorm, biases, no gate
    "starcoder2-window": ("starcoder2", sizes(2, 40, 50, 5, 1, 61) | {"sliding_window": 5, "tie_word_embeddings": True} |
                          rope(), (F16, F32), "old", 1),
    "starcoder2-plain": ("starcoder2", sizes(2, 36, 46, 3, 3, 67) | {"use_bias": False, "tie_word_embeddings": False,
                         "sliding_window": None} | rope(), (BF16, F32), "new", 1),
    # learned positions, matrices with a row for each input
    "gpt2-usual": ("gpt2", gpt2(2, 36, 3, 61), (F16, F32), "new", 1),
    "gpt2-inner": ("gpt2", gpt2(2, 40, 4, 67, n_inner=50, activation_function="relu", tie_word_embeddings=False),
                   (BF16, F32), "old", 1),
    # attention and feed-forward side by side, each with a norm of its own; or one after the other
    "gpt-neox-parallel": ("gpt_neox", sizes(2, 48, 50, 3, 3, 61) | rope(partial_rotary_factor=0.25), (F16, F32), "new", 1),
    "gpt-neox-sequence": ("gpt_neox", sizes(2, 40, 46, 5, 5, 67) | {"use_parallel_residual": False} |
                          rope(theta=2000.0, partial_rotary_factor=0.5), (BF16, F32), "old", 1),
    # side by side with one norm; the output has a bias
    "phi-partial": ("phi", sizes(2, 48, 50, 3, 3, 61) | rope(partial_rotary_factor=0.5), (F16, F32), "new", 1),
    "phi-groups": ("phi", sizes(2, 40, 46, 5, 1, 67) | {"hidden_act": "gelu"} | rope(partial_rotary_factor=0.25),
                   (BF16, F32), "old", 1),
    # LayerNorms of the heads of q and k, with biases, the same for all heads
    "phi-norms": ("phi", sizes(2, 48, 50, 3, 1, 61) | {"qk_layernorm": True} | rope(partial_rotary_factor=0.5), (F16, F32),
                  "new", 1),
    # four norms, half of a head turned, pairs side by side
    "glm4-partial": ("glm4", sizes(2, 36, 30, 3, 1, 61, 12) | rope(partial_rotary_factor=0.5), (F16, F32), "new", 1),
    "glm4-plain": ("glm4", sizes(2, 40, 26, 4, 2, 67, 8) | {"attention_bias": False, "tie_word_embeddings": True} |
                   rope(theta=2000.0, partial_rotary_factor=0.5), (BF16, F32), "old", 1),
    # every fourth layer sees all, and has no rope
    "exaone4-hybrid": ("exaone4", sizes(4, 36, 26, 3, 1, 61) | {"sliding_window": 5, "sliding_window_pattern": 4,
                       "layer_types": ["sliding_attention"] * 3 + ["full_attention"]} | rope(), (F16, F32), "old", 1),
    "exaone4-full": ("exaone4", sizes(2, 40, 30, 5, 5, 67) | {"sliding_window": None, "tie_word_embeddings": True,
                     "layer_types": ["full_attention"] * 2} |
                     rope("llama3", 1000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                          original_max_position_embeddings=32), (BF16, F32), "new", 1),
    # one LayerNorm without biases for both sides, pairs side by side, scaled logits
    "cohere-parallel": ("cohere", sizes(2, 36, 30, 3, 1, 61) | {"logit_scale": 0.3} | rope(theta=2000.0), (F16, F32),
                        "old", 1),
    "cohere-bias": ("cohere", sizes(2, 40, 26, 5, 5, 67) | {"attention_bias": True, "logit_scale": 2.0} | rope(),
                    (BF16, F32), "new", 1),
    # LayerNorms of the heads of q and k, each with weights of its own
    "cohere-norms": ("cohere", sizes(2, 36, 30, 3, 1, 61) | {"logit_scale": 0.4, "use_qk_norm": True} | rope(),
                     (BF16, F32), "new", 1),
    "cohere2-windows": ("cohere2", sizes(4, 36, 26, 3, 1, 61) | {"logit_scale": 0.5, "sliding_window": 6} | rope(),
                        (F16, F32), "new", 1),
    # angles stretched by yarn; with a magnitude from two scales, and bounds that are not rounded
    "llama-yarn": ("llama", sizes(2, 36, 30, 3, 1, 61, 16) | rope("yarn", 1000.0, factor=4.0,
                   original_max_position_embeddings=16), (F16, F32), "new", 1),
    "qwen3-yarn": ("qwen3", sizes(2, 36, 30, 3, 1, 67, 12) | rope("yarn", 5000.0, factor=8.0, mscale=0.7, mscale_all_dim=2.0,
                   beta_fast=8.0, beta_slow=0.5, truncate=False, original_max_position_embeddings=16), (BF16, F32), "old", 1),
    # within what was trained, dynamic angles are as they are
    "llama-dynamic": ("llama", sizes(1, 36, 30, 3, 1, 61, 12) | rope("dynamic", 1000.0, factor=4.0), (F16, F32), "old", 1),
    # gated delta nets in three layers of four; two heads of values share one of keys, and all sizes differ
    "qwen35-shared": ("qwen3_5_text", sizes(4, 36, 30, 3, 1, 61, 12) | delta_net(2, 4, 6, 10, 4) |
                      {"tie_word_embeddings": True} | rope(partial_rotary_factor=0.5), (F16, F32), "new", 1),
    # named layers; as many heads of keys as of values, of one size, a convolution over three tokens
    "qwen35-named": ("qwen3_5_text", sizes(3, 40, 26, 4, 2, 67, 8) | delta_net(3, 3, 8, 8, 3) | {"layer_types":
                     ["full_attention", "linear_attention", "linear_attention"], "attention_bias": True} |
                     rope(theta=2000.0, partial_rotary_factor=0.25), (BF16, F32), "new", 1),
    # as llama.cpp knows them: keys and values of one size
    "qwen35-tiled": ("qwen3_5_text", sizes(4, 32, 30, 2, 1, 61, 16) | delta_net(2, 6, 8, 8, 4) | rope(
                     partial_rotary_factor=0.5, mrope_section=[2, 1, 1]), (F16, F32), "new", 1),
    # the same with experts, one for all tokens among them, with a gate; all experts in one tensor
    "qwen35moe-shared": ("qwen3_5_moe_text", without_ffn(sizes(4, 32, 30, 2, 1, 61, 16)) | delta_net(2, 4, 8, 8, 4) |
                         experts(6, 3, 14, 18) | rope(partial_rotary_factor=0.5, mrope_section=[2, 1, 1]), (F16, F32), "new", 1),
    # a tensor for each expert; named layers
    "qwen35moe-single": ("qwen3_5_moe_text", without_ffn(sizes(3, 40, 26, 4, 2, 67, 8)) | delta_net(3, 3, 8, 8, 3) |
                         experts(5, 2, 18, 10) | {"layer_types": ["linear_attention", "full_attention", "linear_attention"],
                         "tie_word_embeddings": True} | rope(theta=2000.0, partial_rotary_factor=0.25), (BF16, F32), "old", 1),
    # keys and values from one vector of 14 numbers, of which 6 more turn; no experts
    "deepseek2-dense": ("deepseek_v2", sizes(2, 36, 30, 3, 3, 61) | latent(None, 14, 10, 6, 8, first_k_dense_replace=2) |
                        rope(), (F16, F32), "new", 1),
    # q from a vector, too; angles stretched by yarn, with the scale of attention that belongs to it
    "deepseek3-yarn": ("deepseek_v3", sizes(2, 40, 26, 4, 4, 67) | latent(18, 12, 6, 8, 10, first_k_dense_replace=2,
                       num_mtp_layers=0) | rope("yarn", 5000.0, factor=8.0, mscale=0.8, mscale_all_dim=0.8,
                       original_max_position_embeddings=16), (BF16, F32), "old", 1),
    # the first layer without experts, the others with two for all tokens; a tensor for each expert
    "deepseek2-single": ("deepseek_v2", sizes(3, 36, 30, 3, 3, 61) | latent(16, 14, 10, 6, 8, first_k_dense_replace=1,
                         n_routed_experts=6, num_experts_per_tok=3, moe_intermediate_size=14, n_shared_experts=2,
                         routed_scaling_factor=1.7, norm_topk_prob=False) | rope(), (F16, F32), "old", 1),
    # the best of two of four groups, chosen with a bias; all experts in one tensor
    "deepseek3-groups": ("deepseek_v3", sizes(2, 40, 26, 4, 4, 67) | latent(18, 12, 6, 8, 10, first_k_dense_replace=1,
                         n_routed_experts=12, num_experts_per_tok=3, moe_intermediate_size=14, n_shared_experts=1, n_group=4,
                         topk_group=2, routed_scaling_factor=2.5, norm_topk_prob=True, num_mtp_layers=0) | rope("yarn", 5000.0,
                         factor=8.0, mscale=1.0, mscale_all_dim=1.0, original_max_position_embeddings=16), (BF16, F32), "new",
                         1),
    # LayerNorm with a gate, a quarter of a head turned
    "stablelm-partial": ("stablelm", sizes(2, 48, 30, 3, 1, 61) | rope(partial_rotary_factor=0.25), (F16, F32), "old", 1),
    "stablelm-parallel": ("stablelm", sizes(2, 48, 30, 3, 3, 67) | {"use_qkv_bias": True, "use_parallel_residual": True,
                          "tie_word_embeddings": True} | rope(partial_rotary_factor=0.5), (BF16, F32), "new", 1),
    # LayerNorms of the heads of q and k, a tensor for each
    "stablelm-norms": ("stablelm", sizes(2, 48, 30, 4, 2, 61) | {"qk_layernorm": True, "use_parallel_residual": True} |
                       rope(partial_rotary_factor=0.5), (F16, F32), "old", 1),
    # mixtures of experts: a tensor for each ("old"), or one for all of them
    "mixtral-single": ("mixtral", sizes(2, 40, 22, 5, 1, 61) | {"num_local_experts": 6, "num_experts_per_tok": 2,
                       "sliding_window": None} | rope(), (F16, F32), "old", 2),
    "mixtral-window": ("mixtral", sizes(2, 36, 28, 3, 3, 67, 8) | {"num_local_experts": 4, "num_experts_per_tok": 3,
                       "sliding_window": 5} | rope(), (BF16, F32), "new", 1),
    "qwen3moe-single": ("qwen3_moe", sizes(2, 36, 30, 3, 1, 61, 12) | {"num_experts": 7, "num_experts_per_tok": 3,
                        "moe_intermediate_size": 14, "norm_topk_prob": True} | rope(), (BF16, F32), "old", 1),
    # more experts than threads of a workgroup, weights that do not add up to one
    "qwen3moe-many": ("qwen3_moe", sizes(1, 32, 30, 2, 1, 67, 16) | {"num_experts": 260, "num_experts_per_tok": 9,
                      "moe_intermediate_size": 8, "norm_topk_prob": False} | rope(), (F16, F32), "new", 1),
    "qwen2moe-shared": ("qwen2_moe", sizes(2, 36, 30, 3, 3, 67) | {"num_experts": 5, "num_experts_per_tok": 2,
                        "moe_intermediate_size": 18, "shared_expert_intermediate_size": 26, "norm_topk_prob": False} |
                        rope(), (F16, F32), "new", 1),
    # sinks, biases, windows in every other layer, clamped gates, angles stretched by yarn
    "gpt-oss-turned": ("gpt_oss", sizes(3, 36, 22, 6, 2, 61, 8) | {"num_local_experts": 5, "num_experts_per_tok": 2,
                       "sliding_window": 5} | rope("yarn", 1000.0, factor=4.0, truncate=False, beta_fast=8.0,
                       original_max_position_embeddings=16), (BF16, F32), "new", 1),
    # experts in blocks of MXFP4
    "gpt-oss-blocks": ("gpt_oss", sizes(2, 64, 32, 4, 2, 67, 16) | {"num_local_experts": 4, "num_experts_per_tok": 4,
                       "sliding_window": 6} | rope("yarn", 1000.0, factor=32.0, truncate=False, beta_fast=1e5,
                       beta_slow=1e-3, original_max_position_embeddings=4096), (BF16, F32), "mxfp4", 1),
}


# In tests/data/crossing: texts that grow beyond a length at which the angles change.
CROSSING = {
    "phi3": ("phi3", sizes(2, 36, 38, 3, 1, 61) | {"original_max_position_embeddings": 29} |
             rope("longrope", short_factor=[1.0, 1.1, 1.3, 1.7, 2.0, 2.5], long_factor=[1.5, 2.5, 4.0, 6.0, 9.0, 16.0]),
             (F16, F32), "old", 1),
    "llama": ("llama", sizes(2, 36, 30, 3, 1, 61, 12) | {"max_position_embeddings": 29} | rope("dynamic", 1000.0, factor=4.0),
              (F16, F32), "old", 1),
}


# In tests/data/experts: mixtures of experts, as the GGUF files that llama.cpp's converter would write (needs PyPI's gguf).
# name: (model type, configuration, GGUF's name of the architecture)
EXPERTS = {
    "qwen3moe": ("qwen3_moe", sizes(2, 36, 30, 3, 1, 61, 12) | {"num_experts": 7, "num_experts_per_tok": 3,
                 "moe_intermediate_size": 14, "norm_topk_prob": True, "head_dim": 12} | rope(), "qwen3moe"),
    # weights that do not add up to one, and an expert for all tokens
    "qwen2moe": ("qwen2_moe", sizes(2, 36, 30, 3, 3, 67) | {"num_experts": 5, "num_experts_per_tok": 2,
                 "moe_intermediate_size": 18, "shared_expert_intermediate_size": 26, "norm_topk_prob": False} | rope(),
                 "qwen2moe"),
    # latent attention; the first layer without experts, the others with two for all tokens
    "deepseek2": ("deepseek_v2", sizes(3, 36, 30, 3, 3, 61) | latent(16, 14, 10, 6, 8, first_k_dense_replace=1,
                  n_routed_experts=6, num_experts_per_tok=3, moe_intermediate_size=14, n_shared_experts=2,
                  routed_scaling_factor=1.7, norm_topk_prob=False) | rope(), "deepseek2"),
    # as files were at first: keys and values in one matrix
    "deepseek2-older": ("deepseek_v2", sizes(2, 36, 30, 3, 3, 61) | latent(16, 14, 10, 6, 8, first_k_dense_replace=1,
                        n_routed_experts=5, num_experts_per_tok=2, moe_intermediate_size=14, n_shared_experts=1,
                        norm_topk_prob=False) | rope(), "deepseek2"),
    # experts of the best group of three only, by the best one in it
    "deepseek2-groups": ("deepseek_v2", sizes(2, 36, 30, 3, 3, 61) | latent(16, 14, 10, 6, 8, first_k_dense_replace=0,
                         n_routed_experts=12, num_experts_per_tok=3, moe_intermediate_size=14, n_shared_experts=1,
                         topk_method="group_limited_greedy", n_group=3, topk_group=1, norm_topk_prob=False) | rope(), "deepseek2"),
    # sigmoids with a bias; the best two of four groups, by the best two in each; angles stretched by yarn
    "deepseek3": ("deepseek_v3", sizes(2, 40, 26, 4, 4, 67) | latent(18, 12, 6, 8, 10, first_k_dense_replace=1,
                  n_routed_experts=12, num_experts_per_tok=3, moe_intermediate_size=14, n_shared_experts=1, n_group=4,
                  topk_group=2, routed_scaling_factor=2.5, norm_topk_prob=True, num_mtp_layers=0) |
                  rope("yarn", 5000.0, factor=8.0, mscale=1.0, mscale_all_dim=1.0, original_max_position_embeddings=16), "deepseek2"),
    "mixtral": ("mixtral", sizes(2, 40, 22, 5, 1, 61) | {"num_local_experts": 6, "num_experts_per_tok": 2,
                "sliding_window": None} | rope(), "llama"),
    # gate and up of an expert in one matrix
    "gemma4": ("gemma4_text", sizes(3, 36, 24, 4, 2, 61, 8) | {"sliding_window": 5, "global_head_dim": 12,
               "num_global_key_value_heads": 1, "attention_k_eq_v": True, "hidden_size_per_layer_input": 0,
               "enable_moe_block": True, "num_experts": 6, "top_k_experts": 3, "moe_intermediate_size": 14,
               "layer_types": [LOCAL, LOCAL, FULL]} |
               layered_rope(rope("proportional", 1000.0, partial_rotary_factor=0.5), 100.0), "gemma4"),
    # no experts: streams
    "gemma3n": ("gemma3n_text", sizes(5, 36, 24, 4, 2, 61, 8) | {"sliding_window": 5, "laurel_rank": 6,
                "hidden_size_per_layer_input": 10, "vocab_size_per_layer_input": 50, "num_kv_shared_layers": 2,
                "activation_sparsity_pattern": [0.8, 0.6, 0.0, 0.0, 0.0], "layer_types": [LOCAL, LOCAL, FULL, LOCAL, FULL]} |
                layered_rope(rope(theta=1000.0), 100.0), "gemma3n"),
}
