#!/usr/bin/env python3
"""How fast servers of OpenAI's API answer: solo serve, and beside it a llama-server of llama.cpp, on the same model.

    bench/serve.py MODEL.gguf [-p 512] [-n 128] [--streams 1,8] [--seconds 30] [--warm 20] [--waiting 64] [--waiting-seconds 300]
                   [--parallel 8] [--solo build/solo] [--solo-flags "..."] [--llama-server FILE] [--lib FOLDER] [--llama-flags "..."]
                   [--json FILE] [--left-out WHAT:WHY]...

One server after the other. Each runs until it is warm; then for so many seconds as many streams as --streams says, each asking again as
soon as it is answered: -p random tokens in, -n out at temperature 0, so that no prompt begins as another; then --waiting clients, more than
the server makes texts at a time, for --waiting-seconds. Every answer has to be complete: -n tokens and an end. Printed, and kept with
--json: tokens per second of all streams while they were asked for; of one stream between its first and its last token; the time until the
first token, p50 and p99; the memory of the process and of the GPU before and after.

--llama-server is a program named llama-server, --lib the folder of its libraries, if they are not beside it. Needs nothing but Python.
"""
import argparse
import http.client
import json
import os
import random
import shlex
import socket
import subprocess
import sys
import threading
import time

import llama_cpp
import record

START_S = 600  # until a server answers
PAGE = os.sysconf("SC_PAGE_SIZE")


class Failed(Exception):
    pass


