#!/usr/bin/env python3
"""What Python itself costs per step: python3 bench/python_step.py [OUT.json]

On the stub back end, whose calls do nothing: what is left is Python, cffi, and the host's part of Solo. Processor time of
STEPS (50) steps in a row, divided by their number, so that other work on the machine matters little. Ways take turns, in a
new random order in each of ROUNDS (7). Without torch only the first two are measured.

    go                  one call of solo.Run.go: a step whose inputs are on the device
    call                solo.Run.__call__ with NumPy arrays: an input written, the step, an output read
    torch.compile       a module compiled by backend="solo": Dynamo's guards, AOTAutograd's wrapper, a copy in and out
    device="webgpu"     a training step of an MLP in eager mode, AdamW included: recorded, found again, run
"""
import json
import os
import random
import statistics
import sys
import time

import numpy as np

import solo
import solo.device

ROUNDS, STEPS = int(os.environ.get("ROUNDS", "7")), int(os.environ.get("STEPS", "50"))
FIXTURE = os.path.join(os.path.dirname(__file__), "..", "tests", "data", "torch", "cache.pt2")
stub = solo.Device("stub", own_kernels=True)
solo.device.default_device = lambda own_kernels: stub


def of_solo():
    run = solo.Run(solo.Graph(FIXTURE), "ops", stub)
    inputs = [np.zeros(port.shape, port.dtype) for port in run.graph.inputs]
    return {"go": run.go, "call": lambda: run(*inputs)}


def of_torch():
    import torch

    import solo.torch

    x = torch.randn(8, 16)
    small = torch.compile(torch.nn.Linear(16, 16).eval(), backend="solo", dynamic=False, options={"level": "ops"})

    def compiled():
        with torch.no_grad():
            small(x)

    compiled()
    assert solo.torch.compiled()[-1].fallback is None
    return {"torch.compile": compiled}


def of_eager():
    import torch

    import solo._storage
    solo._storage.device = lambda: stub
    import solo.webgpu  # noqa: F401

    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).to("webgpu")
    x, wanted = torch.randn(8, 16, device="webgpu"), torch.randn(8, 4, device="webgpu")
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), wanted).backward()
        optimizer.step()

    return {'device="webgpu"': step}


ways = of_solo()
for more in (of_torch, of_eager):
    try:
        ways |= more()
    except ImportError as why:
        print(f"without torch: {why}")
samples = {name: [] for name in ways}
for way in ways.values():
    for _ in range(10):
        way()
for _ in range(ROUNDS):
    for name in random.sample(list(ways), len(ways)):
        began = time.process_time()
        for _ in range(STEPS):
            ways[name]()
        samples[name].append((time.process_time() - began) / STEPS * 1e6)
results = [{"name": name, "unit": "us", "samples": s, "median": statistics.median(s)} for name, s in samples.items()]
for row in results:
    print(f"{row['median']:9.1f} µs  [{min(row['samples']):.1f}, {max(row['samples']):.1f}]  {row['name']}")
if len(sys.argv) > 1:
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"experiment": "python_step", "parameters": {"rounds": ROUNDS, "steps": STEPS}, "results": results}, file, indent=1)
