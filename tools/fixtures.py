#!/usr/bin/env python3
"""Makes tests/data/models and tests/data/families: tiny models of odd shapes with what transformers says about them.

    python3 tools/fixtures.py [NAME...]        needs torch, transformers, safetensors, numpy

Each is a Hugging Face folder: config.json, model.safetensors (one has shards) and golden.json, in the form

    about      where it comes from
    dtype      what transformers computed in
    prompt     token ids
    positions  of the prompt, those whose logits follow (without this key: all of them)
    logits     [positions][vocabulary], float32
    greedy     the tokens that follow the prompt, each the best one
    greedy_margin   by how much it was the best

The weights are random, but such that every part shows in the logits: biases and norms are not what they start as,
scores are large enough for attention to choose, windows and stretched angles are shorter than the prompt.
"""
import json
import math
import os
import shutil
import sys

import numpy as np
import torch
import transformers
from fixtures_experts import in_blocks, of_blocks, one_by_one, separate
from safetensors.torch import save_file

from fixtures_gguf import save_gguf

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "data")
PROMPT_TOK, GREEDY_TOK, POSITIONS = 24, 12, [0, 1, 6, 15, 23]
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


def older(config):
    """The same configuration as files had it before transformers 5."""
    config["torch_dtype"] = config.pop("dtype")
    config["transformers_version"] = "4.44.0"
    if config["model_type"] == "gemma4_text":  # whose first files had this form
        layers = list(config.pop("per_layer_config").values())
        return config | {"global_head_dim": layers[0]["head_dim"],
                         "num_global_key_value_heads": layers[0].get("num_key_value_heads")}
    parameters = config.pop("rope_parameters", None)
    if not parameters:
        return config
    if "sliding_attention" in parameters:
        config["rope_local_base_freq"] = parameters["sliding_attention"]["rope_theta"]
        if config["model_type"] != "gemma3n_text":  # which always named its layers
            config["sliding_window_pattern"] = config.pop("layer_types").index("full_attention") + 1
        parameters = parameters["full_attention"]
    config["rope_theta"] = parameters.pop("rope_theta")
    kind = parameters.pop("rope_type")
    partial = parameters.pop("partial_rotary_factor", 1.0)
    if partial != 1.0:
        config["partial_rotary_factor"] = partial
    if kind == "longrope":
        parameters.pop("original_max_position_embeddings", None)
    config["rope_scaling"] = None if kind == "default" else {"type": kind, **parameters}
    if config["model_type"] != "gemma3n_text":
        config.pop("layer_types", None)
    if config["model_type"] == "gpt_neox":
        config["rotary_pct"] = config.pop("partial_rotary_factor", 1.0)
        config["rotary_emb_base"] = config.pop("rope_theta")
    if config["model_type"] == "gemma":
        config["hidden_activation"] = None
    return config


def randomise(model, seed):
    random = torch.Generator().manual_seed(seed)
    gemma = model.config.model_type.startswith("gemma")
    from_zero = (gemma and not model.config.model_type.startswith(("gemma3n", "gemma4"))) or model.config.model_type.startswith("qwen3_5")  # norms multiply by one more than their weight
    for name, number in model.named_buffers():
        if name.endswith("layer_scalar"):
            number.copy_(0.8 + 0.2 * torch.randn(number.shape, generator=random))
        if name.endswith("e_score_correction_bias"):
            number.copy_(torch.rand(number.shape, generator=torch.Generator().manual_seed(seed)))
    for name, weight in model.named_parameters():
        noise = torch.randn(weight.shape, generator=random)
        with torch.no_grad():
            if name.endswith((".bias", "_bias", ".sinks")):
                weight.copy_(0.5 * noise)
            elif name.endswith(("_scale", ".scale")):
                weight.copy_(1 + 0.3 * noise)
            elif name.endswith("modality_router.weight"):  # what it multiplies is divided by its size
                weight.copy_(noise * math.sqrt(weight.shape[1]))
            elif name.endswith(".A_log"):  # rates from 0.2 to 2, about
                weight.copy_(0.5 * noise - 0.5)
            elif "norm" in name or ".ln_" in name:
                weight.copy_(0.3 * noise + (0 if from_zero and not name.endswith("linear_attn.norm.weight") else 1))
                if name.endswith("q_norm.weight") and model.config.model_type.startswith(("gemma3n", "gemma4")):  # its scores have no scale
                    weight.mul_(0.5)
            elif any(part in name for part in ("embed_tokens", "wte", "wpe", "embed_in")):  # gemma multiplies them by the root of their size
                weight.copy_(0.5 * noise / (math.sqrt(weight.shape[1]) if gemma else 1))
            else:
                gain = 1.8 if any(part in name for part in ("q_proj", "k_proj", "qkv_proj", "c_attn", "query_key_value")) else 1.3
                turned = model.config.model_type == "gpt_oss"
                weight.copy_(gain * noise / math.sqrt(weight.shape[-1 if weight.dim() == 3 and not turned else 1]))


