#!/usr/bin/env python3
"""How soon Ctrl-C is heard, at moments spread over all that a command does.

    python3 bench/interrupts.py [--solo FILE] [--tries N] [--only WORD,..] [--limit S] [--again N] [--model FILE] [--json FILE]

Each command runs once to its end (its first --longest seconds count), then --tries times: each time SIGINT goes to its process
group, as from a terminal, somewhat later than the last time, and what is measured is the time until the process has ended, for
`chat` until its prompt is there again. Every try has an empty cache, so that kernels are compiled in it. Besides: no process of
the group is left, files are as they were or complete and nothing lies beside them, and the exit status is that of a program
that was interrupted, or what such a command says of itself. A moment that took longer than --limit is tried --again times
more, since a busy machine is slow now and then: it is late if it was so each time.

--model is a model whose single dispatches take long, for `run` and `chat`; `solo synth qwen2.5-0.5b q4_0 FILE` makes one.
Prints a line `ok` or `not ok` for each command, with how many moments, p50, p95 and max of all tries in milliseconds.
"""
import argparse
import json
import os
import pty
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HANGS_AFTER_S = 60
LEFT_AFTER_S = 5  # how long processes of the group may take to be gone when the first one is
STORY = "The king said to his three sons that he would give the kingdom to the one who brought him the water of life. "

parser = argparse.ArgumentParser(description="How soon Ctrl-C is heard.")
parser.add_argument("--solo", default="build/solo")
parser.add_argument("--tries", type=int, default=20)
parser.add_argument("--only", default="")
parser.add_argument("--limit", type=float, default=0.5)
parser.add_argument("--again", type=int, default=2)
parser.add_argument("--longest", type=float, default=10)
parser.add_argument("--model", default="")
parser.add_argument("--json", default="")
parser.add_argument("--seed", type=int, default=1)
options = parser.parse_args()
solo = os.path.abspath(options.solo)
draw = random.Random(options.seed)


class Command:
    """{in}, {out}, {model} and {hub} are filled in. `ends` are the statuses that an interrupted one may have, besides 0 of
    one that was done; `out` the files that it writes."""

    def __init__(self, name, line, text=None, ends=(-signal.SIGINT,), out=(), env=None, serves=False, chat=None):
        self.name, self.line, self.text, self.ends, self.out = name, line.split(), text, ends, out
        self.env, self.serves, self.chat = env or {}, serves, chat


COMMANDS = [
    Command("run dawn", "run --impl dawn -n 200 -f {in}/story --temp 0"),
    Command("run wgpu", "run --impl wgpu -n 200 -f {in}/story --temp 0"),
    Command("run vulkan", "run --impl vulkan -n 200 -f {in}/story --temp 0"),
    Command("run MODEL", "run {model} -n 20 -f {in}/story"),
    Command("chat: start", "chat --temp 0", chat=""),
    Command("chat: prompt", "chat --temp 0 -c 2048", chat="{long}"),
    Command("chat: answer", "chat --temp 0", chat="Tell me a long story."),
    Command("chat MODEL: prompt", "chat {model} --temp 0 --template chatml", chat="{story}"),
    Command("convert", "convert {big} {out}/model.gguf --type q8_0", out=["model.gguf"]),
    Command("synth", "synth qwen2.5-0.5b q8_0 {out}/model.gguf", out=["model.gguf"]),
    Command("sim", "sim nbody --pop 2048 --steps 200 -o {out}/scores.csv", out=["scores.csv"]),
    Command("sim evolve", "sim cartpole --evolve 40 --save {out}/saved.evo", ends=(1, -signal.SIGINT), out=["saved.evo"]),
    Command("bench dispatch", "bench dispatch --quick --json {out}/record.json", out=["record.json"]),
    Command("bench llm", "bench llm -p 64 -n 8 -r 1 --json {out}/record.json", out=["record.json"]),
    Command("bench sim", "bench sim pi --json {out}/record.json", out=["record.json"]),
    Command("embed", "embed --pooling mean -f {in}/lines"),
    Command("logits", "logits --tokens {tokens}"),
    Command("tokenize", "tokenize", text="{in}/long"),
    Command("collect import", "collect import {in}/records --db {out}/lab.sqlite", out=["lab.sqlite"]),
    Command("serve: loading", "serve --port 0 --quiet", ends=(-signal.SIGINT, 0)),
    Command("serve: ready", "serve --port 0 --quiet", ends=(0,), serves=True),
    Command("info", "info"),
    Command("explain", "explain --svg {out}/plan.svg", out=["plan.svg"]),
    Command("pull", "pull slow/one", env={"SOLO_HUB": "{hub}"}, ends=(-signal.SIGINT,)),
    Command("pull: no answer", "pull silent/one", env={"SOLO_HUB": "{hub}"}, ends=(-signal.SIGINT,)),
    Command("pull: stalled", "pull stall/one", env={"SOLO_HUB": "{hub}"}, ends=(-signal.SIGINT,)),
    Command("pull: a name is looked up", "pull slow/one", ends=(-signal.SIGINT,),
            env={"SOLO_HUB": "http://hub.example", "LD_PRELOAD": "{faults}", "FAULT_LOOKUP_S": "20"}),
    Command("run NAME", "run slow/one -p It", env={"SOLO_HUB": "{hub}"}, ends=(-signal.SIGINT,)),
]


