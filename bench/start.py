#!/usr/bin/env python3
"""How long `solo run` takes until text appears, and until it has changed over to the megakernel.

    bench/start.py [MODEL] [-n TOKENS] [--runs N] [-- OPTIONS OF solo run]

The first run has empty caches (Solo's and, on NVIDIA, the driver's), the others have what it left. Seconds from the
start of the process: the first text, the change-over (and the tokens before it), the end.
"""
import argparse
import os
import pty
import re
import subprocess
import sys
import tempfile
import time

PROMPT = "Once upon a time"
SPEED = re.compile(r"(\d+) tokens.* the first after (\d+) ms; .* level (.*)")
CHANGED = re.compile(r"ops, after (\d+) tokens and ([\d.]+) s (\w+)")


def run(command, environment):
    """Runs it on a terminal of its own, where it says how fast it was: when its text began, when it ended, and that."""
    ours, theirs = pty.openpty()
    began = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    text, first = b"", None
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        text += piece
        if first is None and text.partition(PROMPT.encode())[2]:  # behind the prompt, which it shows first
            first = time.monotonic() - began
    os.close(ours)
    status = process.wait()
    return first, time.monotonic() - began, status, text.decode(errors="replace")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("-n", type=int, default=1500, help="tokens")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--solo", default="build/solo", help="the program (build/solo)")
    words = sys.argv[1:]
    behind = words.index("--") if "--" in words else len(words)
    o, options = parser.parse_args(words[:behind]), words[behind + 1:]
    command = [o.solo, "run"] + ([o.model] if o.model else []) + ["-p", PROMPT, "-n", str(o.n)] + options
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "SOLO_CACHE": f"{cache}/solo", "__GL_SHADER_DISK_CACHE_PATH": cache}
        for i in range(o.runs):
            first, end, status, text = run(command, environment)
            speed = SPEED.search(text)
            if status or first is None or not speed:
                raise SystemExit(f"start.py: exit status {status}: {text[-500:]}")
            changed = CHANGED.search(speed[3])
            # the answer's own clock starts with the prompt
            asked = first - int(speed[2]) / 1000
            over = f"{asked + float(changed[2]):.2f} s ({changed[1]} tokens by ops)" if changed else "none in the text"
            print(f"run {i + 1}: text {first:.2f} s, change-over {over}, end {end:.2f} s; {speed[1]} tokens, {speed[3].strip()}")


main()
