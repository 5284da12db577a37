#!/usr/bin/env python3
"""Writes tests/data/types.bin: blocks of every weight type with the floats they
mean, by PyPI's gguf (numpy), and floats with the blocks they become, by the same
or, for types it does not write, by llama.cpp's library (tests/oracle).

    pip install gguf && python3 tests/make_type_vectors.py

A record: the type's GGUF number, 0 (blocks to floats) or 1 (floats to blocks),
the number of floats and of bytes, all u32; the floats; the bytes. Little-endian.
"""
import ctypes
import glob
import os
import struct

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

READ = ("F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4 TQ1_0 TQ2_0 "
        "IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S IQ1_S IQ1_M").split()
WRITTEN = "F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 MXFP4".split()
BY_LLAMA_CPP = "Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL".split()
HERE = os.path.dirname(os.path.abspath(__file__))
# where in a block its halves stand: random bits there would often be no number
HALVES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82],
    "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "F16": [0],
    "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": [], "TQ1_0": [52], "TQ2_0": [64], "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0],
    "IQ3_XXS": [0], "IQ3_S": [0], "IQ1_S": [0], "IQ1_M": [],
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
    if name == "MXFP4":
        blocks[:, 0] = rng.integers(90, 140, count)
    if name == "IQ1_M":  # the upper bits of its half: a small one
        blocks[:, 55] = (blocks[:, 55] & 15) | (rng.integers(0, 2, count, dtype=np.uint8) * 8 + 2) << 4
    return blocks


def floats_to_write(count, length=32):
    rows = rng.standard_normal((count, length)) * np.exp(rng.standard_normal((count, 1)) * 3)
    rows[0] = 0
    rows[1] = rng.integers(-16, 17, length) / 8  # many ties
    rows[2] = -0.75
    return rows.astype(np.float32)


def llama_cpp_blocks(name, floats):
    library = ctypes.CDLL(glob.glob(os.path.join(HERE, "oracle/node_modules/@node-llama-cpp/linux-x64/bins/*/libggml-base.so"))[0])
    weights, block_bytes = gguf.GGML_QUANT_SIZES[Type[name]]
    blocks = np.zeros(floats.size // weights * block_bytes, np.uint8)
    floats = np.ascontiguousarray(floats)
    library.ggml_quantize_chunk(ctypes.c_int(Type[name]), ctypes.c_void_p(floats.ctypes.data), ctypes.c_void_p(blocks.ctypes.data),
                                ctypes.c_int64(0), ctypes.c_int64(floats.shape[0]), ctypes.c_int64(floats.shape[1]), None)
    return blocks


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
for name in BY_LLAMA_CPP:
    floats = floats_to_write(4, 256)
    floats[3, 32:64] = 0
    out += record(name, 1, floats.reshape(-1), llama_cpp_blocks(name, floats))
with open(os.path.join(HERE, "data", "types.bin"), "wb") as f:
    f.write(out)
