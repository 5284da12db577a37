"""Models of tools/fixtures.py as the GGUF files that llama.cpp's converter would write (needs PyPI's gguf)."""
import os
import shutil

import gguf
import numpy as np
import torch


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


GEMMA_PARTS = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
    "pre_feedforward_layernorm_2": "pre_ffw_norm_2", "post_feedforward_layernorm_1": "post_ffw_norm_1",
    "post_feedforward_layernorm_2": "post_ffw_norm_2", "per_layer_input_gate": "inp_gate",
    "per_layer_projection": "proj", "post_per_layer_input_norm": "post_norm", "self_attn.o_proj": "attn_output",
    "router.proj": "ffn_gate_inp", "router.scale": "ffn_gate_inp.scale", "router.per_expert_scale": "ffn_down_exps.scale",
    "experts.gate_up_proj": "ffn_gate_up_exps", "experts.down_proj": "ffn_down_exps", "layer_scalar": "layer_output_scale",
    "altup.correction_coefs": "altup_correct_coef", "altup.correct_output_scale": "altup_correct_scale",
    "altup.prediction_coefs": "altup_predict_coef", "altup.modality_router": "altup_router",
    "altup.router_norm": "altup_router_norm", "laurel.linear_left": "laurel_l", "laurel.linear_right": "laurel_r",
    "laurel.post_laurel_norm": "laurel_post_norm",
} | {f"self_attn.{x}_proj": f"attn_{x}" for x in "qkv"} | {f"self_attn.{x}_norm": f"attn_{x}_norm" for x in "qk"} | {
    f"mlp.{x}_proj": f"ffn_{x}" for x in ("gate", "up", "down")}


def gemma_tensors(model):
    """gemma3n's and gemma4's: experts' gate and up stay in one, matrices for the streams become one, and the table of inputs
    for each layer gets a row for every token."""
    whole = {"embed_tokens": "token_embd", "norm": "output_norm", "embed_tokens_per_layer": "per_layer_token_embd",
             "per_layer_model_projection": "per_layer_model_proj", "per_layer_projection_norm": "per_layer_proj_norm"}
    stacks = {}
    for name, weight in model.state_dict().items():
        name = name.removeprefix("model.").removesuffix(".weight")
        if name == "lm_head":
            continue
        if name.startswith("altup_"):
            stacks.setdefault(name.rsplit(".", 1)[0], []).append(weight)
        elif name == "embed_tokens_per_layer":
            missing = model.config.vocab_size - weight.shape[0]
            yield "per_layer_token_embd.weight", torch.cat([weight, weight[:1].repeat(missing, 1)])
        elif name in whole:
            yield f"{whole[name]}.weight", weight
        else:
            _, layer, part = name.split(".", 2)
            ours = GEMMA_PARTS[part]
            yield f"blk.{layer}.{ours}" + ("" if ours.endswith(".scale") else ".weight"), weight
    for name, weights in stacks.items():
        yield {"altup_projections": "altup_proj", "altup_unembed_projections": "altup_unembd_proj"}[name] + ".weight", \
            torch.stack(weights)
    rope = model.config.rope_parameters["full_attention"]
    if rope["rope_type"] == "proportional":  # pairs that do not turn are divided by a number without end
        pairs = model.config.per_layer_config[model.config.layer_types.index("full_attention")].head_dim // 2
        turned = int(rope["partial_rotary_factor"] * pairs)
        yield "rope_freqs.weight", torch.tensor([1.0] * turned + [1e30] * (pairs - turned))


def gguf_gemma(w, c):
    """What llama.cpp's converter writes of their layers."""
    ropes = c.rope_parameters
    w.add_sliding_window(c.sliding_window)
    w.add_sliding_window_pattern([kind == "sliding_attention" for kind in c.layer_types])
    w.add_shared_kv_layers(c.num_kv_shared_layers)
    w.add_embedding_length_per_layer_input(c.hidden_size_per_layer_input)
    w.add_rope_freq_base_swa(ropes["sliding_attention"]["rope_theta"])
    w.add_rope_freq_base(ropes["full_attention"]["rope_theta"])
    if c.model_type == "gemma3n_text":
        normal = torch.distributions.normal.Normal(0, 1)
        w.add_altup_active_idx(c.altup_active_idx)
        w.add_altup_num_inputs(c.altup_num_inputs)
        w.add_activation_sparsity_scale([normal.icdf(torch.tensor(s)).item() for s in c.activation_sparsity_pattern])
        w.add_key_length(c.head_dim)
        w.add_value_length(c.head_dim)
        w.add_head_count_kv(c.num_key_value_heads)
        return
    wide = c.per_layer_config[c.layer_types.index("full_attention")]
    local = [kind == "sliding_attention" for kind in c.layer_types]
    w.add_key_length(wide.head_dim)
    w.add_value_length(wide.head_dim)
    w.add_rope_dimension_count(wide.head_dim)
    w.add_rope_dimension_count_swa(c.head_dim)
    w.add_key_length_swa(c.head_dim)
    w.add_value_length_swa(c.head_dim)
    w.add_head_count_kv([c.num_key_value_heads if seen else wide.num_key_value_heads for seen in local])


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
    c.allow_global_per_layer_attribute_access = True  # gemma4's: of layers with a window
    w = gguf.GGUFWriter(f"{folder}/model.gguf", arch)
    w.add_context_length(c.max_position_embeddings)
    w.add_embedding_length(c.hidden_size)
    w.add_block_count(c.num_hidden_layers)
    w.add_feed_forward_length(c.intermediate_size)
    w.add_head_count(c.num_attention_heads)
    gemma = c.model_type.startswith("gemma")
    if gemma:
        gguf_gemma(w, c)
    else:
        w.add_head_count_kv(1 if arch == "deepseek2" and not older else c.num_key_value_heads)
    if arch == "deepseek2":
        gguf_latent(w, c, older)
    elif getattr(c, "head_dim", None) and not gemma:
        w.add_key_length(c.head_dim)
        w.add_value_length(c.head_dim)
    w.add_layer_norm_rms_eps(c.rms_norm_eps)
    if not gemma:
        w.add_rope_freq_base(c.rope_parameters["rope_theta"])
    w.add_vocab_size(c.vocab_size)
    experts = [getattr(c, key) for key in ("n_routed_experts", "num_local_experts", "num_experts") if getattr(c, key, None)]
    if experts:
        w.add_expert_count(experts[0])
        w.add_expert_used_count(getattr(c, "num_experts_per_tok", None) or c.top_k_experts)
    if getattr(c, "moe_intermediate_size", None):
        w.add_expert_feed_forward_length(c.moe_intermediate_size)
    if hasattr(c, "shared_expert_intermediate_size"):
        w.add_expert_shared_feed_forward_length(c.shared_expert_intermediate_size)
    w.add_tokenizer_model("none")
    tensors = gemma_tensors(model) if gemma else gguf_tensors(model, c.num_attention_heads, c.num_key_value_heads,
                                                              arch == "llama", older)
    for name, weight in tensors:
        small = weight.dim() == 1 or "ffn_gate_inp" in name or "_coef" in name or "altup_router" in name
        w.add_tensor(name, weight.detach().contiguous().numpy().astype(np.float32 if small else np.float16))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
