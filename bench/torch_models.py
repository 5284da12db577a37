#!/usr/bin/env python3
"""Models of PyTorch at their real shapes through both of Solo's doors, against eager mode: python3 bench/torch_models.py [--json FILE]

    python3 bench/torch_models.py [--models LIST] [--dtypes f32,f16] [--doors pt2,compile] [--level token] [--small] [--parallel N]
                                  [--seconds 300] [--each 200] [--sample 0.4] [--json FILE]

resnet18 and ViT-B/16 of torchvision; BERT-base, GPT-2, Qwen2.5-0.5B, Qwen3-0.6B, Llama-3.2-1B, SmolLM-360M and Gemma-3-1B of transformers, with
random weights. Decoders make a step for one token with a static cache (TorchExportableModuleWithStaticCache), after a short prompt.

    pt2       torch.export (strict) -> run_decompositions -> model.pt2 -> solo.Run
    compile   torch.compile(backend="solo", dynamic=False)

A check for each model, type and door: f32 within 1e-4 of eager on the CPU, relative to the output's spread; f16 as near as eager f16 is, both
compared with f32 of the same weights (eager f16 on CUDA, if it is there). At `token` the graph must be one dispatch, and nothing may run in eager
mode. Each model and type has a process of its own, small models first. Up to --parallel are set up at once, as far as there is memory for them; what
is ready is timed alone, at once: the others stand still meanwhile. The record is written after each, with what each stage took. What failed is in
it with its reason. --small: the same with tiny configurations, to try this script on software.
"""
import argparse
import contextlib
import gc
import multiprocessing.connection
import os
import sys
import tempfile
import time

import record
from own_process import LeftOut, OwnProcess, Terminated, memory_left, raise_when_terminated, reason
from torch_shapes import CONTEXT, GIGA_PARAMETERS, MODELS, PROMPT, fill, ready, typed

STARTED = time.perf_counter()


def say(text):
    print(f"{time.perf_counter() - STARTED:7.1f} s  {text}", file=sys.stderr, flush=True)


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


