#!/usr/bin/env python3
"""Is OURS, byte by byte, what llama.cpp makes of the GGUF file PLAIN as its file type FTYPE?

    tests/oracle/compare_quantized.py PLAIN.gguf OURS.gguf FTYPE"""
import ctypes
import glob
import os
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import llama_cpp  # noqa: E402
from split_gguf import ALIGNMENT, Reader  # noqa: E402


class Params(ctypes.Structure):
    """llama_model_quantize_params, of which only the beginning matters here."""
    _fields_ = [("threads", ctypes.c_int32), ("ftype", ctypes.c_int32), ("rest", ctypes.c_byte * 504)]


def quantize(plain, out, ftype):
    folder = llama_cpp.find_libraries()
    for name in ("libggml-base.so", "libggml.*.so", "libllama.*.so"):
        library = ctypes.CDLL(glob.glob(os.path.join(folder, name))[0], mode=ctypes.RTLD_GLOBAL)
    log = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
    library.llama_log_set(log, None)
    library.llama_model_quantize_default_params.restype = Params
    params = library.llama_model_quantize_default_params()
    params.threads, params.ftype = 1, ftype
    if library.llama_model_quantize(plain.encode(), out.encode(), ctypes.byref(params)) != 0:
        sys.exit("llama.cpp does not quantise this file")


def tensors_of(path):
    r = Reader(open(path, "rb").read())
    _, tensor_count, key_count = r.number("I"), r.number("Q"), r.number("Q")
    for _ in range(key_count):
        r.text()
        r.skip(r.number("I"))
    found = [(r.text(), [r.number("Q") for _ in range(r.number("I"))], r.number("I"), r.number("Q")) for _ in range(tensor_count)]
    data_at = -(-r.at // ALIGNMENT) * ALIGNMENT
    ends = sorted(t[3] for t in found) + [len(r.data) - data_at]
    return {name: (kind, r.data[data_at + at:data_at + min(e for e in ends if e > at)].rstrip(b"\0")) for name, _, kind, at in found}


def main():
    plain, ours, ftype = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        theirs = os.path.join(folder, "theirs.gguf")
        quantize(plain, theirs, ftype)
        a, b = tensors_of(ours), tensors_of(theirs)
    assert a.keys() == b.keys(), sorted(a.keys() ^ b.keys())
    for name in sorted(a):
        if a[name][0] != b[name][0]:
            sys.exit(f"{name.decode()} is of type {a[name][0]}, not {b[name][0]}")
        if a[name][1] != b[name][1]:
            sys.exit(f"{name.decode()} is not the same")
    print(len(a), "tensors are the same,", len({kind for kind, _ in a.values()}), "types")


main()
