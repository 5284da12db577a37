#!/usr/bin/env python3
"""Every call of the GPU fails once, under each library (docs/reliability.md).

gpu.py SOLO LAYER [--points N] [--only WORD]: LAYER is fail_gpu.c, built. A command is run once as it is, which counts its
submits, allocations, pipelines and waits; then once for each of them and each way to fail. Then it has to end with status
1 and one line, having printed a part of the right text, or with the right text; never a signal, a hang, other text, or a
line of a library's. Prints a line `ok` or `not ok` for each command, library and kind of call.
"""

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile

from run import numbers

LAYOUT = "<QQQQQIiI"  # struct faults of fail_gpu.c
KINDS = ("submit", "allocate", "compile", "wait")
LOST, NO_DEVICE_MEMORY, NO_HOST_MEMORY, TIMEOUT = -4, -2, -1, 2
RESULTS = {"submit": (LOST, NO_DEVICE_MEMORY), "allocate": (NO_DEVICE_MEMORY,), "compile": (NO_HOST_MEMORY, LOST),
           "wait": (LOST, TIMEOUT)}
NAMES = {LOST: "device lost", NO_DEVICE_MEMORY: "out of device memory", NO_HOST_MEMORY: "out of host memory",
         TIMEOUT: "time-out"}
HANGS_AFTER_S = 60
BENCH_POINTS = 20  # it makes thousands of each
STALL = ("run", "run in one dispatch", "chat", "embed")

# a name, a line, what is typed, and libraries
COMMANDS = [
    ("run", "run --fuse ops -n 6 -p It", "", ("dawn", "wgpu", "vulkan")),
    ("run in one dispatch", "run --fuse token -n 6 -p It", "", ("dawn",)),
    ("chat", "chat --fuse ops --seed 1 -n 4", "Hello\nAgain\n", ("dawn", "wgpu", "vulkan")),
    ("sim", "sim pi --pop 64 --steps 4 -o -", "", ("dawn", "wgpu")),
    ("embed", "embed --pooling mean -p a", "", ("dawn", "wgpu", "vulkan")),
    ("bench dispatch", "bench dispatch --quick --rounds 2 --processes 1", "", ("dawn", "wgpu", "vulkan")),
]


class Layer:
    def __init__(self, solo, library, work):
        self.solo, self.work, self.stalls = solo, work, False
        self.file = os.path.join(work, "faults")
        with open(solo, "rb") as f:
            self.sanitized = b"__asan_init" in f.read()
        with open(os.path.join(work, "faults.json"), "w") as f:
            json.dump({"file_format_version": "1.2.0", "layer": {
                "name": "VK_LAYER_SOLO_faults", "type": "GLOBAL", "library_path": library, "api_version": "1.3.0",
                "implementation_version": "1", "description": "one call fails"}}, f)

    def env(self):
        stalls = {"FAULT_STALLS": "1"} if self.stalls else {}
        return dict(os.environ, VK_LAYER_PATH=self.work, VK_INSTANCE_LAYERS="VK_LAYER_SOLO_faults", FAULT_FILE=self.file,
                    SOLO_CACHE=os.path.join(self.work, "cache"), SOLO_COMPILERS="0", **stalls)

    def panics(self, library, calls):
        """wgpu-native ends the process there, and a program with sanitizers keeps standard error for their reports"""
        return self.sanitized and library == "wgpu" and calls in ("submit", "wait")

    def prepare(self, kind, result, number):
        with open(self.file, "wb") as f:
            f.write(struct.pack(LAYOUT, 0, 0, 0, 0, number, kind, result, 0))

    def counts(self):
        """how many calls of each kind there were"""
        with open(self.file, "rb") as f:
            return struct.unpack(LAYOUT, f.read(struct.calcsize(LAYOUT)))[:len(KINDS)]

    def run(self, line, text, kind=0, result=0, number=0):
        """status, output, errors, counts of calls"""
        self.prepare(kind, result, number)
        try:
            done = subprocess.run([self.solo, *line], input=text.encode(), capture_output=True, env=self.env(),
                                  timeout=HANGS_AFTER_S)
            status, output, errors = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as e:
            status, output, errors = "hangs", e.stdout or b"", e.stderr or b""
        return status, output, errors.decode(errors="replace"), self.counts()


def wrong(settled, good, got):
    status, output, errors, _ = got
    lines = [line for line in errors.splitlines() if line not in good[2].splitlines()]
    if status not in (0, 1, 3):
        return f"status {status}"
    if [line for line in lines if not line.startswith("solo: ")]:
        return "a library's lines"
    if status == 0:
        return "other text" if settled and output != good[1] else None
    if settled and not good[1].startswith(output.rstrip(b"\n")):
        return "text that is not a part of the right one"
    both = len(lines) == 2 and "its process ended early" in lines[1]  # said by the process that measures and by who waits
    return None if len(lines) == 1 or both else f"{len(lines)} lines"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("solo")
    options.add_argument("layer")
    options.add_argument("--points", type=int, default=0)
    options.add_argument("--only", default="")
    chosen = options.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        layer = Layer(os.path.abspath(chosen.solo), os.path.abspath(chosen.layer), work)
        for name, line, text, libraries in COMMANDS:
            settled = not name.startswith("bench")
            layer.stalls = name in STALL  # a lost device cannot be closed
            for library in libraries:
                title = f"{name} on {library}"
                if chosen.only not in title:
                    continue
                words = [*line.split(), "--impl", library]
                layer.run(words, text)  # fills the cache
                good = layer.run(words, text)
                if good[0] != 0 or not good[3][0]:
                    print(f"not ok {title} ({good[3]}): {good[2]}")
                    failures += 1
                    continue
                for kind, calls in enumerate(KINDS):
                    for result in RESULTS[calls]:
                        if layer.panics(library, calls):
                            print(f"skip {title}: {NAMES[result]} at {calls} calls (with sanitizers a panic is no line)")
                            continue
                        tried = numbers(good[3][kind], chosen.points if settled else chosen.points or BENCH_POINTS)
                        bad = {}
                        for number in tried:
                            got = layer.run(words, text, kind, result, number)
                            why = wrong(settled, good, got)
                            if why:
                                bad.setdefault(why, []).append((number, got[2]))
                        full = f"{title}: {NAMES[result]} at {len(tried)} of {good[3][kind]} {calls} calls"
                        failures += bool(bad)
                        print(f"not ok {full}" if bad else f"ok {full}")
                        for why, where in bad.items():
                            print(f"  {why} at {[n for n, _ in where[:8]]} ({len(where)} in all): {where[0][1][-500:]!r}")
                        sys.stdout.flush()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
