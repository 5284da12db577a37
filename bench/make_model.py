#!/usr/bin/env python3
"""Writes a Hugging Face folder (config.json, model.safetensors, no tokenizer) of a real model's shape with random weights.

    python3 bench/make_model.py SHAPE DTYPE FOLDER [--set KEY=N]... [--seed N] [--device cpu|cuda] [--golden TOKENS]

SHAPE: one of bench/models.py; --set changes its sizes (--set num_hidden_layers=2). DTYPE: f32, f16 or bf16.
--golden also writes golden.json as tools/fixtures.py describes it: what transformers computes in float32 from the stored
weights, at every position of a prompt of so many tokens, and then greedily. A large vocabulary's logits go into
golden-logits.npy, (positions, vocabulary) in float32, and golden.json names that file.
"""
import argparse
import json
import os

import numpy as np
import torch
import transformers

import models

INLINE_VOCAB = 4096  # above it the logits go into a file of their own


def write_golden(folder, count, greedy_count, seed, device):
    model = models.load(folder, torch.float32, device)
    model.set_attn_implementation("eager")
    vocab = model.config.vocab_size
    tokens = models.some_tokens(count, vocab, seed)
    greedy, margins = [], []
    with torch.no_grad():
        cache = transformers.DynamicCache(config=model.config)
        first = logits = model(tokens.to(device), past_key_values=cache).logits[0]
        while len(greedy) < greedy_count:
            best = torch.topk(logits[-1], 2)
            greedy.append(best.indices[0].item())
            margins.append(round((best.values[0] - best.values[1]).item(), 6))
            logits = model(best.indices[:1, None], past_key_values=cache).logits[0]
    contents = {
        "about": f"float32 logits of transformers {transformers.__version__} on the stored weights, at every position of the "
                 "prompt; then greedy continuation with the gap between the best two logits",
        "dtype": str(first.dtype), "prompt": tokens[0].tolist(), "greedy": greedy, "greedy_margin": margins,
    }
    rows = first.cpu().numpy().astype(np.float32)
    if vocab > INLINE_VOCAB:
        contents["logits_file"] = "golden-logits.npy"
        np.save(os.path.join(folder, contents["logits_file"]), rows)
    else:
        contents["logits"] = [[float(np.format_float_positional(v, unique=True)) for v in row] for row in rows]
    with open(os.path.join(folder, "golden.json"), "w") as out:
        json.dump(contents, out)
        out.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=models.SHAPES)
    parser.add_argument("dtype", choices=models.DTYPES)
    parser.add_argument("folder")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--golden", type=int, metavar="TOKENS")
    parser.add_argument("--greedy", type=int, default=16, metavar="TOKENS", help="how many greedy tokens are in golden.json")
    o = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    model = models.build(models.configuration(o.shape, o.set), models.DTYPES[o.dtype], o.device, o.seed)
    model.save_pretrained(o.folder, max_shard_size="8GB")
    generation = os.path.join(o.folder, "generation_config.json")
    if os.path.exists(generation):
        os.remove(generation)
    del model
    if o.golden:
        write_golden(o.folder, o.golden, o.greedy, o.seed, o.device)


if __name__ == "__main__":
    main()