def save(folder, model, types, form, shards):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    matrices, vectors = types
    tied = model.config.tie_word_embeddings
    tensors = {name: weight.detach().to(matrices if weight.dim() > 1 else vectors).contiguous()
               for name, weight in model.state_dict().items() if not (tied and name == "lm_head.weight")}
    if form == "old":  # as the folders people have call them
        if model.config.model_type == "gpt_neox":
            tensors["embed_out.weight"] = tensors.pop("lm_head.weight")
        if any(kind in model.config.model_type for kind in ("moe", "mixtral", "deepseek")):
            tensors = separate(tensors, model.config.model_type)
        if model.config.model_type == "gpt2":
            tensors = {name.removeprefix("transformer."): weight for name, weight in tensors.items()}
    config = json.loads(model.config.to_json_string(use_diff=False))
    known = json.loads(model.config.to_json_string(use_diff=True))  # without what every model has
    config = {key: value for key, value in config.items() if key in known or key in vars(model.config.__class__)}
    if form == "mxfp4":
        tensors = in_blocks(tensors)
        config["quantization_config"] = {"quant_method": "mxfp4"}
    config["dtype"] = str(matrices).removeprefix("torch.")
    config["architectures"] = [type(model).__name__]
    if form == "old":
        config = older(config)
    for unwanted in ("_name_or_path", "attn_implementation"):
        config.pop(unwanted, None)
    with open(f"{folder}/config.json", "w") as out:
        json.dump(config, out, indent=2, sort_keys=True)
        out.write("\n")
    if shards == 1:
        save_file(tensors, f"{folder}/model.safetensors", metadata={"format": "pt"})
        return
    names, index = sorted(tensors), {}
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        part = names[shard::shards]
        save_file({name: tensors[name] for name in part}, f"{folder}/{file}", metadata={"format": "pt"})
        index |= {name: file for name in part}
    with open(f"{folder}/model.safetensors.index.json", "w") as out:
        json.dump({"metadata": {}, "weight_map": index}, out, indent=1, sort_keys=True)
        out.write("\n")


def make_experts(name, seed):
    kind, options, arch = EXPERTS[name]
    folder = os.path.join(HERE, "experts", name)
    config = transformers.AutoConfig.for_model(kind, **json.loads(json.dumps(options)))
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=F32, attn_implementation="eager", **one_by_one(config))
    randomise(model, seed)
    for part, weight in model.named_parameters():  # as the file has them
        with torch.no_grad():
            exact = ("mlp.gate.weight", "shared_expert_gate.weight", "router.proj.weight", "_coefs.weight", "_router.weight")
            if weight.dim() > 1 and not part.endswith(exact):
                weight.copy_(weight.to(F16).to(F32))
    save_gguf(folder, model, arch, name.endswith("-older"))
    contents, logits = golden(model, config.vocab_size, seed)
    write_golden(folder, contents)
    return folder, contents, (logits.max() - logits.min()).item()


def golden(model, vocab, seed):
    """What transformers makes of it."""
    random = torch.Generator().manual_seed(seed)
    tokens = torch.randint(3, vocab, (1, PROMPT_TOK), generator=random)
    prompt, greedy, margins = tokens[0].tolist(), [], []
    with torch.no_grad():
        first = model(tokens, use_cache=False).logits[0]
        logits = first
        while len(greedy) < GREEDY_TOK:
            best = torch.topk(logits[-1], 2)
            greedy.append(best.indices[0].item())
            margins.append(round((best.values[0] - best.values[1]).item(), 5))
            tokens = torch.cat([tokens, best.indices[:1, None]], 1)
            logits = model(tokens, use_cache=False).logits[0]
    assert model.dtype == F32 and first.dtype == F32
    return {
        "about": f"float32 logits of transformers {transformers.__version__} on the stored weights, at some positions of the "
                 "prompt; then greedy continuation with the gap between the best two logits (tools/fixtures.py)",
        "dtype": str(first.dtype),
        "prompt": prompt,
        "positions": POSITIONS,
        "logits": [[float(np.format_float_positional(v, unique=True)) for v in first[p].numpy()] for p in POSITIONS],
        "greedy": greedy,
        "greedy_margin": margins,
    }, first


def write_golden(folder, contents):
    lines = []
    for key, value in contents.items():
        text = json.dumps(value, separators=(",", ":"))
        if key == "logits":  # a line for each position
            text = "[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in value) + "]"
        lines.append(f"{json.dumps(key)}: {text}")
    with open(f"{folder}/golden.json", "w") as out:
        out.write("{\n" + ",\n".join(lines) + "\n}\n")


def make(name, seed):
    kind, options, types, form, shards = (MODELS | FAMILIES | CROSSING)[name]
    folder = os.path.join(HERE, "models" if name in MODELS else "families" if name in FAMILIES else "crossing", name)
    config = transformers.AutoConfig.for_model(kind, **json.loads(json.dumps(options)))
    plainly = one_by_one(config)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=F32, **plainly)
    randomise(model, seed)
    save(folder, model, types, form, shards)
    if form == "mxfp4":  # transformers reads that only with packages for GPUs
        model.config._attn_implementation = "eager"
        of_blocks(model, folder)
        written = model
    else:
        written = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=F32, attn_implementation="eager", **plainly)
    contents, logits = golden(written, config.vocab_size, seed)
    write_golden(folder, contents)
    return folder, contents, (logits.max() - logits.min()).item()


def main():
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for name in sys.argv[1:] or MODELS | FAMILIES | CROSSING | EXPERTS:
        for seed in range(1, 100):  # one that says many different things, none of them by a hair
            folder, contents, spread = (make_experts if name in EXPERTS else make)(name, seed)
            different, margin = len(set(contents["greedy"])), min(contents["greedy_margin"])
            if different >= 6 and margin >= 0.01 * spread ** 0.5:
                break
        size = sum(os.path.getsize(os.path.join(folder, file)) for file in os.listdir(folder))
        print(f"{name}: {size / 1024:.0f} KB, seed {seed}, logits spread {spread:.2f}, {different} different of {GREEDY_TOK} "
              f"tokens, smallest margin {margin}")


if __name__ == "__main__":
    main()
