#!/usr/bin/env python3
"""How long `solo run` takes from its start to the first text: with empty caches, and once more.

    python3 bench/startup.py MODEL --json FILE [--solo build/solo] [-r N] [--seconds S] [--left-out WHAT:WHY]...

The caches of Solo and of the driver (NVIDIA, Mesa) lie in a new folder for every pair of runs. The file is read once
before, so that it is in the page cache. --left-out goes into the record as something that was not measured."""
import argparse
import os
import subprocess
import tempfile
import threading
import time

import record

PROMPT = "Hello"


def first_text_s(solo, model, cache, limit_s):
    """Seconds until the program has printed more than the prompt."""
    folders = {"SOLO_CACHE": "solo", "__GL_SHADER_DISK_CACHE_PATH": "gl", "MESA_SHADER_CACHE_DIR": "mesa"}
    places = {name: os.path.join(cache, folder) for name, folder in folders.items()}
    for place in places.values():
        os.makedirs(place, exist_ok=True)
    began = time.perf_counter()
    process = subprocess.Popen([solo, "run", *model, "-p", PROMPT, "-n", "8", "--temp", "0"], env={**os.environ, **places},
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    timer = threading.Timer(limit_s, process.kill)
    timer.start()
    text, seconds = b"", None
    try:
        while piece := os.read(process.stdout.fileno(), 4096):
            text += piece
            if seconds is None and len(text) > len(PROMPT):
                seconds = time.perf_counter() - began
        said = process.stderr.read().decode(errors="replace").strip()
        status = process.wait()
    finally:
        timer.cancel()
    if status or seconds is None:
        raise SystemExit(f"startup.py: solo run ended with status {status} after {time.perf_counter() - began:.0f} s: {said}")
    return seconds, said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a file, or builtin")
    parser.add_argument("--json", required=True)
    parser.add_argument("--solo", default=os.environ.get("SOLO", "build/solo"))
    parser.add_argument("-r", type=int, default=1, help="pairs of runs")
    parser.add_argument("--seconds", type=float, default=120, help="that one run may take")
    parser.add_argument("--left-out", action="append", default=[], metavar="WHAT:WHY")
    o = parser.parse_args()
    model = [] if o.model == "builtin" else [o.model]
    for path in model:
        with open(path, "rb") as contents:
            while contents.read(1 << 24):
                pass
    samples, notices = {"first": [], "second": []}, set()
    for _ in range(o.r):
        with tempfile.TemporaryDirectory() as cache:
            for run in samples:
                seconds, said = first_text_s(o.solo, model, cache, o.seconds)
                samples[run].append(seconds)
                notices |= {line for line in said.splitlines() if "not possible" in line}
    results = [record.result("first text", {"run": run}, "s", seconds) for run, seconds in samples.items()]
    skipped = [dict(zip(("what", "why"), text.split(":", 1))) for text in o.left_out]
    skipped += [{"what": "one dispatch", "why": line} for line in sorted(notices)]
    checks = [record.check("every run printed text and ended well", True, f"{2 * o.r} runs")]
    record.write(o.json, record.record("startup", {}, {"model": os.path.basename(o.model), "pairs": o.r}, results, checks,
                                       skipped=skipped))


if __name__ == "__main__":
    main()
