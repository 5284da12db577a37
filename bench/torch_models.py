#!/usr/bin/env python3
"""Models of PyTorch at their real shapes through both of Solo's doors, against eager mode: python3 bench/torch_models.py [--json FILE]

    python3 bench/torch_models.py [--models LIST] [--dtypes f32,f16] [--doors pt2,compile] [--level token] [--small] [--parallel N]
                                  [--seconds 240] [--each 150] [--sample 0.4] [--json FILE]

resnet18 and ViT-B/16 of torchvision; BERT-base, GPT-2, Qwen2.5-0.5B, Qwen3-0.6B, Llama-3.2-1B, SmolLM-360M and Gemma-3-1B of transformers, with
random weights. Decoders make a step for one token with a static cache (TorchExportableModuleWithStaticCache), after a short prompt.

    pt2       torch.export (strict) -> run_decompositions -> model.pt2 -> solo.Run
    compile   torch.compile(backend="solo", dynamic=False)

A check for each model, type and door: f32 within 1e-4 of eager on the CPU, relative to the output's spread; f16 as near as eager f16 is, both
compared with f32 of the same weights (eager f16 on CUDA, if it is there). At `token` the graph must be one dispatch, and nothing may run in eager
mode. Each model and type has a process of its own. Up to --parallel are set up at once; when all are, each is timed alone. What failed is in the
record with its reason. --small: the same with tiny configurations, to try this script on software.
"""
import argparse
import math
import multiprocessing.connection
import os
import statistics
import sys
import tempfile
import time

import record
from own_process import LeftOut, OwnProcess, reason

STARTED = time.perf_counter()
PROMPT, CONTEXT = [7, 91, 15, 42, 3, 66], 64


def say(text):
    print(f"{time.perf_counter() - STARTED:7.1f} s  {text}", file=sys.stderr, flush=True)


# ---- models: each returns a module and the inputs of its calls, one after the other ---------------------------


def resnet18(small):
    import torchvision
    size = 32 if small else 224
    return torchvision.models.resnet18(num_classes=10 if small else 1000), lambda: pixels(size)


def vit(small):
    import torchvision
    if small:
        return torchvision.models.VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10), lambda: pixels(32)
    return torchvision.models.vit_b_16(), lambda: pixels(224)


def pixels(size):
    import torch
    return [(torch.randn(1, 3, size, size),)]


def bert(small):
    import torch
    import transformers
    sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=100) if small else {}
    rows = 16 if small else 128
    mask = torch.ones(1, rows, dtype=torch.long)
    mask[:, rows * 3 // 4:] = 0  # a text that is padded
    return output(transformers.BertModel(transformers.BertConfig(**sizes))), lambda: [(torch.randint(0, 100, (1, rows)), mask)]


def decoder(family, small, sizes):
    """sizes: layers, hidden, ffn, heads, heads of keys, size of a head, vocabulary; more are the configuration's own names."""
    import torch
    import transformers
    layers, hidden, ffn, heads, kv_heads, head, vocab, more = sizes
    if small:
        layers, hidden, ffn, heads, kv_heads, head, vocab = 2, 32, 64, 4, 2, 16, 100
    if family == "GPT2":
        config = transformers.GPT2Config(n_embd=hidden, n_layer=layers, n_head=heads, vocab_size=vocab, bos_token_id=None, eos_token_id=None)
        model = transformers.GPT2LMHeadModel(config)
    else:
        config = getattr(transformers, f"{family}Config")(
            hidden_size=hidden, num_hidden_layers=layers, intermediate_size=ffn, num_attention_heads=heads, num_key_value_heads=kv_heads,
            head_dim=head, vocab_size=vocab, bos_token_id=None, eos_token_id=None, pad_token_id=None, **more)
        model = getattr(transformers, f"{family.removesuffix('Text')}ForCausalLM")(config)
    model.generation_config = transformers.GenerationConfig(use_cache=True, cache_implementation="static",
                                                            cache_config={"batch_size": 1, "max_cache_len": CONTEXT})
    return model, lambda: [(torch.tensor([[token]]), torch.tensor([i])) for i, token in enumerate(PROMPT)]


LLAMA3_ROPE = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
               "rope_theta": 5e5}
