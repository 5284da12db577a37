#!/usr/bin/env python3
"""Measures what a user would run instead: PyTorch with transformers, batch 1, on the same GPU.

    python3 bench/torch_llm.py [--arch SHAPE | --model FOLDER] [--dtype f16,f32] [-p 512] [-n 128] [-d 512] [-r 5]
                               [--variants LIST] [--seconds 170] [--device cuda|cpu] [--json FILE]

    eager                        transformers as it is, with a static cache
    graph                        the same kernels inside a CUDA graph
    compile                      torch.compile (default mode) inside a CUDA graph of our own
    compile-max                  torch.compile with mode max-autotune-no-cudagraphs inside a CUDA graph of our own
    compile-reduce-overhead      torch.compile with that mode, which makes CUDA graphs by itself

tgN: N tokens at depth D, one by one: the best of the logits is found on the GPU and is the next input; nothing is read
back before the end. ppN: a prompt of N tokens, with the logits of its last.

What is measured is checked first: a variant's tokens must be eager's. They may part where eager's own best two logits are
closer than the type's rounding; how many are equal is in the record. Variants run interleaved, in random order. Setting
up (compiling, capturing, the first runs) is timed apart. What does not fit into --seconds is left out, and the record says so.
With --device cpu nothing is captured: that is for testing this script.
"""
import argparse
import gc
import random
import subprocess
import sys
import time

import torch
import transformers

import models
import record

STARTED = time.perf_counter()
MODES = {"compile": "default", "compile-max": "max-autotune-no-cudagraphs", "compile-reduce-overhead": "reduce-overhead"}
# how far logits may differ, and how close the best two may be where tokens part, in standard deviations of the logits
ROUNDING = {"f32": 2e-3, "f16": 5e-2, "bf16": 3e-1}


def say(text):
    print(f"{time.perf_counter() - STARTED:7.1f} s  {text}", file=sys.stderr, flush=True)


class Decoder:
    """One model with a cache that holds `depth` positions already, and the state of a generation, all on the device."""

    def __init__(self, model, depth, count, seed):
        self.model, self.depth, self.count = model, depth, count
        self.device = model.device
        context = depth + count
        self.cache = transformers.StaticCache(config=model.config, max_cache_len=context)
        self.slots = torch.arange(context, device=self.device).view(1, 1, 1, context)
        self.token = torch.zeros(1, 1, dtype=torch.long, device=self.device)
        self.position = torch.zeros(1, 1, dtype=torch.long, device=self.device)
        self.written = torch.zeros(1, dtype=torch.long, device=self.device)
        self.tokens = torch.zeros(count, dtype=torch.long, device=self.device)
        prompt = models.some_tokens(depth, model.config.vocab_size, seed).to(self.device)
        positions = torch.arange(depth, device=self.device).view(1, depth)
        logits = self.forward(prompt, positions, logits_to_keep=1)
        self.first = logits[:, -1].argmax(-1, keepdim=True)

    def forward(self, tokens, positions, **more):
        seen = self.slots <= positions[:, None, :, None]  # (1, 1, rows, context)
        return self.model(input_ids=tokens, position_ids=positions, attention_mask=seen, past_key_values=self.cache,
                          use_cache=True, **more).logits

    def best(self, token, position):
        return self.forward(token, position)[:, -1].argmax(-1, keepdim=True)

    def rewind(self):
        """Back to `depth`: what lies behind in the cache is written anew before it is seen."""
        for layer in self.cache.layers:
            layer.cumulative_length.fill_(self.depth)
        self.token.copy_(self.first)
        self.position.fill_(self.depth)
        self.written.zero_()
        self.tokens.fill_(-1)  # so that a run that does nothing has nothing to show

    def accept(self, token):
        self.token.copy_(token)
        self.tokens.index_copy_(0, self.written, token.view(1))
        self.position.add_(1)
        self.written.add_(1)

    def reference(self):
        """Eager's tokens, and at each step how far the best logit is above the second, in standard deviations."""
        self.rewind()
        gaps = torch.zeros(self.count, device=self.device)
        for i in range(self.count):
            logits = self.forward(self.token, self.position)[0, -1].float()
            top = torch.topk(logits, 2).values
            gaps[i] = (top[0] - top[1]) / logits.std()
            self.accept(logits.to(self.model.dtype).argmax().view(1, 1))
        return self.tokens.tolist(), gaps.tolist()