@contextlib.contextmanager
def file_in_memory():
    """The path of one, which is gone with this process, however that ends: gigabytes need not go through a disk."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.pt2"
        if not hasattr(os, "memfd_create"):
            yield path
            return
        file = os.memfd_create("model.pt2")
        os.symlink(f"/proc/{os.getpid()}/fd/{file}", path)
        try:
            yield path
        finally:
            os.close(file)


def without_origins(program):
    """What each node was in all passes before is much of the time it takes to save a program, and nobody reads it."""
    for node in program.graph.nodes:
        node.meta.pop("from_node", None)
    return program


def pt2(eager, level, stage):
    """How it is called, how many dispatches a call has, what only runs it."""
    import torch
    import solo
    if not eager.graph:
        eager.forget()
        stage("pt2: export")
        program = torch.export.export(eager.step, eager.calls[0], strict=True)
        stage("pt2: decompose")
        program = without_origins(without_origins(program).run_decompositions())
        with file_in_memory() as path:
            stage("pt2: save")
            torch.export.save(program, path)
            stage("pt2: open")
            eager.graph = solo.Graph(path)
    stage("pt2: upload")
    run = solo.Run(eager.graph, level)
    stage("pt2: calls")
    first = eager.graph.outputs[0]
    return (lambda *inputs: torch.from_numpy(run(*[x.numpy() for x in inputs])[0]), lambda: run.dispatches,
            lambda times: (run.go(times), run.read(first)))


def compiled(eager, level, stage):
    import torch
    import solo.torch
    torch._dynamo.reset()
    before, counted = len(solo.torch.compiled()), solo.torch.fallbacks()
    step = torch.compile(eager.step, backend="solo", options={"level": level}, dynamic=False)
    stage("compile: calls")

    def dispatches():
        graphs = solo.torch.compiled()[before:]
        why = [why for why, times in solo.torch.fallbacks().items() if times > counted.get(why, 0)]
        if why:
            raise LeftOut(f"a part runs in eager mode: {why[0]}")
        return sum(graph.run.dispatches for graph in graphs)
    return step, dispatches, None


DOORS = {"pt2": pt2, "compile": compiled}


def through(door, eager, want, level, stage, why=""):
    """What is to be known of one door: how far off, at how many dispatches; and what is called."""
    try:
        call, dispatches, only = DOORS[door](eager, level, stage)
        off = (eager.outputs(call) - want).abs().max().item()
        count = dispatches()
    except Exception as error:  # any library's
        if level == "ops" or "one dispatch is not possible" not in str(error):
            raise
        return through(door, eager, want, "ops", stage, reason(error))  # a failed check, but one that says whether it computes the same
    return {"off": off, "dispatches": count, "level": level, "why": why}, call, only


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

    def stage(what):
        send(("stage", what))
    stage("model")
    warnings.simplefilter("ignore")
    gc.disable()  # tracing makes millions of objects that stay
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
    stage("eager")
    # of the same weights in f32
    exact = Eager(typed(copy.deepcopy(model).cpu(), "f32"), calls)
    want = exact.outputs()
    spread = want.std().item()
    eager = exact if dtype == "f32" else Eager(copy.deepcopy(model).cpu(), calls)
    other = Eager(model, calls, "cuda") if cuda else None
    del exact, model
    own = (other or eager).outputs().sub(want).abs().max().item() if dtype == "f16" else None
    send(("begins", {"spread": spread, "limit": 1e-4 * spread if own is None else own, "finite": bool(want.isfinite().all())}))
    doors = {}
    for door in o.doors:
        send(("door", door))
        stage(f"{door}: load")
        try:
            found, *doors[door] = through(door, eager, want, o.level, stage)
            send(("found", found))
        except Exception as why:  # any library's: the next door may be open
            send(("failed", reason(why)))
    gc.enable()
    gc.collect()
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
    """A model of one type: its process, and what it said so far. Its clock stands still when it does."""

    def __init__(self, name, dtype):
        self.name, self.dtype, self.process, self.door, self.stage = name, dtype, None, None, None
        self.base, self.found, self.failed, self.results, self.ended, self.took = None, {}, {}, [], None, {}
        self.stood, self.still_since = 0, None
        self.gigabytes = 2 + GIGA_PARAMETERS[name] * (16 if dtype == "f32" else 10)  # in copies, some of them short-lived

    def __str__(self):
        return f"{self.name} {self.dtype}"

    def start(self, o):
        self.until = time.perf_counter() + o.each
        self.process = OwnProcess(work, self.name, self.dtype, o)

    def clock(self):
        return (self.still_since or time.perf_counter()) - self.process.began - self.stood

    def stand_still(self, on):
        self.process.pause(on)
        now = time.perf_counter()
        if on:
            self.still_since = now
            return
        self.stood += now - self.still_since
        self.until += now - self.still_since
        self.still_since = None

    def next_stage(self, what):
        if self.stage:
            self.took[self.stage[0]] = round(self.took.get(self.stage[0], 0) + self.clock() - self.stage[1], 1)
        self.stage = what and (what, self.clock())

    def hear(self, until, last):
        """Takes what it sends next; True if that is the last."""
        try:
            what, value = self.process.receive(until)
        except LeftOut as why:
            self.give_up(str(why))
            return True
        if what == "stage":
            self.next_stage(value)
        elif what == "begins":
            self.base = value
        elif what == "door":
            self.door, self.door_began = value, self.clock()
        elif what == "found":
            self.found[self.door] = value | {"set_up_s": round(self.clock() - self.door_began, 1)}
            self.door = None
        elif what == "failed":
            self.failed[self.door], self.door = value, None
        elif isinstance(what, tuple):
            self.results.append(result_of(self, *what, value))
        if what == last:
            self.next_stage(None)
        return what == last

    def give_up(self, why):
        """Why it has no more results: as what it was at."""
        self.ended = why + (f", at {self.stage[0]}" if self.stage else "")
        if self.process:
            self.next_stage(None)
            self.process.end()
        if self.door:
            self.failed[self.door] = self.ended


def go_through(jobs, o, until, done):
    """All of them: several are set up at once; what is ready is timed while the others stand still. done(job) after each."""
    waiting, running, memory = list(jobs), [], 0.9 * memory_left()
    while waiting or running:
        while waiting and len(running) < o.parallel and (not running or sum(job.gigabytes for job in (*running, waiting[0])) <= memory):
            running.append(waiting.pop(0))
            running[-1].start(o)
        first = min(min(job.until for job in running), until)
        heard = multiprocessing.connection.wait([job.process.pipe for job in running], max(first - time.perf_counter(), 0))
        for job in list(running):
            late = time.perf_counter() >= min(job.until, until)
            if (job.process.pipe in heard or late) and job.hear(min(job.until, until), "ready"):
                running.remove(job)
                say(f"{job}: {job.ended or 'set up'}, after {time.perf_counter() - job.process.began - job.stood:.1f} s: "
                    + ", ".join(f"{stage} {took}" for stage, took in job.took.items()))
                if not job.ended:
                    alone(job, running, o, until)
                done(job)
        if time.perf_counter() >= until:
            for job in waiting:
                job.give_up("no time was left")
                done(job)
            waiting = []


def alone(job, others, o, until):
    """Times it."""
    for other in others:
        other.stand_still(True)
    time.sleep(0.1)  # what the others gave to the GPU is done
    job.process.ask("go on")
    while not job.hear(min(until + 10, time.perf_counter() + 30 + 20 * o.sample), "timed"):
        pass
    job.process.end()
    for other in others:
        other.stand_still(False)


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


def result_of(job, name, impl, door, samples):
    more = {key: value for key, value in job.found.get(door, {}).items() if value != ""}
    params = {"impl": impl, "model": job.name, "dtype": job.dtype, "door": door, "variant": f"{job} {door}".strip(), **more}
    return record.result(name, params, "ms", samples)


def line(job, o):
    """Of the table."""
    ms = {(made["name"], made["params"]["impl"], made["params"]["door"]): made["median"] for made in job.results}
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
    p.add_argument("--parallel", type=int, default=max(1, min(12, os.cpu_count() * 3 // 4)), help="that are set up at once: most of it takes one core")
    p.add_argument("--seconds", type=float, default=300)
    p.add_argument("--each", type=float, default=200, help="seconds to set one up")
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
    jobs, done = [Job(name, dtype) for name in names for dtype in dtypes], []
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    gpu = {"impl": "dawn", "impl_version": "", "backend": "", "vendor": "", "device": "", "driver": "", "adapter_type": "", "features": {}, "limits": {}}
    raise_when_terminated()
    gc.freeze()

    def ended(job):
        print(line(job, o), flush=True)
        done.append(job)
        write(o, versions, gpu, jobs, done)

    try:
        asked = OwnProcess(device)
        gpu["device"] = asked.receive(time.perf_counter() + 20)
    except LeftOut as why:
        gpu["device"] = str(why)
    try:
        asked.end()
        go_through(jobs, o, STARTED + o.seconds - 3, ended)
    except Terminated as why:
        OwnProcess.end_all()
        for job in jobs:
            if job not in done:
                job.give_up(str(why))
        done = jobs
    finally:
        OwnProcess.end_all()
    checks = write(o, versions, gpu, jobs, done)
    bad = sum(not check["ok"] for check in checks)
    say(f"{len(checks) - bad} of {len(checks)} checks hold")
    sys.exit(bad > 0)


def write(o, versions, gpu, jobs, done):
    """The record of what is done; returns its checks."""
    checks = [check for job in jobs if job in done for check in checks_of(job, o)]
    skipped = [{"what": str(job), "why": (job.ended or "not done yet")[:300]} for job in jobs if job.ended or job not in done]
    params = {"level": o.level, "small": o.small, "parallel": o.parallel, **versions, "prompt": len(PROMPT), "context": CONTEXT,
              "seconds": round(time.perf_counter() - STARTED, 1), "stages_s": {str(job): job.took for job in done}}
    made = record.record("torch_models", gpu, params, [result for job in done for result in job.results], checks, skipped=skipped)
    if o.json or len(done) == len(jobs):
        record.write(o.json or "-", made)
    return checks


def device(send, receive):
    """In a process of its own, for a driver may hang, and minds being forked."""
    import solo
    try:
        with solo.Device(own_kernels=True) as opened:
            send(opened.name)
    except solo.Error as why:
        send(str(why))


if __name__ == "__main__":
    main()