# ---- servers -----------------------------------------------------------------------------------------------

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A server that runs: its port, and the model's name that it expects."""

    def __init__(self, name, command, port, more=None, folder=None):
        self.name, self.port, self.command = name, port, command
        self.log = open(os.path.join(os.environ.get("TMPDIR", "/tmp"), f"serve-{os.getpid()}-{name.split()[0]}.log"), "w+")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT, env={**os.environ, **(more or {})},
                                        cwd=folder)
        until = time.monotonic() + START_S
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > until:
                self.log.seek(0)
                said = self.log.read().strip().splitlines()
                self.stop()
                raise Failed(f"{name} does not start: {' / '.join(said[-3:])[:300]}")
            time.sleep(0.2)

    def answers(self):
        try:
            c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            c.request("GET", "/health")
            return c.getresponse().status == 200
        except OSError:
            return False

    def rss_mb(self):
        with open(f"/proc/{self.process.pid}/statm") as words:
            return int(words.read().split()[1]) * PAGE / 1e6

    def stop(self):
        """Its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.log.close()
        os.unlink(self.log.name)
        return status


def start_solo(o, parallel):
    port = free_port()
    command = [o.solo, "serve", o.model, "--port", str(port), "--parallel", str(parallel), "--queue", str(max(64, 2 * o.waiting)), "-c",
               str(context_of(o)), "--quiet", *shlex.split(o.solo_flags)]
    return Server("solo", command, port)


def start_llama(o, parallel):
    port = free_port()
    command = [os.path.abspath(o.llama_server), "-m", os.path.abspath(o.model), "--host", "127.0.0.1", "--port", str(port), "-np", str(parallel), "-c",
               str(parallel * context_of(o)), "--no-webui", *shlex.split(o.llama_flags)]
    place = os.path.abspath(o.lib) if o.lib else os.path.dirname(os.path.realpath(o.llama_server))
    cuda = [os.path.dirname(path) for name in llama_cpp.CUDA_LIBRARIES for path in llama_cpp.cuda_paths(name)[:1]]
    paths = [place, *dict.fromkeys(cuda), os.environ.get("LD_LIBRARY_PATH", "")]
    return Server("llama-server", command, port, {"LD_LIBRARY_PATH": ":".join(p for p in paths if p)},
                  place)  # where it looks for its back ends


def context_of(o):
    return o.p + o.n + 64


def gpu_mb():
    """Of all GPU memory what is used; None where nobody can say."""
    try:
        said = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"], text=True, capture_output=True, check=True)
        return float(said.stdout.split()[0]) * 1.048576
    except (OSError, subprocess.CalledProcessError, ValueError, IndexError):
        return None


# ---- clients ------------------------------------------------------------------------------------------------

class Answer:
    def __init__(self):
        self.asked = self.first = self.last = 0.0
        self.tokens, self.fault, self.arrivals = 0, "", []


def ask(o, port, prompt):
    """One stream, from the question to its end."""
    a = Answer()
    body = json.dumps({"prompt": prompt, "max_tokens": o.n, "temperature": 0, "ignore_eos": True, "stream": True, "stream_options": {"include_usage": True}})
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    a.asked = time.perf_counter()
    try:
        c.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        reply = c.getresponse()
        if reply.status != 200:
            a.fault = f"{reply.status} {reply.read()[:200].decode(errors='replace')}"
            return a
        usage, finished, done = None, False, False
        for line in reply:
            if not line.startswith(b"data: "):
                continue
            now = time.perf_counter()
            if line.startswith(b"data: [DONE]"):
                done = True
                continue
            event = json.loads(line[6:])
            usage = event.get("usage") or usage
            finished |= any(choice.get("finish_reason") for choice in event.get("choices") or [])
            if event.get("choices"):
                a.first = a.first or now
                a.last = now
                a.arrivals.append(now)
        a.tokens = usage["completion_tokens"] if usage else 0
        if not (done and finished and a.tokens == o.n):
            a.fault = f"an answer of {a.tokens} tokens, {'with' if finished else 'without'} an end"
    except (OSError, http.client.HTTPException, ValueError) as e:
        a.fault = a.fault or f"{type(e).__name__}: {e}"
    finally:
        c.close()
    return a


def run_clients(o, server, count, seconds, seed):
    """All answers that were begun within so many seconds, and how long that was."""
    answers, lock = [], threading.Lock()
    began = time.perf_counter()

    def client(number):
        draw = random.Random(seed * 1000 + number)
        while time.perf_counter() - began < seconds:
            a = ask(o, server.port, [draw.randrange(10, o.tokens) for _ in range(o.p)])
            with lock:
                answers.append(a)
            if a.fault:
                time.sleep(0.2)

    threads = [threading.Thread(target=client, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return answers, began


# ---- what they say --------------------------------------------------------------------------------------------

def each_second(answers, began, seconds):
    """Tokens that came in each whole second, while everybody asked. A piece of a stream may have several tokens."""
    made = [0.0] * max(1, int(seconds))
    for a in answers:
        for at in a.arrivals:
            second = int(at - began)
            if second < len(made):
                made[second] += a.tokens / len(a.arrivals)
    return made[1:] if len(made) > 2 else made  # the first has the first prompts


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def measure(o, server, variant, count, seconds, seed, results, checks):
    gpu_before, before = gpu_mb(), server.rss_mb()
    answers, began = run_clients(o, server, count, seconds, seed)
    good, faults = [a for a in answers if not a.fault], [a.fault for a in answers if a.fault]
    checks.append(record.check(f"{variant}, {count} streams: every answer is complete", good and not faults,
                               f"{len(good)} answers" + (f", {len(faults)} not: {faults[0][:150]}" if faults else "")))
    if not good:
        print(f"{variant:24} {count:3} streams: no answer: {faults[0] if faults else ''}")
        return
    firsts = [1000 * (a.first - a.asked) for a in good]
    params = {"impl": server.name, "variant": variant, "streams": count, "prompt_tok": o.p, "made_tok": o.n, "seconds": seconds}
    rates = each_second(good, began, seconds)
    single = [(a.tokens - 1) / (a.last - a.first) for a in good if a.last > a.first]
    more = {"first_token_ms": quantile(firsts, 0.5), "first_token_p99_ms": quantile(firsts, 0.99), "answers": len(good)}
    memory = {"rss_before_mb": before, "rss_after_mb": server.rss_mb()}
    if gpu_before is not None:
        memory.update(gpu_before_mb=gpu_before, gpu_after_mb=gpu_mb())
    results.append(record.result("serve_all", params, "tok/s", rates, **more, **memory))
    if single:
        results.append(record.result("serve_each", params, "tok/s", single))
    results.append(record.result("serve_first", params, "ms", firsts))
    print(f"{variant:24} {count:3} streams: {results[-2 if not single else -3]['median']:9.1f} tok/s in all, {quantile(single, 0.5) if single else 0:8.1f} each; "
          f"first token p50 {more['first_token_ms']:8.1f} ms, p99 {more['first_token_p99_ms']:8.1f} ms; {len(good)} answers, {len(faults)} faults; "
          f"{before:.0f} MB before, {memory['rss_after_mb']:.0f} after" + (f"; GPU {gpu_before:.0f}, {memory['gpu_after_mb']:.0f}" if gpu_before is not None else ""), flush=True)


def run_server(o, start, label, results, checks, left_out):
    """With places for all streams, and with one place for one stream."""
    streams = [int(n) for n in o.streams.split(",")]
    plans = [(o.parallel, [n for n in streams if n <= o.parallel], o.waiting)]
    if 1 in streams and o.parallel > 1:
        plans.append((1, [1], 0))
    for parallel, counts, waiting in plans:
        variant = f"{label}, {parallel} at a time"
        try:
            server = start(o, parallel)
        except (Failed, OSError) as e:
            print(f"{variant}: {e}")
            left_out.append({"what": variant, "why": str(e)[:300]})
            continue
        try:
            run_clients(o, server, parallel, o.warm, 1)
            for count in counts:
                measure(o, server, variant, count, o.seconds, 2, results, checks)
            if waiting:
                measure(o, server, variant, waiting, o.waiting_seconds, 3, results, checks)
        finally:
            status = server.stop()
        checks.append(record.check(f"{variant}: it ends well", status in (0, -15), f"status {status}"))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("model")
    parser.add_argument("-p", type=int, default=512)
    parser.add_argument("-n", type=int, default=128)
    parser.add_argument("--tokens", type=int, default=30000, help="of the vocabulary: those of prompts are below")
    parser.add_argument("--streams", default="1,8")
    parser.add_argument("--parallel", type=int, default=8)
    for name, value in (("seconds", 30), ("warm", 20), ("waiting-seconds", 300)):
        parser.add_argument(f"--{name}", type=float, default=value)
    parser.add_argument("--waiting", type=int, default=64)
    parser.add_argument("--solo", default=os.environ.get("SOLO", "build/solo"))
    parser.add_argument("--solo-flags", default=os.environ.get("SOLO_FLAGS", ""))
    parser.add_argument("--llama-server", default=os.environ.get("LLAMA_SERVER", ""))
    parser.add_argument("--lib", default="")
    parser.add_argument("--llama-flags", default="-ngl 999 -fa on")
    parser.add_argument("--device", default="unknown", help="the GPU's name, for the record")
    parser.add_argument("--json")
    parser.add_argument("--left-out", action="append", default=[])
    o = parser.parse_args()
    results, checks, left_out = [], [], [dict(zip(("what", "why"), text.split(":", 1))) for text in o.left_out]
    run_server(o, start_solo, "solo", results, checks, left_out)
    if o.llama_server:
        run_server(o, start_llama, "llama.cpp", results, checks, left_out)
    else:
        left_out.append({"what": "llama-server", "why": "--llama-server names none"})
    if o.json:
        gpu = {"impl": "serve", "backend": "unknown", "device": o.device, "adapter_type": "unknown"}
        params = {"model": os.path.basename(o.model), "prompt_tok": o.p, "made_tok": o.n, "parallel": o.parallel}
        record.write(o.json, record.record("serve", gpu, params, results, checks, skipped=left_out))
    sys.exit(0 if results and all(c["ok"] for c in checks) else 1)


if __name__ == "__main__":
    main()
