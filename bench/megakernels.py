#!/usr/bin/env python3
"""Measures HazyResearch's Megakernels beside Solo: Llama-3.2-1B in bf16, one token at a time, at several depths.

    python3 bench/megakernels.py MODEL --repo FOLDER [--built FOLDER] [-d 16,512,2048] [-n 128] [-r 5] [--solo build/solo]
                                 [--json FILE]

MODEL   a folder that both can read: python3 bench/make_model.py llama-3.2-1b bf16 MODEL
--repo  a clone of github.com/HazyResearch/Megakernels; of what its README installs, einops alone is needed beside transformers
--built the folder of its extension mk_llama*.so (default: demos/low-latency-llama of the clone): bench/build_megakernels.sh, or
        what its README says

Both get the same weights and the same tokens, and continue them greedily. Tokens stay on the device in both. For each
depth, Solo (`solo bench llm --fuse loop`) and Megakernels follow each other, in an order that is drawn. A record in
which they part early, not at a near tie of bf16, has a failed check."""
import argparse
import contextlib
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import types

import record
from llama import solo_tokens

SAME_AT_LEAST = 4  # tokens: later ones follow from a near tie that was rounded the other way


@contextlib.contextmanager
def empty_weights(include_buffers=False):
    """Parameters of modules that are made meanwhile take no memory. It is all that Megakernels needs of accelerate."""
    import torch
    register = torch.nn.Module.register_parameter

    def register_empty(module, name, parameter):
        if parameter is not None:
            parameter = torch.nn.Parameter(parameter.to("meta"), requires_grad=parameter.requires_grad)
        register(module, name, parameter)
    torch.nn.Module.register_parameter = register_empty
    try:
        yield
    finally:
        torch.nn.Module.register_parameter = register


def stand_in_for_accelerate():
    """Where that package is not installed."""
    if importlib.util.find_spec("accelerate") is None:
        module = types.ModuleType("accelerate")
        module.init_empty_weights = empty_weights
        sys.modules["accelerate"] = module


class Megakernels:
    """The model in its own engine, as its scripts/generate.py uses it."""

    def __init__(self, repo, built, model, most_tok):
        sys.path.insert(0, repo)
        import torch
        import transformers  # it looks for accelerate by itself, and must not find what stands in for it
        assert transformers.LlamaConfig
        stand_in_for_accelerate()
        from megakernels import dispatch, generators, llama, model_types, scheduler
        self.torch, self.state = torch, model_types.BatchState
        extra = model_types.ExtraModelConfig(interleave_rope=True, max_len_override=most_tok, max_batch_size=1)
        with torch.inference_mode():
            self.model = llama.LlamaForCausalLM.from_pretrained(model, device="cuda:0", extra_config=extra, dtype=torch.bfloat16)
            schedule = dispatch.make_schedule_builder("latency").build(self.model)
            scheduler.tensorize_instructions(schedule.globs, scheduler.assign_to_sms("rr", schedule=schedule))
            interpreter = dispatch.make_mk_interpreter("latency", built)
            self.generator = generators.MK_Generator(self.model, interpreter, schedule)
        self.vocab = self.model.config.vocab_size

    def read(self, tokens):
        torch = self.torch
        ids = torch.tensor([tokens], device="cuda:0")
        with torch.inference_mode():
            self.model(self.state(input_ids=ids, position_ids=torch.arange(len(tokens), device="cuda:0")))

    def make(self, first, depth, count):
        """The tokens behind `first`, at position `depth`, and the seconds that they took."""
        torch = self.torch
        out = torch.zeros(1, count + 1, device="cuda:0", dtype=torch.long)
        out[0, 0] = first
        torch.cuda.synchronize()
        with torch.inference_mode():
            start = time.perf_counter()
            self.generator.generate(out, depth, count)
            torch.cuda.synchronize()
            seconds = time.perf_counter() - start
        return out[0, 1:].tolist(), seconds


def measure_solo(o, depth):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "solo.json")
        done = subprocess.run([o.solo, "bench", "llm", o.model, "--fuse", "loop", "--submit", "batch", "-p", "0", "-n", str(o.tokens),
                               "-d", str(depth), "-r", str(o.repetitions), "--seed", str(o.seed), "--json", path, *o.flags.split()],
                              text=True, capture_output=True)
        if done.returncode:
            raise SystemExit(f"megakernels.py: solo bench llm: {done.stderr.strip()}")
        with open(path) as f:
            return json.load(f)


def measure_peer(o, engine, depth, tokens):
    engine.read(tokens[:depth])
    made, rates = [], []
    for repetition in range(-1, o.repetitions):  # the first is to warm up
        out, seconds = engine.make(tokens[depth], depth, o.tokens)
        made.append(out)
        rates += [o.tokens / seconds] if repetition >= 0 else []
    return made, rates


def checks_of(depth, made, wanted):
    same = sum(tokens == made[0] for tokens in made)
    equal = next((i for i, pair in enumerate(zip(made[0], wanted)) if pair[0] != pair[1]), len(wanted))
    return [record.check(f"depth {depth}: the same tokens each time", same == len(made), f"{same} of {len(made)} runs"),
            record.check(f"depth {depth}: tokens are Solo's", equal >= SAME_AT_LEAST, f"{equal} of {len(wanted)} tokens equal")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--repo", required=True)
    parser.add_argument("--built")
    parser.add_argument("-d", "--depths", default="16,512,2048")
    parser.add_argument("-n", "--tokens", type=int, default=128)
    parser.add_argument("-r", "--repetitions", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--solo", default=os.environ.get("SOLO", "build/solo"))
    parser.add_argument("--flags", default=os.environ.get("SOLO_FLAGS", ""), help="for solo bench llm")
    parser.add_argument("--json", default="-")
    o = parser.parse_args()
    from pathlib import Path
    built = Path(o.built) if o.built else Path(o.repo) / "demos" / "low-latency-llama"
    if not list(built.glob("mk_llama*.so")):
        raise SystemExit(f"megakernels.py: no mk_llama*.so in {built}: the clone's README says how it is built")
    depths = [int(depth) for depth in o.depths.split(",")]
    engine = Megakernels(o.repo, built, o.model, max(depths) + o.tokens + 64)
    order, results, checks, solo_gpu = random.Random(o.seed), [], [], {}
    for depth in depths:
        tokens = solo_tokens(o.seed, depth + 1, engine.vocab)
        solo_first = order.random() < 0.5
        solo = measure_solo(o, depth) if solo_first else None
        made, rates = measure_peer(o, engine, depth, tokens)
        solo = solo or measure_solo(o, depth)
        solo_gpu = solo["gpu"]
        results += [r for r in solo["results"] if r["name"].startswith("tg")]
        results.append(record.result(f"tg{o.tokens}", {"impl": "megakernels", "depth": depth}, "tok/s", rates))
        checks += checks_of(depth, made, solo["tokens"])
    params = {"model": os.path.basename(os.path.normpath(o.model)), "tokens": o.tokens, "depths": depths, "repetitions": o.repetitions,
              "seed": o.seed}
    record.write(o.json, record.record("llm", solo_gpu, params, results, checks))
    failed = [c for c in checks if not c["ok"]]
    for c in failed:
        print(f"megakernels.py: not so: {c['what']}: {c['detail']}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
