#!/usr/bin/env python3
"""Measures simulations as a framework runs them: the same work as Solo's acrobot, finance and rastrigin (bench/sim_models.py).

    python3 bench/sim.py SIM [--engines LIST] [--pop N] [--steps N] [-r 5] [--seconds 240] [--device cuda|cpu] [--solo build/solo] [--json FILE]
    python3 bench/sim.py SIM --compile-whole STEPS [--seconds 240] [--json FILE]

    numpy          arrays on the CPU
    torch          PyTorch eager: operators one by one, no waiting before the end
    compile-step   torch.compile of a step, called for each
    compile-graph  the same with mode reduce-overhead, which makes CUDA graphs of it
    jax            jax.lax.scan over the steps of jax.vmap over individuals, jitted as a whole

Every engine begins with the same states, genes and prices as Solo, in single precision. What is measured is checked first: states after some
steps, before rounding parts them, against NumPy in double precision (Solo's, too, and on a GPU those of the CUDA control), and after all steps the
mean score, among the engines. Runs are interleaved in random order; compiling and the first run are timed apart. What does not fit into --seconds, or
does not work, is left out, and the record says so.

--compile-whole unrolls so many steps into one function and gives it to torch.compile: what happens, and how long it takes, is the result.
"""
import argparse
import csv
import os
import random
import signal
import subprocess
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import numpy as np  # noqa: E402

import record  # noqa: E402
import sim_models  # noqa: E402

STARTED = time.perf_counter()
CHECKED_STEPS = {"acrobot": 15, "finance": 100, "rastrigin": 1}


def say(text):
    print(f"{time.perf_counter() - STARTED:7.1f} s  {text}", file=sys.stderr, flush=True)


class Numpy:
    def __init__(self, model, start, weights, data, device):
        self.model, self.start, self.weights, self.data = model, start, weights, data

    def run(self, steps):
        return sim_models.run_steps(self.model, dict(self.start), self.weights, self.data, steps)

    def read(self, value):
        return np.asarray(value)

    wait = staticmethod(lambda value: None)


class Torch:
    mode = None

    def __init__(self, model, start, weights, data, device):
        import torch
        self.torch, self.model, self.device = torch, model, device
        self.start = {k: torch.tensor(v, device=device) for k, v in start.items()}
        self.weights = {k: torch.tensor(np.ascontiguousarray(v), device=device) for k, v in weights.items()}
        self.data = None if data is None else torch.tensor(data, device=device)
        # which step it is is a tensor, or every step would be compiled anew
        self.times = torch.arange(100000, device=device)
        self.step = self.one_step
        if self.mode is not None:
            self.step = torch.compile(self.one_step, mode=self.mode)

    def one_step(self, s, t, rows):
        return self.model.step(self.torch, s, t, self.weights, rows)

    def run(self, steps):
        with self.torch.no_grad():
            s = self.start
            for t in range(steps):
                if self.mode == "reduce-overhead":
                    self.torch.compiler.cudagraph_mark_step_begin()
                    s = {k: v.clone() for k, v in s.items()}
                s = self.step(s, self.times[t], self.model.rows(self.data, t))
            return s, self.model.score(self.torch, s)

    def read(self, value):
        return value.cpu().numpy()

    def wait(self, value):
        if self.device == "cuda":
            self.torch.cuda.synchronize()


class CompileStep(Torch):
    mode = "default"


class CompileGraph(Torch):
    mode = "reduce-overhead"


class Jax:
    def __init__(self, model, start, weights, data, device):
        import jax
        import jax.numpy as jnp
        place = jax.devices("gpu" if device == "cuda" else "cpu")[0]
        put = lambda tree: jax.device_put(tree, place)  # noqa: E731
        self.jax, self.start, self.weights = jax, put(start), put(weights)
        self.data = None if data is None else put(data)

        def one(s, t, w, rows):  # an individual: a population of one
            s, w = ({k: v[None] for k, v in tree.items()} for tree in (s, w))
            return {k: v[0] for k, v in model.step(jnp, s, t, w, rows).items()}

        def every(s, w, table, steps):
            each = jax.vmap(one, in_axes=(0, None, 0, None))
            s, _ = jax.lax.scan(lambda s, t: (each(s, t, w, model.rows(table, t)), None), s, jnp.arange(steps))
            return s, model.score(jnp, s)

        self.every = jax.jit(every, static_argnums=3)

    def run(self, steps):
        return self.every(self.start, self.weights, self.data, steps)

    def read(self, value):
        return np.asarray(value)

    def wait(self, value):
        self.jax.block_until_ready(value)


ENGINES = {"numpy": Numpy, "torch": Torch, "compile-step": CompileStep, "compile-graph": CompileGraph, "jax": Jax}


def prices(solo):
    text = subprocess.run([solo, "sim", "finance", "--show-data"], check=True, capture_output=True, text=True).stdout
    return np.array([[float(v) for v in line.split(",")] for line in text.split()], np.float32)


