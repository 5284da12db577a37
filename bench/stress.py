#!/usr/bin/env python3
"""One dispatch under stress: whatever happens beside it, its tokens and numbers are those of separate dispatches.

    python3 bench/stress.py [--solo FILE] [--model MODEL] [--tokens N] [--only NAME,..]

On a GPU: --tokens 1000000, and a MODEL that is larger than the built-in one. Each part compares with `--fuse ops` (for
simulations with `--fuse none`) byte by byte; tokens are drawn at random by a seed, so that one that differs changes all after it.

    tokens   so many tokens at the level loop, in texts of --length tokens, each by another seed
    sims     built-in simulations at the level loop: states and scores
    two      two Solo at once on one device: two models, a model and a simulation
    stalls   a workgroup that does not arrive, at the first --barriers barriers of tokens in turn (SOLO_ONE_STALL); the same for
             simulations. Each has to time out, and a run without a stall must not
    shrinks  processors are taken away from a run (software), and other processes come to the GPU and go, in the middle
    killed   another Solo is killed in the middle of its dispatches, again and again

Prints a line for each part; exit status 1 if anything differed. A time-out that is told as a notice is no failure: it is what
has to happen when workgroups are not resident. How many there were is printed.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import time

parser = argparse.ArgumentParser(description="One dispatch under stress.")
parser.add_argument("--solo", default="build/solo")
parser.add_argument("--model", default="", help="instead of the built-in one")
parser.add_argument("--tokens", type=int, default=2000)
parser.add_argument("--length", type=int, default=500, help="tokens of a text")
parser.add_argument("--barriers", type=int, default=24, help="of how many barriers one is left out in turn")
parser.add_argument("--looks", default="200000", help="of stalls: a workgroup polls so often before it times out; software needs 20000000")
parser.add_argument("--rounds", type=int, default=3, help="of shrinks and killed")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--groups", default="", help="workgroups, whether they are resident or not (SOLO_ONE_GROUPS); software needs 2 to have barriers")
parser.add_argument("--only", default="tokens,sims,two,stalls,shrinks,killed")
options = parser.parse_args()

TIME_OUT = b"timed out"
SIMS = [["nbody", "--pop", "512", "--steps", "20"], ["epidemic", "--pop", "1024", "--steps", "50"], ["pi", "--pop", "4096", "--steps", "200"]]
draw = random.Random(options.seed)
wrong = []
notices = 0


def start(arguments, environment=None, quiet=False):
    where = subprocess.DEVNULL if quiet else subprocess.PIPE
    return subprocess.Popen([options.solo, *arguments], stdin=subprocess.DEVNULL, stdout=where, stderr=where,
                            env={**os.environ, **({"SOLO_ONE_GROUPS": options.groups} if options.groups else {}), **(environment or {})})


def result(process, what):
    """What it printed; one that failed is wrong."""
    global notices
    out, errors = process.communicate()
    notices += TIME_OUT in errors
    if process.returncode:
        wrong.append(f"{what}: status {process.returncode}: {errors.decode(errors='replace').strip()[:300]}")
    return out


def text(level, seed, tokens):
    return ["run", *([options.model] if options.model else []), "-p", "The king", "-n", str(tokens), "--temp", "1", "--seed", str(seed),
            "--fuse", level]


def simulation(sim, level):
    return ["sim", *sim, "--fuse", level, "-o", "-"]


def compare(what, got, right):
    if got != right:
        at = next((i for i, (a, b) in enumerate(zip(got, right)) if a != b), min(len(got), len(right)))
        wrong.append(f"{what}: differs at byte {at} of {len(right)}: {got[at:at + 40]!r} instead of {right[at:at + 40]!r}")


def count_tokens(bytes_of_text):
    ids = subprocess.run([options.solo, "tokenize", *([options.model] if options.model else [])], input=bytes_of_text, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=True).stdout
    return len(ids.split())


def tokens():
    made, seed, began, first = 0, options.seed, time.monotonic(), True
    while made < options.tokens and not (wrong and not first):
        right = result(start(text("ops", seed, options.length)), f"ops, seed {seed}")
        compare(f"loop, seed {seed}", result(start(text("loop", seed, options.length)), f"loop, seed {seed}"), right)
        made += max(1, count_tokens(right))
        seed, first = seed + 1, False
    return f"{made} tokens, {seed - options.seed} texts, {time.monotonic() - began:.0f} s"


def sims():
    for sim in SIMS:
        compare(f"sim {sim[0]}", result(start(simulation(sim, "loop")), sim[0]), result(start(simulation(sim, "none")), sim[0]))
    return f"{len(SIMS)} simulations"


def two():
    right = [result(start(text("ops", seed, options.length)), "ops") for seed in (1, 2)]
    expected = result(start(simulation(SIMS[0], "none")), SIMS[0][0])
    for _ in range(options.rounds):
        both = [start(text("loop", seed, options.length)) for seed in (1, 2)]
        for i, process in enumerate(both):
            compare(f"two at once, text {i + 1}", result(process, "two at once"), right[i])
        model, sim = start(text("loop", 1, options.length)), start(simulation(SIMS[0], "loop"))
        compare("beside a simulation", result(model, "beside a simulation"), right[0])
        compare("a simulation beside a model", result(sim, "a simulation beside a model"), expected)
    return f"{options.rounds} times two models, {options.rounds} times a model and a simulation"


def times_out(what, arguments, environment, right, expected):
    """A run that is compared, and whether it said that it timed out."""
    told = notices
    compare(what, result(start(arguments, environment), what), right)
    if (notices > told) != expected:
        wrong.append(f"{what}: {'no time-out' if expected else 'a time-out without a stall: --looks is too few here'}")


def stalls():
    length, steps = 40, 12
    sim = ["nbody", "--pop", "256", "--steps", str(steps)]
    right = result(start(text("ops", 1, length)), "ops")
    states = result(start(simulation(sim, "none")), "nbody")
    looks = {"SOLO_ONE_LOOKS": options.looks, "SOLO_SIM_LOOKS": options.looks, "SOLO_ONE_GROUPS": options.groups or "2", "SOLO_SIM_GROUPS": "2"}
    times_out("no stall", text("loop", 1, length), looks, right, False)
    times_out("nbody, no stall", simulation(sim, "loop"), looks, states, False)
    for barrier in range(1, options.barriers + 1):
        what = f"barrier {barrier}"
        times_out(what, text("loop", 1, length), {**looks, "SOLO_ONE_STALL": str(barrier)}, right, True)
        if barrier < steps:  # there is one between two steps
            times_out(f"nbody, {what}", simulation(sim, "loop"), {**looks, "SOLO_SIM_STALL": str(barrier)}, states, True)
    return f"{options.barriers} barriers of tokens, {min(steps - 1, options.barriers)} of a simulation"


def confine(process, processors):
    for thread in os.listdir(f"/proc/{process.pid}/task"):
        try:
            os.sched_setaffinity(int(thread), processors)
        except (OSError, ProcessLookupError):
            pass


def shrinks():
    right, everyone = result(start(text("ops", 3, options.length)), "ops"), os.sched_getaffinity(0)
    for _ in range(options.rounds):
        process, others = start(text("loop", 3, options.length)), []
        while process.poll() is None and len(others) < 4:
            time.sleep(0.2 + draw.random())
            confine(process, {draw.choice(sorted(everyone))})
            others.append(start(simulation(SIMS[2], "loop"), quiet=True))
            time.sleep(draw.random())
            if process.poll() is None:
                confine(process, everyone)
        compare("residency that shrinks", result(process, "residency that shrinks"), right)
        for other in others:
            other.wait()
    return f"{options.rounds} texts"


def killed():
    right, kills = result(start(text("ops", 4, options.length)), "ops"), 0
    for _ in range(options.rounds):
        process = start(text("loop", 4, options.length))
        while process.poll() is None and kills < 8 * options.rounds:
            other = start(text("loop", 5, 2000), quiet=True)
            time.sleep(0.3 + 2 * draw.random())
            other.send_signal(signal.SIGKILL)
            other.wait()
            kills += 1
        compare("beside one that is killed", result(process, "beside one that is killed"), right)
    return f"{kills} killed beside {options.rounds} texts"


for name in options.only.split(","):
    before, told = len(wrong), notices
    what = {"tokens": tokens, "sims": sims, "two": two, "stalls": stalls, "shrinks": shrinks, "killed": killed}[name]()
    print(f"{'ok' if len(wrong) == before else 'not ok'} {name}: {what}, {notices - told} time-outs told", flush=True)
    for line in wrong[before:before + 5]:
        print(f"  {line}", flush=True)
sys.exit(1 if wrong else 0)
