#!/usr/bin/env python3
"""Every call of the GPU fails once under `solo serve` (docs/reliability.md).

serve.py SOLO LAYER [--points N]: as gpu.py, with a server that gets the same request twice. Each time the answer has to be
the right text, an error as JSON, or none because the server ended, with a line and status 1 (3: no GPU). A server that is still
there ends when it is asked to. Prints a line `ok` or `not ok` for each library and kind of call.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from gpu import KINDS, NAMES, RESULTS, Layer
from run import numbers

REQUEST = json.dumps({"prompt": "It", "max_tokens": 5, "temperature": 0}).encode()
PATIENCE_S = 60


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ask(address):
    """The text, or the error's; None: no answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(address, REQUEST, {"Content-Type": "application/json"}),
                                    timeout=PATIENCE_S) as reply:
            return json.load(reply)["choices"][0]["text"]
    except urllib.error.HTTPError as e:
        return json.load(e)["error"]
    except OSError:
        return None


def serve(layer, library, kind=0, result=0, number=0):
    """answers, status (negative: a signal), lines of errors, counts"""
    layer.prepare(kind, result, number)
    port = free_port()
    server = subprocess.Popen([layer.solo, "serve", "--impl", library, "--fuse", "ops", "--port", str(port)],
                              env=layer.env(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end = time.monotonic() + PATIENCE_S
    while server.poll() is None and time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
            break
        except OSError:
            time.sleep(0.05)
    answers = [ask(f"http://127.0.0.1:{port}/v1/completions") for _ in range(2)]
    if None not in answers:
        server.terminate()
    try:
        errors = server.communicate(timeout=PATIENCE_S)[1].decode(errors="replace")
    except subprocess.TimeoutExpired:
        server.kill()
        return answers, "hangs", [server.communicate()[1].decode(errors="replace")], layer.counts()
    return answers, server.returncode, [line for line in errors.splitlines() if line.startswith("solo: ")], layer.counts()


def wrong(right, got):
    answers, status, lines, _ = got
    if any(isinstance(a, str) and a != right for a in answers):
        return f"other text: {answers}"
    if None in answers:
        return None if status in (1, 3) and lines else f"status {status}, no answer"
    return None if status == 0 else f"status {status}"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("solo")
    options.add_argument("layer")
    options.add_argument("--points", type=int, default=0)
    chosen = options.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        layer = Layer(os.path.abspath(chosen.solo), os.path.abspath(chosen.layer), work)
        for library in ("dawn", "wgpu", "vulkan"):
            serve(layer, library)  # fills the cache
            answers, status, _, counts = serve(layer, library)
            if status != 0 or not isinstance(answers[0], str) or answers[0] != answers[1]:
                print(f"not ok serve on {library} ({status}, {answers})")
                failures += 1
                continue
            for kind, calls in enumerate(KINDS):
                for result in RESULTS[calls]:
                    if layer.panics(library, calls):
                        print(f"skip serve on {library}: {NAMES[result]} at {calls} calls (with sanitizers a panic is no line)")
                        continue
                    tried = numbers(counts[kind], chosen.points)
                    bad = []
                    for number in tried:
                        got = serve(layer, library, kind, result, number)
                        why = wrong(answers[0], got)
                        if why:
                            bad.append(f"  {number}: {why} {got[2]}")
                    title = f"serve on {library}: {NAMES[result]} at {len(tried)} of {counts[kind]} {calls} calls"
                    failures += bool(bad)
                    print("\n".join([f"not ok {title}", *bad[:8]]) if bad else f"ok {title}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
