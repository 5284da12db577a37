#!/usr/bin/env python3
"""A training step of an MLP in eager code: device="webgpu" of Solo, tinygrad on WebGPU, PyTorch on the CPU and on CUDA.

    python3 bench/torch_training.py [-n 50] [-r 30] [--ways LIST] [--batch 128] [--width 512] [--seconds 300] [--json FILE]

784 - width - width - 10 with ReLU, cross entropy, AdamW, one batch of random numbers; the same weights everywhere. A sample is -n steps, with
the loss read at their end; steps go on from sample to sample. Each way has a process of its own; they take turns in a new random order each
round. The loss after the first 2 n steps must be the CPU's within 1 percent. What cannot be had here is left out, with its reason in the record.
"""
import argparse
import math
import sys
import time

import record
from own_process import OwnProcess, raise_when_terminated
from torch_peers import measure, say, set_up, tinygrad_on_webgpu

INPUT, OUTPUT, RATE = 784, 10, 1e-3


def numbers(o):
    """Weights and biases by layer, inputs, classes."""
    import numpy as np
    random, sizes = np.random.default_rng(1), (INPUT, o.width, o.width, OUTPUT)
    layers = [((random.standard_normal((b, a)) / math.sqrt(a)).astype("f4"), np.zeros(b, "f4")) for a, b in zip(sizes, sizes[1:])]
    return layers, random.standard_normal((o.batch, INPUT)).astype("f4"), random.integers(0, OUTPUT, o.batch)


def with_torch(o, device):
    import torch
    layers, x, classes = numbers(o)
    model = torch.nn.Sequential(*[part for w, _ in layers for part in (torch.nn.Linear(*reversed(w.shape)), torch.nn.ReLU())][:-1])
    with torch.no_grad():
        for part, (w, b) in zip(model[::2], layers):
            part.weight.copy_(torch.from_numpy(w))
            part.bias.copy_(torch.from_numpy(b))
    model, x, classes = model.to(device), torch.from_numpy(x).to(device), torch.from_numpy(classes).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)

    def steps():
        for _ in range(o.n):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), classes)
            loss.backward()
            optimizer.step()
        return loss.item()
    return steps


def solo(o):
    import solo.webgpu
    import torch
    torch.webgpu.set_level(o.level)
    return with_torch(o, "webgpu")


def cpu(o):
    return with_torch(o, "cpu")


def cuda(o):
    return with_torch(o, "cuda")


def tinygrad(o):
    tinygrad_on_webgpu(o)
    from tinygrad import Tensor, TinyJit, nn
    from tinygrad.helpers import Context
    layers, x, classes = numbers(o)
    parts = [nn.Linear(w.shape[1], w.shape[0]) for w, _ in layers]
    for part, (w, b) in zip(parts, layers):
        part.weight.assign(Tensor(w))
        part.bias.assign(Tensor(b))
    x, classes = Tensor(x).realize(), Tensor(classes.astype("i4")).realize()
    optimizer = nn.optim.AdamW(nn.state.get_parameters(parts), lr=RATE, weight_decay=0.01)

    @TinyJit
    def step():
        with Context(TRAINING=1):
            optimizer.zero_grad()
            y = x
            for i, part in enumerate(parts):
                y = part(y).relu() if i + 1 < len(parts) else part(y)
            loss = y.sparse_categorical_crossentropy(classes).backward()
            return loss.realize(*optimizer.schedule_step())

    def steps():
        for _ in range(o.n):
            loss = step()
        return loss.item()
    return steps


WAYS = {"cpu": cpu, "solo": solo, "tinygrad": tinygrad, "cuda": cuda}


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("-n", type=int, default=50)
    p.add_argument("-r", type=int, default=30)
    p.add_argument("--ways", default=",".join(WAYS))
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--width", type=int, default=512)
    p.add_argument("--level", default="ops", help="of Solo")
    p.add_argument("--seconds", type=float, default=300)
    p.add_argument("--each", type=float, default=200, help="seconds to set one up")
    p.add_argument("--json")
    o = p.parse_args()
    o.dtype = "f32"
    unknown = [way for way in o.ways.split(",") if way not in WAYS]
    if unknown:
        p.error(f"there is no way {unknown[0]}: {', '.join(WAYS)}")
    until, skipped = time.perf_counter() + o.seconds - 2, []
    raise_when_terminated()
    try:
        running, losses = set_up({way: WAYS[way] for way in o.ways.split(",")}, o, until, skipped)
        seconds, _ = measure(running, o, until, skipped, lambda seconds, _: write(o, losses, skipped, seconds))
        sys.exit(write(o, losses, skipped, seconds, True))
    finally:
        OwnProcess.end_all()


def write(o, losses, skipped, seconds, at_the_end=False):
    """The record of the rounds so far. Is anything wrong?"""
    reference, checks, results = "cpu" if "cpu" in losses else next(iter(losses), None), [], []
    for way, took in seconds.items():
        off = abs(losses[way] - losses[reference]) / abs(losses[reference])
        checks.append(record.check(f"{way}: the loss after {2 * o.n} steps is that of {reference}", off <= 0.01, f"{losses[way]:.6g}, {off:.2g} off"))
        if took and checks[-1]["ok"]:
            results.append(record.result("mlp step", {"impl": way, "batch": o.batch, "width": o.width, "level": o.level if way == "solo" else ""},
                                         "steps/s", [o.n / s for s in took]))
            if at_the_end:
                say(f"{way}: {results[-1]['median']:.1f} steps/s, loss {losses[way]:.6g}")
    gpu = {"impl": "several", "impl_version": "", "backend": "", "vendor": "", "device": "", "driver": "", "adapter_type": "", "features": {}, "limits": {}}
    made = record.record("torch_training", gpu, {"steps": o.n, "rounds": o.r, "batch": o.batch, "width": o.width}, results, checks, skipped=skipped)
    if o.json or at_the_end:
        record.write(o.json or "-", made)
    return not results or any(not check["ok"] for check in checks)


if __name__ == "__main__":
    main()