def solo_states(arguments, model, steps, *options):
    """The states that Solo ends in, by member."""
    more = ["--param", f"DIMENSIONS={model.genes}"] if model.name == "rastrigin" else []
    text = subprocess.run([arguments.solo, "sim", model.name, "--pop", str(arguments.pop), "--steps", str(steps), "--seed", str(arguments.seed),
                           "-o", "-", *more, *options], check=True, capture_output=True, text=True).stdout
    names, *rows = csv.reader(text.splitlines())
    table = np.array(rows, float)
    of = {name: table[:, k] for k, name in enumerate(names)}
    members = {key: sim_models.column_names(key, values, of) for key, values in model.start(1, 0).items()}
    return {key: of[columns[0]] if columns == [key] else np.stack([of[c] for c in columns], 1) for key, columns in members.items()}


def share_alike(read, state, wanted):
    """How many individuals are within 0.2% of what double precision says, everywhere."""
    off = []
    for key, values in wanted.items():
        theirs, ours = np.asarray(read(state[key])).astype(float), values.astype(float)
        difference = np.abs(theirs - ours) / np.maximum(np.abs(ours), 1.0)
        off.append(difference.reshape(len(difference), -1).max(1))
    return float(np.mean(np.max(off, 0) < 2e-3))


def gpu_facts(device):
    facts = {"impl": "frameworks", "backend": device, "device": "CPU", "driver": "", "versions": {}}
    for name in ("numpy", "torch", "jax"):
        module = sys.modules.get(name)
        if module:
            facts["versions"][name] = module.__version__
    torch = sys.modules.get("torch")
    if torch and device == "cuda":
        facts["device"] = torch.cuda.get_device_name()
    return facts


def compile_whole(arguments, model, start, weights, data):
    """All steps in one function for torch.compile: the time until the first result, or what went wrong."""
    import torch
    device, steps = arguments.device, arguments.compile_whole
    engine = Torch(model, start, weights, data, device)

    def whole(s):
        for t in range(steps):
            s = model.step(torch, s, t, engine.weights, model.rows(engine.data, t))
        return model.score(torch, s)

    table = engine.data
    if table is not None and steps > len(table) - 21:  # longer than the prices: they begin again
        engine.data = table.repeat(1 + steps // (len(table) - 21), 1)

    late = []  # the compiler may catch what is thrown into it and tell something else

    def too_long(*_):
        late.append(f"not ready after {arguments.seconds:.0f} s")
        raise TimeoutError(late[0])

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(int(arguments.seconds))
    began, why, seconds = time.perf_counter(), "", None
    try:
        with torch.no_grad():
            score = torch.compile(whole)(engine.start)
        engine.wait(score)
        first = time.perf_counter() - began
        began = time.perf_counter()
        with torch.no_grad():
            engine.wait(torch.compile(whole)(engine.start))
        seconds = time.perf_counter() - began
    except Exception as error:  # whatever a compiler may throw is the result
        first, why = time.perf_counter() - began, f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
    signal.alarm(0)
    why = late[0] if late else why
    checks = [record.check("torch.compile of all steps ran", not why, why)]
    say(f"torch.compile of {steps} steps: {'failed, ' + why if why else 'ran'} after {first:.1f} s")
    if not why:  # what it computed, beside operators one by one
        ours, theirs = engine.read(score), engine.read(engine.run(steps)[1])
        bound = 4 * (ours.std() + theirs.std()) / len(ours) ** 0.5 + 1e-3 * abs(theirs.mean())
        checks.append(record.check("its mean score is that of PyTorch eager", abs(ours.mean() - theirs.mean()) <= bound,
                                   f"{ours.mean():.6g} beside {theirs.mean():.6g}, bound {bound:.2g}"))
        if not checks[-1]["ok"]:
            raise SystemExit(f"torch.compile of {steps} steps computes something else: {checks[-1]['detail']}")
    params = {"sim": model.name, "engine": "compile-whole", "population": arguments.pop, "steps": steps}
    results = [record.result(model.name, params, "s", [first], what="until the first result", failed=why, then_seconds=seconds)]
    record.write(arguments.json, record.record("sim", gpu_facts(device), params, results, checks))


def check_states(checks, name, steps, alike):
    checks.append(record.check(f"{name}: states after {steps} steps are those of NumPy in double precision", alike >= 0.97,
                               f"{100 * alike:.1f}% of individuals within 0.2%"))
    say(checks[-1]["what"] + ": " + checks[-1]["detail"])
    if alike < 0.97:
        raise SystemExit(f"{name} computes something else; nothing is timed")


def time_left(arguments):
    return arguments.seconds - (time.perf_counter() - STARTED)


def reason(error):
    """In one line."""
    text = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:200]}" if text else type(error).__name__


