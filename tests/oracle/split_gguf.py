#!/usr/bin/env python3
"""Splits a GGUF file as llama.cpp's gguf-split does: OUT-00001-of-0000N.gguf and so on, so many tensors in each; the
model's keys are in the first part.

    tests/oracle/split_gguf.py MODEL.gguf OUT TENSORS_PER_PART"""
import struct
import sys

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
ALIGNMENT = 32


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 4

    def number(self, form):
        value = struct.unpack_from("<" + form, self.data, self.at)[0]
        self.at += struct.calcsize("<" + form)
        return value

    def text(self):
        length = self.number("Q")
        self.at += length
        return self.data[self.at - length:self.at]

    def skip(self, kind):
        if kind == 8:
            self.text()
        elif kind == 9:
            kind, count = self.number("I"), self.number("Q")
            for _ in range(count):
                self.skip(kind)
        else:
            self.at += SIZES[kind]


def key(name, kind, form, value):
    return struct.pack("<Q", len(name)) + name + struct.pack("<I" + form, kind, value)


def main():
    source, out, at_once = sys.argv[1], sys.argv[2], int(sys.argv[3])
    r = Reader(open(source, "rb").read())
    version, tensor_count, key_count = r.number("I"), r.number("Q"), r.number("Q")
    keys_at = r.at
    for _ in range(key_count):
        r.text()
        r.skip(r.number("I"))
    keys = r.data[keys_at:r.at]
    tensors = []
    for _ in range(tensor_count):
        name = r.text()
        dims = [r.number("Q") for _ in range(r.number("I"))]
        tensors.append((name, dims, r.number("I"), r.number("Q")))
    data_at = -(-r.at // ALIGNMENT) * ALIGNMENT
    ends = sorted(t[3] for t in tensors) + [len(r.data) - data_at]
    parts = [tensors[i:i + at_once] for i in range(0, len(tensors), at_once)]
    for n, part in enumerate(parts):
        own = key(b"split.no", 2, "H", n) + key(b"split.count", 2, "H", len(parts)) + \
            key(b"split.tensors.count", 5, "i", len(tensors))
        header, data = b"", b""
        for name, dims, kind, offset in part:
            header += struct.pack("<Q", len(name)) + name + struct.pack("<I", len(dims)) + \
                struct.pack(f"<{len(dims)}Q", *dims) + struct.pack("<IQ", kind, len(data))
            piece = r.data[data_at + offset:data_at + min(e for e in ends if e > offset)]
            data += piece + bytes(-len(piece) % ALIGNMENT)
        head = b"GGUF" + struct.pack("<IQQ", version, len(part), 3 + (key_count if n == 0 else 0)) + own + \
            (keys if n == 0 else b"") + header
        with open(f"{out}-{n + 1:05}-of-{len(parts):05}.gguf", "wb") as f:
            f.write(head + bytes(-len(head) % ALIGNMENT) + data)


if __name__ == "__main__":
    main()
