#!/usr/bin/env python3
"""llama.cpp measured on a GGUF file: reading a prompt, and one token after the other.

    bench/llama.py MODEL.gguf [-p 512] [-n 128] [-d 512] [-r 5] [--flash off,on] [--lib FOLDER]... [--solo RECORD] [--json FILE]

pp: a prompt of P tokens in one batch, with the logits of the last. tg: N tokens, each the most likely
one, from depth D on, with all logits read back each time. What is timed is llama_decode until the
logits are there; finding the most likely one is not (it is in `choose_us`). The tokens that go in are
those that `solo bench llm` takes with the same seed.

Every folder of libraries (Vulkan's, CUDA's) has a process of its own, and with the settings of --flash
they take turns in random order, after a warm-up each. All layers go to the GPU; libraries that find
none, or do not load, are left out, and the record says why. --cpu asks for the processor instead.

Checked: the tokens are the same each time, and, with --solo (a record of `solo bench llm`), those that
Solo made from the same file; they may part where llama.cpp's own two logits are close, and how close is
in the record. Status 1 if a check fails or nothing could be measured."""
import argparse
import json
import multiprocessing
import os
import random
import re
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import llama_cpp  # noqa: E402
import llama_run  # noqa: E402
import record  # noqa: E402

# how close two logits may be where tokens part, of the logits' spread: llama.cpp rounds activations to halves beside
# f16 weights, and to 8 bits beside smaller ones
ROUNDING = {"f32": 2e-3, "f16": 1e-2, "bf16": 5e-2}
QUANTISED_ROUNDING = 1e-1


class Engine:
    """A process with one folder's libraries."""

    def __init__(self, folder, path, options):
        self.folder = folder
        spawn = multiprocessing.get_context("spawn")
        self.pipe, theirs = spawn.Pipe()
        self.process = spawn.Process(target=llama_run.serve, args=(theirs, folder, path, options), daemon=True)
        self.process.start()
        theirs.close()
        about = self.answer()
        self.version, self.devices, self.n_vocab = about["version"], about["devices"], about["n_vocab"]
        gpu = next((d for d in self.devices if d["is_gpu"]), None)
        self.backend = re.sub(r"\d+$", "", gpu["name"]) if gpu and not options["cpu"] else "CPU"

    def answer(self):
        try:
            ok, what = self.pipe.recv()
        except EOFError:
            self.process.join()
            raise llama_cpp.LlamaError(f"its process ended with status {self.process.exitcode}")
        if not ok:
            raise llama_cpp.LlamaError(what)
        return what

    def ask(self, *question):
        self.pipe.send(question)
        return self.answer()

    def close(self):
        self.pipe.close()
        self.process.join(20)


def solo_tokens(seed, count, vocab):
    """What `solo bench llm` puts in: splitmix64's upper halves, as src/base/rng.c makes them."""
    state, mask, tokens = seed + 1, (1 << 64) - 1, []
    for _ in range(count):
        state = (state + 0x9e3779b97f4a7c15) & mask
        z = ((state ^ (state >> 30)) * 0xbf58476d1ce4e5b9) & mask
        z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & mask
        tokens.append((((z ^ (z >> 31)) >> 32) * vocab) >> 32)
    return tokens


def open_engines(a, options):
    engines, left_out = [], []
    for folder in llama_cpp.find_all(a.lib, a.cpu):
        try:
            engines.append(Engine(folder, a.model, options))
        except llama_cpp.LlamaError as e:
            left_out.append({"what": f"llama.cpp, {os.path.basename(os.path.normpath(folder))}", "why": str(e)})
    if not engines:
        raise llama_cpp.LlamaError("nothing to measure: " + "; ".join(f"{s['what']}: {s['why']}" for s in left_out))
    return engines, left_out


def take_turns(a, engines, put_in):
    """(engine, flash) -> what was measured, in every repetition."""
    seen = {(e, flash): {"pp": [], "tg": [], "choose": [], "tokens": []} for e in engines for flash in a.flash}
    order = random.Random(a.seed)
    for repetition in range(-1, a.repetitions):  # the first warms up
        for e, flash in order.sample(list(seen), len(seen)):
            prompt_seconds = e.ask("prompt", flash, put_in[:a.prompt]) if a.prompt else 0
            tokens, seconds, choosing = e.ask("generate", flash, put_in[:a.depth], put_in[a.depth], a.tokens)
            s = seen[e, flash]
            s["tokens"].append(tokens)
            if repetition >= 0:
                s["pp"] += [a.prompt / prompt_seconds] if a.prompt else []
                s["tg"].append(a.tokens / seconds)
                s["choose"].append(choosing / a.tokens * 1e6)
    return seen


