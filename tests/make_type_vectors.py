#!/usr/bin/env python3
"""Writes tests/data/types.bin: blocks of every weight type with the floats they
mean, and floats with the blocks they become, by PyPI's gguf (numpy).

    pip install gguf && python3 tests/make_type_vectors.py

A record: the type's GGUF number, 0 (blocks to floats) or 1 (floats to blocks),
the number of floats and of bytes, all u32; the floats; the bytes. Little-endian.
"""
import os
import struct

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

READ = "F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K".split()
WRITTEN = "F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0".split()
# where in a block its halves stand: random bits there would often be no number
HALVES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82],
    "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "F16": [0],
}
rng = np.random.default_rng(20240607)


def random_blocks(name, count):
    block_bytes = gguf.GGML_QUANT_SIZES[Type[name]][1]
    if name in ("F32", "BF16"):
        floats = (rng.standard_normal(count) * np.exp(rng.standard_normal(count) * 8)).astype(np.float32)
        return np.ascontiguousarray(floats.view(np.uint8).reshape(count, 4)[:, 4 - block_bytes:])
    blocks = rng.integers(0, 256, (count, block_bytes), dtype=np.uint8)
    for at in HALVES[name]:
        halves = (rng.standard_normal(count) * 2.0 ** rng.integers(-22, 6, count)).astype(np.float16)
        blocks[:, at:at + 2] = halves.view(np.uint8).reshape(count, 2)
    return blocks


def floats_to_write(count):
    rows = rng.standard_normal((count, 32)) * np.exp(rng.standard_normal((count, 1)) * 3)
    rows[0] = 0
    rows[1] = rng.integers(-16, 17, 32) / 8  # many ties
    rows[2] = -0.75
    return rows.astype(np.float32)


def record(name, way, floats, blocks):
    floats, blocks = floats.astype("<f4").tobytes(), blocks.tobytes()
    return struct.pack("<4I", Type[name], way, len(floats) // 4, len(blocks)) + floats + blocks


out = b""
for name in READ:
    blocks = random_blocks(name, {1: 64, 32: 4, 256: 2}[gguf.GGML_QUANT_SIZES[Type[name]][0]])
    out += record(name, 0, gguf.quants.dequantize(blocks.reshape(-1), Type[name]).reshape(-1), blocks)
for name in WRITTEN:
    floats = floats_to_write(6)
    out += record(name, 1, floats.reshape(-1), gguf.quants.quantize(floats, Type[name]))
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "types.bin"), "wb") as f:
    f.write(out)