TIED = {"tie_word_embeddings": True}
LLAMA3 = TIED | {"rope_parameters": LLAMA3_ROPE, "max_position_embeddings": 131072}
# the largest first: they are set up in parallel
MODELS = {
    "llama-3.2-1b": lambda small: decoder("Llama", small, (16, 2048, 8192, 32, 8, 64, 128256, LLAMA3)),
    "gemma-3-1b": lambda small: decoder("Gemma3Text", small, (26, 1152, 6912, 4, 1, 256, 262144, TIED)),
    "qwen3-0.6b": lambda small: decoder("Qwen3", small, (28, 1024, 3072, 16, 8, 128, 151936, TIED)),
    "smollm-360m": lambda small: decoder("Llama", small, (32, 960, 2560, 15, 5, 64, 49152, TIED)),
    "qwen2.5-0.5b": lambda small: decoder("Qwen2", small, (24, 896, 4864, 14, 2, 64, 151936, TIED)),
    "gpt2": lambda small: decoder("GPT2", small, (12, 768, 3072, 12, 12, 64, 50257, {})),
    "bert-base": bert, "vit-b-16": vit, "resnet18": resnet18,
}


def output(model):
    """As a module whose result is the tensor that matters."""
    import torch

    class Output(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *inputs):
            return self.model(*inputs).last_hidden_state
    return Output()


def ready(model):
    """As it is called: a decoder as a step for one token, with a cache of its own."""
    import torch
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache
    if not hasattr(model, "generation_config"):
        return model.eval()

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = TorchExportableModuleWithStaticCache(model)

        def forward(self, token, position):
            return self.model(input_ids=token, cache_position=position)
    model.config.use_cache = True
    return Step().eval()


def fill(model):
    """Weights such that every part shows in the output: activations stay at about one, attention chooses, norms are not what training starts with."""
    import torch
    for place, module in model.named_modules():
        norm = "Norm" in type(module).__name__
        for name, weight in module.named_parameters(recurse=False):
            if norm:
                weight.add_(torch.randn_like(weight), alpha=0.1)
            elif weight.dim() < 2:
                weight.normal_(0, 0.2)
            else:
                inputs = weight.shape[0] if type(module).__name__ == "Conv1D" else weight[0].numel()  # of transformers: turned
                weight.normal_(0, (1.7 if place.endswith(("q_proj", "k_proj")) else 1.0) / math.sqrt(inputs))
        if getattr(module, "running_var", None) is not None:
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 2)


def typed(model, dtype):
    """The model itself; RoPE's frequencies stay f32, as they do where a model is loaded."""
    import torch
    kept = [(module, name, value) for module in model.modules() for name, value in module.named_buffers(recurse=False) if "inv_freq" in name]
    model.to(torch.float16 if dtype == "f16" else torch.float32)
    for module, name, value in kept:
        setattr(module, name, value.float())
    return model


# ---- one model of one type, in a process of its own -----------------------------------------------------------


class Eager:
    """A module, its inputs, and where it runs."""

    def __init__(self, model, calls, device="cpu"):
        import torch
        self.step, self.graph = ready(model.to(device)), None
        kind = next(model.parameters()).dtype
        self.calls = [tuple(x.to(device, kind if x.is_floating_point() else x.dtype) for x in inputs) for inputs in calls]
        self.wait = torch.cuda.synchronize if device == "cuda" else lambda: None

    def forget(self):
        """The cache as it was."""
        for name, buffer in self.step.named_buffers():
            if "cache_" in name or "cumulative_length" in name:
                buffer.zero_()

    def outputs(self, step=None):
        """Of all calls, as f32 on the CPU."""
        import torch
        self.forget()
        step = self.step if step is None else step
        return torch.stack([step(*inputs).float().cpu() for inputs in self.calls])

    def once(self):
        self.step(*self.calls[-1])
        self.wait()