class Prompt:
    """A prompt read at once into a fresh cache."""

    def __init__(self, model, count, seed):
        self.model = model
        self.tokens = models.some_tokens(count, model.config.vocab_size, seed).to(model.device)

    def logits(self, tokens):
        cache = transformers.DynamicCache(config=self.model.config)
        return self.model(input_ids=tokens, past_key_values=cache, use_cache=True, logits_to_keep=1).logits[0, -1]


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def captured(work, warm_up):
    """`work` as a CUDA graph; it is run `warm_up` times first, on the side stream that capture wants."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(warm_up):
            work()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def compiled(function, variant):
    return torch.compile(function, mode=MODES[variant], fullgraph=True, dynamic=False)


def decode_step(decoder, variant):
    """A function that makes one token from the one before."""
    best = decoder.best if variant in ("eager", "graph") else compiled(decoder.best, variant)
    own_graph = variant not in ("eager", "compile-reduce-overhead") and decoder.device.type == "cuda"

    def step():
        if variant == "compile-reduce-overhead":
            torch.compiler.cudagraph_mark_step_begin()
        decoder.accept(best(decoder.token, decoder.position))

    decoder.rewind()
    if own_graph:
        return captured(step, 3)
    for _ in range(3):
        step()
    return step


def prompt_run(prompt, variant):
    """A function that reads the prompt, and one that gives the logits of its last token."""
    logits = prompt.logits if variant in ("eager", "graph") else compiled(prompt.logits, variant)
    held = {}

    def work():
        if variant == "compile-reduce-overhead":
            torch.compiler.cudagraph_mark_step_begin()
        held["logits"] = logits(prompt.tokens)

    if variant in ("eager", "compile-reduce-overhead") or prompt.tokens.device.type != "cuda":
        for _ in range(3):
            work()
        return work, lambda: held["logits"]
    replay = captured(work, 3)
    return replay, lambda: held["logits"]


def compare_tokens(tokens, right, gaps, rounding):
    """Whether they are right, and how many of them are."""
    equal = sum(a == b for a, b in zip(tokens, right))
    first = next((i for i, (a, b) in enumerate(zip(tokens, right)) if a != b), None)
    if first is None:
        return True, f"{equal} of {len(right)} tokens equal"
    return gaps[first] <= rounding, (f"{equal} of {len(right)} tokens equal; they part at {first}, where eager's best two are "
                                     f"{gaps[first]:.2g} standard deviations apart")


def once(work, repeat, device):
    synchronize(device)
    start = time.perf_counter()
    for _ in range(repeat):
        work()
    synchronize(device)
    return time.perf_counter() - start


class Bench:
    def __init__(self, options):
        self.o = options
        self.results, self.checks, self.skipped = [], [], []
        self.compile_seconds = 45.0  # what the next compilation is thought to take

    def left(self):
        return self.o.seconds - (time.perf_counter() - STARTED)

    def set_up(self, name, variant, dtype, make):
        """make() timed; None, with a note, where time is short or it fails."""
        what = f"{name} {dtype} {variant}"
        if variant in MODES and self.left() < 1.3 * self.compile_seconds * (2 if variant == "compile-max" else 1):
            self.skipped.append({"what": what, "why": "no time left"})
            say(f"{what}: left out, no time")
            return None
        start = time.perf_counter()
        try:
            made = make()
        except Exception as error:  # whatever a compiler throws: the other variants are still worth having
            lines = [line for line in str(error).splitlines() if line.strip()]
            self.skipped.append({"what": what, "why": f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]})
            say(f"{what}: failed, {self.skipped[-1]['why']}")
            return None
        seconds = time.perf_counter() - start
        if variant in MODES:
            self.compile_seconds = max(5.0, seconds / (2 if variant == "compile-max" else 1))
        say(f"{what}: set up in {seconds:.1f} s")
        return made, seconds

    def measure(self, name, tokens, dtype, ways, device):
        """Every way -r times, interleaved; each run's output is checked. ways: {variant: (run, verify, set-up seconds)}"""
        samples = {variant: [] for variant in ways}
        wrong = set()
        rounds = [random.Random(i).sample(list(ways), len(ways)) for i in range(self.o.r)]
        for variant in (v for names in rounds for v in names):
            if samples[variant] and self.left() < 0 and len(samples[variant]) >= 2:
                continue
            run, verify, _ = ways[variant]
            seconds = run()
            good, detail = verify()
            if not good:
                wrong.add(variant)
                self.checks.append(record.check(f"{name} {dtype} {variant}: a timed run gives the same", False, detail))
            samples[variant].append(tokens / seconds)
        for variant, (_, _, seconds) in ways.items():
            if variant in wrong:
                continue
            self.results.append(record.result(
                name, {"impl": "torch", "variant": variant, "mode": MODES.get(variant, ""), "dtype": dtype, "model": self.o.name,
                       "depth": self.o.d if name.startswith("tg") else 0},
                "tok/s", samples[variant], setup_seconds=seconds, weight_bytes=self.weight_bytes))
            say(f"{name} {dtype} {variant}: {self.results[-1]['median']:.1f} tok/s, {len(samples[variant])} samples")

    def decode(self, model, dtype):
        name, device = f"tg{self.o.n}", model.device
        decoder = Decoder(model, self.o.d, self.o.n, self.o.seed)
        right, gaps = decoder.reference()
        say(f"{name} {dtype}: {len(set(right))} different tokens, {sum(g <= ROUNDING[dtype] for g in gaps)} nearly tied")
        ways = {}
        for variant in self.o.variants:
            made = self.set_up(name, variant, dtype, lambda: decode_step(decoder, variant))
            if not made:
                continue
            step, seconds = made

            def run(step=step):
                decoder.rewind()
                return once(step, self.o.n, device)

            def verify():
                return compare_tokens(decoder.tokens.tolist(), right, gaps, ROUNDING[dtype])

            run()
            good, detail = verify()
            self.checks.append(record.check(f"{name} {dtype} {variant}: tokens are eager's", good, detail))
            say(f"{name} {dtype} {variant}: {detail}")
            if good:
                ways[variant] = (run, verify, seconds)
        self.measure(name, self.o.n, dtype, ways, device)

    def prompt(self, model, dtype):
        name, device = f"pp{self.o.p}", model.device
        prompt = Prompt(model, self.o.p, self.o.seed)
        right = prompt.logits(prompt.tokens).float()
        ways = {}
        for variant in self.o.variants:
            made = self.set_up(name, variant, dtype, lambda: prompt_run(prompt, variant))
            if not made:
                continue
            (work, logits), seconds = made

            def run(work=work, logits=logits):
                logits().zero_()  # likewise
                return once(work, 1, device)

            def verify(logits=logits):
                worst = ((logits().float() - right).abs().max() / right.std()).item()
                return worst <= 5 * ROUNDING[dtype], f"logits within {worst:.2g} standard deviations of eager's"

            run()
            good, detail = verify()
            self.checks.append(record.check(f"{name} {dtype} {variant}: logits are eager's", good, detail))
            say(f"{name} {dtype} {variant}: {detail}")
            if good:
                ways[variant] = (run, verify, seconds)
        self.measure(name, self.o.p, dtype, ways, device)

    def open(self, dtype):
        if self.o.model:
            model = models.load(self.o.model, models.DTYPES[dtype], self.o.device)
        else:
            model = models.build(models.configuration(self.o.arch), models.DTYPES[dtype], self.o.device, self.o.seed)
        say(f"{self.o.name} {dtype}: here, {models.bytes_per_token(model) / 1e6:.0f} MB per token")
        return model

    def run(self):
        """Decoding first, in every type: where time is short, prompts go without what is compiled."""
        opened = {dtype: self.open(dtype) for dtype in self.o.dtype}
        with torch.no_grad():
            for part in (self.decode, self.prompt):
                for dtype, model in opened.items():
                    torch._dynamo.reset()
                    self.weight_bytes = models.bytes_per_token(model)
                    part(model, dtype)
                    gc.collect()  # graphs and caches of what was measured
                    if self.o.device == "cuda":
                        torch.cuda.empty_cache()


