#!/usr/bin/env python3
"""Writes the inputs that fuzzing starts from: tests/fuzz/corpus/gguf/*, small
GGUF files that between them use every kind of value and every type of tensor.

    python3 tests/fuzz/make_seeds.py
"""
import os
import random
import struct

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "gguf")
U8, I8, U16, I16, U32, I32, F32, BOOL, TEXT, ARRAY, U64, I64, F64 = range(13)
PACK = {U8: "<B", I8: "<b", U16: "<H", I16: "<h", U32: "<I", I32: "<i", F32: "<f",
        BOOL: "<?", U64: "<Q", I64: "<q", F64: "<d"}
# a type's number: weights and bytes of a block
TYPES = {0: (1, 4), 1: (1, 2), 30: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
         10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210)}


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(value)) + value


def item(kind, value):
    return text(value) if kind == TEXT else struct.pack(PACK[kind], value)


def scalar(kind, value):
    return struct.pack("<I", kind) + item(kind, value)


def array(kind, values):
    return struct.pack("<IIQ", ARRAY, kind, len(values)) + b"".join(item(kind, v) for v in values)


def gguf(keys, tensors=(), version=3, alignment=32):
    """tensors: (name, type, dims). Their data are random bytes."""
    noise = random.Random(len(tensors))
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys))
    for key, value in keys:
        out += text(key) + value
    data = b""
    for name, kind, dims in tensors:
        weights, block_bytes = TYPES[kind]
        count = 1
        for d in dims:
            count *= d
        data += bytes(-len(data) % alignment)
        out += text(name) + struct.pack("<I", len(dims)) + b"".join(struct.pack("<Q", d) for d in dims)
        out += struct.pack("<IQ", kind, len(data))
        data += noise.randbytes(count // weights * block_bytes)
    return out + bytes(-len(out) % alignment) + data if tensors else out


def save(name, content):
    with open(os.path.join(FOLDER, name), "wb") as f:
        f.write(content)


os.makedirs(FOLDER, exist_ok=True)
save("empty", gguf([]))
save("scalars", gguf([("u8", scalar(U8, 200)), ("i8", scalar(I8, -5)), ("u16", scalar(U16, 60000)),
                      ("i16", scalar(I16, -300)), ("u32", scalar(U32, 1 << 31)), ("i32", scalar(I32, -70000)),
                      ("f32", scalar(F32, 1e-5)), ("yes", scalar(BOOL, True)), ("text", scalar(TEXT, "größer 漢字 😀")),
                      ("u64", scalar(U64, 1 << 63)), ("i64", scalar(I64, -1)), ("f64", scalar(F64, 1e300))]))
save("arrays", gguf([("texts", array(TEXT, ["<s>", "", "a", "▁the", b"\xff\xfe"])), ("f32", array(F32, [0.0, -1.5])),
                     ("i32", array(I32, [1, 2, -3])), ("u64", array(U64, [(1 << 64) - 1])), ("none", array(U8, [])),
                     ("bools", array(BOOL, [True, False])), ("f64", array(F64, [1e300])), ("i8", array(I8, [-128]))],
                    version=2))
save("tensors", gguf([("general.architecture", scalar(TEXT, "llama")), ("general.alignment", scalar(U32, 8))],
                     [("a.weight", 0, [4]), ("b", 1, [2, 3]), ("c", 30, [1, 1, 2]), ("d", 8, [32, 1, 1, 2])],
                     alignment=8))
save("blocks", gguf([], [("t%d" % kind, kind, [TYPES[kind][0]]) for kind in sorted(TYPES)]))
