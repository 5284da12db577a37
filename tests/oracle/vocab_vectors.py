#!/usr/bin/env python3
"""Runs llama.cpp's tokenizer vectors: every ggml-vocab-*.gguf in a folder with its .inp and .out (its models/ folder, which
npm's node-llama-cpp has as a git bundle, package/llama/gitRelease.bundle).

    tests/oracle/vocab_vectors.py FOLDER [SOLO]"""
import glob
import os
import subprocess
import sys

folder, solo = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "build/solo"
failed = 0
for path in sorted(glob.glob(os.path.join(folder, "ggml-vocab-*.gguf"))):
    if not os.path.exists(path + ".inp"):
        continue
    texts = open(path + ".inp", "rb").read().split(b"\n__ggml_vocab_test__\n")
    right = open(path + ".out").read().split("\n")[:len(texts)]
    run = subprocess.run([solo, "tokenize", "-0", path], input=b"".join(t + b"\0" for t in texts), capture_output=True)
    got = run.stdout.decode().split("\n")
    wrong = run.returncode != 0 or [t for t, a, b in zip(texts, got, right) if a.split() != b.split()]
    failed += bool(wrong)
    print("not ok" if wrong else "ok", os.path.basename(path), run.stderr.decode().strip() or f"{len(right)} texts")
sys.exit(failed > 0)