def solo_made(a):
    """The tokens of Solo's record, if it was given and is of the same run."""
    if not a.solo:
        return None
    with open(a.solo) as f:
        solo = json.load(f)
    params = solo["params"]
    if (params["seed"], params["depth"]) != (a.seed, a.depth):
        raise llama_cpp.LlamaError(f"{a.solo}: has seed {params['seed']} and depth {params['depth']}, not {a.seed} and {a.depth}")
    return solo["tokens"]


def check_tokens(a, e, flash, runs, wanted, put_in):
    name = f"tg{a.tokens} {e.backend} flash {flash}"
    same = sum(tokens == runs[0] for tokens in runs)
    checks = [record.check(f"{name}: the same tokens each time", same == len(runs), f"{same} of {len(runs)} runs")]
    if wanted is None:
        return checks
    count = min(len(wanted), a.tokens)
    equal = next((i for i in range(count) if runs[0][i] != wanted[i]), count)
    what, detail, gap = f"{name}: tokens are Solo's", f"{equal} of {count} tokens equal", 0
    if equal < count:
        before = put_in[:a.depth + 1] + wanted[:equal]
        gap = e.ask("gap", flash, before, wanted[equal], runs[0][equal])
        detail += f"; they part where the two are {gap:.2g} of the logits' spread apart"
    return checks + [record.check(what, gap <= a.rounding, detail)]


def measure(a):
    options = {"context": max(a.prompt, a.depth) + a.tokens + 32, "batch": a.batch, "flash": a.flash, "cpu": a.cpu,
               "threads": a.threads}
    wanted = solo_made(a)
    engines, left_out = open_engines(a, options)
    put_in = solo_tokens(a.seed, max(a.prompt, a.depth) + 1, engines[0].n_vocab)
    results, checks = [], []
    for (e, flash), s in take_turns(a, engines, put_in).items():
        params = {"impl": "llama.cpp", "backend": e.backend, "flash": flash, "version": e.version, "depth": a.depth, "batch": a.batch}
        if s["pp"]:
            results.append(record.result(f"pp{a.prompt}", params, "tok/s", s["pp"]))
        results.append(record.result(f"tg{a.tokens}", params, "tok/s", s["tg"], choose_us=statistics.median(s["choose"]),
                                     greedy=s["tokens"][0]))
        checks += check_tokens(a, e, flash, s["tokens"], wanted, put_in)
    for e in engines:
        e.close()
    device = next((d["description"] for e in engines for d in e.devices if d["is_gpu"]), "")
    gpu = {"impl": "llama.cpp", "impl_version": ", ".join(f"llama.cpp {e.version} ({e.backend})" for e in engines), "device": device}
    params = {"model": os.path.basename(a.model), "bytes": os.path.getsize(a.model), "prompt": a.prompt, "tokens": a.tokens,
              "depth": a.depth, "repetitions": a.repetitions, "seed": a.seed}
    return record.record("llm", gpu, params, results, checks, skipped=left_out)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model")
    p.add_argument("-p", "--prompt", type=int, default=512, help="tokens of the prompt")
    p.add_argument("-n", "--tokens", type=int, default=128, help="tokens to generate")
    p.add_argument("-d", "--depth", type=int, default=512, help="tokens that are there before generating")
    p.add_argument("-b", "--batch", type=int, default=512)
    p.add_argument("-r", "--repetitions", type=int, default=5)
    p.add_argument("--flash", default="off,on", help="off, on or auto, or several")
    p.add_argument("--cpu", action="store_true", help="no layers on a GPU")
    p.add_argument("--threads", type=int)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--lib", action="append", help="a folder with libllama*.so; may be given several times")
    p.add_argument("--solo", metavar="RECORD", help="of solo bench llm, whose tokens these should be")
    p.add_argument("--type", help="of the weights, for what rounding may do (default: the end of the file's name)")
    p.add_argument("--json", default="-", metavar="FILE")
    a = p.parse_args()
    a.flash = a.flash.split(",")
    if any(f not in llama_cpp.FLASH for f in a.flash):
        p.error(f"--flash takes {', '.join(llama_cpp.FLASH)}")
    a.rounding = ROUNDING.get(a.type or re.sub(r"^.*[-/]|\.gguf$", "", a.model), QUANTISED_ROUNDING)
    try:
        made = measure(a)
    except (llama_cpp.LlamaError, OSError, KeyError, ValueError) as e:
        llama_cpp.fail(f"llama.py: {e}")
    record.write(a.json, made)
    for line in made["skipped"]:
        print(f"llama.py: left out: {line['what']}: {line['why']}", file=sys.stderr)
    failed = [c for c in made["checks"] if not c["ok"]]
    for c in failed:
        print(f"llama.py: not so: {c['what']}: {c['detail']}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
