"""Models of tools/fixtures.py as the GGUF files that llama.cpp's converter would write (needs PyPI's gguf)."""
import os
import shutil

import gguf
import numpy as np


def gguf_tensors(model, heads, kv_heads, is_llama, older):
    """Weights by GGUF's names; llama's rows of q and k have the two that turn together side by side."""
    names = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "mlp.gate": "ffn_gate_inp",
             "mlp.experts.down_proj": "ffn_down_exps", "mlp.shared_expert_gate": "ffn_gate_inp_shexp"}
    names |= {f"self_attn.{x}_proj": f"attn_{x}" for x in "qkv"} | {"self_attn.o_proj": "attn_output"}
    names |= {f"self_attn.{x}_norm": f"attn_{x}_norm" for x in "qk"}
    names |= {f"mlp.shared_expert.{x}_proj": f"ffn_{x}_shexp" for x in ("gate", "up", "down")}
    whole = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
             "lm_head.weight": "output.weight"}
    names |= {f"self_attn.{theirs}": ours for theirs, ours in (
        ("q_a_proj", "attn_q_a"), ("q_a_layernorm", "attn_q_a_norm"), ("q_b_proj", "attn_q_b"),
        ("kv_a_proj_with_mqa", "attn_kv_a_mqa"), ("kv_a_layernorm", "attn_kv_a_norm"),
        ("kv_b_proj", "attn_kv_b"))}
    names |= {f"mlp.shared_experts.{x}_proj": f"ffn_{x}_shexp" for x in ("gate", "up", "down")}
    names |= {f"mlp.{x}_proj": f"ffn_{x}" for x in ("gate", "up", "down")}
    for name, weight in model.state_dict().items():
        if name in whole:
            yield whole[name], weight
            continue
        layer, part = name.removeprefix("model.layers.").split(".", 1)
        suffix = part.rsplit(".", 1)[1] if part.endswith((".weight", ".bias")) else "weight"
        part = part.removesuffix("." + suffix)
        if part == "mlp.experts.gate_up_proj":
            gate, up = weight.chunk(2, 1)
            yield f"blk.{layer}.ffn_gate_exps.weight", gate
            yield f"blk.{layer}.ffn_up_exps.weight", up
            continue
        if part == "self_attn.kv_b_proj" and not older:  # keys and values of each head by themselves, those of keys turned
            c = model.config
            keys, values = weight.reshape(heads, -1, c.kv_lora_rank).split([c.qk_nope_head_dim, c.v_head_dim], 1)
            yield f"blk.{layer}.attn_k_b.weight", keys.transpose(1, 2)
            yield f"blk.{layer}.attn_v_b.weight", values
            continue
        if part == "mlp.gate.e_score_correction_bias":
            yield f"blk.{layer}.exp_probs_b.bias", weight
            continue
        if is_llama and part in ("self_attn.q_proj", "self_attn.k_proj"):
            count = heads if "q_proj" in part else kv_heads
            weight = weight.reshape(count, 2, -1, weight.shape[1]).transpose(1, 2).reshape(weight.shape)
        if part == "mlp.shared_expert_gate":
            weight = weight[0]
        yield f"blk.{layer}.{names[part]}.{suffix}", weight


def gguf_latent(w, c, older):
    """What llama.cpp's converter writes of latent attention and of its router."""
    w.add_kv_lora_rank(c.kv_lora_rank)
    if c.q_lora_rank:
        w.add_q_lora_rank(c.q_lora_rank)
    if older:
        w.add_key_length(c.qk_nope_head_dim + c.qk_rope_head_dim)
        w.add_value_length(c.v_head_dim)
    else:
        w.add_key_length(c.kv_lora_rank + c.qk_rope_head_dim)
        w.add_value_length(c.kv_lora_rank)
        w.add_key_length_mla(c.qk_nope_head_dim + c.qk_rope_head_dim)
        w.add_value_length_mla(c.v_head_dim)
    w.add_rope_dimension_count(c.qk_rope_head_dim)
    w.add_leading_dense_block_count(c.first_k_dense_replace)
    w.add_expert_shared_count(c.n_shared_experts)
    w.add_expert_weights_scale(c.routed_scaling_factor)
    if c.norm_topk_prob:
        w.add_expert_weights_norm(True)
    if c.model_type == "deepseek_v3":
        w.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    if c.n_group:
        w.add_expert_group_count(c.n_group)
        w.add_expert_group_used_count(c.topk_group)
    if c.rope_parameters["rope_type"] == "yarn":
        w.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        w.add_rope_scaling_factor(c.rope_parameters["factor"])
        w.add_rope_scaling_orig_ctx_len(c.rope_parameters["original_max_position_embeddings"])
        w.add_rope_scaling_yarn_log_mul(0.1 * c.rope_parameters["mscale_all_dim"])


def save_gguf(folder, model, arch, older):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    c = model.config
    w = gguf.GGUFWriter(f"{folder}/model.gguf", arch)
    w.add_context_length(c.max_position_embeddings)
    w.add_embedding_length(c.hidden_size)
    w.add_block_count(c.num_hidden_layers)
    w.add_feed_forward_length(c.intermediate_size)
    w.add_head_count(c.num_attention_heads)
    w.add_head_count_kv(1 if arch == "deepseek2" and not older else c.num_key_value_heads)
    if arch == "deepseek2":
        gguf_latent(w, c, older)
    elif getattr(c, "head_dim", None):
        w.add_key_length(c.head_dim)
        w.add_value_length(c.head_dim)
    w.add_layer_norm_rms_eps(c.rms_norm_eps)
    w.add_rope_freq_base(c.rope_parameters["rope_theta"])
    w.add_vocab_size(c.vocab_size)
    w.add_expert_count(next(getattr(c, key) for key in ("n_routed_experts", "num_local_experts", "num_experts")
                            if getattr(c, key, None)))
    w.add_expert_used_count(c.num_experts_per_tok)
    if hasattr(c, "moe_intermediate_size"):
        w.add_expert_feed_forward_length(c.moe_intermediate_size)
    if hasattr(c, "shared_expert_intermediate_size"):
        w.add_expert_shared_feed_forward_length(c.shared_expert_intermediate_size)
    w.add_tokenizer_model("none")
    for name, weight in gguf_tensors(model, c.num_attention_heads, c.num_key_value_heads, arch == "llama", older):
        small = weight.dim() == 1 or "ffn_gate_inp" in name
        w.add_tensor(name, weight.detach().contiguous().numpy().astype(np.float32 if small else np.float16))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
