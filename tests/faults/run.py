#!/usr/bin/env python3
"""Every allocation and every call of the system fails once, on each command (docs/reliability.md).

run.py SOLO LIBRARY [--points N] [--slow-points N] [--only WORD]: LIBRARY is fail_calls.c, built. A command is run once as it
is, which counts its calls, then once for each call, which fails (N calls of each kind, spread evenly, with --points). Then
one of two things has to hold: it says so in one line and ends with status 1 (3: no GPU), and files are as they were or
complete; or it does without, and the result is that of the first run. Never a signal, a hang, or a file beside others.
Prints a line `ok` or `not ok` for each command and kind of call.
"""

import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LAYOUT = "<QQQI24s"  # struct faults of fail_calls.c
KINDS = ("memory", "io")
HANGS_AFTER_S = 60


class Command:
    """A command line; {in} and {out} are folders. What it prints is the same each time, where it is `settled`, what
    it writes, where that is `kept`. It is `slow` where it opens a GPU or measures for a while."""

    def __init__(self, name, line, text="", settled=True, kept=True, slow=False, out=()):
        self.name, self.line, self.text = name, line.split(), text
        self.settled, self.kept, self.slow, self.out = settled, kept, slow, out


RECORD = "results/h200/llm/qwen2.5-0.5b-f32.torch.json"
COMMANDS = [
    Command("help", "help run"),
    Command("completion", "completion bash"),
    Command("models", "models"),
    Command("tokenize", "tokenize", "It rains in Paris.\nGrüße\n"),
    Command("tokenize a folder", "tokenize {in}/folder", "a b c\n"),
    Command("convert", "convert {in}/folder {out}/model.gguf --type q8_0", out=["model.gguf"]),
    Command("explain", "explain --svg {out}/plan.svg --bandwidth 100", out=["plan.svg"]),
    Command("explain json", "explain --json --bandwidth 100"),
    Command("compare", "compare {in}/record.json {in}/record.json"),
    Command("report", "report {in}/record.json -o {out}/report.html", out=["report.html"]),
    Command("info", "info --impl stub --json", settled=False),
    Command("bench dispatch", "bench dispatch --impl stub --quick --rounds 2 --processes 1 --json {out}/record.json",
            settled=False, kept=False, slow=True, out=["record.json"]),
    Command("run", "run --impl dawn --fuse ops -n 3 -p It", slow=True),
    Command("run on vulkan", "run --impl vulkan --fuse ops -n 3 -p It", slow=True),
    Command("logits", "logits --impl dawn --fuse ops --tokens 1,2,3", slow=True),
    Command("embed", "embed --pooling mean --impl dawn -p a", slow=True),
    Command("sim", "sim pi --impl dawn --pop 64 --steps 4 -o {out}/scores.csv", settled=False, slow=True, out=["scores.csv"]),
    Command("chat", "chat --impl dawn --fuse ops --seed 1 -n 3 --session {out}/session", "Hello\n", kept=False, slow=True),
]


class Run:
    def __init__(self, status, output, errors, files, calls, failed):
        self.status, self.output, self.errors, self.files, self.calls, self.failed = status, output, errors, files, calls, failed


def files_below(folder):
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as f:
                found[os.path.relpath(os.path.join(path, name), folder)] = f.read()
    return found


class Faults:
    def __init__(self, solo, library, work):
        self.solo, self.library, self.work = solo, library, work
        self.out = os.path.join(work, "out")
        self.file = os.path.join(work, "faults")

    def run(self, command, kind=0, number=0):
        """The command with a failing call, among files that are there from before."""
        shutil.rmtree(self.out, ignore_errors=True)
        os.mkdir(self.out)
        for name in command.out:
            with open(os.path.join(self.out, name), "w") as f:
                f.write("old")
        with open(self.file, "wb") as f:
            f.write(struct.pack(LAYOUT, 0, 0, number, kind, b"") + bytes(8))
        line = [word.format(**{"in": os.path.join(self.work, "in"), "out": self.out}) for word in command.line]
        env = dict(os.environ, LD_PRELOAD=self.library, FAULT_FILE=self.file, SOLO_CACHE=os.path.join(self.work, "cache"))
        try:
            done = subprocess.run([self.solo, *line], input=command.text.encode(), capture_output=True, env=env,
                                  timeout=HANGS_AFTER_S, cwd=self.work)
            status, output, errors = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as e:
            status, output, errors = "hangs", e.stdout or b"", e.stderr or b""
        with open(self.file, "rb") as f:
            *calls, _, _, failed = struct.unpack(LAYOUT, f.read(struct.calcsize(LAYOUT)))
        return Run(status, output, errors.decode(errors="replace"), files_below(self.out), calls, failed.rstrip(b"\0").decode())


def wrong(command, good, got):
    """What does not hold, or None."""
    said = [line for line in got.errors.splitlines() if line not in good.errors.splitlines()]
    if got.status not in (0, 1, 3):
        return f"status {got.status}"
    extra = set(got.files) - set(good.files)
    if extra:
        return f"left {sorted(extra)}"
    for name, content in got.files.items():
        if content != b"old" and (content != good.files[name] if command.kept else not content):
            return f"{name} is half-written"
    if got.status == 0:
        if command.settled and got.output != good.output:
            return "status 0, and another result"
        if any(content == b"old" for content in got.files.values()):
            return "status 0, and nothing written"
    elif len(said) != 1 and not (len(said) == 2 and "its process ended early" in said[1]):  # said by both processes
        return "not one line"
    return None


def numbers(count, points):
    """Which calls fail: all, or some from the first to the last."""
    if not points or count <= points:
        return list(range(1, count + 1))
    return sorted({1 + (2 * i + 1) * count // (2 * points) for i in range(points)})


def main():
    options = argparse.ArgumentParser()
    options.add_argument("solo")
    options.add_argument("library")
    options.add_argument("--points", type=int, default=0)
    options.add_argument("--slow-points", type=int, default=0)
    options.add_argument("--only", default="")
    options.add_argument("--count", action="store_true", help="only count the calls")
    chosen = options.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        os.mkdir(os.path.join(work, "in"))
        subprocess.run([sys.executable, os.path.join(ROOT, "tests/oracle/make_folder.py"), "mistral",
                        os.path.join(work, "in/folder")], check=True)
        shutil.copy(os.path.join(ROOT, RECORD), os.path.join(work, "in/record.json"))
        faults = Faults(os.path.abspath(chosen.solo), os.path.abspath(chosen.library), work)
        for command in COMMANDS:
            if chosen.only not in command.name:
                continue
            good = faults.run(command)  # fills the cache
            good = faults.run(command)
            if good.status != 0:
                print(f"not ok {command.name}: {good.errors}")
                failures += 1
                continue
            if chosen.count:
                print(command.name, good.calls, flush=True)
                continue
            for kind, name in enumerate(KINDS):
                bad = {}
                tried = numbers(good.calls[kind], chosen.slow_points if command.slow else chosen.points)
                for number in tried:
                    got = faults.run(command, kind, number)
                    why = wrong(command, good, got)
                    if why:
                        bad.setdefault((why, got.failed), []).append((number, got.errors))
                title = f"{command.name}: {len(tried)} of {good.calls[kind]} {name} calls fail"
                failures += bool(bad)
                print(f"not ok {title}" if bad else f"ok {title}")
                for (why, failed), where in bad.items():
                    print(f"  {failed} {why} at {[n for n, _ in where[:8]]} ({len(where)} in all): {where[0][1][-400:]!r}")
                sys.stdout.flush()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
