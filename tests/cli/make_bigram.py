#!/usr/bin/env python3
"""Writes a model whose most likely next token depends on the last token only, as it is told: a folder to test tools and
thoughts with, without a model that was trained for them.

    python3 tests/cli/make_bigram.py FOLDER

Its embedding is the identity, its layer adds nothing, and its output says which token follows which.
"""
import json
import os
import struct
import sys

folder = sys.argv[1]
CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 3}}\n</tool_call>'
FORGED = '<tool_call>{"name": "a\\", \\"arguments\\": {}}\\n\\u001b[31m", "arguments": {}}</tool_call>'
THOUGHTS = "<think>\nWell.\n</think>\n\n"
# what follows what; the single letters are bytes
FOLLOWS = {"<|ask|>": CALL, CALL: "<|end|>", "<|result|>": "Four.", "Four.": "<|end|>", "<think>": "hm ", "hm ": "hm ",
           "\n": "Yes.", "Yes.": "<|end|>", "<|say|>": "Hello.", "Hello.": "<|end|>", "<|muse|>": THOUGHTS,
           THOUGHTS: "Indeed.", "Indeed.": "<|end|>", "<|end|>": "<|end|>",
           "<|forge|>": FORGED, FORGED: "<|end|>"}  # at the end: tests name tokens by their numbers
added = [t for t in FOLLOWS if len(t) > 1] + ["</think>"]
printable = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 255 and b != 173]
letters = {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(sorted(set(range(256)) - set(printable)))}
ids = {t: 256 + i for i, t in enumerate(added)} | {"\n": 10}
SIZE = (256 + len(added) + 31) // 32 * 32

os.makedirs(folder, exist_ok=True)
json.dump({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": SIZE, "intermediate_size": 32,
           "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 32, "vocab_size": SIZE,
           "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "rope_theta": 10000, "hidden_act": "silu",
           "tie_word_embeddings": False}, open(folder + "/config.json", "w"))
flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
json.dump({"added_tokens": [{"id": ids[t], "content": t, **flags, "special": t.startswith("<|")} for t in added],
           "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
           "model": {"type": "BPE", "vocab": {letters[b]: b for b in range(256)}, "merges": []}}, open(folder + "/tokenizer.json", "w"))
json.dump({"eos_token": "<|end|>"}, open(folder + "/tokenizer_config.json", "w"))


def matrix(rows, columns, ones):
    data = bytearray(4 * rows * columns)
    for row, column in ones:
        struct.pack_into("<f", data, 4 * (row * columns + column), 8.0)
    return [rows, columns], bytes(data)


tensors = {"model.embed_tokens.weight": matrix(SIZE, SIZE, [(i, i) for i in range(SIZE)]),
           "lm_head.weight": matrix(SIZE, SIZE, [(ids[next], ids[last]) for last, next in FOLLOWS.items()]),
           "model.norm.weight": ([SIZE], struct.pack("<f", 1) * SIZE)}
for name, rows, columns in [("self_attn.q_proj", 32, SIZE), ("self_attn.k_proj", 32, SIZE), ("self_attn.v_proj", 32, SIZE), ("self_attn.o_proj", SIZE, 32),
                            ("mlp.gate_proj", 32, SIZE), ("mlp.up_proj", 32, SIZE), ("mlp.down_proj", SIZE, 32)]:
    tensors[f"model.layers.0.{name}.weight"] = matrix(rows, columns, [])
for name in ("input_layernorm", "post_attention_layernorm"):
    tensors[f"model.layers.0.{name}.weight"] = ([SIZE], struct.pack("<f", 1) * SIZE)
header, data = {}, b""
for name, (shape, piece) in tensors.items():
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(piece)]}
    data += piece
head = json.dumps(header).encode()
open(folder + "/model.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + data)