def measure(arguments, model, start, weights, data):
    checks, results, engines, left_out = [], [], {}, []
    checked = min(CHECKED_STEPS[model.name], arguments.steps)
    wide = lambda tree: {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in tree.items()}  # noqa: E731

    def right_of(steps):  # of a run of so many steps: a strategy may see how far it is
        model.steps = steps
        right, _ = Numpy(model, wide(start), wide(weights), None if data is None else data.astype(np.float64), "").run(checked)
        model.steps = arguments.steps
        return right

    # what frameworks are held against later is checked in the same way
    solo = {"Solo": ["--adapter", "gpu"], "CUDA by hand": ["--impl", "cuda", "--fuse", "loop"]} if arguments.device == "cuda" else {"Solo": []}
    right = right_of(checked)
    for name, options in solo.items():
        try:
            states = solo_states(arguments, model, checked, *options)
        except (OSError, subprocess.CalledProcessError) as error:
            left_out.append(f"{name} ({reason(error)})")
            say(f"left out: {left_out[-1]}")
            continue
        check_states(checks, name, checked, share_alike(np.asarray, states, right))
    right = right_of(arguments.steps)
    means, firsts = {}, {}
    for name in arguments.engines.split(","):
        if time_left(arguments) < 0:
            left_out.append(f"{name} (no time was left)")
            continue
        try:
            engine = ENGINES[name](model, start, weights, data, arguments.device)
            state, _ = engine.run(checked)
            alike = share_alike(engine.read, state, right)
            check_states(checks, name, checked, alike)
            began = time.perf_counter()
            engine.wait(engine.run(checked)[1])
            wanted = (time.perf_counter() - began) * arguments.steps / checked
            if wanted > time_left(arguments):
                left_out.append(f"{name} (about {wanted:.0f} s for all steps, more than there are)")
                continue
            began = time.perf_counter()
            _, score = engine.run(arguments.steps)
            engine.wait(score)
            firsts[name] = time.perf_counter() - began
            scores = engine.read(score)
            means[name] = (float(scores.mean()), float(scores.std() / len(scores) ** 0.5))
        except Exception as error:  # one that is not there, or does not work, is no reason to measure none
            left_out.append(f"{name} ({reason(error)})")
            say(f"left out: {left_out[-1]}")
            continue
        engines[name] = engine
        say(f"{name}: {firsts[name]:.3f} s the first time, mean score {means[name][0]:.6g}")
    if not engines:
        raise SystemExit("nothing to measure: " + ", ".join(left_out))
    mean, error = next(iter(means.values()))
    for name, (other, other_error) in means.items():
        bound = 4 * (error + other_error) + 1e-3 * abs(mean)
        checks.append(record.check(f"{name}: the mean score after all steps is that of {next(iter(means))}", abs(other - mean) <= bound,
                                   f"{other:.6g} beside {mean:.6g}, bound {bound:.2g}"))
    if not all(c["ok"] for c in checks):
        raise SystemExit("\n".join(f"{c['what']}: no ({c['detail']})" for c in checks if not c["ok"]))
    samples = {name: [] for name in engines}
    draw = random.Random(1)
    for k in range(arguments.repetitions):
        for name in draw.sample(sorted(engines), len(engines)):
            if (1 / samples[name][-1] if samples[name] else firsts[name]) > time_left(arguments):
                continue
            engine = engines[name]
            began = time.perf_counter()
            _, score = engine.run(arguments.steps)
            engine.wait(score)
            samples[name].append(1 / (time.perf_counter() - began))
    for name, rates in samples.items():
        if not rates:
            left_out.append(f"{name} (no time was left)")
            continue
        params = {"sim": model.name, "engine": name, "population": arguments.pop, "steps": arguments.steps}
        results.append(record.result(model.name, params, "gen/s", rates, first_seconds=firsts[name], mean_score=means[name][0]))
        say(f"{name}: {results[-1]['median']:.4g} populations a second")
    params = {"sim": model.name, "population": arguments.pop, "steps": arguments.steps, "left_out": left_out}
    record.write(arguments.json, record.record("sim", gpu_facts(arguments.device), params, results, checks))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("sim", choices=sorted(sim_models.MODELS))
    parser.add_argument("--engines", default="torch,compile-step,jax,numpy")
    parser.add_argument("--pop", type=int, default=0)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("-r", dest="repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--solo", default="build/solo")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compile-whole", type=int, default=0, metavar="STEPS")
    parser.add_argument("--json", default="-")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.engines.split(",") if name not in ENGINES]
    if unknown:
        parser.error(f"there is no engine {unknown[0]}; there are {', '.join(ENGINES)}")
    model = sim_models.MODELS[arguments.sim]
    arguments.pop = arguments.pop or model.population
    arguments.steps = arguments.steps or model.steps
    model.steps = arguments.steps
    start = model.start(arguments.pop, arguments.seed)
    weights = model.weights(sim_models.drawn_genomes(arguments.pop, model.genes, arguments.seed, model.low, model.high))
    weights = {k: np.ascontiguousarray(v) for k, v in weights.items()}
    data = prices(arguments.solo) if model.name == "finance" else None
    (compile_whole if arguments.compile_whole else measure)(arguments, model, start, weights, data)


if __name__ == "__main__":
    main()
