#!/usr/bin/env python3
"""A random LoRA adapter for a folder that make_folder.py made (llama): as a PEFT folder, as a GGUF file in the form that
llama.cpp's converter writes, and a folder with the adapter already merged, at twice its strength.

    tests/oracle/make_lora.py FOLDER OUT      OUT/peft, OUT/adapter.gguf, OUT/merged"""
import json
import os
import random
import shutil
import struct
import sys

RANK, ALPHA, STRENGTH = 4, 6.0, 2.0
NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.down_proj": "ffn_down"}


def read(path):
    data = open(path, "rb").read()
    length = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:8 + length])
    forms = {"F32": (4, "f"), "F16": (2, "e")}
    tensors = {}
    for name, t in header.items():
        if name != "__metadata__":
            (size, form), (first, end) = forms[t["dtype"]], t["data_offsets"]
            tensors[name] = t["shape"], list(struct.unpack_from(f"<{(end - first) // size}{form}", data, 8 + length + first))
    return tensors


def write(path, tensors):
    header, data = {}, b""
    for name, (shape, values) in sorted(tensors.items()):
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * len(values)]}
        data += struct.pack(f"<{len(values)}f", *values)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def write_gguf(path, tensors):
    keys = b"".join(text(k) + struct.pack("<I", 8) + text(v) for k, v in
                    (("general.architecture", "llama"), ("general.type", "adapter"), ("adapter.type", "lora")))
    keys += text("adapter.lora.alpha") + struct.pack("<If", 6, ALPHA)
    header, data = b"", b""
    for name, (shape, values) in tensors.items():
        header += text(name) + struct.pack("<IQQIQ", 2, shape[1], shape[0], 0, len(data))
        data += struct.pack(f"<{len(values)}f", *values)
        data += bytes(-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 4) + keys + header
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % 32) + data)


def turned(values, rows, columns, heads):
    """Rows in the order of llama's GGUF files."""
    size, out = rows // heads, []
    for to in range(rows):
        head, i = to // size, to % size
        row = head * size + i % 2 * (size // 2) + i // 2
        out += values[row * columns:(row + 1) * columns]
    return out


def main():
    source, out = sys.argv[1:]
    config = json.load(open(os.path.join(source, "config.json")))
    base, numbers = read(os.path.join(source, "model.safetensors")), random.Random(5)
    peft, file, merged = {}, {}, dict(base)
    for name, (shape, values) in base.items():
        parts = name.split(".")
        theirs = ".".join(parts[3:5]) if name.startswith("model.layers.") else None
        if theirs not in NAMES or len(shape) < 2:
            continue
        rows, columns = shape
        a = [numbers.gauss(0, 0.2) for _ in range(RANK * columns)]
        b = [numbers.gauss(0, 0.2) for _ in range(rows * RANK)]
        peft[f"base_model.model.{name[:-7]}.lora_A.weight"] = [RANK, columns], a
        peft[f"base_model.model.{name[:-7]}.lora_B.weight"] = [rows, RANK], b
        heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}.get(NAMES[theirs])
        ours = f"blk.{parts[2]}.{NAMES[theirs]}.weight.lora_"
        file[ours + "a"] = [RANK, columns], a
        file[ours + "b"] = [rows, RANK], turned(b, rows, RANK, heads) if heads else b
        merged[name] = shape, [w + STRENGTH * ALPHA / RANK * sum(b[i // columns * RANK + k] * a[k * columns + i % columns]
                                                                 for k in range(RANK)) for i, w in enumerate(values)]
    for name in ("peft", "merged"):
        os.makedirs(os.path.join(out, name), exist_ok=True)
    shutil.copy(os.path.join(source, "config.json"), os.path.join(out, "merged"))
    write(os.path.join(out, "merged", "model.safetensors"), merged)
    write(os.path.join(out, "peft", "adapter_model.safetensors"), peft)
    with open(os.path.join(out, "peft", "adapter_config.json"), "w") as f:
        json.dump({"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, "bias": "none", "use_rslora": False, "use_dora": False,
                   "target_modules": ["q_proj"], "modules_to_save": None, "rank_pattern": {}, "alpha_pattern": {}}, f)
    write_gguf(os.path.join(out, "adapter.gguf"), file)


if __name__ == "__main__":
    main()