class Work:
    """Inputs, a hub on this machine, and a folder for what is written."""

    def __init__(self, folder):
        self.folder = folder
        self.input, self.out, self.cache = (os.path.join(folder, name) for name in ("in", "out", "cache"))
        os.makedirs(os.path.join(self.input, "records"))
        with open(os.path.join(self.input, "story"), "w") as f:
            f.write(STORY * 40)
        with open(os.path.join(self.input, "lines"), "w") as f:
            f.write((STORY + "\n") * 200)
        with open(os.path.join(self.input, "long"), "w") as f:
            f.write(STORY * 150_000)
        for at, name in enumerate(sorted(self.records())):
            shutil.copy(name, os.path.join(self.input, "records", f"{at}.json"))
        repos = os.path.join(folder, "repos", "one")
        os.makedirs(repos)
        with open(os.path.join(repos, "a.gguf"), "wb") as f:
            f.write(b"GGUF" + bytes(5_000_000))
        ports = os.path.join(folder, "ports")
        self.hub = subprocess.Popen([sys.executable, os.path.join(ROOT, "tests/cli/hub_server.py"), os.path.dirname(repos),
                                     os.path.join(folder, "log"), ports], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        while not os.path.exists(ports):
            time.sleep(0.05)
        with open(ports) as f:
            hub = f"http://127.0.0.1:{f.read().split()[0]}"
        self.words = {"in": self.input, "out": self.out, "model": os.path.abspath(options.model) if options.model else "", "hub": hub,
                      "faults": os.path.join(os.path.dirname(solo), "tests/faults/fail_calls.so"),
                      "tokens": ",".join(str(3 + i % 200) for i in range(600)), "long": STORY * 60, "story": STORY * 4}

    def make_big(self):
        """Something that takes seconds to convert."""
        self.words["big"] = os.path.join(self.input, "big.gguf")
        if not os.path.exists(self.words["big"]):
            subprocess.run([solo, "synth", "qwen2.5-0.5b", "f16", self.words["big"]], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @staticmethod
    def records():
        for folder, _, names in os.walk(os.path.join(ROOT, "results")):
            yield from (os.path.join(folder, name) for name in names if name.endswith(".json"))

    def fill(self, text):
        return text.format(**self.words)

    def renew(self, command):
        for folder in (self.out, self.cache):
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
        for name in command.out:
            if name != "lab.sqlite":
                with open(os.path.join(self.out, name), "w") as f:
                    f.write("old")

    def end(self):
        self.hub.stdin.close()
        self.hub.wait()


def environment(work, command):
    env = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    return {**env, "SOLO_CACHE": work.cache, "TERM": "xterm", **{name: work.fill(value) for name, value in command.env.items()}}


def hear_interrupts():
    """Shells start what is in the background with SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(work, command):
    work.renew(command)
    with open(work.fill(command.text) if command.text else os.devnull) as text:
        return subprocess.Popen([solo, *(work.fill(word) for word in command.line)], stdin=text, stdout=subprocess.PIPE if command.serves else
                                subprocess.DEVNULL, stderr=subprocess.PIPE if not command.serves else subprocess.DEVNULL,
                                env=environment(work, command), start_new_session=True, preexec_fn=hear_interrupts)


def cpu_s(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0


def left_of(group):
    """Processes of the group that have not ended: state and name."""
    left = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat") as f:
                before, _, after = f.read().rpartition(")")
        except (OSError, ValueError):
            continue
        state, _, of = after.split()[:3]
        if int(of) == group and state not in "ZX":
            left.append(f"{before}) {state}")
    return left


def end_group(group):
    """What was left of it after a while: none, as a rule."""
    until = time.monotonic() + LEFT_AFTER_S
    while left_of(group):
        if time.monotonic() > until:
            left = left_of(group)
            os.killpg(group, signal.SIGKILL)
            return left
        time.sleep(0.05)
    return []


def fault_of_files(work, command, is_done):
    for name in os.listdir(work.out):
        path = os.path.join(work.out, name)
        if name in command.out or (name.startswith("lab.sqlite")):
            with open(path, "rb") as f:
                head = f.read(4)
                f.seek(-min(8, os.path.getsize(path)), os.SEEK_END)
                tail = f.read()
            if head[:3] == b"old" or name.startswith("lab.sqlite"):
                continue
            whole = {"gguf": head == b"GGUF", "json": tail.rstrip().endswith(b"}"), "csv": tail.endswith(b"\n"), "svg": b"</svg>" in tail,
                     "evo": len(head) == 4}[name.rpartition(".")[2]]
            if not whole:
                return f"{name} is half-written"
        else:
            return f"left {name}"
    return None


def try_once(work, command, moment):
    """How long it took, the processors' time in it, and what is wrong, or None where it was done before."""
    process = start(work, command)
    guard = threading.Timer(HANGS_AFTER_S + options.longest, process.kill)
    guard.start()
    if command.serves:
        process.stdout.readline()
    time.sleep(moment)
    if process.poll() is not None:
        guard.cancel()
        return None
    used = cpu_s(process.pid)
    began = time.monotonic()
    try:
        os.killpg(process.pid, signal.SIGINT)
    except ProcessLookupError:
        pass
    _, status, usage = os.wait4(process.pid, 0)
    took = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    guard.cancel()
    fault = None
    left = end_group(process.pid)
    if left:
        fault = f"left {', '.join(left)}"
    elif process.returncode not in (0, *command.ends):
        fault = f"status {process.returncode}: {process.stderr.read()[-200:] if process.stderr else ''}"
    else:
        fault = fault_of_files(work, command, process.returncode == 0)
    for pipe in (process.stdout, process.stderr):
        if pipe:
            pipe.close()
    return took, usage.ru_utime + usage.ru_stime - used, fault


class Terminal:
    """`solo chat` behind a terminal."""

    def __init__(self, work, command):
        work.renew(command)
        self.seen = ""
        env = environment(work, command)
        words = [solo, *(work.fill(word) for word in command.line)]
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            hear_interrupts()
            os.execve(solo, words, env)

    def wait_for(self, pattern, limit_s):
        """Reads until that comes; False if the program or the time ended before."""
        until = time.monotonic() + limit_s
        while not re.search(pattern, self.seen):
            if time.monotonic() > until:
                return False
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    self.seen += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    return False
        return True

    def rest(self, seconds):
        """Reads for so long."""
        self.wait_for("(?!)", seconds)

    def end(self):
        os.close(self.fd)
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        return os.wait4(self.pid, 0)


def try_chat(work, command, moment):
    t = Terminal(work, command)
    try:
        if command.chat:
            if not t.wait_for("> ", HANGS_AFTER_S):
                return 0, 0, "no prompt"
            # in quotes: a line is at most 4095 characters where the terminal keeps it
            text = work.fill(command.chat)
            os.write(t.fd, b'"""\n')
            for at in range(0, len(text), 500):
                os.write(t.fd, text[at:at + 500].encode() + b"\n")
                t.rest(0.02)
            t.rest(0.3)
            t.seen = ""
            os.write(t.fd, b'"""\n')
        t.rest(moment)
        if re.search(r"per second", t.seen) or (not command.chat and "> " in t.seen):
            return None
        t.seen = ""
        used, began = cpu_s(t.pid), time.monotonic()
        os.write(t.fd, b"\x03")
        heard = t.wait_for("> " if command.chat else "(?!)", HANGS_AFTER_S)
        took = time.monotonic() - began
        fault = None if not command.chat or (heard and "(stopped)" in t.seen) else f"was not stopped: {t.seen[-200:]!r}"
        return took, cpu_s(t.pid) - used, fault
    finally:
        t.end()


def length_of(work, command):
    if command.chat:
        return options.longest
    if command.chat is not None:
        t, began = Terminal(work, command), time.monotonic()
        t.wait_for("> ", options.longest)
        t.end()
        return time.monotonic() - began
    if command.serves:
        return 1
    process, began = start(work, command), time.monotonic()
    try:
        process.communicate(timeout=options.longest)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    return min(options.longest, time.monotonic() - began)


def percentile(sorted_times, share):
    return sorted_times[min(len(sorted_times) - 1, int(share * len(sorted_times)))]


def measure(work, command):
    length = length_of(work, command)
    result = measure_within(work, command, length)
    # faster than it was at first: earlier moments
    while not result["moments"] and length > 0.01:
        length /= 2
        result = measure_within(work, command, length)
    return result


def measure_within(work, command, length):
    once = try_chat if command.chat is not None else try_once
    times, cpu, faults, late = [], [], [], []
    for i in range(options.tries):
        moment = (i + draw.random()) / options.tries * length
        got = once(work, command, moment)
        again = 0
        while got and (times.append(got[0]) or cpu.append(got[1]) or True):
            if got[2]:
                faults.append(f"after {moment:.2f} s: {got[2]}")
            if got[0] <= options.limit:
                break
            if again == options.again:
                late.append(f"{1000 * got[0]:.0f} ms after {moment:.2f} s")
                break
            again += 1
            got = once(work, command, moment)
    if not times:
        return {"name": command.name, "moments": 0, "faults": ["was done before each moment"], "late": []}
    times.sort()
    return {"name": command.name, "moments": options.tries, "length_s": length, "tries": len(times), "times_s": times, "p50_ms": 1000 * percentile(times, 0.5),
            "p95_ms": 1000 * percentile(times, 0.95), "max_ms": 1000 * times[-1], "cpu_max_ms": 1000 * max(cpu), "late": late, "faults": faults}


def main():
    results, failed = [], False
    with tempfile.TemporaryDirectory() as folder:
        work = Work(folder)
        for command in COMMANDS:
            chosen = not options.only or any(word in command.name for word in options.only.split(","))
            if not chosen or ("{model}" in " ".join(command.line) and not options.model):
                continue
            if "{big}" in command.line:
                work.make_big()
            r = measure(work, command)
            results.append(r)
            bad = r["late"] or r["faults"]
            failed = failed or bool(bad)
            numbers = f"{r['tries']} tries in {r['length_s']:.1f} s, p50 {r['p50_ms']:.0f} p95 {r['p95_ms']:.0f} max {r['max_ms']:.0f} ms, " \
                f"processors at most {r['cpu_max_ms']:.0f} ms" if r["moments"] else ""
            print(f"{'not ok' if bad else 'ok'} {r['name']}: {numbers}", flush=True)
            for line in (r["late"] + r["faults"])[:6]:
                print(f"  {line}", flush=True)
        work.end()
    if options.json:
        with open(options.json, "w") as f:
            json.dump(results, f, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
