#!/usr/bin/env python3
"""llama.cpp's embeddings of the texts in a golden.json, compared with what stands there.

    tests/oracle/llama_embeddings.py FOLDER LIMIT [--lib FOLDER]

FOLDER has a model.gguf and a golden.json (tools/fixtures_embedding.py). A text's distance from the right vector, by that
one's length, may be LIMIT; both are made of length 1."""
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import llama_cpp  # noqa: E402


def unit(vector):
    length = math.sqrt(sum(v * v for v in vector))
    return [v / length for v in vector]


def main():
    folder, limit = sys.argv[1], float(sys.argv[2])
    lib = sys.argv[4] if len(sys.argv) > 4 else None
    with open(os.path.join(folder, "golden.json")) as f:
        texts = json.load(f)["texts"]
    worst = 0
    try:
        with llama_cpp.Model(llama_cpp.find_libraries(lib), os.path.join(folder, "model.gguf"), context=64, batch=64, exact=True,
                             flash="off", threads=1, embeddings=True) as m:
            for text in texts:
                got, right = unit(m.embed(text["tokens"])), unit(text["embedding"])
                worst = max(worst, math.dist(got, right))
    except llama_cpp.LlamaError as e:
        llama_cpp.fail(e)
    print(f"off by {worst:.2g} at most")
    sys.exit(worst > limit)


main()
