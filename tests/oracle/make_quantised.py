#!/usr/bin/env python3
"""A llama folder that make_folder.py made, with its matrices quantised, and the same with the numbers that these stand for,
in f32, to compare with.

    tests/oracle/make_quantised.py FOLDER OUT KIND      OUT/quantised, OUT/plain

All groups have 32 inputs. KIND: gptq (symmetric), gptq-zeros (with zeros), gptq-order (act-order), gptq-v2 (the second
format), gptq8 and gptq8-zeros (8 bits), gptq-bias (with biases of zeros), awq, fp8 (blocks of 32 x 32), fp8-tensor (a scale
for each matrix), and of compressed-tensors: packed, packed-zeros, packed-order, packed8, packed8-zeros, packed-tiny (scales
that halves do not hold), packed-channel (a scale for each row), bytes (int8), floats (fp8, a scale for each row)"""
import json
import os
import random
import struct
import sys

from make_lora import read

FORMS = {"F32": "f", "I32": "i", "I64": "q", "I8": "b", "F16": "e", "F8_E4M3": "B", "BF16": "H"}


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


def words(numbers, bits):
    """Numbers packed into words, the first one lowest."""
    per = 32 // bits
    return [signed(sum(n << bits * k for k, n in enumerate(numbers[i:i + per]))) for i in range(0, len(numbers), per)]


def bfloat(x):
    return struct.unpack("<f", bytes(2) + struct.pack("<f", x)[2:])[0]


def packed(kind, stem, rows, columns, numbers, group):
    """rows outputs, columns inputs; the tensors, and the weights."""
    bits, symmetric, theirs = 8 if "8" in kind else 4, "zeros" not in kind and kind != "awq", kind.startswith("packed")
    group = columns if kind == "packed-channel" else group
    groups, most, middle = columns // group, 1 << bits, 1 << bits - 1
    q = [[numbers.randrange(most) for _ in range(columns)] for _ in range(rows)]
    zeros = [[middle if symmetric else numbers.randrange(most) for _ in range(rows)] for _ in range(groups)]
    size = 1e-4 if kind == "packed-tiny" else 16 / most
    near = bfloat if theirs else half
    scales = [[near(numbers.uniform(0.005, 0.03) * size) for _ in range(rows)] for _ in range(groups)]
    order = [i // group for i in range(columns)]
    if kind.endswith("order"):
        numbers.shuffle(order)
    plain = [(q[o][i] - zeros[order[i]][o]) * scales[order[i]][o] for o in range(rows) for i in range(columns)]
    flat, per = [s for line in scales for s in line], 32 // bits
    if kind == "awq":
        places = [0, 2, 4, 6, 1, 3, 5, 7]  # nibble k has output places[k]
        line = lambda values: words([values[8 * c + places[k]] for c in range(rows // 8) for k in range(8)], 4)  # noqa: E731
        return {stem + ".qweight": ("I32", [columns, rows // 8], sum((line([r[i] for r in q]) for i in range(columns)), [])),
                stem + ".qzeros": ("I32", [groups, rows // 8], sum(map(line, zeros), [])),
                stem + ".scales": ("F16", [groups, rows], flat)}, plain
    if theirs:  # compressed-tensors
        raw = lambda x: struct.unpack("<I", struct.pack("<f", x))[0] >> 16  # noqa: E731
        tensors = {stem + ".weight_packed": ("I32", [rows, columns // per], sum((words(row, bits) for row in q), [])),
                   stem + ".weight_scale": ("BF16", [rows, groups], [raw(scales[g][o]) for o in range(rows) for g in range(groups)]),
                   stem + ".weight_shape": ("I64", [2], [rows, columns])}
        if not symmetric:  # words of outputs, a column for each group
            by_group = [words(line, bits) for line in zeros]
            tensors[stem + ".weight_zero_point"] = "I32", [rows // per, groups], [w for line in zip(*by_group) for w in line]
        if kind.endswith("order"):
            tensors[stem + ".weight_g_idx"] = "I32", [columns], order
        return tensors, plain
    less = 0 if kind == "gptq-v2" else 1
    by_input = [words([row[i + k] for k in range(per)], bits)[0] for i in range(0, columns, per) for row in q]
    zeros = [words([(z - less) % most for z in line], bits) for line in zeros]
    tensors = {stem + ".qweight": ("I32", [columns // per, rows], by_input),
               stem + ".qzeros": ("I32", [groups, rows // per], sum(zeros, [])),
               stem + ".scales": ("F16", [groups, rows], flat), stem + ".g_idx": ("I32", [columns], order)}
    if kind == "gptq-bias":
        tensors[stem + ".bias"] = "F16", [rows], [0.0] * rows
    return tensors, plain


def int8(stem, rows, columns, numbers):
    q = [numbers.randrange(-127, 128) for _ in range(rows * columns)]
    scales = [half(numbers.uniform(0.001, 0.002)) for _ in range(rows)]
    return {stem + ".weight": ("I8", [rows, columns], q), stem + ".weight_scale": ("F32", [rows, 1], scales)}, \
        [n * scales[i // columns] for i, n in enumerate(q)]


def fp8_value(b):
    exponent, fraction = b >> 3 & 15, b & 7
    x = (8 + fraction) * 2.0 ** (exponent - 10) if exponent else fraction * 2.0 ** -9
    return -x if b & 128 else x


def fp8(kind, stem, rows, columns, numbers):
    codes = [numbers.choice((0, 128)) | numbers.randrange(0x40) for _ in range(rows * columns)]
    if kind == "floats":
        scale = [half(numbers.uniform(0.05, 0.1)) for _ in range(rows)]
        scales = {stem + ".weight_scale": ("F16", [rows, 1], scale)}
        plain = [fp8_value(c) * scale[i // columns] for i, c in enumerate(codes)]
    elif kind == "fp8-tensor":
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
        if not name.endswith(("_proj.weight", ".w1.weight", ".w2.weight", ".w3.weight")):
            quantised[name] = plain[name]
            continue
        make = fp8(kind, name[:-7], *shape, numbers) if kind.startswith("f") else \
            int8(name[:-7], *shape, numbers) if kind == "bytes" else packed(kind, name[:-7], *shape, numbers, 32)
        quantised.update({n: t for n, t in make[0].items() if not (n.endswith(".bias") and n in base)})
        plain[name] = "F32", shape, make[1]
    write(os.path.join(out, "plain"), plain, config)
    if kind.startswith("fp8"):
        config["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [32, 32] if kind == "fp8" else None}
    elif kind.startswith("packed") or kind in ("bytes", "floats"):
        form = {"bytes": "int-quantized", "floats": "float-quantized"}.get(kind, "pack-quantized")
        by_group = form == "pack-quantized" and kind != "packed-channel"
        weights = {"num_bits": 4 if "packed" in kind and "8" not in kind else 8, "type": "float" if kind == "floats" else "int",
                   "symmetric": "zeros" not in kind, "strategy": "group" if by_group else "channel",
                   "group_size": 32 if by_group else None, "actorder": "group" if kind.endswith("order") else None}
        config["quantization_config"] = {
            "quant_method": "compressed-tensors", "format": form, "quantization_status": "compressed", "ignore": ["lm_head"],
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights, "input_activations": None}}}
    else:
        config["quantization_config"] = {
            "quant_method": kind.split("-")[0].strip("8"), "bits": 8 if "8" in kind else 4, "group_size": 32, "version": "gemm",
            "desc_act": kind == "gptq-order", "checkpoint_format": "gptq_v2" if kind == "gptq-v2" else "gptq"}
    write(os.path.join(out, "quantised"), quantised, config)


main()
