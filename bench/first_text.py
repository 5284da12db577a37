#!/usr/bin/env python3
"""Seconds from starting `solo run` to the first text behind the prompt: of a first run ever, and of the runs after it.

    bench/first_text.py [--times N] [--driver-cache off] [--no-cache] [SOLO [run's options...]]

Each of N times (5) has new cache folders, for Solo and for the drivers' own caches of shaders (Mesa's, NVIDIA's), and runs
twice with them. --driver-cache off switches the drivers' off, so that only what Solo keeps is left; --no-cache runs with
SOLO_CACHE=off. A line for each time, then the medians. CPU seconds are those of the whole run, which matter where others
use the processors, too. SOLO is build/solo; without options the built-in model continues a text by 8 tokens.
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

PROMPT = "Once upon a time"


def run(command, environment):
    """Seconds until there is text behind the prompt, and CPU seconds of all of it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    text, first = b"", None
    while piece := os.read(process.stdout.fileno(), 4096):
        text += piece
        if first is None and len(text.strip()) > len(PROMPT):
            first = time.monotonic() - start
    if process.wait() != 0 or first is None:
        sys.exit("first_text: %s: no text (exit status %d)" % (" ".join(command), process.returncode))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return first, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def caches(folder, options):
    environment = dict(os.environ, XDG_CACHE_HOME=folder + "/xdg", __GL_SHADER_DISK_CACHE_PATH=folder + "/gl",
                       SOLO_CACHE="off" if options.no_cache else folder + "/solo")
    os.mkdir(folder + "/gl")
    if options.driver_cache == "off":
        environment.update(MESA_SHADER_CACHE_DISABLE="true", __GL_SHADER_DISK_CACHE="0")
    return environment


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--driver-cache", choices=["on", "off"], default="on")
    parser.add_argument("--no-cache", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    command = options.command or ["build/solo"]
    command = [command[0], "run", *(command[1:] or ["-n", "8"]), "-p", PROMPT]
    results = []
    for _ in range(options.times):
        with tempfile.TemporaryDirectory() as folder:
            environment = caches(folder, options)
            results.append([run(command, environment) for _ in range(2)])
            print("first run: text after %.3f s, %.3f s of CPU; second: %.3f s, %.3f s" %
                  (*results[-1][0], *results[-1][1]), flush=True)
    medians = [statistics.median(r[i][k] for r in results) for i in range(2) for k in range(2)]
    print("medians: first run: text after %.3f s, %.3f s of CPU; second: %.3f s, %.3f s" % tuple(medians))


if __name__ == "__main__":
    main()
