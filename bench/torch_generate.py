#!/usr/bin/env python3
"""Tokens per second of one transformers model, made in several ways in one run: python3 bench/torch_generate.py [OUT.json]

solo.torch.generate; transformers' generate in eager mode; the same with a static cache and torch.compile, by inductor
and by Solo. Random weights, f32, batch 1, greedy. Ways take turns, in a new random order each round; every text is
compared with eager's. LEVEL (auto) is the fusion level, ROUNDS (5), TOKENS (50), SIZE: hidden size (256).
"""
import copy
import json
import os
import random
import statistics
import sys
import time
import warnings

import torch
import transformers

import solo.torch

LEVEL, ROUNDS = os.environ.get("LEVEL", "auto"), int(os.environ.get("ROUNDS", "5"))
TOKENS, SIZE = int(os.environ.get("TOKENS", "50")), int(os.environ.get("SIZE", "256"))
warnings.simplefilter("ignore")
torch.manual_seed(0)
config = transformers.Qwen2Config(hidden_size=SIZE, num_hidden_layers=4, num_attention_heads=SIZE // 64,
                                  num_key_value_heads=max(1, SIZE // 128), intermediate_size=4 * SIZE, vocab_size=8192,
                                  max_position_embeddings=512, bos_token_id=1, eos_token_id=None, pad_token_id=0)
model = transformers.Qwen2ForCausalLM(config).eval()
ids = torch.randint(2, 8192, (1, 16))
text = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "max_new_tokens": TOKENS, "do_sample": False}


def compiled(backend, options):
    """A copy of the model whose step transformers compiles."""
    own = copy.deepcopy(model)
    how = transformers.CompileConfig(backend=backend, fullgraph=False, dynamic=False, mode=None, options=options)
    how._compile_all_devices = True
    own.generation_config.compile_config = how
    return lambda: own.generate(**text, cache_implementation="static")


ways = {
    "solo.torch.generate": lambda: solo.torch.generate(model, level=LEVEL, **text),
    "eager generate": lambda: model.generate(**text),
    "generate with a static cache, inductor": compiled("inductor", None),
    "generate with a static cache, solo": compiled("solo", {"level": LEVEL}),
}
with torch.no_grad():
    want, samples = model.generate(**text), {name: [] for name in ways}
    for way in ways.values():
        way()  # the first text compiles
    for _ in range(ROUNDS):
        for name in random.sample(list(ways), len(ways)):
            began = time.perf_counter()
            got = ways[name]()
            samples[name].append(TOKENS / (time.perf_counter() - began))
            if got.tolist() != want.tolist():
                sys.exit(f"{name}: other tokens than eager's")
results = [{"name": name, "unit": "tok/s", "samples": s, "median": statistics.median(s)} for name, s in samples.items()]
for result in results:
    print(f"{result['median']:9.1f} tok/s  {result['name']}")
if len(sys.argv) > 1:
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        json.dump({"experiment": "torch generate", "params": {"level": LEVEL, "tokens": TOKENS, "hidden": SIZE, "layers": 4,
                   "vocabulary": 8192, "torch": torch.__version__, "transformers": transformers.__version__},
                   "results": results}, f, indent=1)