def describe(device):
    gpu = {"impl": "torch", "impl_version": f"PyTorch {torch.__version__}, transformers {transformers.__version__}",
           "backend": "CUDA", "vendor": "nvidia", "device": "", "driver": "", "adapter_type": "discrete GPU", "features": {},
           "limits": {}}
    if device != "cuda":
        return gpu | {"backend": "CPU", "vendor": "", "device": "CPU", "adapter_type": "CPU"}
    gpu["device"] = torch.cuda.get_device_name()
    try:
        asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        gpu["driver"] = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        gpu["driver"] = "unknown"
    # what a copy moves, read and written: the memory limit that everything here is held against
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    target.copy_(source)
    seconds = min(once(lambda: target.copy_(source), 5, source.device) for _ in range(5)) / 5
    return gpu | {"copy_gbps": 2 * source.numel() / seconds / 1e9}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--arch", choices=models.SHAPES, default="qwen2.5-0.5b", help="a shape with random weights")
    which.add_argument("--model", metavar="FOLDER", help="a Hugging Face folder with safetensors")
    parser.add_argument("--name", help="what records call the model (default: the shape's or the folder's name)")
    parser.add_argument("--dtype", default="f16,f32", type=lambda text: text.split(","))
    parser.add_argument("--variants", default="eager,graph,compile,compile-max", type=lambda text: text.split(","))
    parser.add_argument("-p", type=int, default=512, help="tokens of the prompt")
    parser.add_argument("-n", type=int, default=128, help="tokens generated")
    parser.add_argument("-d", type=int, default=512, help="positions in the cache before them")
    parser.add_argument("-r", type=int, default=5, help="samples of each")
    parser.add_argument("--seconds", type=float, default=170, help="start nothing long after so many seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--json", default="-", metavar="FILE")
    o = parser.parse_args()
    o.name = o.name or (o.model.rstrip("/").split("/")[-1] if o.model else o.arch)
    for given, known, what in ((o.dtype, models.DTYPES, "type"), (o.variants, ["eager", "graph", *MODES], "variant")):
        for word in given:
            if word not in known:
                parser.error(f"{word} is no {what}: {', '.join(known)}")
    if o.n < 4:  # setting up takes some steps, and the cache ends with the last token
        parser.error("-n must be at least 4")
    if o.device == "cuda" and not torch.cuda.is_available():
        print("torch_llm.py: PyTorch finds no CUDA device", file=sys.stderr)
        sys.exit(3)
    if o.device == "cpu":
        o.variants = [v for v in o.variants if v != "graph"]
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch._dynamo.config.recompile_limit = 64

    gpu = describe(o.device)
    bench = Bench(o)
    bench.run()
    params = {"model": o.name, "p": o.p, "n": o.n, "depth": o.d, "repetitions": o.r, "seed": o.seed,
              "float32_matmul_precision": torch.get_float32_matmul_precision(), "attention": "sdpa",
              "seconds": round(time.perf_counter() - STARTED, 1)}
    record.write(o.json, record.record("llm", gpu, params, bench.results, bench.checks, skipped=bench.skipped))
    if not bench.results or not all(c["ok"] for c in bench.checks):
        print("torch_llm.py: some outputs were wrong or nothing could be measured; see the record's checks", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
