#!/usr/bin/env python3
"""Measures simulations as a framework runs them: the same work as Solo's acrobot, finance and rastrigin (bench/sim_models.py).

    python3 bench/sim.py SIM [--engines LIST] [--pop N] [--steps N] [-r 5] [--seconds 240] [--each 10] [--device cuda|cpu]
                            [--solo build/solo] [--json FILE]
    python3 bench/sim.py SIM --compile-whole STEPS [--seconds 240] [--json FILE]

    numpy          arrays on the CPU
    torch          PyTorch eager: operators one by one, no waiting before the end
    compile-step   torch.compile of a step, called for each
    compile-graph  the same with mode reduce-overhead, which makes CUDA graphs of it
    jax            jax.lax.scan over the steps of jax.vmap over individuals, jitted as a whole

Every engine begins with the same states, genes and prices as Solo, in single precision. What is measured is checked first: states after some
steps, before rounding parts them, against NumPy in double precision (Solo's, too, and on a GPU those of the CUDA control), and after all steps the
mean score, among the engines. Runs are interleaved in random order, one at a time; compiling and the first run are timed apart.

Each engine is a process of its own, which is ended if it hangs: what does not fit into --seconds, computes something else or does not work is left
out, and the record says so, as it does of Solo and the CUDA control. With enough cores they all get ready at once. An engine's samples take --each seconds at most, but for the first of them;
where a run of NumPy's takes longer than that, its first run is its sample.

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
from own_process import LeftOut, OwnProcess, reason  # noqa: E402

# a GPU that has little to do lowers its clocks: runs of less than this are repeated for a while before one is timed, as by `solo bench sim`
SHORT_SECONDS, AWAKE_SECONDS = 0.02, 0.03
STARTED = time.perf_counter()
# few enough that functions of five digits, which WGSL allows, change the decisions of one in a hundred at most
CHECKED_STEPS, ALIKE = {"acrobot": 15, "finance": 20, "rastrigin": 1}, 0.95
CHECKED_INDIVIDUALS = 1024  # none knows of the others, so that the first of them say enough
CORES_EACH = 3              # with so many for every engine they do not hold each other up when they compile


def say(text):
    print(f"{time.perf_counter() - STARTED:7.1f} s  {text}", file=sys.stderr, flush=True)


class Numpy:
    compiles = False

    def __init__(self, model, start, weights, data, device):
        self.model, self.start, self.weights, self.data = model, start, weights, data

    def run(self, steps):
        return sim_models.run_steps(self.model, dict(self.start), self.weights, self.data, steps)

    def read(self, value):
        return np.asarray(value)

    wait = staticmethod(lambda value: None)


class Torch:
    mode, compiles = None, True

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
    compiles = True

    def __init__(self, model, start, weights, data, device):
        import jax
        import jax.numpy as jnp
        # or products of matrices would have the 10 bits of TF32 on a GPU, where all others have 23
        jax.config.update("jax_default_matmul_precision", "highest")
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
                           "-o", "-", *more, *options], check=True, capture_output=True, text=True, timeout=60).stdout
    names, *rows = csv.reader(text.splitlines())
    table = np.array(rows, float)
    of = {name: table[:, k] for k, name in enumerate(names)}
    members = {key: sim_models.column_names(key, values, of) for key, values in model.start(1, 0).items()}
    return {key: of[columns[0]] if columns == [key] else np.stack([of[c] for c in columns], 1) for key, columns in members.items()}


def share_alike(state, wanted):
    """How many individuals are within 0.2% of what double precision says, everywhere."""
    off = []
    for key, values in wanted.items():
        theirs, ours = np.asarray(state[key])[:len(values)].astype(float), values.astype(float)
        difference = np.abs(theirs - ours) / np.maximum(np.abs(ours), 1.0)
        off.append(difference.reshape(len(difference), -1).max(1))
    return float(np.mean(np.max(off, 0) < 2e-3))


# ---- the libraries, and what they run on ----------------------------------------------------------


def where(device):
    """The libraries that are loaded here, and what they run on."""
    versions = {name: sys.modules[name].__version__ for name in ("numpy", "torch", "jax") if sys.modules.get(name)}
    torch = sys.modules.get("torch")
    return {"versions": versions, "device": torch.cuda.get_device_name() if torch and device == "cuda" else ""}


def gpu_facts(device, places):
    return {"impl": "frameworks", "backend": device, "device": max([p["device"] for p in places], default="") or "CPU", "driver": "",
            "versions": {name: version for p in places for name, version in p["versions"].items()}}


# ---- all steps as one function ------------------------------------------------------------------


def whole_apart(send, receive, model, start, weights, data, device, steps):
    import torch
    engine = Torch(model, start, weights, data, device)

    def whole(s):
        for t in range(steps):
            s = model.step(torch, s, t, engine.weights, model.rows(engine.data, t))
        return model.score(torch, s)

    table = engine.data
    if table is not None and steps > len(table) - 21:  # longer than the prices: they begin again
        engine.data = table.repeat(1 + steps // (len(table) - 21), 1)
    send(where(device))
    began = time.perf_counter()
    compiled = torch.compile(whole)
    with torch.no_grad():
        score = compiled(engine.start)
    engine.wait(score)
    first = time.perf_counter() - began
    began = time.perf_counter()
    with torch.no_grad():
        engine.wait(compiled(engine.start))
    send((first, time.perf_counter() - began, engine.read(score)))
    send(engine.read(engine.run(steps)[1]))


def compile_whole(arguments, model, start, weights, data):
    """All steps in one function for torch.compile: the time until the first result, or what went wrong."""
    steps, places, why, then = arguments.compile_whole, [], "", None
    apart = OwnProcess(whole_apart, model, start, weights, data, arguments.device, steps)
    try:
        places.append(apart.receive(STARTED + arguments.seconds))
        began = apart.began = time.perf_counter()
        first, then, ours = apart.receive(STARTED + arguments.seconds)
    except LeftOut as late:
        if not places:
            raise SystemExit(f"nothing to measure: {late}")
        first, why = time.perf_counter() - began, str(late)
    checks = [record.check("torch.compile of all steps ran", not why, why)]
    say(f"torch.compile of {steps} steps: {'failed, ' + why if why else 'ran'} after {first:.1f} s")
    if not why:  # what it computed, beside operators one by one
        theirs = apart.receive(time.perf_counter() + arguments.seconds)
        bound = 4 * (ours.std() + theirs.std()) / len(ours) ** 0.5 + 1e-3 * abs(theirs.mean())
        checks.append(record.check("its mean score is that of PyTorch eager", abs(ours.mean() - theirs.mean()) <= bound,
                                   f"{ours.mean():.6g} beside {theirs.mean():.6g}, bound {bound:.2g}"))
        if not checks[-1]["ok"]:
            raise SystemExit(f"torch.compile of {steps} steps computes something else: {checks[-1]['detail']}")
    params = {"sim": model.name, "engine": "compile-whole", "population": arguments.pop, "steps": steps}
    results = [record.result(model.name, params, "s", [first], what="until the first result", failed=why, then_seconds=then)]
    record.write(arguments.json, record.record("sim", gpu_facts(arguments.device, places), params, results, checks))


# ---- all engines, one run after the other ---------------------------------------------------------


def engine_apart(send, receive, make, model, start, weights, data, device, checked, steps):
    """Sends where it runs, states after some steps, how long those take, the first run of all; then a run whenever it is asked for one."""
    engine = make(model, start, weights, data, device)
    send(where(device))

    def timed(steps):
        began = time.perf_counter()
        state, score = engine.run(steps)
        engine.wait(score)
        return time.perf_counter() - began, state, score

    _, state, _ = timed(checked)
    send({key: np.asarray(engine.read(value))[:CHECKED_INDIVIDUALS] for key, value in state.items()})
    send(timed(checked)[0])
    receive()
    seconds, _, score = timed(steps)
    scores = engine.read(score).astype(float)
    send((seconds, float(scores.mean()), float(scores.std() / len(scores) ** 0.5)))
    while receive():
        awake = time.perf_counter() + AWAKE_SECONDS
        while device == "cuda" and seconds < SHORT_SECONDS and time.perf_counter() < awake:
            timed(steps)
        seconds = timed(steps)[0]
        send(seconds)


def check_states(checks, name, steps, state, wanted):
    alike = share_alike(state, wanted)
    detail = f"{100 * alike:.1f}% of individuals within 0.2%"
    checks.append(record.check(f"{name}: states after {steps} steps are those of NumPy in double precision", alike >= ALIKE, detail))
    say(checks[-1]["what"] + ": " + checks[-1]["detail"])
    if alike < ALIKE:
        raise LeftOut(f"computes something else: {detail}")


class Bench:
    """The engines that are still in it, and what was found out."""

    def __init__(self, arguments, model, start, weights, data):
        self.arguments, self.model = arguments, model
        self.checked = min(CHECKED_STEPS[model.name], arguments.steps)
        self.checks, self.left_out, self.places = [], [], []
        self.engines, self.firsts, self.means = {}, {}, {}
        self.given = start, weights, data
        self.names = [n for n in arguments.engines.split(",") if n]

    def leave_out(self, name, why):
        self.left_out.append(f"{name} ({why})")
        say(f"left out: {self.left_out[-1]}")
        if name in self.engines:
            self.engines.pop(name).end()

    def right_of(self, steps):
        """States in double precision of a run of so many steps: a strategy may see how far it is."""
        wide = lambda tree: {k: v[:CHECKED_INDIVIDUALS].astype(np.float64) if v.dtype == np.float32 else v[:CHECKED_INDIVIDUALS] for k, v in tree.items()}  # noqa: E731
        model, (start, weights, data) = self.model, self.given
        model.steps = steps
        right, _ = Numpy(model, wide(start), wide(weights), None if data is None else data.astype(np.float64), "").run(self.checked)
        model.steps = self.arguments.steps
        return right

    def begin(self, name):
        start, weights, data = self.given
        self.engines[name] = OwnProcess(engine_apart, ENGINES[name], self.model, start, weights, data, self.arguments.device, self.checked, self.arguments.steps)

    def check_solo(self):
        """What frameworks are held against later is checked in the same way."""
        options = {"Solo": ["--adapter", "gpu"], "CUDA by hand": ["--impl", "cuda", "--fuse", "loop"]} if self.arguments.device == "cuda" else {"Solo": []}
        right = self.right_of(self.checked)
        for name, more in options.items():
            try:
                check_states(self.checks, name, self.checked, solo_states(self.arguments, self.model, self.checked, *more), right)
            except LeftOut as why:
                self.leave_out(name, why)
            except (OSError, subprocess.SubprocessError) as error:
                self.leave_out(name, reason(error))

    def get_ready(self, name, right, until):
        """Checks its states, makes the first run."""
        engine, arguments = self.engines[name], self.arguments
        place = engine.receive(until)
        check_states(self.checks, name, self.checked, engine.receive(until), right)
        wanted = engine.receive(until) * arguments.steps / self.checked
        if wanted > until - time.perf_counter():
            raise LeftOut(f"about {wanted:.0f} s for all steps, more than there are")
        engine.ask(True)
        self.firsts[name], *self.means[name] = engine.receive(until)
        self.places.append(place)
        say(f"{name}: {self.firsts[name]:.3f} s the first time, mean score {self.means[name][0]:.6g}")

    def compare_means(self):
        """With the middle one of them: who is far from it computes something else."""
        middle = sorted(self.means, key=lambda name: self.means[name][0])[(len(self.means) - 1) // 2]
        mean, error = self.means[middle]
        for name, (other, other_error) in self.means.items():
            bound = 4 * (error + other_error) + 1e-3 * abs(mean)
            detail = f"{other:.6g} beside {mean:.6g}, bound {bound:.2g}"
            self.checks.append(record.check(f"{name}: the mean score after all steps is that of {middle}", abs(other - mean) <= bound, detail))
            if not self.checks[-1]["ok"]:
                self.leave_out(name, f"computes something else: mean score {detail}")

    def sample(self):
        samples, draw, until = {name: [] for name in self.engines}, random.Random(1), STARTED + self.arguments.seconds
        for _ in range(self.arguments.repetitions):
            for name in draw.sample(sorted(self.engines), len(self.engines)):
                if name not in self.engines:
                    continue
                spent, next_one = sum(samples[name]), (samples[name] or [self.firsts[name]])[-1]
                if time.perf_counter() + next_one > until or (samples[name] and spent + next_one > self.arguments.each):
                    continue
                if next_one > self.arguments.each and not ENGINES[name].compiles:
                    continue
                try:
                    self.engines[name].ask(True)
                    samples[name].append(self.engines[name].receive(until + 5))
                except (LeftOut, OSError) as why:
                    self.leave_out(name, why)
        for name in self.engines:
            if not samples[name] and not ENGINES[name].compiles:
                samples[name].append(self.firsts[name])
        return {name: samples[name] for name in self.engines}


def measure(arguments, model, start, weights, data):
    bench, results = Bench(arguments, model, start, weights, data), []
    at_once = arguments.at_once or max(1, (os.cpu_count() or 1) // CORES_EACH)
    ready_by = STARTED + 0.75 * arguments.seconds
    for name in bench.names[:at_once]:
        bench.begin(name)
    bench.check_solo()
    right = bench.right_of(arguments.steps)
    for k, name in enumerate(bench.names):
        if time.perf_counter() > ready_by:
            bench.leave_out(name, "no time was left")
        else:
            try:
                bench.get_ready(name, right, ready_by)
            except (LeftOut, OSError) as why:
                bench.leave_out(name, why)
        if k + at_once < len(bench.names):
            bench.begin(bench.names[k + at_once])
    if bench.means:
        bench.compare_means()
    if not bench.engines:
        raise SystemExit("nothing to measure: " + ", ".join(bench.left_out))
    for name, seconds in bench.sample().items():
        if not seconds:
            bench.leave_out(name, "no time was left")
            continue
        params = {"sim": model.name, "engine": name, "population": arguments.pop, "steps": arguments.steps}
        results.append(record.result(model.name, params, "gen/s", [1 / s for s in seconds], first_seconds=bench.firsts[name], mean_score=bench.means[name][0]))
        say(f"{name}: {results[-1]['median']:.4g} populations a second")
    params = {"sim": model.name, "population": arguments.pop, "steps": arguments.steps, "left_out": bench.left_out}
    record.write(arguments.json, record.record("sim", gpu_facts(arguments.device, bench.places), params, results, bench.checks))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("sim", choices=sorted(sim_models.MODELS))
    parser.add_argument("--engines", default="torch,compile-step,jax,numpy")
    parser.add_argument("--pop", type=int, default=0)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("-r", dest="repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--each", type=float, default=10)
    parser.add_argument("--at-once", type=int, default=0, help="engines that get ready at the same time (0: as cores allow)")
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
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("given up"))
    try:
        (compile_whole if arguments.compile_whole else measure)(arguments, model, start, weights, data)
    finally:
        OwnProcess.end_all()


if __name__ == "__main__":
    main()