def pt2(eager, level):
    """How it is called, how many dispatches a call has, what only runs it."""
    import torch
    import solo
    if not eager.graph:
        eager.forget()
        program = torch.export.export(eager.step, eager.calls[0], strict=True).run_decompositions()
        with tempfile.TemporaryDirectory() as folder:
            torch.export.save(program, f"{folder}/model.pt2")
            eager.graph = solo.Graph(f"{folder}/model.pt2")
    run = solo.Run(eager.graph, level)
    first = eager.graph.outputs[0]
    return (lambda *inputs: torch.from_numpy(run(*[x.numpy() for x in inputs])[0]), lambda: run.dispatches,
            lambda times: (run.go(times), run.read(first)))


def compiled(eager, level):
    import torch
    import solo.torch
    torch._dynamo.reset()
    before, counted = len(solo.torch.compiled()), solo.torch.fallbacks()
    step = torch.compile(eager.step, backend="solo", options={"level": level}, dynamic=False)

    def dispatches():
        graphs = solo.torch.compiled()[before:]
        why = [why for why, times in solo.torch.fallbacks().items() if times > counted.get(why, 0)]
        if why:
            raise LeftOut(f"a part runs in eager mode: {why[0]}")
        return sum(graph.run.dispatches for graph in graphs)
    return step, dispatches, None


DOORS = {"pt2": pt2, "compile": compiled}


def through(door, eager, want, level, why=""):
    """What is to be known of one door: how far off, at how many dispatches, after how many seconds; and what is called."""
    began = time.perf_counter()
    try:
        call, dispatches, only = DOORS[door](eager, level)
        off = (eager.outputs(call) - want).abs().max().item()
        count = dispatches()
    except Exception as error:  # any library's
        if level == "ops" or "one dispatch is not possible" not in str(error):
            raise
        return through(door, eager, want, "ops", reason(error))  # a failed check, but one that says whether it computes the same
    return {"off": off, "dispatches": count, "level": level, "why": why, "set_up_s": round(time.perf_counter() - began, 1)}, call, only


def sampled(seconds, work):
    """Milliseconds of each: three at least, unless they are very slow."""
    work()
    samples, began = [], time.perf_counter()
    while not samples or now - began < seconds * (4 if len(samples) < 3 else 1) and len(samples) < 100:
        before = time.perf_counter()
        work()
        now = time.perf_counter()
        samples.append(1e3 * (now - before))
    return samples


def has_cuda():
    import torch
    try:
        return torch.zeros(1, device="cuda").item() == 0
    except (RuntimeError, AssertionError):  # also where a driver does not like that this process was forked
        return False


