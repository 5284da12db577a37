#!/usr/bin/env python3
"""Writes the inputs that fuzzing split files, LoRA adapters, quantised folders and saved sessions starts from.

    python3 tests/fuzz/make_file_seeds.py
"""
import json
import os
import random
import struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
noise = random.Random(7)
WIDTH = 256  # of the built-in model


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(keys, tensors):
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(text(k) + v for k, v in keys)
    data = b""
    for name, dims in tensors:
        out += text(name) + struct.pack("<I", len(dims)) + b"".join(struct.pack("<Q", d) for d in dims) + struct.pack("<IQ", 0, len(data))
        count = 1
        for d in dims:
            count *= d
        data += struct.pack(f"<{count}f", *(noise.gauss(0, 0.1) for _ in range(count)))
        data += bytes(-len(data) % 32)
    return out + bytes(-len(out) % 32) + data


def safetensors(tensors):
    header, data = {}, b""
    for name, kind, shape, piece in tensors:
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    head = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(head)) + head + data


def u16(value):
    return struct.pack("<IH", 2, value)


def string(value):
    return struct.pack("<I", 8) + text(value)


def save(name, content):
    path = os.path.join(HERE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(content)


def part(number, tensors):
    keys = [("split.no", u16(number)), ("split.count", u16(2)), ("split.tensors.count", struct.pack("<Ii", 5, 3))]
    return gguf(keys + ([("general.architecture", string("llama"))] if number == 0 else []), tensors)


first, second = part(0, [("a", [4])]), part(1, [("b", [2, 3]), ("c", [5])])
save("gguf_split/good", struct.pack("<H", len(first)) + first + second)
save("gguf_split/twice", struct.pack("<H", len(first)) + first + part(1, [("a", [2]), ("c", [5])]))

pairs = [("blk.0.attn_q.weight.lora_a", [WIDTH, 1]), ("blk.0.attn_q.weight.lora_b", [1, WIDTH])]
save("lora/gguf", b"G" + gguf([("general.architecture", string("llama")), ("adapter.type", string("lora")),
                               ("adapter.lora.alpha", struct.pack("<If", 6, 2.0))], pairs))
config = json.dumps({"peft_type": "LORA", "r": 1, "lora_alpha": 4, "use_rslora": True, "bias": "none", "rank_pattern": {}, "alpha_pattern": {"q_proj": 3, "proj": 2.5}}).encode()
stem = "base_model.model.model.layers.0.self_attn.q_proj.lora_"
save("lora/peft", b"P" + struct.pack("<H", len(config)) + config + safetensors([
    (stem + "A.weight", "F16", [1, WIDTH], noise.randbytes(2 * WIDTH)), (stem + "B.weight", "F16", [WIDTH, 1], noise.randbytes(2 * WIDTH))]))

stem = "model.layers.0.self_attn.q_proj."
for method in ("gptq", "awq"):
    config = json.dumps({"quantization_config": {"quant_method": method, "bits": 4, "group_size": 32}}).encode()
    shape = [8, 8] if method == "gptq" else [64, 1]
    save("quantised/" + method, struct.pack("<H", len(config)) + config + safetensors([
        (stem + "qweight", "I32", shape, noise.randbytes(256)), (stem + "qzeros", "I32", [2, 1], noise.randbytes(8)),
        (stem + "scales", "F16", [2, 8], struct.pack("<16e", *[0.01] * 16)),
        (stem + "g_idx", "I32", [64], struct.pack("<64i", *[noise.randrange(2) for _ in range(64)]))]))
config = json.dumps({"quantization_config": {"quant_method": "fp8", "weight_block_size": [4, 4]}}).encode()
save("quantised/fp8", struct.pack("<H", len(config)) + config + safetensors([
    (stem + "weight", "F8_E4M3", [6, 8], noise.randbytes(48)), (stem + "weight_scale_inv", "F32", [2, 2], struct.pack("<4f", 1, 2, 3, 4))]))


def session(kind, tokens, messages, states):
    """Without the checksum: the target adds it."""
    packed = b"".join(bytes([role, sum(1 << i for i, t in enumerate(extra) if t)]) + content.encode() + b"\0" +
                      b"".join(t.encode() + b"\0" for t in extra if t) + struct.pack(f"<I{len(ids)}i", len(ids), *ids)
                      for role, content, extra, ids in messages)
    return (b"SOLOSESS" + struct.pack("<IIQIIIIfIfffIIIQQ", 1, kind, 99, 1, len(tokens), len(messages), 0, 0.8, 40, 0.95, 0.05, 1.1, 64, 7, 0,
                                      len(packed), len(states)) + struct.pack(f"<{len(tokens)}I", *tokens) + packed + states)


save("session/text", session(0, [1, 2, 3], [], noise.randbytes(24)))
save("session/turns", session(2, [5, 6], [(0, "Be brief.", (), []), (1, "Hello", (), []), (2, "", ('[{"function": {}}]', "", ""), []),
                                          (3, "42", ("", "call_1", "add"), [])], noise.randbytes(8)))
save("session/plain", session(1, [], [(1, "Once", (), [3, 4]), (2, " upon", (), [5])], b""))

for name, form, bits, shape in (("packed", "pack-quantized", 4, [8, 8]), ("bytes", "int-quantized", 8, [8, 64])):
    weights = {"num_bits": bits, "type": "int", "strategy": "group" if bits == 4 else "channel", "group_size": 32}
    config = json.dumps({"quantization_config": {"quant_method": "compressed-tensors", "format": form,
                                                 "config_groups": {"g": {"weights": weights}}}}).encode()
    stem = "model.layers.0.self_attn.q_proj.weight"
    save("quantised/" + name, struct.pack("<H", len(config)) + config + safetensors(
        [(stem + "_packed", "I32", shape, noise.randbytes(256)), (stem + "_zero_point", "I32", [1, 2], noise.randbytes(8)),
         (stem + "_scale", "BF16", [8, 2], noise.randbytes(32)),
         (stem + "_g_idx", "I32", [64], struct.pack("<64i", *[noise.randrange(2) for _ in range(64)]))] if bits == 4 else
        [(stem, "I8", shape, noise.randbytes(512)), (stem + "_scale", "F32", [8, 1], struct.pack("<8f", *range(8)))]))
