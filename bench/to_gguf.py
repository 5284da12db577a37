#!/usr/bin/env python3
"""Turns a Hugging Face folder (bench/make_model.py) into a GGUF file with the same weights, for engines that read that.

    python3 bench/to_gguf.py FOLDER TYPE FILE.gguf         TYPE: f32, f16, bf16, q8_0 or q4_0

The architectures are those of bench/models.py: llama and qwen2. There is no vocabulary in it (tokenizer "no_vocab"): it is fed
token ids. Vectors are f32; matrices, the embedding among them, are TYPE.
"""
import json
import math
import os
import struct
import sys

import torch
from safetensors import safe_open

# GGUF's numbers for types of tensors and of keys
TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 8, "bf16": 30}
U32, F32, TEXT = 4, 6, 8
ALIGN = 32

LAYER_NAMES = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def gguf_name(name):
    base, suffix = name.rsplit(".", 1)
    if base in NAMES:
        return f"{NAMES[base]}.{suffix}"
    _, _, layer, part = base.split(".", 3)
    return f"blk.{layer}.{LAYER_NAMES[part]}.{suffix}"


def reorder(weight, heads):
    """llama's heads turn neighbours in GGUF, halves at Hugging Face: rows of q and k change places."""
    rows = weight.shape[0] // heads
    return weight.reshape(heads, 2, rows // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def quantised(weight, kind):
    blocks = weight.float().reshape(-1, 32)
    if kind == "q8_0":
        scale = blocks.abs().amax(1, keepdim=True) / 127
        numbers = torch.where(scale > 0, blocks / scale, 0).round().to(torch.int8).view(torch.uint8)
    else:  # q4_0: the number farthest from zero becomes -8
        farthest = blocks.gather(1, blocks.abs().argmax(1, keepdim=True))
        scale = farthest / -8
        numbers = torch.where(scale != 0, blocks / scale + 8.5, 8.5).floor().clamp(0, 15).to(torch.uint8)
        numbers = numbers[:, :16] | (numbers[:, 16:] << 4)
    return torch.cat([scale.to(torch.float16).view(torch.uint8), numbers], 1)


def data_of(weight, kind):
    if weight.dim() == 1:
        kind = "f32"
    if kind in ("q8_0", "q4_0"):
        if weight.shape[-1] % 32:
            raise SystemExit(f"to_gguf.py: rows of {weight.shape[-1]} cannot be {kind}, which has blocks of 32")
        block = quantised(weight, kind)
    else:
        block = weight.to({"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[kind]).contiguous().view(torch.uint8)
    return TYPES[kind], block.contiguous().numpy().tobytes()


def text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def keys_of(config):
    arch, rope = config["model_type"], config.get("rope_parameters") or {"rope_theta": config.get("rope_theta", 1e4)}
    if arch not in ("llama", "qwen2") or rope.get("rope_type", "default") not in ("default", "llama3"):
        raise SystemExit(f"to_gguf.py: {arch} with this rope is not one of the shapes in bench/models.py")
    heads = config["num_attention_heads"]
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    return [
        ("general.architecture", TEXT, arch), ("general.name", TEXT, "random weights"),
        ("tokenizer.ggml.model", TEXT, "no_vocab"),
        (f"{arch}.vocab_size", U32, config["vocab_size"]), (f"{arch}.block_count", U32, config["num_hidden_layers"]),
        (f"{arch}.context_length", U32, config["max_position_embeddings"]), (f"{arch}.embedding_length", U32, config["hidden_size"]),
        (f"{arch}.feed_forward_length", U32, config["intermediate_size"]), (f"{arch}.attention.head_count", U32, heads),
        (f"{arch}.attention.head_count_kv", U32, config["num_key_value_heads"]),
        (f"{arch}.attention.key_length", U32, head_dim), (f"{arch}.attention.value_length", U32, head_dim),
        (f"{arch}.rope.dimension_count", U32, head_dim), (f"{arch}.rope.freq_base", F32, rope["rope_theta"]),
        (f"{arch}.attention.layer_norm_rms_epsilon", F32, config["rms_norm_eps"]),
    ]


def rope_factors(config):
    """By how much Llama 3.1 and later slow down each pair of a head: none of the fast, all of the slow, some between."""
    rope = config.get("rope_parameters") or {}
    if rope.get("rope_type") != "llama3":
        return None
    size = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    turns = rope["original_max_position_embeddings"] / (2 * math.pi) * rope["rope_theta"] ** -(torch.arange(0, size, 2, dtype=torch.float64) / size)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    share = ((turns - low) / (high - low)).clamp(0, 1)
    return (1 / ((1 - share) / rope["factor"] + share)).float()


def write_gguf(folder, kind, path):
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    files = sorted(f for f in os.listdir(folder) if f.endswith(".safetensors"))
    tensors, data, factors = [], path + ".data", rope_factors(config)
    with open(data, "wb") as out:  # the list of tensors comes before them, and needs their places

        def add(name, weight, as_type):
            number, block = data_of(weight, as_type)
            tensors.append((name, weight.shape, number, out.tell()))
            out.write(block + b"\0" * (-len(block) % ALIGN))

        if factors is not None:
            add("rope_freqs.weight", factors, "f32")
        for file in files:
            with safe_open(os.path.join(folder, file), "pt") as opened:
                for name in opened.keys():
                    weight = opened.get_tensor(name)
                    if config["model_type"] == "llama" and (".q_proj." in name or ".k_proj." in name):
                        weight = reorder(weight, config["num_attention_heads" if ".q_proj." in name else "num_key_value_heads"])
                    add(gguf_name(name), weight, kind)
    keys = keys_of(config)
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(keys))
    for key, number, value in keys:
        head += text(key) + struct.pack("<I", number) + (text(value) if number == TEXT else struct.pack("<I" if number == U32 else "<f", value))
    for name, shape, number, place in tensors:
        head += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape)) + struct.pack("<IQ", number, place)
    head += b"\0" * (-len(head) % ALIGN)
    with open(path + ".new", "wb") as out, open(data, "rb") as source:
        out.write(head)
        while chunk := source.read(1 << 24):
            out.write(chunk)
    os.remove(data)
    os.replace(path + ".new", path)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[2] not in TYPES:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    write_gguf(*sys.argv[1:])