def work(send, receive, name, dtype, o):
    import copy
    import warnings
    import torch
    warnings.simplefilter("ignore")
    torch.set_grad_enabled(False)
    torch.set_num_threads(max(1, os.cpu_count() // o.parallel))
    torch.manual_seed(0)
    cuda = has_cuda()
    with torch.device("cuda" if cuda else "cpu"):  # random numbers are slow on the CPU
        model, inputs = MODELS[name](o.small)
        typed(model, "f32")
        fill(model)
        typed(model, dtype)
    torch.manual_seed(1)
    calls = inputs()
    # of the same weights in f32
    exact = Eager(typed(copy.deepcopy(model).cpu(), "f32"), calls)
    want = exact.outputs()
    spread = want.std().item()
    eager = exact if dtype == "f32" else Eager(copy.deepcopy(model).cpu(), calls)
    other = Eager(model, calls, "cuda") if cuda else None
    del exact
    own = (other or eager).outputs().sub(want).abs().max().item() if dtype == "f16" else None
    send(("begins", {"spread": spread, "limit": 1e-4 * spread if own is None else own, "finite": bool(want.isfinite().all())}))
    doors = {}
    for door in o.doors:
        send(("door", door))
        try:
            found, *doors[door] = through(door, eager, want, o.level)
            send(("found", found))
        except Exception as why:  # any library's: the next door may be open
            send(("failed", reason(why)))
    send(("ready", None))
    receive()
    torch.set_num_threads(os.cpu_count())
    last = eager.calls[-1]
    for door, (call, go) in doors.items():
        samples = sampled(o.sample, lambda: call(*last))  # noqa: B023 # at once
        send((("step", "solo", door), samples))
        if go:  # several at once, of which only the last is read back: to go on is not to wait
            times = max(1, min(10, int(1e3 * o.sample / min(samples) / 4)))
            send((("run", "solo", door), [took / times for took in sampled(o.sample, lambda: go(times))]))  # noqa: B023
    if dtype == "f32" or not other:  # f16 is very slow on some processors
        send((("step", "eager-cpu", ""), sampled(o.sample, eager.once)))
    if other:
        send((("step", "eager-cuda", ""), sampled(o.sample, other.once)))
    send(("timed", None))


# ---- all of them ----------------------------------------------------------------------------------------------


class Job:
    """A model of one type: its process, and what it said so far."""

    def __init__(self, name, dtype):
        self.name, self.dtype, self.process, self.door = name, dtype, None, None
        self.base, self.found, self.failed, self.results, self.ended = None, {}, {}, [], None

    def __str__(self):
        return f"{self.name} {self.dtype}"

    def start(self, o):
        self.until = time.perf_counter() + o.each
        self.process = OwnProcess(work, self.name, self.dtype, o)

    def hear(self, until, last):
        """Takes what it sends next; True if that is the last."""
        try:
            what, value = self.process.receive(until)
        except LeftOut as why:
            self.ended = str(why)
            if self.door:
                self.failed[self.door] = self.ended
            return True
        if what == "begins":
            self.base = value
        elif what == "door":
            self.door = value
        elif what in ("found", "failed"):
            getattr(self, what)[self.door], self.door = value, None
        elif isinstance(what, tuple):
            self.results.append((*what, value))
        return what == last


def set_up(jobs, o, until):
    """All of them, several at once."""
    waiting, running = list(jobs), []
    while waiting or running:
        while waiting and len(running) < o.parallel:
            running.append(waiting.pop(0))
            running[-1].start(o)
        first = min(min(job.until for job in running), until)
        heard = multiprocessing.connection.wait([job.process.pipe for job in running], max(first - time.perf_counter(), 0))
        for job in list(running):
            late = time.perf_counter() >= min(job.until, until)
            if (job.process.pipe in heard or late) and job.hear(min(job.until, until), "ready"):
                running.remove(job)
                say(f"{job}: {job.ended or 'set up'}, after {time.perf_counter() - job.process.began:.1f} s")


def checks_of(job, o):
    for door in o.doors:
        what, found = f"{job}, {door}", job.found.get(door)
        if not found:
            yield record.check(what, False, job.failed.get(door) or job.ended or "it was not reached")
            continue
        limit = job.base["limit"]
        near = job.base["finite"] and (found["off"] < limit if job.dtype == "f32" else found["off"] <= limit)
        one = o.level != "token" or found["dispatches"] == 1
        whose = "1e-4 of the spread" if job.dtype == "f32" else "eager f16's own"
        yield record.check(what, near and one, f"{found['off']:.2g} off, {whose} is {limit:.2g}, the spread {job.base['spread']:.3g}; "
                                               f"{found['dispatches']} dispatches at {found['level']} {found['why']}".strip())


def results_of(job):
    for name, impl, door, samples in job.results:
        more = {key: value for key, value in job.found.get(door, {}).items() if value != ""}
        params = {"impl": impl, "model": job.name, "dtype": job.dtype, "door": door, "variant": f"{job} {door}".strip(), **more}
        yield record.result(name, params, "ms", samples)


def line(job, o):
    """Of the table."""
    ms = {(name, impl, door): statistics.median(samples) for name, impl, door, samples in job.results}
    words = []
    for door in o.doors:
        found = job.found.get(door)
        if not found:
            words.append(f"{door}: {(job.failed.get(door) or job.ended or 'not reached')[:90]}")
            continue
        took = [f"{ms[key]:.2f} ms" for key in (("step", "solo", door), ("run", "solo", door)) if key in ms]
        words.append(f"{door}: {found['off'] / job.base['limit']:.2g} of the limit, {found['dispatches']} dispatch(es), {', '.join(took)}"
                     + (f" ({found['why'][:90]})" if found["why"] else ""))
    words += [f"{impl} {ms[key]:.2f} ms" for impl in ("eager-cpu", "eager-cuda") if (key := ("step", impl, "")) in ms]
    return f"{job.name:13} {job.dtype}  " + "; ".join(words)


def listed(p, text, known):
    names = text.split(",")
    unknown = [name for name in names if name not in known]
    if unknown:
        p.error(f"there is no {unknown[0]}: {', '.join(known)}")
    return names


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--models", default=",".join(MODELS))
    p.add_argument("--dtypes", default="f32,f16")
    p.add_argument("--doors", default=",".join(DOORS))
    p.add_argument("--level", default="token", help="of Solo")
    p.add_argument("--small", action="store_true")
    p.add_argument("--parallel", type=int, default=max(1, min(8, os.cpu_count() // 2)), help="that are set up at once")
    p.add_argument("--seconds", type=float, default=240)
    p.add_argument("--each", type=float, default=150, help="seconds to set one up")
    p.add_argument("--sample", type=float, default=0.4, help="seconds of each time that is taken")
    p.add_argument("--json")
    o = p.parse_args()
    o.doors = listed(p, o.doors, DOORS)
    names, dtypes = listed(p, o.models, MODELS), listed(p, o.dtypes, ("f32", "f16"))
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # who asks for CUDA while things are loaded must not open it: processes are forked
    import torch
    import torch._dynamo
    import torchvision  # noqa: F401 # once for all processes
    import transformers
    from transformers.integrations import executorch  # noqa: F401
    say(f"torch {torch.__version__}, transformers {transformers.__version__}, {o.parallel} at once")
    jobs, until = [Job(name, dtype) for name in names for dtype in dtypes], STARTED + o.seconds
    set_up(jobs, o, until - 6 * o.sample * len(jobs))
    for job in jobs:
        if not job.ended:
            job.process.ask("go on")
            while not job.hear(min(until, time.perf_counter() + 30 + 20 * o.sample), "timed"):
                pass
        job.process.end()
        print(line(job, o), flush=True)
    checks = [check for job in jobs for check in checks_of(job, o)]
    skipped = [{"what": str(job), "why": job.ended[:300]} for job in jobs if job.ended]
    gpu = {"impl": "dawn", "impl_version": "", "backend": "", "vendor": "", "device": device(), "driver": "", "adapter_type": "", "features": {},
           "limits": {}}
    params = {"level": o.level, "small": o.small, "parallel": o.parallel, "torch": torch.__version__, "transformers": transformers.__version__,
              "prompt": len(PROMPT), "context": CONTEXT, "seconds": round(time.perf_counter() - STARTED, 1)}
    made = record.record("torch_models", gpu, params, [result for job in jobs for result in results_of(job)], checks, skipped=skipped)
    record.write(o.json or "-", made)
    bad = sum(not check["ok"] for check in checks)
    say(f"{len(checks) - bad} of {len(checks)} checks hold")
    sys.exit(bad > 0)


def device():
    import solo
    try:
        with solo.Device(own_kernels=True) as opened:
            return opened.name
    except solo.Error as why:
        return str(why)


if __name__ == "__main__":
    main()
