#!/usr/bin/env python3
"""llama.cpp's logits after each of the tokens, as `solo logits` prints its own.

    tests/oracle/llama_logits.py MODEL.gguf --tokens 5,9,11 [--one-by-one] [--flash on|off|auto] [--gpu] [--lib FOLDER]
        [--lora FILE:SCALE]

All at once, or token by token through the cache. The cache is f32 and one thread computes (several
wait for each other by spinning, which takes minutes on a busy machine), unless --gpu asks for all
layers elsewhere."""
import argparse
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import llama_cpp  # noqa: E402


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model")
    p.add_argument("--tokens", required=True)
    p.add_argument("--one-by-one", action="store_true")
    p.add_argument("--flash", choices=llama_cpp.FLASH, default="off")
    p.add_argument("--gpu", action="store_true")
    p.add_argument("--lib")
    p.add_argument("--lora")
    a = p.parse_args()
    tokens = [int(t) for t in a.tokens.split(",")]
    try:
        with llama_cpp.Model(llama_cpp.find_libraries(a.lib), a.model, context=max(64, len(tokens)), exact=True,
                             batch=max(32, len(tokens)), gpu_layers=999 if a.gpu else 0, flash=a.flash,
                             threads=1) as m:
            if a.lora:
                m.add_lora(*a.lora.rsplit(":", 1))
            if a.one_by_one:
                rows = m.decode(tokens)
            else:
                m.run(tokens, all_logits=True)
                rows = [m.logits_at(i)[:m.n_vocab] for i in range(len(tokens))]
            json.dump({"n_vocab": m.n_vocab, "logits": rows}, sys.stdout)
            print()
    except llama_cpp.LlamaError as e:
        llama_cpp.fail(e)


main()
