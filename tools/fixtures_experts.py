"""For fixtures.py: mixtures of experts as folders and GGUF files have them."""
import os
import shutil

import numpy as np
import torch


def separate(tensors, model_type):
    """A tensor for each expert, as folders had them before transformers 5."""
    where, names = (("block_sparse_moe", ("w1", "w3", "w2")) if model_type == "mixtral" else
                    ("mlp", ("gate_proj", "up_proj", "down_proj")))
    result = {}
    for name, weight in tensors.items():
        stem = name.split(".mlp.")[0]
        if name.endswith(".experts.gate_up_proj"):
            for e, both in enumerate(weight):
                for kind, half in zip(names, both.chunk(2, 0)):
                    result[f"{stem}.{where}.experts.{e}.{kind}.weight"] = half.contiguous()
        elif name.endswith(".experts.down_proj"):
            for e, matrix in enumerate(weight):
                result[f"{stem}.{where}.experts.{e}.{names[2]}.weight"] = matrix.contiguous()
        else:
            result[name.replace(".mlp.gate.", f".{where}.gate.")] = weight
    return result


MX_VALUES = [0, 0.5, 1, 1.5, 2, 3, 4, 6]


def to_blocks(weight):
    """Experts' matrices [experts, in, out] as MXFP4: blocks [experts, out, in / 32, 16], two numbers to a byte, and scales."""
    rows = weight.transpose(1, 2).reshape(weight.shape[0], weight.shape[2], -1, 32)
    exponents = torch.floor(torch.log2(rows.abs().amax(-1).clamp(min=2.0 ** -100))) - 2
    scaled = rows / (2.0 ** exponents)[..., None]
    nearest = (scaled.abs()[..., None] - torch.tensor(MX_VALUES)).abs().argmin(-1) + 8 * (scaled < 0)
    return (nearest[..., 0::2] + 16 * nearest[..., 1::2]).to(torch.uint8), (exponents + 127).to(torch.uint8)


def in_blocks(tensors):
    result = {}
    for name, weight in tensors.items():
        if name.endswith((".gate_up_proj", ".down_proj")) and weight.dim() == 3:
            result[name + "_blocks"], result[name + "_scales"] = to_blocks(weight.float())
        else:
            result[name] = weight
    return result


def of_blocks(model, folder):
    """Puts what the blocks of a folder mean into the model."""
    from safetensors.torch import load_file
    table = torch.tensor(MX_VALUES + [-value for value in MX_VALUES])
    tensors = load_file(f"{folder}/model.safetensors")
    weights = dict(model.named_parameters())
    for name, blocks in tensors.items():
        if name.endswith("_blocks"):
            numbers = torch.stack((blocks & 15, blocks >> 4), -1).flatten(-2).long()
            scales = 2.0 ** (tensors[name.replace("_blocks", "_scales")].float() - 127)
            values = (table[numbers] * scales[..., None]).flatten(-2)
            weights[name.removesuffix("_blocks")].data.copy_(values.transpose(1, 2))
        elif name in weights:
            weights[name].data.copy_(tensors[name].float())


def gguf_tensors(model, heads, kv_heads, is_llama):
    """Weights by GGUF's names; llama's rows of q and k have the two that turn together side by side."""
    names = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "mlp.gate": "ffn_gate_inp",
             "mlp.experts.down_proj": "ffn_down_exps", "mlp.shared_expert_gate": "ffn_gate_inp_shexp"}
    names |= {f"self_attn.{x}_proj": f"attn_{x}" for x in "qkv"} | {"self_attn.o_proj": "attn_output"}
    names |= {f"self_attn.{x}_norm": f"attn_{x}_norm" for x in "qk"}
    names |= {f"mlp.shared_expert.{x}_proj": f"ffn_{x}_shexp" for x in ("gate", "up", "down")}
    whole = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
             "lm_head.weight": "output.weight"}
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
        if is_llama and part in ("self_attn.q_proj", "self_attn.k_proj"):
            count = heads if "q_proj" in part else kv_heads
            weight = weight.reshape(count, 2, -1, weight.shape[1]).transpose(1, 2).reshape(weight.shape)
        if part == "mlp.shared_expert_gate":
            weight = weight[0]
        yield f"blk.{layer}.{names[part]}.{suffix}", weight


def save_gguf(folder, model, arch):
    import gguf

    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    c = model.config
    w = gguf.GGUFWriter(f"{folder}/model.gguf", arch)
    w.add_context_length(c.max_position_embeddings)
    w.add_embedding_length(c.hidden_size)
    w.add_block_count(c.num_hidden_layers)
    w.add_feed_forward_length(c.intermediate_size)
    w.add_head_count(c.num_attention_heads)
    w.add_head_count_kv(c.num_key_value_heads)
    if getattr(c, "head_dim", None):
        w.add_key_length(c.head_dim)
        w.add_value_length(c.head_dim)
    w.add_layer_norm_rms_eps(c.rms_norm_eps)
    w.add_rope_freq_base(c.rope_parameters["rope_theta"])
    w.add_vocab_size(c.vocab_size)
    w.add_expert_count(getattr(c, "num_local_experts", None) or c.num_experts)
    w.add_expert_used_count(c.num_experts_per_tok)
    if hasattr(c, "moe_intermediate_size"):
        w.add_expert_feed_forward_length(c.moe_intermediate_size)
    if hasattr(c, "shared_expert_intermediate_size"):
        w.add_expert_shared_feed_forward_length(c.shared_expert_intermediate_size)
    w.add_tokenizer_model("none")
    for name, weight in gguf_tensors(model, c.num_attention_heads, c.num_key_value_heads, arch == "llama"):
        small = weight.dim() == 1 or "ffn_gate_inp" in name
        w.add_tensor(name, weight.detach().contiguous().numpy().astype(np.float32 if small else np.float16))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
