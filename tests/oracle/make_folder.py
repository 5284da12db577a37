#!/usr/bin/env python3
"""A tiny Hugging Face folder with random weights, for the tests to convert.

    tests/oracle/make_folder.py VARIANT FOLDER

VARIANT: an architecture, with what else is to be seen in it (see VARIANTS)."""
import json
import os
import random
import struct
import sys

HIDDEN, FFN, LAYERS, HEADS, KV_HEADS, VOCAB = 64, 96, 2, 4, 2, 160

VARIANTS = {
    # the angles stretched as in llama 3.1, biases, config.json in its old form
    "llama": {"model_type": "llama", "attention_bias": True, "rope_theta": 500000.0, "rope_scaling": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32}},
    # biases in the feed-forward layers
    "llama-mlp": {"model_type": "llama", "mlp_bias": True},
    # no window, several files, a tokenizer
    "mistral": {"model_type": "mistral", "sliding_window": None},
    # tied, linear scaling, config.json in its new form
    "qwen2": {"model_type": "qwen2", "tie_word_embeddings": True,
              "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1000000.0}},
    # heads larger than hidden / heads
    "qwen3": {"model_type": "qwen3", "head_dim": 32},
    # a rope of its own for every pair, on a part of each head
    "phi3": {"model_type": "phi3", "sliding_window": None, "partial_rotary_factor": 0.5,
             "max_position_embeddings": 2048, "original_max_position_embeddings": 512,
             "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.1, 1.5, 2.0], "long_factor": [1.0, 2.0, 3.0, 4.0]}},
    "gemma": {"model_type": "gemma", "head_dim": 32},
    # a window in every other layer
    "gemma2": {"model_type": "gemma2", "head_dim": 32, "query_pre_attn_scalar": 32, "sliding_window": 8},
    # experts, by two families' names
    "mixtral": {"model_type": "mixtral", "num_local_experts": 3, "num_experts_per_tok": 2, "sliding_window": None},
    "qwen3-moe": {"model_type": "qwen3_moe", "head_dim": 32, "num_experts": 4, "num_experts_per_tok": 2,
                  "moe_intermediate_size": 32, "norm_topk_prob": True},
    # for errors: what GGUF cannot say
    "qwen2-window": {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 8, "max_window_layers": 0},
    # rows of whole blocks of 256
    "wide": {"model_type": "llama", "hidden_size": 256, "intermediate_size": 512},
    # rows that no block type holds
    "odd": {"model_type": "llama", "intermediate_size": 72},
}


def config_of(variant):
    c = {"vocab_size": VOCAB, "hidden_size": HIDDEN, "intermediate_size": FFN, "num_hidden_layers": LAYERS,
         "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "max_position_embeddings": 512,
         "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "bos_token_id": 1, "eos_token_id": [2, 3]}
    c.update(VARIANTS[variant])
    return c


def shapes_of(c):
    kind, hidden, ffn = c["model_type"], c["hidden_size"], c["intermediate_size"]
    head = c.get("head_dim", hidden // HEADS)
    q, kv = HEADS * head, KV_HEADS * head
    shapes = {"model.embed_tokens.weight": [VOCAB, hidden], "model.norm.weight": [hidden]}
    if not c.get("tie_word_embeddings", kind.startswith("gemma")):
        shapes["lm_head.weight"] = [VOCAB, hidden]
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        attention, mlp = at + "self_attn.", at + "mlp."
        if kind == "phi3":
            shapes[attention + "qkv_proj.weight"] = [q + 2 * kv, hidden]
            shapes[mlp + "gate_up_proj.weight"] = [2 * ffn, hidden]
        else:
            for name, rows in (("q", q), ("k", kv), ("v", kv)):
                shapes[f"{attention}{name}_proj.weight"] = [rows, hidden]
                if kind == "qwen2" or c.get("attention_bias"):
                    shapes[f"{attention}{name}_proj.bias"] = [rows]
        shapes[attention + "o_proj.weight"] = [hidden, q]
        if c.get("attention_bias"):
            shapes[attention + "o_proj.bias"] = [hidden]
        if kind.startswith("qwen3"):
            shapes[attention + "q_norm.weight"] = shapes[attention + "k_norm.weight"] = [head]
        experts = c.get("num_experts") or c.get("num_local_experts")
        if experts:
            mixtral, inner = kind == "mixtral", c.get("moe_intermediate_size", ffn)
            where, names = (at + "block_sparse_moe.", ("w1", "w3", "w2")) if mixtral else (mlp, ("gate_proj", "up_proj", "down_proj"))
            shapes[where + "gate.weight"] = [experts, hidden]
            for e in range(experts):
                for name, shape in zip(names, ([inner, hidden], [inner, hidden], [hidden, inner])):
                    shapes[f"{where}experts.{e}.{name}.weight"] = shape
        else:
            if kind != "phi3":
                shapes[mlp + "gate_proj.weight"] = shapes[mlp + "up_proj.weight"] = [ffn, hidden]
            shapes[mlp + "down_proj.weight"] = [hidden, ffn]
        if c.get("mlp_bias"):
            shapes[mlp + "gate_proj.bias"] = shapes[mlp + "up_proj.bias"] = [ffn]
            shapes[mlp + "down_proj.bias"] = [hidden]
        norms = ["input_layernorm", "post_attention_layernorm"]
        if kind == "gemma2":
            norms += ["pre_feedforward_layernorm", "post_feedforward_layernorm"]
        for name in norms:
            shapes[f"{at}{name}.weight"] = [hidden]
    return shapes


def write_safetensors(path, shapes, numbers, plus_one):
    header, data = {}, b""
    for name, shape in sorted(shapes.items()):
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        middle = 1 if "norm" in name and plus_one else 0
        spread = 1 / 8 if len(shape) > 1 else 0.2
        values = struct.pack(f"<{count}f", *(middle + numbers.gauss(0, spread) for _ in range(count)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def tokenizer():
    """Byte-level BPE: the letters, two merges, a special token and one that is not."""
    vocab = {chr(c): c - 33 for c in range(33, 127)}
    vocab.update({"Ġ": 94, "Ġa": 95, "th": 96})
    return {"added_tokens": [{"id": 97, "content": "<s>", "special": True}, {"id": 98, "content": "</s>", "special": True},
                             {"id": 99, "content": "user defined", "special": False}],
            "normalizer": None, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
            "model": {"type": "BPE", "vocab": vocab, "merges": ["Ġ a", ["t", "h"]]}}


def main():
    variant, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    c, numbers = config_of(variant), random.Random(variant)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(c, f)
    shapes, plus_one = shapes_of(c), not c["model_type"].startswith("gemma")
    if variant != "mistral":
        write_safetensors(os.path.join(folder, "model.safetensors"), shapes, numbers, plus_one)
        return
    parts, places = [{}, {}], {}
    for i, name in enumerate(sorted(shapes)):
        parts[i % 2][name] = shapes[name]
        places[name] = f"model-0000{i % 2 + 1}-of-00002.safetensors"
    for i, part in enumerate(parts):
        write_safetensors(os.path.join(folder, f"model-0000{i + 1}-of-00002.safetensors"), part, numbers, plus_one)
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as f:
        json.dump({"metadata": {}, "weight_map": places}, f)
    with open(os.path.join(folder, "tokenizer.json"), "w") as f:
        json.dump(tokenizer(), f)
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
        f.write('{"bos_token": "<s>", "eos_token": {"content": "</s>"}, "add_bos_token": true,'
                ' "model_max_length": 1000000000000000019884624838656, "chat_template": "{{ messages }}"}')


main()
