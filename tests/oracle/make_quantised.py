#!/usr/bin/env python3
"""A llama folder that make_folder.py made, with its matrices quantised, and the same with the numbers that these stand for,
in f32, to compare with.

    tests/oracle/make_quantised.py FOLDER OUT KIND      OUT/quantised, OUT/plain

All groups have 32 inputs. KIND: gptq (symmetric), gptq-zeros (with zeros), gptq-order (act-order), awq, fp8 (blocks of
32 x 32), fp8-tensor (a scale for each matrix)"""
import json
import os
import random
import struct
import sys

from make_lora import read

FORMS = {"F32": "f", "I32": "i", "F16": "e", "F8_E4M3": "B", "BF16": "H"}


def write(folder, tensors, config):
    header, data = {}, b""
    for name, (kind, shape, values) in sorted(tensors.items()):
        piece = struct.pack(f"<{len(values)}{FORMS[kind]}", *values)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f)


def signed(word):
    return word - (1 << 32) if word >> 31 else word


def half(x):
    return struct.unpack("<e", struct.pack("<e", x))[0]


def int4(kind, stem, rows, columns, numbers, group):
    """rows outputs, columns inputs; the tensors, and the weights."""
    groups, symmetric = columns // group, kind == "gptq"
    q = [[numbers.randrange(16) for _ in range(columns)] for _ in range(rows)]
    zeros = [[8 if symmetric else numbers.randrange(16) for _ in range(rows)] for _ in range(groups)]
    scales = [[half(numbers.uniform(0.005, 0.03)) for _ in range(rows)] for _ in range(groups)]
    order = [i // group for i in range(columns)]
    if kind == "gptq-order":
        numbers.shuffle(order)
    plain = [(q[o][i] - zeros[order[i]][o]) * scales[order[i]][o] for o in range(rows) for i in range(columns)]
    flat = [s for line in scales for s in line]
    if kind == "awq":
        places = [0, 2, 4, 6, 1, 3, 5, 7]  # nibble k has output places[k]
        words = [signed(sum(q[8 * c + places[k]][i] << 4 * k for k in range(8))) for i in range(columns) for c in range(rows // 8)]
        packed = [signed(sum(zeros[g][8 * c + places[k]] << 4 * k for k in range(8))) for g in range(groups) for c in range(rows // 8)]
        return {stem + ".qweight": ("I32", [columns, rows // 8], words), stem + ".qzeros": ("I32", [groups, rows // 8], packed),
                stem + ".scales": ("F16", [groups, rows], flat)}, plain
    words = [signed(sum(q[o][8 * i + k] << 4 * k for k in range(8))) for i in range(columns // 8) for o in range(rows)]
    packed = [signed(sum(((zeros[g][8 * c + k] - 1) & 15) << 4 * k for k in range(8))) for g in range(groups) for c in range(rows // 8)]
    return {stem + ".qweight": ("I32", [columns // 8, rows], words), stem + ".qzeros": ("I32", [groups, rows // 8], packed),
            stem + ".scales": ("F16", [groups, rows], flat), stem + ".g_idx": ("I32", [columns], order)}, plain


def fp8_value(b):
    exponent, fraction = b >> 3 & 15, b & 7
    x = (8 + fraction) * 2.0 ** (exponent - 10) if exponent else fraction * 2.0 ** -9
    return -x if b & 128 else x


def fp8(kind, stem, rows, columns, numbers):
    codes = [numbers.choice((0, 128)) | numbers.randrange(0x40) for _ in range(rows * columns)]
    if kind == "fp8-tensor":
        scale = [numbers.uniform(0.05, 0.1)]
        scales = {stem + ".weight_scale": ("F32", [1], scale)}
        scale = [struct.unpack("<f", struct.pack("<f", scale[0]))[0]]
        plain = [fp8_value(c) * scale[0] for c in codes]
    else:
        line = -(-columns // 32)
        scale = [half(numbers.uniform(0.05, 0.1)) for _ in range(-(-rows // 32) * line)]
        scales = {stem + ".weight_scale_inv": ("F32", [-(-rows // 32), line], scale)}
        plain = [fp8_value(c) * scale[i // columns // 32 * line + i % columns // 32] for i, c in enumerate(codes)]
    return {stem + ".weight": ("F8_E4M3", [rows, columns], codes), **scales}, plain


def main():
    source, out, kind = sys.argv[1:]
    config = json.load(open(os.path.join(source, "config.json")))
    base, numbers = read(os.path.join(source, "model.safetensors")), random.Random(kind)
    quantised, plain = {}, {}
    for name, (shape, values) in base.items():
        plain[name] = "F32", shape, values
        if "_proj.weight" not in name:
            quantised[name] = plain[name]
            continue
        make = fp8(kind, name[:-7], *shape, numbers) if kind.startswith("fp8") else \
            int4(kind, name[:-7], *shape, numbers, 32)
        quantised.update(make[0])
        plain[name] = "F32", shape, make[1]
    write(os.path.join(out, "plain"), plain, config)
    if kind.startswith("fp8"):
        config["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [32, 32] if kind == "fp8" else None}
    else:
        config["quantization_config"] = {"quant_method": kind.split("-")[0], "bits": 4, "group_size": 32,
                                         "desc_act": kind == "gptq-order", "version": "gemm", "checkpoint_format": "gptq"}
    write(os.path.join(out, "quantised"), quantised, config)


main()
